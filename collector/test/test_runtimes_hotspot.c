/*
 * test_runtimes_hotspot.c
 *		Frames of HotSpot: the BPF code in plain memory reads stopped threads of each Java on this
 *		machine, at each instruction of calls, and memory whose reads fail or return wrong values.
 */
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

#include "base/clock.h"
#include "code/user_frame.h"
#include "events.h"
#include "memory_tables.h"
#include "process/proc_file.h"
#include "runtimes/hotspot/hotspot_code.h"
#include "runtimes/hotspot/hotspot_layout.h"
#include "runtimes/hotspot/hotspot_streams.h"
#include "runtimes/hotspot/hotspot_unloads.h"
#include "runtimes/runtime_kind.h"
#include "thread_registers.h"
#include "unwind/late_walk.h"

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

static int
compile_programs(void **state)
{
	pid_t pid;

	assert_non_null(mkdtemp(classes));
	pid = fork();
	if (pid == 0)
	{
		execlp("javac", "javac", "-g", "-nowarn", "-Xlint:-options", "--release", "8", "-d",
			   classes, PROGRAMS "/Spin.java", PROGRAMS "/Calls.java", PROGRAMS "/Turns.java",
			   (char *) NULL);
		_exit(127);
	}
	(void) wait_for(pid); /* without a compiler there are no classes, and tests are skipped */
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

/* Checks the stack of a spinning program, with a line of the loop. */
static void
assert_spin_stack(const char *text, int depth)
{
	char expected[16384];
	size_t length = 0;

	for (int line = 10; line <= 11; line++)
	{
		length = (size_t) snprintf(expected, sizeof(expected),
								   "Spin.spins:%d Spin.inner:16 Spin.recurses:21 ", line);
		for (int i = 0; i < depth; i++)
			length += (size_t) snprintf(expected + length, sizeof(expected) - length,
										"Spin.recurses:23 ");
		snprintf(expected + length, sizeof(expected) - length, "Spin$1.run:30 Spin.main:35 ");
		if (strcmp(text, expected) == 0)
			return;
	}
	assert_string_equal(text, expected);
}

static void
check_spin(const char *path)
{
	for (size_t way = 0; way < WAYS; way++)
	{
		static char text[16384];
		Java java;

		start_program(&java, path, ways[way], "Spin", "3");
		for (int i = 0; i < 20;)
		{
			bool is_whole;

			while (!stop_thread(&java))
				(void) usleep(1000);
			is_whole = walk_stack(&java);
			name_stack(&java, text, sizeof(text));
			let_go(&java);
			/* the program may not have entered its loop before the first sample */
			if (i == 0 && strncmp(text, "Spin.spins", 10) != 0)
				continue;
			assert_true(is_whole);
			assert_spin_stack(text, 3);
			i++;
		}
		end_program(&java);
	}
}

static void
test_spin(void **state)
{
	if (each_java(check_spin) == 0)
		skip();
}

/*
 * Returns true if one of the program's functions may have called another. Only main() has no
 * caller.
 */
static bool
may_call(const char *caller, const char *callee)
{
	static const char *const calls[][2] = {
		{ "Calls.left", "Calls.left" },		   { "Calls.left", "Calls.right" },
		{ "Calls.right", "Calls.left" },	   { "Calls.right", "Calls$Left.take" },
		{ "Calls.right", "Calls$Right.take" }, { "Calls$Left.take", "Calls.left" },
		{ "Calls$Right.take", "Calls.right" }, { "Calls.main", "Calls.left" },
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
	{
		size_t from = strlen(calls[i][0]);
		size_t to = strlen(calls[i][1]);

		if (strncmp(caller, calls[i][0], from) == 0 && caller[from] == ':' &&
			strncmp(callee, calls[i][1], to) == 0 && callee[to] == ':')
			return true;
	}
	return false;
}

/* Returns true for a stack that the program may have, from one of its functions to main(). */
static bool
is_call_stack(char *text)
{
	const char *callee = NULL;
	char *rest = text;
	char *name;

	while ((name = strsep(&rest, " ")) != NULL && *name != '\0')
	{
		if (callee != NULL && !may_call(name, callee))
			return false;
		callee = name;
	}
	return callee != NULL && strncmp(callee, "Calls.main:", 11) == 0;
}

#define STEPS		 2500
/* in the middle of an adapter between interpreted and compiled code the caller is unknown */
#define STEPS_MISSED 8

/* The stack is whole at each instruction, also while a function is entered or left. */
static void
check_calls(const char *path)
{
	for (size_t way = 0; way < WAYS; way++)
	{
		static char text[65536];
		int stacks = 0;
		int good = 0;
		Java java;

		start_program(&java, path, ways[way], "Calls", "");
		while (!stop_thread(&java))
			(void) usleep(1000);
		for (int i = 0; i < STEPS; i++)
		{
			bool is_whole;

			assert_true(thread_step(java.thread));
			take_registers(java.thread);
			if (!pfs_is_hotspot_code(&world.walk, world.walk.at.pc))
				continue;
			is_whole = walk_stack(&java);
			name_stack(&java, text, sizeof(text));
			stacks++;
			good += is_whole && is_call_stack(text);
		}
		let_go(&java);
		end_program(&java);
		assert_true(stacks > STEPS / 2);
		assert_true(good >= stacks - STEPS_MISSED);
	}
}

static void
test_calls(void **state)
{
	if (each_java(check_calls) == 0)
		skip();
}

static const uint64_t lies[] = { 0, 1, UINT64_MAX, UINT64_C(0xffff800000001000),
								 UINT64_C(0x10008) };

/*
 * Wherever a read fails or returns wrong values, the walk ends, and keeps the frames that it found.
 */
static void
check_broken(const char *path)
{
	for (size_t way = 0; way < WAYS; way++)
	{
		struct pfs_walk_state at;
		Java java;
		int reads;

		start_program(&java, path, ways[way], "Spin", "3");
		while (!stop_thread(&java))
			(void) usleep(1000);
		at = world.walk.at;
		(void) walk_stack(&java);
		reads = world.reads;
		for (int i = 1; i <= reads; i++)
		{
			for (size_t j = 0; j <= sizeof(lies) / sizeof(lies[0]); j++)
			{
				memset(&world.walk, 0, sizeof(world.walk));
				world.walk.at = at;
				world.failing_read = j == 0 ? i : 0;
				world.lying_read = j == 0 ? 0 : i;
				world.lie = j == 0 ? 0 : lies[j - 1];
				(void) walk_stack(&java);
				assert_int_not_equal(world.walk.status, PFS_WALK_RUNNING);
				assert_true(java.count > 0);
			}
		}
		world.failing_read = 0;
		world.lying_read = 0;
		let_go(&java);
		end_program(&java);
	}
}

static void
test_broken_memory(void **state)
{
	if (each_java(check_broken) == 0)
		skip();
}

/* Returns random numbers that are equal in each run. */
static uint64_t
next_random(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *seed >> 33;
}

#define RANDOM_WALKS 2000

/* A field is refused exactly if it does not lie within what is read of its structure. */
static void
check_offsets(const HotSpotLayout *right)
{
	const struct
	{
		HotSpotField field;
		uint32_t bytes, room;
	} last[] = {
		{ HOTSPOT_CODE_METHOD, 8, right->sizes[HOTSPOT_SIZE_CODE] },
		{ HOTSPOT_CODE_STATE, 1, right->sizes[HOTSPOT_SIZE_CODE] },
		{ HOTSPOT_BLOB_MAPS, 8, PFS_HOTSPOT_HEAD_BYTES },
		{ HOTSPOT_PLACE_SCOPE, 4, right->sizes[HOTSPOT_SIZE_PLACE] },
		{ HOTSPOT_CONSTANT_NAME, 2, right->sizes[HOTSPOT_SIZE_CONSTANT] },
		{ HOTSPOT_POOL_HOLDER, 8, right->sizes[HOTSPOT_SIZE_POOL] },
		{ HOTSPOT_SYMBOL_LENGTH, 2, HOTSPOT_SYMBOL_BYTES },
		{ HOTSPOT_CLASS_NAME, 8, HOTSPOT_STRUCT_BYTES },
	};

	assert_true(hotspot_layout_is_sane(right));
	for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++)
	{
		HotSpotLayout layout = *right;

		layout.fields[last[i].field] = last[i].room - last[i].bytes;
		assert_true(hotspot_layout_is_sane(&layout));
		layout.fields[last[i].field]++;
		assert_false(hotspot_layout_is_sane(&layout));
		layout.fields[last[i].field] = HOTSPOT_ABSENT - 1;
		assert_false(hotspot_layout_is_sane(&layout));
	}
}

/* If tables have wrong values, walks end, and functions have any name or none, without a crash. */
static void
check_lying_tables(const char *path)
{
	struct pfs_walk_state at;
	HotSpotLayout right;
	uint64_t seed = 1;
	Java java;

	start_program(&java, path, ways[1], "Spin", "3");
	while (!stop_thread(&java))
		(void) usleep(1000);
	at = world.walk.at;
	assert_true(walk_stack(&java));
	right = java.target.hotspot;
	check_offsets(&right);
	for (int i = 0; i < RANDOM_WALKS; i++)
	{
		HotSpotLayout *layout = &java.target.hotspot;
		uint8_t *offsets = (uint8_t *) &world.runtime.hotspot.compile_id;
		uint64_t words[2] = { java.words[0], java.words[1] };
		CodeWanted wanted = { .key = { PFS_FRAME_ADDRESS(words[0]), PFS_FRAME_PAYLOAD(words[1]) } };

		world.runtime.hotspot = java.target.entry.hotspot;
		offsets[next_random(&seed) % 13] = (uint8_t) next_random(&seed);
		memset(&world.walk, 0, sizeof(world.walk));
		world.walk.at = at;
		(void) walk_stack(&java);
		assert_int_not_equal(world.walk.status, PFS_WALK_RUNNING);
		java.words[0] = words[0];
		java.words[1] = words[1];
		if (i % 8 != 0)
			continue;
		*layout = right;
		layout->fields[HOTSPOT_ARRAY_LENGTH +
					   next_random(&seed) % (HOTSPOT_FIELDS_COUNT - HOTSPOT_ARRAY_LENGTH)] =
			next_random(&seed) % 120;
		if (!hotspot_layout_is_sane(layout))
			*layout = right;
		wanted.key.address += i % 16 == 0 ? next_random(&seed) % 64 : 0;
		hotspot_kind.read_codes(&java.memory, &java.target, &wanted, 1);
		runtime_code_fini(&wanted.code);
	}
	let_go(&java);
	end_program(&java);
}

static void
test_lying_tables(void **state)
{
	if (each_java(check_lying_tables) == 0)
		skip();
}

/*
 * After classes were unloaded an interpreted frame has no name, nor has a compiled one whose memory
 * is free.
 */
static void
check_unloaded(Java *java, CodeWanted *wanted)
{
	HotSpotLayout *layout = &java->target.hotspot;
	uint64_t unloaded = layout->unloaded;
	uint64_t used = layout->fields[HOTSPOT_BLOCK_USED];
	bool is_compiled = PFS_HOTSPOT_FRAME(wanted->key.check) == PFS_HOTSPOT_FRAME_COMPILED;

	assert_true(unloaded != 0);
	layout->unloaded = wanted->key.address; /* a word that has another value */
	hotspot_kind.read_codes(&java->memory, &java->target, wanted, 1);
	assert_int_equal(wanted->code.name != NULL, is_compiled);
	runtime_code_fini(&wanted->code);
	layout->unloaded = unloaded;
	layout->fields[HOTSPOT_BLOCK_USED] = 3; /* upper byte of the block's length, which is 0 */
	hotspot_kind.read_codes(&java->memory, &java->target, wanted, 1);
	layout->fields[HOTSPOT_BLOCK_USED] = used;
	assert_int_equal(wanted->code.name == NULL, is_compiled);
	runtime_code_fini(&wanted->code);
}

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

/* Asserts that the frame has no name while a field of its description has another value. */
static void
assert_no_name_with(Java *java, CodeWanted *wanted, HotSpotField field, uint64_t value, size_t size)
{
	const HotSpotLayout *layout = &java->target.hotspot;
	uint64_t address = wanted->key.address + layout->fields[field];
	uint64_t before = 0;

	assert_int_equal(read_memory(&before, size, address), 0);
	write_memory(java, address, &value, size);
	hotspot_kind.read_codes(&java->memory, &java->target, wanted, 1);
	write_memory(java, address, &before, size);
	assert_null(wanted->code.name);
	hotspot_kind.read_codes(&java->memory, &java->target, wanted, 1);
	assert_non_null(wanted->code.name);
	runtime_code_fini(&wanted->code);
}

/*
 * A block that HotSpot has given to other code, and whose description is still that of the code
 * that was freed there, or half of it, gives no name.
 */
static void
check_undescribed(Java *java, CodeWanted *wanted)
{
	const HotSpotLayout *layout = &java->target.hotspot;
	uint64_t block = wanted->key.address - layout->sizes[HOTSPOT_SIZE_BLOCK];

	if (PFS_HOTSPOT_FRAME(wanted->key.check) != PFS_HOTSPOT_FRAME_COMPILED)
		return;
	/* the virtual machine must not use the description meanwhile */
	kill(java->pid, SIGSTOP);
	assert_no_name_with(java, wanted, HOTSPOT_BLOB_MAPS, 0, sizeof(uint64_t));
	assert_no_name_with(java, wanted, HOTSPOT_BLOB_MAPS, block, sizeof(uint64_t));
	assert_no_name_with(java, wanted, HOTSPOT_CODE_STATE, UINT8_MAX, sizeof(uint8_t));
	if (!hotspot_has(layout, HOTSPOT_CODE_IMMUTABLE))
		return;
	assert_no_name_with(java, wanted, HOTSPOT_CODE_IMMUTABLE, block, sizeof(uint64_t));
	/* data of 64 KB before the places, whose offset then has no bit in its lower half */
	write_memory(java, wanted->key.address + layout->fields[HOTSPOT_CODE_PLACES],
				 &(uint32_t){ 0x10000 }, sizeof(uint32_t));
	assert_no_name_with(java, wanted, HOTSPOT_CODE_IMMUTABLE, block, sizeof(uint64_t));
}

/* Implements LateRead. */
static int
read_stack_word(void *context, uint64_t address, uint64_t *value)
{
	(void) context;
	return read_memory(value, sizeof(*value), address);
}

/* The state of walks in user space through the stacks of one process. */
typedef struct LateWalks
{
	ExecImage image;
	KernelTables *tables;
	Unwinder *unwinder;
	UnwindSpan library;
	CodePages *pages;
	LateWalk from;
	int status; /* of the last walk */
} LateWalks;

/* Prepares walks from a state, as of a sample taken now. */
static void
late_walks_init(LateWalks *late, Java *java, const struct pfs_walk_state *at)
{
	*late = (LateWalks){ .image = { (uint32_t) java->pid, 1, 1 },
						 .tables = memory_tables_create(),
						 .pages = code_pages_create() };
	late->from =
		(LateWalk){ .process = &late->image,
					.state = at,
					.read = read_stack_word,
					.runtime = &world.runtime,
					.memory = &java->memory,
					.code = late->pages,
					.sightings = code_sightings_create(),
					.time_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC),
					.unloaded =
						hotspot_unloads_read(&java->memory, java->target.entry.hotspot.unloaded) };
	assert_int_equal(unwinder_create(late->tables, &late->unwinder), 0);
	late->library = (UnwindSpan){ .start = java->target.bias, .end = java->library_end };
	late->library.binary = unwinder_binary_create(late->unwinder);
	assert_int_equal(unwinder_process_set(late->unwinder, &late->image, &late->library, 1, 0), 0);
	code_pages_begin(late->pages, &late->image, 1);
}

