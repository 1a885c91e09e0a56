/*
 * hotspot_fixture.h
 *		Programs of each Java on this machine, whose stopped threads the BPF code reads in plain
 *		memory.
 */
#ifndef COLLECTOR_TEST_HOTSPOT_FIXTURE_H
#define COLLECTOR_TEST_HOTSPOT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
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
#include <sys/wait.h>
#include <unistd.h>

#include "code/user_frame.h"
#include "events.h"
#include "process/proc_file.h"
#include "runtimes/hotspot/hotspot_layout.h"
#include "runtimes/runtime_kind.h"
#include "thread_registers.h"

#define MAPS_BYTES (1 << 20)
#define READS_MAX  100000
#define WORDS_MAX  8192

/* The data that the walk sees: the memory of one process. */
static struct World
{
	struct pfs_walk walk;
	struct pfs_runtime runtime;
	pid_t pid;
	int reads;
	int failing_read; /* number of the first read that fails; 0: none */
	int lying_read;	  /* number of the first read that returns wrong values; 0: none */
	uint64_t lie;
} world;

static int
read_memory(void *to, size_t size, uint64_t address)
{
	struct iovec local = { to, size };
	struct iovec remote = { (void *) (uintptr_t) address, size };

	assert_true(++world.reads < READS_MAX);
	if (world.failing_read != 0 && world.reads >= world.failing_read)
		return -EFAULT;
	if (world.lying_read != 0 && world.reads >= world.lying_read)
	{
		for (size_t i = 0; i < size; i++)
			((uint8_t *) to)[i] = (uint8_t) (world.lie >> 8 * (i & 7));
		return 0;
	}
	return process_vm_readv(world.pid, &local, 1, &remote, 1, 0) == (ssize_t) size ? 0 : -EFAULT;
}

static int
pfs_read_stack(struct pfs_walk *walk, __u64 address, __u64 *value)
{
	return read_memory(value, sizeof(*value), address);
}

/* This function and the next three are "inline" because the walk of arm64 does not call them. */
static inline int
pfs_read_code(struct pfs_walk *walk, void *to, __u32 size, __u64 address)
{
	return read_memory(to, size, address);
}

static inline __u32
pfs_walk_slot(const struct pfs_walk *walk)
{
	return 0;
}

static inline struct pfs_walk *
pfs_get_walk(__u32 slot)
{
	return &world.walk;
}

static inline const struct pfs_runtime *
pfs_get_runtime(const struct pfs_walk *walk)
{
	return &world.runtime;
}

static int
pfs_trusts_jit(void)
{
	return 0;
}

static const struct pfs_unwind_mapping *
pfs_get_mapping(__u32 slot)
{
	return NULL;
}

static const union pfs_unwind_entry *
pfs_get_entry(__u32 slot)
{
	return NULL;
}

static const struct pfs_unwind_line *
pfs_get_line(__u32 number)
{
	return NULL;
}

static __u64 *
pfs_get_recent(__u32 slot)
{
	return NULL;
}

static const struct pfs_unwind_rule *
pfs_get_rule(__u32 number)
{
	return NULL;
}

#undef __always_inline
#define __always_inline	  inline __attribute__((always_inline))
#define PFS_VERIFIED_ONCE static
#include "unwind.bpf.h"

/* A Java virtual machine that runs a program. */
typedef struct Java
{
	pid_t pid;
	pid_t thread; /* the thread that is stopped; 0: none */
	int output;
	RuntimeTarget target;
	uint64_t library_end; /* end of the library's code, which begins at target.bias */
	Patience patience;
	RemoteMemory memory;
	uint64_t words[WORDS_MAX];
	size_t count;
} Java;

static char classes[] = "/tmp/test_runtimes_hotspot.XXXXXX";

