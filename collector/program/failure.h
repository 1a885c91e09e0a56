/*
 * failure.h
 *		Describes why a request of the user failed: exit code, message, detail, hint.
 *
 * The function that knows the reason fills it in; the function that gives up logs it, once.
 */
#ifndef COLLECTOR_FAILURE_H
#define COLLECTOR_FAILURE_H

#include "program/exit_code.h"

typedef struct Failure
{
	ExitCode code;
	const char *message; /* a string literal in PostgreSQL's message style: lower case, no period */
	char detail[512];	 /* full sentences, or "" */
	char hint[512];
} Failure;

/* Sets code and message and clears detail and hint. Returns code. */
ExitCode failure_set(Failure *failure, ExitCode code, const char *message);
void failure_detail(Failure *failure, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void failure_hint(Failure *failure, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Sets the failure of a file, with code EXIT_IO and the detail "PATH": REASON. The path has quotes,
 * and reason has no period, as of strerror(). Returns the code.
 */
ExitCode failure_of_file(Failure *failure, const char *message, const char *path,
						 const char *reason);

/* Sets the failure of an allocation. Returns its code, EXIT_INTERNAL. */
ExitCode failure_out_of_memory(Failure *failure);

/* Logs the failure at level error. module must be a string literal. */
void failure_log(const Failure *failure, const char *module);

#endif