static void
late_walks_fini(LateWalks *late)
{
	unwinder_binary_release(late->unwinder, late->library.binary, 0);
	unwinder_free(late->unwinder);
	memory_tables_free(late->tables);
	code_pages_free(late->pages);
	code_sightings_free(late->from.sightings);
}

/* Walks in user space, and names the frames. Returns whether the frames are the expected ones. */
static bool
names_late(LateWalks *late, Java *java, const char *expected)
{
	static char text[16384];

	world.reads = 0;
	java->count = late_walk(late->unwinder, &late->from, java->words, WORDS_MAX, &late->status);
	name_stack(java, text, sizeof(text));
	return strncmp(text, expected, strlen(expected)) == 0 &&
		   (expected[0] != '\0' || strstr(text, "Spin") == NULL);
}

/* Interpreted methods have names unless classes were unloaded since the sample. */
static void
check_late_interpreted(LateWalks *late, Java *java, const char *expected)
{
	assert_int_equal(late->from.unloaded, 0);
	assert_true(names_late(late, java, expected));
	assert_int_equal(late->status, PFS_WALK_NO_TABLE);
	late->from.unloaded = PFS_UNLOADED_UNKNOWN;
	assert_true(names_late(late, java, expected));
	late->from.unloaded = 1;
	assert_true(names_late(late, java, ""));
	assert_int_equal(late->status, PFS_WALK_NO_TABLE);
}

