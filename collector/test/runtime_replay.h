/*
 * runtime_replay.h
 *		Runs the kernel's walk of an interpreter's chain, in plain memory, over a live process. A
 *		test includes this file once, instead of the programs' own headers.
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
#include <glob.h>
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
#include <sys/wait.h>
#include <unistd.h>

#include "code/user_frame.h"
#include "process/proc_file.h"
#include "replay_world.h"
#include "runtimes/runtime_kind.h"
#include "thread_registers.h"
#include "unwind/remote_memory.h"

#define REPLAY_MAPS_BYTES (1 << 20)
#define REPLAY_ARGUMENTS  15

/* A program that an interpreter runs. */
typedef struct Replay
{
	pid_t pid;
	int output;
	char text[65536]; /* output of the program before "ready" */
	RuntimeTarget target;
	ThreadRegisters registers;
	Patience patience;
	RemoteMemory memory;
} Replay;

/* Starts a program, and waits until it has written the line "ready". */
static void
replay_start(Replay *replay, const char *const arguments[])
{
	char *copies[REPLAY_ARGUMENTS + 1] = { NULL };
	size_t length = 0;
	int ends[2];

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
	while (length < 6 || memcmp(replay->text + length - 6, "ready\n", 6) != 0)
	{
		ssize_t more = read(ends[0], replay->text + length, sizeof(replay->text) - 1 - length);

		assert_true(more > 0);
		length += (size_t) more;
	}
	replay->text[length - 6] = '\0';
	assert_int_equal(patience_init(&replay->patience), 0);
	replay->memory = (RemoteMemory){ .patience = &replay->patience, .pid = (uint32_t) replay->pid };
}

static bool
replay_is_sleep(long call)
{
#ifdef SYS_select /* arm64 has no such system call */
	if (call == SYS_select)
		return true;
#endif
	return call == SYS_nanosleep || call == SYS_clock_nanosleep || call == SYS_pselect6;
}

/* Waits until the program's first thread sleeps. */
static inline void
replay_wait_for_sleep(const Replay *replay)
{
	char path[64];
	long call = -1;

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int) replay->pid);
	for (int i = 0; i < 10000 && !replay_is_sleep(call); i++)
	{
		FILE *file = fopen(path, "r");

		usleep(1000);
		assert_non_null(file);
		if (fscanf(file, "%ld", &call) != 1)
			call = -1;
		fclose(file);
	}
	assert_true(replay_is_sleep(call));
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
	assert_true(thread_registers_read(replay->pid, &replay->registers));
}

/* Lets the stopped program execute one instruction, and reads its registers. */
static inline void
replay_step(Replay *replay)
{
	assert_true(thread_step(replay->pid));
	assert_true(thread_registers_read(replay->pid, &replay->registers));
}

static void
replay_go_on(Replay *replay)
{
	assert_int_equal(ptrace(PTRACE_DETACH, replay->pid, NULL, NULL), 0);
}

/* Returns the text of the program's mappings, which the caller frees. */
static char *
replay_read_maps(const Replay *replay)
{
	char path[64];
	char *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int) replay->pid);
	assert_int_equal(proc_file_read(path, REPLAY_MAPS_BYTES, &maps, NULL), 0);
	return maps;
}

/* Finds the mapped file that is the interpreter, and fills the target. */
static void
replay_find_file(Replay *replay, enum pfs_runtime_kind kind)
{
	char *maps = replay_read_maps(replay);
	char *rest = maps;
	char *line;
	bool found = false;

	while (!found && (line = strsep(&rest, "\n")) != NULL)
	{
		unsigned long start;
		unsigned long end;
		unsigned long offset;
		char rights[5];
		char file[64];
		int name_at = 0;

		if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %n", &start, &end, rights, &offset, &name_at) <
				4 ||
			name_at == 0 || line[name_at] != '/' || rights[2] != 'x')
			continue;
		/* if the program has another root, its name is relative to that root */
		snprintf(file, sizeof(file), "/proc/%d/map_files/%lx-%lx", (int) replay->pid, start, end);
		found = replay_read_file(file, line + name_at, start, offset, &replay->target) &&
				replay->target.file.kind->kind == kind;
	}
	free(maps);
	assert_true(found);
	assert_true(replay->target.file.is_known);
	replay->target.entry.kind = (uint8_t) kind;
	replay->target.file.kind->describe(&replay->target);
}

/* Finds the interpreter, and the address of the first thread's state. */
static inline void
replay_find(Replay *replay, enum pfs_runtime_kind kind)
{
	replay_find_file(replay, kind);
	replay_stop(replay);
	replay->target.stack_pointer = replay->registers.numbered[PFS_REGISTER_SP];
	assert_true(replay->target.file.kind->place(&replay->memory, &replay->target,
												replay->registers.thread_pointer, true));
	replay_go_on(replay);
	assert_int_equal(replay->target.entry.is_placed, 1);
}

/* Walks the chain as the kernel does. The faults of replay_world stay as they are. */
static const struct pfs_chain *
replay_walk(const Replay *replay)
{
	struct ReplayWorld *world = &replay_world;

	replay_world_reset(replay->pid, replay->registers.thread_pointer);
	world->scratch.chain.runtime = replay->target.entry;
	memcpy(world->scratch.walk.at.registers, replay->registers.numbered,
		   sizeof(replay->registers.numbered));
	pfs_walk_enter_innermost(&world->scratch.walk);
	world->scratch.chain.first_sp = world->scratch.walk.at.sp;
	pfs_note_leaf(&world->scratch);
	assert_true(pfs_add_chain(0, 0) > 0);
	return (const struct pfs_chain *) world->scratch.words;
}

