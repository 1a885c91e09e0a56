/*
 * chain_replay.h
 *		The kernel's walk of an interpreter's chain over a live process, whose file and code are
 *		found as the agent finds them. A test includes this file once.
 */
#ifndef COLLECTOR_TEST_CHAIN_REPLAY_H
#define COLLECTOR_TEST_CHAIN_REPLAY_H

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
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "code/user_frame.h"
#include "process/proc_file.h"
#include "replay_world.h"
#include "runtimes/runtime_kind.h"

#define MAPS_BYTES (1 << 20)

/* A process whose interpreter is replayed. */
typedef struct Subject
{
	pid_t pid;
	int output;		  /* of the program */
	char text[65536]; /* what it has written before "ready" */
	RuntimeTarget target;
	struct user_regs_struct registers;
	Patience patience;
	RemoteMemory memory;
} Subject;

/* Starts a program, and waits until it has written the line "ready". */
static void
subject_start(Subject *subject, char *const arguments[])
{
	size_t length = 0;
	int ends[2];

	memset(subject, 0, sizeof(*subject));
	assert_int_equal(pipe(ends), 0);
	subject->pid = fork();
	assert_true(subject->pid >= 0);
	if (subject->pid == 0)
	{
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ends[1], 1);
		close(ends[0]);
		execv(arguments[0], arguments);
		_exit(127);
	}
	close(ends[1]);
	subject->output = ends[0];
	while (length < 6 || memcmp(subject->text + length - 6, "ready\n", 6) != 0)
	{
		ssize_t more = read(ends[0], subject->text + length, sizeof(subject->text) - 1 - length);

		assert_true(more > 0);
		length += (size_t) more;
	}
	subject->text[length - 6] = '\0';
	assert_int_equal(patience_init(&subject->patience), 0);
	subject->memory =
		(RemoteMemory){ .patience = &subject->patience, .pid = (uint32_t) subject->pid };
}

static void
subject_end(Subject *subject)
{
	if (subject->target.file.kind != NULL && subject->target.file.kind->release != NULL)
		subject->target.file.kind->release(&subject->target);
	kill(subject->pid, SIGKILL);
	(void) waitpid(subject->pid, NULL, 0);
	close(subject->output);
	patience_fini(&subject->patience);
}

/* Finds the mapped file that is the interpreter, and fills the target. */
static void
subject_find_file(Subject *subject, enum pfs_runtime_kind kind)
{
	char path[64];
	char *maps;
	char *rest;
	char *line;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int) subject->pid);
	assert_int_equal(proc_file_read(path, MAPS_BYTES, &maps, NULL), 0);
	rest = maps;
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
		/* of a program in another root the path is that root's */
		snprintf(file, sizeof(file), "/proc/%d/map_files/%lx-%lx", (int) subject->pid, start, end);
		found = replay_read_file(file, start, offset, &subject->target) &&
				subject->target.file.kind->kind == kind;
	}
	free(maps);
	assert_true(found);
	assert_true(subject->target.file.is_known);
	subject->target.entry.kind = (uint8_t) kind;
	subject->target.file.kind->describe(&subject->target);
}

/* Reads the registers of the first thread, which is stopped for that. */
static void
subject_read_registers(Subject *subject)
{
	assert_int_equal(ptrace(PTRACE_ATTACH, subject->pid, NULL, NULL), 0);
	assert_int_equal(waitpid(subject->pid, NULL, 0), subject->pid);
	assert_int_equal(ptrace(PTRACE_GETREGS, subject->pid, NULL, &subject->registers), 0);
	assert_int_equal(ptrace(PTRACE_DETACH, subject->pid, NULL, NULL), 0);
}

/* Walks the chain as the kernel does. */
static const struct pfs_chain *
subject_walk(const Subject *subject)
{
	struct pfs_scratch *scratch = &replay_world.scratch;

	replay_world_reset(subject->pid, subject->registers.fs_base);
	scratch->chain.runtime = subject->target.entry;
	scratch->chain.leaf_pc = subject->registers.rip;
	scratch->chain.leaf_bx = subject->registers.rbx;
	scratch->chain.leaf_dx = subject->registers.rdx;
	scratch->chain.leaf_r14 = subject->registers.r14;
	assert_true(pfs_add_chain(0, 0) > 0);
	return (const struct pfs_chain *) scratch->words;
}

/* The next frame of a chain, behind marks. */
static bool
chain_next(const struct pfs_chain *chain, uint32_t *next, UserFrame *frame)
{
	while (user_frame_next(replay_words(chain), pfs_chain_kept(chain->found), next, frame))
	{
		if (frame->more_count > 0)
			return true;
	}
	return false;
}

/* Reads the function of a frame. Its name is NULL if it is not known. */
static void
subject_read_code(Subject *subject, const UserFrame *frame, RuntimeCode *code, int32_t *line)
{
	const RuntimeKind *kind = subject->target.file.kind;
	CodeWanted wanted = { .more = frame->more, .more_count = frame->more_count };

	*code = (RuntimeCode){ 0 };
	*line = 0;
	assert_int_equal(frame->interpreter, kind->kind);
	if (!kind->key_of(frame, &wanted.key))
		return;
	kind->read_codes(&subject->memory, &subject->target, &wanted, 1);
	*code = wanted.code;
	*line = kind->line_of(&subject->target, code, frame);
}

/*
 * Walks with each read failing, and with each read finding what cannot be. The chain ends, and has
 * the frames that were found until then.
 */
static void
check_broken_memory(const Subject *subject)
{
	static const __u64 lies[] = { 0,
								  1,
								  UINT64_C(0xffffffffffffffff),
								  UINT64_C(0xffff800000001000),
								  UINT64_C(0x1008),
								  UINT64_C(0x7f0000001000) };
	const struct pfs_chain *chain = subject_walk(subject);
	uint32_t found = chain->found;
	int reads = replay_world.reads;

	assert_int_equal(chain->status, PFS_CHAIN_WHOLE);
	for (int i = 1; i <= reads; i++)
	{
		replay_world.failing_read = i;
		chain = subject_walk(subject);
		replay_world.failing_read = 0;
		assert_int_not_equal(chain->status, PFS_CHAIN_RUNNING);
		assert_true(chain->found <= found);
		assert_true(replay_world.reads <= reads);
	}
	for (int i = 1; i <= reads; i++)
	{
		for (size_t j = 0; j < sizeof(lies) / sizeof(lies[0]); j++)
		{
			replay_world.lying_read = i;
			replay_world.lie = lies[j];
			chain = subject_walk(subject);
			replay_world.lying_read = 0;
			assert_int_not_equal(chain->status, PFS_CHAIN_RUNNING);
			assert_true(chain->found <= PFS_CHAIN_MAX_WORDS);
		}
	}
}

/* Calls check for each path of the patterns; returns how many there are. */
static int
each_path(const char *const patterns[], size_t count, void (*check)(const char *path))
{
	int found = 0;

	for (size_t i = 0; i < count; i++)
	{
		glob_t paths;

		if (patterns[i] == NULL || glob(patterns[i], 0, NULL, &paths) != 0)
			continue;
		for (size_t j = 0; j < paths.gl_pathc; j++, found++)
			check(paths.gl_pathv[j]);
		globfree(&paths);
	}
	return found;
}

#endif