/* Walks in user space. Returns whether the walk has ended before the first compiled method. */
static bool
ends_before_compiled(LateWalks *late, Java *java)
{
	CompiledCode code;

	(void) names_late(late, java, "");
	for (size_t i = 0; i < java->count; i++)
	{
		if (compiled_code_of(java->words, java->count, i, &code))
			return false;
	}
	return late->status == PFS_WALK_STALE;
}

/*
 * The walk ends before compiled methods that were not seen before the sample, or that have been
 * replaced since.
 */
static void
check_late_compiled(LateWalks *late, Java *java, const char *expected)
{
	uint64_t before_ns = late->from.time_ns;
	CompiledCode code = { 0 };
	uint64_t address;
	uint32_t other;

	assert_true(ends_before_compiled(late, java));
	/* that walk has seen the methods, but after the sample */
	assert_true(ends_before_compiled(late, java));
	late->from.time_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	assert_true(names_late(late, java, expected));
	assert_int_equal(late->status, PFS_WALK_NO_TABLE);
	/* the kernel has found the first method in an earlier sample */
	for (size_t i = 0; i < java->count; i++)
	{
		if (compiled_code_of(java->words, java->count, i, &code))
			code_sightings_note(late->from.sightings, &late->image, 1, &code, before_ns);
	}
	late->from.time_ns = before_ns;
	assert_true(names_late(late, java, expected));
	/* the walk has pages from before the code was replaced */
	address = code.address + world.runtime.hotspot.compile_id;
	other = code.id + 1;
	write_memory(java, address, &other, sizeof(other));
	(void) names_late(late, java, expected);
	assert_int_equal(late->status, PFS_WALK_STALE);
	write_memory(java, address, &code.id, sizeof(code.id));
	assert_true(names_late(late, java, expected));
	assert_int_equal(late->status, PFS_WALK_NO_TABLE);
}