/* Waits until a command ends. Returns its status. */
static int
wait_for(pid_t pid)
{
	int status = -1;

	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* Compiles the programs of a directory. Without a compiler there are no classes. */
static int
compile_java(const char *directory)
{
	char *sources[3] = { NULL };
	const char *const names[] = { "Spin", "Calls", "Turns" };
	pid_t pid;

	assert_non_null(mkdtemp(classes));
	for (size_t i = 0; i < 3; i++)
		assert_true(asprintf(&sources[i], "%s/%s.java", directory, names[i]) > 0);
	pid = fork();
	if (pid == 0)
	{
		execlp("javac", "javac", "-g", "-nowarn", "-Xlint:-options", "--release", "8", "-d",
			   classes, sources[0], sources[1], sources[2], (char *) NULL);
		_exit(127);
	}
	for (size_t i = 0; i < 3; i++)
		free(sources[i]);
	(void) wait_for(pid);
	return 0;
}

static int
remove_programs(void **state)
{
	pid_t pid = fork();

	if (pid == 0)
	{
		execlp("rm", "rm", "-rf", classes, (char *) NULL);
		_exit(127);
	}
	return wait_for(pid);
}

static void
find_library(Java *java)
{
	char path[64];
	char *maps;
	char *rest;
	char *line;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int) java->pid);
	assert_int_equal(proc_file_read(path, MAPS_BYTES, &maps, NULL), 0);
	rest = maps;
	while (!found && (line = strsep(&rest, "\n")) != NULL)
	{
		unsigned long start;
		unsigned long end;
		unsigned long offset;
		char rights[5];
		int name_at = 0;
		struct stat status;
		ElfSource source;
		ElfHeaders headers;
		Elf64_Phdr segment;

		if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %n", &start, &end, rights, &offset, &name_at) <
				4 ||
			name_at == 0 || line[name_at] != '/' || rights[2] != 'x')
			continue;
		source = (ElfSource){ .fd = open(line + name_at, O_RDONLY | O_CLOEXEC) };
		if (source.fd < 0 || fstat(source.fd, &status) != 0)
			continue;
		source.size_bytes = (uint64_t) status.st_size;
		if (hotspot_kind.read_file(&source, line + name_at, &java->target.file))
		{
			found = true;
			assert_int_equal(elf_headers_read(&headers, &source), 0);
			for (uint32_t i = 0; i < headers.segment_count; i++)
				if (elf_headers_segment(&headers, i, &segment) && segment.p_type == PT_LOAD &&
					(segment.p_flags & PF_X) != 0)
					java->target.bias = start - offset + segment.p_offset - segment.p_vaddr;
			java->library_end = end;
		}
		close(source.fd);
	}
	free(maps);
	assert_true(found);
	assert_true(java->target.file.is_known);
}

/* Starts a program and waits until it reports that it is ready. options ends with NULL. */
static void
start_program(Java *java, const char *path, const char *const *options, const char *name,
			  const char *argument)
{
	char *arguments[32] = { NULL };
	size_t count = 0;
	char ready[256];
	size_t got = 0;
	int ends[2];

	memset(java, 0, sizeof(*java));
	memset(&world, 0, sizeof(world));
	arguments[count++] = strdup(path);
	arguments[count++] = strdup("-cp");
	arguments[count++] = strdup(classes);
	for (; *options != NULL; options++)
		arguments[count++] = strdup(*options);
	arguments[count++] = strdup(name);
	arguments[count++] = strdup(argument);
	assert_int_equal(pipe(ends), 0);
	java->pid = fork();
	assert_true(java->pid >= 0);
	if (java->pid == 0)
	{
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ends[1], 1);
		close(ends[0]);
		close(ends[1]);
		execv(path, arguments);
		_exit(127);
	}
	for (size_t i = 0; i < count; i++)
		free(arguments[i]);
	close(ends[1]);
	java->output = ends[0];
	do
	{
		ssize_t more = read(ends[0], ready + got, sizeof(ready) - 1 - got);

		assert_true(more > 0);
		got += (size_t) more;
		ready[got] = '\0';
	} while (strstr(ready, "ready\n") == NULL);
	assert_int_equal(patience_init(&java->patience), 0);
	java->memory = (RemoteMemory){ .patience = &java->patience, .pid = (uint32_t) java->pid };
	find_library(java);
	assert_true(hotspot_kind.place(&java->memory, &java->target, 0, true));
	world.pid = java->pid;
	world.runtime = java->target.entry;
	world.runtime.kind = PFS_RUNTIME_HOTSPOT;
}