/* Reads the next frame of a chain, after marks. Returns false at the end. */
static bool
replay_next(const struct pfs_chain *chain, uint32_t *next, UserFrame *frame)
{
	while (user_frame_next(replay_words(chain), pfs_chain_kept(chain->found), next, frame))
	{
		if (frame->more_count > 0)
			return true;
	}
	return false;
}

/* Reads the function of a frame, and its line. The function's name is NULL if it is unknown. */
static void
replay_read_code(Replay *replay, const UserFrame *frame, RuntimeCode *code, int32_t *line)
{
	const RuntimeKind *kind = replay->target.file.kind;
	CodeWanted wanted = { .more = frame->more, .more_count = frame->more_count };

	*code = (RuntimeCode){ 0 };
	*line = 0;
	assert_int_equal(frame->interpreter, kind->kind);
	if (!kind->key_of(frame, &wanted.key))
		return;
	kind->read_codes(&replay->memory, &replay->target, &wanted, 1);
	*code = wanted.code;
	*line = kind->line_of != NULL ? kind->line_of(&replay->target, code, frame) : code->line;
}

/* A function of the chain, by its names. */
typedef struct ReplayFrame
{
	char name[128];
	char file[256];
	int32_t line;
	int32_t first_line;
} ReplayFrame;

/*
 * Names the frames of the chain, innermost first, and returns their number; sets marks to the
 * number of marks among them. Frames whose code cannot be read have an empty name.
 */
static inline size_t
replay_frames(Replay *replay, const struct pfs_chain *chain, ReplayFrame *frames, size_t room,
			  uint32_t *marks)
{
	uint32_t next = 0;
	size_t found = 0;
	UserFrame frame = { 0 };

	*marks = chain->mark_count;
	for (; replay_next(chain, &next, &frame); found++)
	{
		ReplayFrame *named = &frames[found];
		RuntimeCode code;

		assert_true(found < room);
		memset(named, 0, sizeof(*named));
		replay_read_code(replay, &frame, &code, &named->line);
		if (code.name == NULL)
			continue;
		snprintf(named->name, sizeof(named->name), "%s", code.name);
		snprintf(named->file, sizeof(named->file), "%s", code.file);
		named->first_line = code.first_line;
		runtime_code_fini(&code);
	}
	return found;
}

/*
 * Walks with failures from each read on, and with wrong values from each read on. The chain ends,
 * and keeps no more than a record holds; if it leads to itself, it ends in time.
 */
static inline void
replay_check_broken(const Replay *replay)
{
	static const __u64 lies[] = { 0,
								  1,
								  UINT64_C(0xffffffffffffffff),
								  UINT64_C(0xffff800000001000),
								  UINT64_C(0x1008),
								  UINT64_C(0x7f0000001000) };
	struct ReplayWorld *world = &replay_world;
	const struct pfs_chain *chain = replay_walk(replay);
	uint32_t found = chain->found;
	int reads = world->reads;

	assert_int_equal(chain->status, PFS_CHAIN_WHOLE);
	for (int i = 1; i <= reads; i++)
	{
		world->failing_read = i;
		chain = replay_walk(replay);
		world->failing_read = 0;
		assert_int_not_equal(chain->status, PFS_CHAIN_RUNNING);
		assert_true(chain->found <= found);
		assert_true(world->reads <= reads + 2); /* after a failure other ways to a name are tried */
	}
	for (int i = 1; i <= reads; i++)
	{
		for (size_t j = 0; j < sizeof(lies) / sizeof(lies[0]); j++)
		{
			world->lying_read = i;
			world->lie = lies[j];
			chain = replay_walk(replay);
			world->lying_read = 0;
			assert_int_not_equal(chain->status, PFS_CHAIN_RUNNING);
			assert_true(chain->found <= PFS_CHAIN_MAX_WORDS);
		}
	}
	world->lying_read = 1;
	world->lie = UINT64_C(0x7f0000001000);
	world->read_ns = 10000;
	chain = replay_walk(replay);
	world->lying_read = 0;
	world->read_ns = 0;
	assert_int_not_equal(chain->status, PFS_CHAIN_RUNNING);
	assert_true(world->reads < 1500);
}

/*
 * Calls check for each path of two patterns: that of installed programs, and that of an environment
 * variable, for programs in other places. If there are no paths the test is skipped.
 */
static inline void
replay_each(const char *pattern, const char *variable, void (*check)(const char *path))
{
	const char *const patterns[] = { pattern, getenv(variable) };
	size_t count = 0;

	for (size_t i = 0; i < 2; i++)
	{
		glob_t paths;

		if (patterns[i] == NULL || glob(patterns[i], GLOB_BRACE, NULL, &paths) != 0)
			continue;
		for (size_t j = 0; j < paths.gl_pathc; j++, count++)
			check(paths.gl_pathv[j]);
		globfree(&paths);
	}
	if (count == 0)
		skip();
}

#endif