static void
check_late_walk(const char *path)
{
	for (size_t way = 0; way < WAYS; way++)
	{
		static char expected[16384];
		struct pfs_walk_state at;
		LateWalks late;
		Java java;

		start_program(&java, path, ways[way], "Spin", "3");
		do
		{
			if (java.thread != 0)
				let_go(&java);
			while (!stop_thread(&java))
				(void) usleep(1000);
			at = world.walk.at;
			(void) walk_stack(&java);
			name_stack(&java, expected, sizeof(expected));
		} while (strncmp(expected, "Spin.spins", 10) != 0);
		late_walks_init(&late, &java, &at);
		if (ways[way] == interpreted)
			check_late_interpreted(&late, &java, expected);
		else
			check_late_compiled(&late, &java, expected);
		late_walks_fini(&late);
		let_go(&java);
		end_program(&java);
	}
}

static void
test_late_walk(void **state)
{
	if (each_java(check_late_walk) == 0)
		skip();
}

#define COPY_BYTES (16 * 1024)

/* A stack as it was at the time of a sample. */
typedef struct StackCopy
{
	uint64_t address;
	size_t length;
	uint8_t bytes[COPY_BYTES];
} StackCopy;

/* Implements LateRead. */
static int
read_copied_word(void *context, uint64_t address, uint64_t *value)
{
	const StackCopy *copy = context;
	uint64_t offset = address - copy->address;

	if (offset > copy->length - sizeof(*value))
		return -EFAULT;
	memcpy(value, copy->bytes + offset, sizeof(*value));
	return 0;
}