static void
end_program(Java *java)
{
	kill(java->pid, SIGKILL);
	if (java->thread != 0)
		(void) ptrace(PTRACE_DETACH, java->thread, NULL, NULL);
	(void) waitpid(java->pid, NULL, 0);
	close(java->output);
	patience_fini(&java->patience);
}

/* Stops a thread, and reads its registers. */
static void
take_registers(pid_t thread)
{
	ThreadRegisters registers;

	memset(&world.walk, 0, sizeof(world.walk));
	assert_true(thread_registers_read(thread, &registers));
	memcpy(world.walk.at.registers, registers.numbered, sizeof(registers.numbered));
	pfs_walk_enter_innermost(&world.walk);
}

/* Stops the thread that is executing generated code. Returns false if there is none. */
static bool
stop_thread(Java *java)
{
	char path[64];
	struct dirent *entry;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/task", (int) java->pid);
	directory = opendir(path);
	assert_non_null(directory);
	while (java->thread == 0 && (entry = readdir(directory)) != NULL)
	{
		pid_t thread = atoi(entry->d_name);

		if (thread == 0 || ptrace(PTRACE_SEIZE, thread, NULL, NULL) != 0)
			continue;
		assert_int_equal(ptrace(PTRACE_INTERRUPT, thread, NULL, NULL), 0);
		assert_int_equal(waitpid(thread, NULL, __WALL), thread);
		take_registers(thread);
		if (pfs_is_hotspot_code(&world.walk, world.walk.at.pc))
			java->thread = thread;
		else
			(void) ptrace(PTRACE_DETACH, thread, NULL, NULL);
	}
	closedir(directory);
	return java->thread != 0;
}

static void
let_go(Java *java)
{
	assert_int_equal(ptrace(PTRACE_DETACH, java->thread, NULL, NULL), 0);
	java->thread = 0;
}

/*
 * Walks from the registers to code that HotSpot did not generate. Returns true if it is the
 * library's.
 */
static bool
walk_stack(Java *java)
{
	__u64 frame = 0;

	world.reads = 0;
	java->count = 0;
	while (world.walk.status == PFS_WALK_RUNNING && java->count + 2 < WORDS_MAX)
	{
		uint16_t before = world.walk.count;

		(void) pfs_walk_step(&world.walk, &frame);
		if (world.walk.count == before)
			continue;
		java->words[java->count++] = frame;
		for (uint8_t i = 0; i < world.walk.more_count; i++)
			java->words[java->count++] = world.walk.more[i];
		world.walk.more_count = 0;
	}
	return world.walk.status == PFS_WALK_NO_MAPPING && world.walk.at.pc > java->target.bias &&
		   world.walk.at.pc < java->library_end;
}

/* Names that were read, by their keys: a stepped program has few of them. */
static struct Named
{
	CodeKey key;
	char text[512];
} named[1024];

