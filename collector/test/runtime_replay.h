/*
 * runtime_replay.h
 *		Runs the kernel's walk of an interpreter's chain, in plain memory, over a live process. A
 *		test includes this file once, in the place of the programs' own headers.
 */
#ifndef COLLECTOR_RUNTIME_REPLAY_H
#define COLLECTOR_RUNTIME_REPLAY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "code/user_frame.h"
#include "process/proc_file.h"
#include "replay_world.h"
#include "runtimes/runtime_kind.h"
#include "unwind/remote_memory.h"

#define REPLAY_MAPS_BYTES (1 << 20)
#define REPLAY_ARGUMENTS  15

/* A program that an interpreter runs. */
typedef struct Replay
{
	pid_t pid;
	int output;
	RuntimeTarget target;
	struct user_regs_struct registers;
	Patience patience;
	RemoteMemory memory;
} Replay;

/* Starts a program, and waits until it has written "ready" and a newline. */
static void
replay_start(Replay *replay, const char *const arguments[])
{
	char *copies[REPLAY_ARGUMENTS + 1] = { NULL };
	char ready[6];
	int ends[2];
	ssize_t got = 0;

	memset(replay, 0, sizeof(*replay));
	assert_int_equal(pipe(ends), 0);
	replay->pid = fork();
	assert_true(replay->pid >= 0);
	if (replay->pid == 0)
	{
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ends[1], 1);
		close(ends[0]);
		for (int i = 0; i < REPLAY_ARGUMENTS && arguments[i] != NULL; i++)
			copies[i] = strdup(arguments[i]);
		execv(copies[0], copies);
		_exit(127);
	}
	close(ends[1]);
	replay->output = ends[0];
	while (got < 6)
	{
		ssize_t more = read(ends[0], ready + got, sizeof(ready) - (size_t) got);

		assert_true(more > 0);
		got += more;
	}
	assert_memory_equal(ready, "ready\n", 6);
	assert_int_equal(patience_init(&replay->patience), 0);
	replay->memory = (RemoteMemory){ .patience = &replay->patience, .pid = (uint32_t) replay->pid };
}

/* Waits until the program sleeps, in nanosleep() or clock_nanosleep(). */
static void
replay_wait_for_sleep(const Replay *replay)
{
	char path[64];
	long number = -1;

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int) replay->pid);
	for (int i = 0; i < 10000 && number != SYS_nanosleep && number != SYS_clock_nanosleep; i++)
	{
		FILE *file = fopen(path, "r");

		usleep(1000);
		assert_non_null(file);
		if (fscanf(file, "%ld", &number) != 1)
			number = -1;
		fclose(file);
	}
	assert_true(number == SYS_nanosleep || number == SYS_clock_nanosleep);
}

static void
replay_end(Replay *replay)
{
	if (replay->target.file.kind != NULL && replay->target.file.kind->release != NULL)
		replay->target.file.kind->release(&replay->target);
	kill(replay->pid, SIGKILL);
	(void) waitpid(replay->pid, NULL, 0);
	close(replay->output);
	patience_fini(&replay->patience);
}

/* Stops the program and reads its registers, until replay_go_on(). */
static void
replay_stop(Replay *replay)
{
	assert_int_equal(ptrace(PTRACE_ATTACH, replay->pid, NULL, NULL), 0);
	assert_int_equal(waitpid(replay->pid, NULL, __WALL), replay->pid);
	assert_int_equal(ptrace(PTRACE_GETREGS, replay->pid, NULL, &replay->registers), 0);
}

static void
replay_go_on(Replay *replay)
{
	assert_int_equal(ptrace(PTRACE_DETACH, replay->pid, NULL, NULL), 0);
}

/* Finds the interpreter among the process's files. */
static void
replay_find_file(Replay *replay)
{
	char path[64];
	char *maps;
	char *rest;
	char *line;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int) replay->pid);
	assert_int_equal(proc_file_read(path, REPLAY_MAPS_BYTES, &maps, NULL), 0);
	rest = maps;
	while (replay->target.file.kind == NULL && (line = strsep(&rest, "\n")) != NULL)
	{
		unsigned long start;
		unsigned long offset;
		char rights[5];
		int name_at = 0;

		if (sscanf(line, "%lx-%*x %4s %lx %*s %*s %n", &start, rights, &offset, &name_at) >= 3 &&
			name_at != 0 && line[name_at] == '/' && rights[2] == 'x')
			(void) replay_read_file(line + name_at, start, offset, &replay->target);
	}
	free(maps);
	assert_non_null(replay->target.file.kind);
	assert_true(replay->target.file.is_known);
	replay->target.entry.kind = (__u8) replay->target.file.kind->kind;
	replay->target.file.kind->describe(&replay->target);
}

/* Finds the interpreter, and the place of the first thread's state. */
static void
replay_find(Replay *replay)
{
	replay_find_file(replay);
	replay_stop(replay);
	assert_true(replay->target.file.kind->place(&replay->memory, &replay->target,
												replay->registers.fs_base, true));
	replay_go_on(replay);
	assert_int_equal(replay->target.entry.is_placed, 1);
}

/* Walks the chain as the kernel does. The faults of replay_world stay as they are. */
static const struct pfs_chain *
replay_walk(const Replay *replay)
{
	struct ReplayWorld *world = &replay_world;
	__u64 *registers = world->scratch.walk.at.registers;

	replay_world_reset(replay->pid, replay->registers.fs_base);
	world->scratch.chain.runtime = replay->target.entry;
	registers[14] = replay->registers.r14;
	registers[15] = replay->registers.r15;
	registers[PFS_REGISTER_PC] = replay->registers.rip;
	assert_true(pfs_add_chain(0, 0) > 0);
	return (const struct pfs_chain *) world->scratch.words;
}

/* A function of the chain, as it is named. */
typedef struct ReplayFrame
{
	char name[128];
	char file[256];
	int32_t line;
	int32_t first_line;
} ReplayFrame;

/*
 * Names the frames of the chain, innermost first, and returns their number; marks is how many marks
 * are among them. Frames whose code cannot be read have an empty name.
 */
static size_t
replay_frames(Replay *replay, const struct pfs_chain *chain, ReplayFrame *frames, size_t room,
			  uint32_t *marks)
{
	const RuntimeKind *kind = replay->target.file.kind;
	const uint64_t *words = replay_words(chain);
	uint32_t count = pfs_chain_kept(chain->found);
	uint32_t next = 0;
	size_t found = 0;
	UserFrame frame = { 0 };

	*marks = 0;
	while (user_frame_next(words, count, &next, &frame))
	{
		CodeWanted wanted = { .more = frame.more, .more_count = frame.more_count };
		ReplayFrame *named = &frames[found];

		if (frame.more_count == 0)
		{
			(*marks)++;
			continue;
		}
		assert_true(found < room);
		assert_int_equal(frame.interpreter, kind->kind);
		memset(named, 0, sizeof(*named));
		found++;
		if (!kind->key_of(&frame, &wanted.key))
			continue;
		kind->read_codes(&replay->memory, &replay->target, &wanted, 1);
		if (wanted.code.name == NULL)
			continue;
		snprintf(named->name, sizeof(named->name), "%s", wanted.code.name);
		snprintf(named->file, sizeof(named->file), "%s", wanted.code.file);
		named->first_line = wanted.code.first_line;
		named->line = kind->line_of != NULL ? kind->line_of(&replay->target, &wanted.code, &frame)
											: wanted.code.line;
		runtime_code_fini(&wanted.code);
	}
	return found;
}

#endif