/* Copies the stack of the stopped thread, from its stack pointer on. */
static void
copy_stack(StackCopy *copy)
{
	struct iovec local = { copy->bytes, COPY_BYTES };
	struct iovec remote;
	ssize_t length;

	copy->address = world.walk.at.sp;
	remote = (struct iovec){ (void *) (uintptr_t) copy->address, COPY_BYTES };
	length = process_vm_readv(world.pid, &local, 1, &remote, 1, 0);
	assert_true(length > 4096);
	copy->length = (size_t) length;
}

/* Stops the thread in its first turn. Returns the compiled method. */
static CompiledCode
stop_in_first_turn(Java *java, struct pfs_walk_state *at, StackCopy *copy)
{
	static char text[16384];
	CompiledCode code = { 0 };

	do
	{
		if (java->thread != 0)
			let_go(java);
		while (!stop_thread(java))
			(void) usleep(1000);
		*at = world.walk.at;
		copy_stack(copy);
		(void) walk_stack(java);
		name_stack(java, text, sizeof(text));
	} while (strncmp(text, "Turns.turn0", 11) != 0 ||
			 !compiled_code_of(java->words, java->count, 0, &code));
	return code;
}

/* Waits until another method is at the place of the method. Returns false if none is. */
static bool
wait_for_other(Java *java, const CompiledCode *code)
{
	for (int i = 0; i < 1000; i++)
	{
		uint32_t id = 0;
		CodeWanted wanted = { 0 };
		bool is_named;

		(void) usleep(10000);
		assert_int_equal(read_memory(&id, sizeof(id),
									 code->address + world.runtime.hotspot.compile_id),
						 0);
		wanted.key = (CodeKey){ code->address, PFS_HOTSPOT_COMPILED(0, 0, id) };
		if (id == code->id)
			continue;
		hotspot_kind.read_codes(&java->memory, &java->target, &wanted, 1);
		is_named = wanted.code.name != NULL;
		runtime_code_fini(&wanted.code);
		if (is_named)
			return true;
	}
	return false;
}

