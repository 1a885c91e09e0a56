/*
 * supervisor.h
 *		The process between this program and a benchmark, which ends all processes of a run.
 *
 * The supervisor is the reaper of all that the command starts. So it finds processes that have left
 * the command's process group, and kills them when the command has ended, when this program asks
 * for it, and when this program is killed itself.
 */
#ifndef COLLECTOR_SUPERVISOR_H
#define COLLECTOR_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "program/failure.h"

/* The end of a run. */
typedef struct SupervisedEnd
{
	int status;		 /* of the command, as waitpid() returns it */
	int exec_error;	 /* errno if the command could not be executed; otherwise 0 */
	uint32_t left;	 /* processes that could not be killed, because others own them */
	int list_error;	 /* errno if these processes could not be listed; otherwise 0 */
	int64_t cpu_ns;	 /* user and system time of the command and all that it started */
	int64_t wall_ns; /* duration of the command */
} SupervisedEnd;

typedef struct Supervisor
{
	pid_t pid;
	pid_t command; /* waits until supervisor_go() */
	int control;   /* its end asks the supervisor to kill all processes */
	int answers;   /* readable when the run has ended */
} Supervisor;

/*
 * Starts the supervisor, which forks the process of the command. directory may be NULL; output is
 * the file of the command's output. Call supervisor_close() in any case.
 */
ExitCode supervisor_start(Supervisor *supervisor, char *const *arguments, const char *directory,
						  int output, Failure *failure);

/* Executes the command. */
ExitCode supervisor_go(Supervisor *supervisor, Failure *failure);

/* Kills all processes of the run, which then ends. */
void supervisor_kill(Supervisor *supervisor);

/* Waits for the end of the run. */
ExitCode supervisor_end(Supervisor *supervisor, SupervisedEnd *end, Failure *failure);

void supervisor_close(Supervisor *supervisor);

#endif