/* Names a frame: "name:line ", with those of the callers into which it was inlined. */
static const char *
name_frame(Java *java, const UserFrame *frame)
{
	CodeWanted wanted = { .more = frame->more, .more_count = frame->more_count };
	struct Named *entry;
	size_t length = 0;

	assert_true(hotspot_kind.key_of(frame, &wanted.key));
	entry = &named[(wanted.key.address / 8 * 31 + wanted.key.check / 4) %
				   (sizeof(named) / sizeof(named[0]))];
	if (memcmp(&entry->key, &wanted.key, sizeof(entry->key)) == 0)
		return entry->text;
	entry->key = wanted.key;
	hotspot_kind.read_codes(&java->memory, &java->target, &wanted, 1);
	snprintf(entry->text, sizeof(entry->text), "unnamed ");
	for (const RuntimeCode *code = &wanted.code; code != NULL && code->name != NULL;
		 code = code->caller)
		length += (size_t) snprintf(entry->text + length, sizeof(entry->text) - length, "%s:%d ",
									code->name, (int) code->line);
	assert_true(length < sizeof(entry->text));
	runtime_code_fini(&wanted.code);
	return entry->text;
}

/* Names the stack: "name:line name:line …", innermost first, without stubs. */
static void
name_stack(Java *java, char *text, size_t size)
{
	uint32_t next = 0;
	UserFrame frame;
	size_t length = 0;

	text[0] = '\0';
	while (user_frame_next(java->words, (uint32_t) java->count, &next, &frame))
	{
		if (frame.more_count == 1 &&
			PFS_HOTSPOT_FRAME(PFS_FRAME_PAYLOAD(frame.more[0])) == PFS_HOTSPOT_FRAME_STUB)
			continue;
		length += (size_t) snprintf(text + length, size - length, "%s",
									frame.more_count == 1 ? name_frame(java, &frame) : "native ");
		assert_true(length < size);
	}
}

/*
 * Calls check for each Java of this machine, and for those of the variable JAVAS; returns their
 * number.
 */
static int
each_java(void (*check)(const char *path))
{
	const char *more = getenv("JAVAS"); /* a pattern of paths, for other places */
	const char *const patterns[] = { "/usr/lib/jvm/*/bin/java", more != NULL ? more : "" };
	char program[64];
	ino_t seen[64];
	int count = 0;

	snprintf(program, sizeof(program), "%s/Spin.class", classes);
	if (access(program, R_OK) != 0)
		return 0;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
	{
		glob_t found;

		if (glob(patterns[i], 0, NULL, &found) != 0)
			continue;
		for (size_t j = 0; j < found.gl_pathc && count < 64; j++)
		{
			struct stat status;
			bool is_new = stat(found.gl_pathv[j], &status) == 0;

			for (int k = 0; k < count; k++)
				is_new = is_new && seen[k] != status.st_ino;
			if (!is_new)
				continue;
			seen[count++] = status.st_ino;
			check(found.gl_pathv[j]);
		}
		globfree(&found);
	}
	return count;
}

/* Without these options a stepped program would mostly wait for the virtual machine. */
#define NO_SAFEPOINTS "-XX:+UnlockDiagnosticVMOptions", "-XX:GuaranteedSafepointInterval=0"

/* Options with which the program is interpreted, or compiled at once by one of the compilers. */
static const char *const interpreted[] = { "-Xint", NULL };
static const char *const compiled_1[] = { "-Xcomp",
										  "-XX:TieredStopAtLevel=1",
										  NO_SAFEPOINTS,
										  "-XX:CompileCommand=quiet",
										  "-XX:CompileCommand=compileonly,Spin*.*",
										  "-XX:CompileCommand=compileonly,Calls*.*",
										  NULL };
static const char *const compiled_2[] = { "-Xcomp",
										  "-XX:-TieredCompilation",
										  NO_SAFEPOINTS,
										  "-XX:CompileCommand=quiet",
										  "-XX:CompileCommand=compileonly,Spin*.*",
										  "-XX:CompileCommand=compileonly,Calls*.*",
										  "-XX:CompileCommand=inline,Spin*.*",
										  NULL };
static const char *const *const ways[] = { interpreted, compiled_1, compiled_2 };

#define WAYS (sizeof(ways) / sizeof(ways[0]))

static void
write_memory(const Java *java, uint64_t address, const void *bytes, size_t size)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int) java->pid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, size, (off_t) address), (ssize_t) size);
	close(fd);
}

#endif