static int replaced;

/*
 * A sample of a method whose place another one has taken before the stack is walked in user space,
 * while no class was unloaded.
 */
static void
check_replaced(const char *path)
{
	static const char *const options[] = { "-Xcomp",
										   "-XX:-TieredCompilation",
										   "-XX:+IgnoreUnrecognizedVMOptions",
										   "-XX:SweeperThreshold=0.00001",
										   "-XX:CompileCommand=quiet",
										   "-XX:CompileCommand=compileonly,Turns.turn*",
										   NULL };
	static StackCopy copy;
	struct pfs_walk_state at;
	CompiledCode code;
	LateWalks late;
	char file[64];
	Java java;

	snprintf(file, sizeof(file), "%s/go", classes);
	(void) unlink(file);
	start_program(&java, path, options, "Turns", file);
	code = stop_in_first_turn(&java, &at, &copy);
	late_walks_init(&late, &java, &at);
	late.from.read = read_copied_word;
	late.from.context = &copy;
	code_sightings_note(late.from.sightings, &late.image, 1, &code, late.from.time_ns);
	assert_true(names_late(&late, &java, "Turns.turn0"));
	let_go(&java);
	close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	if (wait_for_other(&java, &code))
	{
		replaced++;
		assert_int_equal(hotspot_unloads_read(&java.memory, java.target.entry.hotspot.unloaded),
						 late.from.unloaded);
		code_pages_begin(late.pages, &late.image, UINT64_MAX);
		(void) names_late(&late, &java, "");
		assert_int_equal(java.count, 0);
		assert_int_equal(late.status, PFS_WALK_STALE);
	}
	late_walks_fini(&late);
	end_program(&java);
}

static void
test_replaced_code(void **state)
{
	replaced = 0;
	(void) each_java(check_replaced);
	if (replaced == 0)
		skip();
	print_message("%d virtual machines replaced the method\n", replaced);
}

/* A method that is not the sampled one has no name, whatever replaced it. */
static void
check_stale(const char *path)
{
	for (size_t way = 0; way < WAYS; way++)
	{
		CodeWanted wanted[4] = { { { 0 } } };
		uint32_t next = 0;
		UserFrame frame;
		Java java;

		start_program(&java, path, ways[way], "Spin", "3");
		do
		{
			while (!stop_thread(&java))
				(void) usleep(1000);
			(void) walk_stack(&java);
			let_go(&java);
			next = 0;
			assert_true(user_frame_next(java.words, (uint32_t) java.count, &next, &frame));
			assert_true(hotspot_kind.key_of(&frame, &wanted[0].key));
		} while (PFS_HOTSPOT_FRAME(wanted[0].key.check) == PFS_HOTSPOT_FRAME_STUB);
		for (int i = 1; i < 4; i++)
			wanted[i].key = wanted[0].key;
		/* another compilation, or another constant part */
		wanted[1].key.check ^= UINT64_C(1) << 40;
		wanted[2].key.address = 4096; /* an address that cannot be read */
		wanted[3].key.address += 64;
		hotspot_kind.read_codes(&java.memory, &java.target, wanted, 4);
		assert_non_null(wanted[0].code.name);
		for (int i = 1; i < 4; i++)
			assert_null(wanted[i].code.name);
		runtime_code_fini(&wanted[0].code);
		check_unloaded(&java, &wanted[0]);
		check_undescribed(&java, &wanted[0]);
		end_program(&java);
	}
}

static void
test_stale_code(void **state)
{
	if (each_java(check_stale) == 0)
		skip();
}

#define COUNTER_BYTES 64

/* A virtual machine's counters: a head, and entries; here the test's own. */
typedef struct Counters
{
	uint32_t magic;
	uint32_t version;
	uint32_t used;
	uint32_t unused[3];
	uint32_t first;
	uint32_t count;
	struct
	{
		uint32_t length;
		uint32_t name;
		uint32_t vector;
		uint8_t type;
		uint8_t unused[3];
		uint32_t value;
		char text[COUNTER_BYTES - 28];
		uint64_t number;
	} entries[4];
} Counters;

static void
fill_counters(Counters *counters)
{
	static const char *const names[] = { "java.cls.loadedClasses", "java.cls.unloadedClasses2",
										 "java.cls.unloadedClasses", "java.cls.unloadedClasses" };

	memset(counters, 0, sizeof(*counters));
	counters->magic = 0xc0c0feca;
	counters->used = sizeof(*counters);
	counters->first = offsetof(Counters, entries);
	counters->count = 4;
	for (uint64_t i = 0; i < 4; i++)
	{
		counters->entries[i].length = COUNTER_BYTES;
		counters->entries[i].name = 20;
		counters->entries[i].type = 'J';
		counters->entries[i].value = COUNTER_BYTES - 8;
		counters->entries[i].number = i;
		strcpy(counters->entries[i].text, names[i]);
	}
}

/* The number of unloaded classes is found by its name, and in damaged counters not outside them. */
static void
test_counters(void **state)
{
	static Counters counters;
	uint64_t start = (uintptr_t) &counters;
	Patience patience;
	RemoteMemory memory = { .patience = &patience, .pid = (uint32_t) getpid() };
	const uint64_t variable = (uintptr_t) &start;
	uint32_t *const numbers[] = { &counters.first, &counters.entries[0].length,
								  &counters.entries[2].name, &counters.entries[2].value };

	assert_int_equal(patience_init(&patience), 0);
	fill_counters(&counters);
	assert_int_equal(hotspot_unloads_find(&memory, variable),
					 (uintptr_t) &counters.entries[2].number);
	assert_int_equal(hotspot_unloads_read(&memory, (uintptr_t) &counters.entries[2].number), 2);
	/* an address that cannot be read */
	assert_int_equal(hotspot_unloads_read(&memory, 4096), UINT64_MAX);
	assert_int_equal(hotspot_unloads_read(&memory, 0), 0);

	counters.entries[2].type = 'B';
	assert_int_equal(hotspot_unloads_find(&memory, variable),
					 (uintptr_t) &counters.entries[3].number);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
	{
		for (int bit = 0; bit < 32; bit++)
		{
			uint64_t found;

			fill_counters(&counters);
			*numbers[i] ^= UINT32_C(1) << bit;
			found = hotspot_unloads_find(&memory, variable);
			assert_true(found == 0 || (found >= start && found <= start + sizeof(counters) - 8));
		}
	}
	fill_counters(&counters);
	counters.magic = 0;
	assert_int_equal(hotspot_unloads_find(&memory, variable), 0);
	fill_counters(&counters);
	counters.used = UINT32_MAX; /* more than can be read */
	(void) hotspot_unloads_find(&memory, variable);
	counters.used = offsetof(Counters, entries) + 10;
	assert_int_equal(hotspot_unloads_find(&memory, variable), 0);
	start = 4096;
	assert_int_equal(hotspot_unloads_find(&memory, variable), 0);
	assert_int_equal(hotspot_unloads_find(&memory, 0), 0);
	patience_fini(&patience);
}

/* Before the virtual machine has set up its tables there is nothing to read. */
static void
test_not_yet(void **state)
{
	HotSpotFile file = { .is_known = true };
	uint64_t words[64] = { 0 };
	Patience patience;
	RemoteMemory memory = { .patience = &patience, .pid = (uint32_t) getpid() };
	HotSpotLayout layout;

	assert_int_equal(patience_init(&patience), 0);
	for (int i = 0; i < HOTSPOT_EXPORTS; i++)
		file.exports[i] = (uint64_t) (uintptr_t) &words[i];
	assert_int_equal(hotspot_layout_read(&memory, &file, 0, &layout), HOTSPOT_NOT_YET);

	/* an entry that is too large, then tables without the searched entry */
	words[HOTSPOT_STRUCTS] = (uint64_t) (uintptr_t) words;
	words[HOTSPOT_TYPES] = (uint64_t) (uintptr_t) words;
	assert_int_equal(hotspot_layout_read(&memory, &file, 0, &layout), HOTSPOT_NOT_YET);
	words[HOTSPOT_STRUCT_STRIDE] = UINT64_C(1) << 40;
	words[HOTSPOT_TYPE_STRIDE] = 48;
	assert_int_equal(hotspot_layout_read(&memory, &file, 0, &layout), HOTSPOT_UNKNOWN);
	words[HOTSPOT_STRUCT_STRIDE] = 48;
	words[HOTSPOT_TYPE_STRIDE] = 48;
	assert_int_equal(hotspot_layout_read(&memory, &file, 0, &layout), HOTSPOT_NOT_YET);
	/* a field in front of its entry */
	words[HOTSPOT_STRUCT_FIELD] = UINT64_MAX - 7;
	assert_int_equal(hotspot_layout_read(&memory, &file, 0, &layout), HOTSPOT_UNKNOWN);
	patience_fini(&patience);
}

/* Writes a number in HotSpot's encoding. */
static uint8_t *
put_number(uint8_t *to, uint32_t number, uint8_t excess)
{
	const uint32_t low = 192U - excess;

	for (int i = 0; i < 4 && number >= low; i++)
	{
		number -= low;
		*to++ = (uint8_t) (low + (number & 63) + excess);
		number >>= 6;
	}
	*to++ = (uint8_t) (number + excess);
	return to;
}

static void
test_numbers(void **state)
{
	const uint32_t numbers[] = { 0,			 1,			 63,		 64,		190,   191,
								 192,		 255,		 256,		 12479,		12480, 0xffff,
								 0x12345678, 0x7fffffff, 0xfffffffe, 0xffffffff };

	for (uint8_t excess = 0; excess < 2; excess++)
	{
		for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		{
			uint8_t bytes[8];
			uint8_t *end = put_number(bytes, numbers[i], excess);
			HotSpotStream stream = { bytes, end, excess };
			uint32_t number;

			assert_true(hotspot_number(&stream, &number));
			assert_int_equal(number, numbers[i]);
			assert_ptr_equal(stream.at, end);
			stream = (HotSpotStream){ bytes, end - 1, excess };
			assert_false(hotspot_number(&stream, &number));
		}
	}
}

/* A table of lines that go forwards and backwards. */
static void
test_lines(void **state)
{
	for (uint8_t excess = 0; excess < 2; excess++)
	{
		uint8_t bytes[64];
		uint8_t *end = bytes;
		HotSpotStream lines = { .at = bytes, .excess = excess };

		*end++ = 255; /* bytecode 0, line 100 */
		end = put_number(end, 0, excess);
		end = put_number(end, 200, excess);
		*end++ = 5 << 3 | 2; /* bytecode 5, line 102 */
		*end++ = 255;		 /* bytecode 40, line 90 */
		end = put_number(end, 70, excess);
		end = put_number(end, 23, excess);
		*end++ = 0;
		lines.end = end;
		assert_int_equal(hotspot_line(lines, -1), 100);
		assert_int_equal(hotspot_line(lines, 0), 100);
		assert_int_equal(hotspot_line(lines, 4), 100);
		assert_int_equal(hotspot_line(lines, 5), 102);
		assert_int_equal(hotspot_line(lines, 39), 102);
		assert_int_equal(hotspot_line(lines, 40), 90);
		assert_int_equal(hotspot_line(lines, 4000), 90);
		lines.end = bytes + 6;
		assert_int_equal(hotspot_line(lines, 4000), 102);
		lines.end = bytes;
		assert_int_equal(hotspot_line(lines, 0), 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spin),		  cmocka_unit_test(test_calls),
		cmocka_unit_test(test_broken_memory), cmocka_unit_test(test_lying_tables),
		cmocka_unit_test(test_stale_code),	  cmocka_unit_test(test_late_walk),
		cmocka_unit_test(test_replaced_code), cmocka_unit_test(test_counters),
		cmocka_unit_test(test_not_yet),		  cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, compile_programs, remove_programs);
}
