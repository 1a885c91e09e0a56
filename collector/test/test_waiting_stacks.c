/*
 * test_waiting_stacks.c
 *		Stacks of threads that wait, in memory whose pages another process supplies when it likes:
 *		no thread waits for it.
 *
 * A wait without end is ended by a watchdog, and the test fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include <linux/userfaultfd.h>

#include "agent/reader/record.h"
#include "base/clock.h"
#include "code/user_frame.h"
#include "fuse_file.h"
#include "kernel/sampler.h"
#include "kernel/stack_reader.h"
#include "process/owner.h"

#define PATIENCE_S 20
#define PAGE_BYTES 4096

static FuseFile fuse;
static bool have_fuse;
static atomic_llong deadline_ns;
static atomic_bool overdue;

static void *
watch(void *argument)
{
	for (;;)
	{
		(void) usleep(100000);
		if (clock_ns(CLOCK_MONOTONIC) < atomic_load(&deadline_ns))
			continue;
		atomic_store(&overdue, true);
		fuse_file_let_go(&fuse);
	}
	return argument;
}

static int
setup(void **state)
{
	(void) state;
	atomic_store(&overdue, false);
	atomic_store(&deadline_ns, clock_ns(CLOCK_MONOTONIC) + PATIENCE_S * NS_PER_S);
	return 0;
}

static int
teardown(void **state)
{
	(void) state;
	fuse_file_let_go(&fuse);
	atomic_store(&deadline_ns, LLONG_MAX);
	assert_false(atomic_load(&overdue));
	return 0;
}

/* Maps two pages of the file, which were not touched before. */
static uint8_t *
map_held_file(void)
{
	int fd = open(fuse.path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	void *pages;

	assert_true(fd >= 0);
	/* a read that the watchdog ended was short, so that the kernel took the file for empty */
	assert_int_equal(fstat(fd, &status), 0);
	pages = mmap(NULL, (size_t) 2 * PAGE_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(pages, MAP_FAILED);
	close(fd);
	/* otherwise the kernel would have the pages from the previous test */
	assert_int_equal(madvise(pages, (size_t) 2 * PAGE_BYTES, MADV_DONTNEED), 0);
	return pages;
}

/* Starts a process of that user, with a copy of this one's memory. */
static pid_t
start_owner(uid_t user)
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0)
	{
		if (setresuid(user, user, user) == 0)
			(void) pause();
		_exit(1);
	}
	return child;
}

#define CHAIN_FRAMES 3

/* An interpreter's structures, like CPython's: a state, frames, their code object. */
static struct
{
	uint64_t state; /* the word that points to the frames */
	uint64_t frames[CHAIN_FRAMES][PFS_FRAME_BLOCK_WORDS];
	uint64_t code[PFS_CODE_BLOCK_WORDS];
} interpreter;

enum
{
	FRAME_PREVIOUS,
	FRAME_CODE,
	FRAME_INSTRUCTION
};

/* Links the frames, and describes them to the walk. */
static struct pfs_runtime
make_interpreter(void)
{
	struct pfs_runtime runtime = { .kind = PFS_RUNTIME_PYTHON, .is_placed = 1 };

	runtime.python.frame_previous = FRAME_PREVIOUS;
	runtime.python.frame_code = FRAME_CODE;
	runtime.python.frame_instruction = FRAME_INSTRUCTION;
	runtime.python.code_mask = 1;
	interpreter.state = (uintptr_t) interpreter.frames[0];
	for (size_t i = 0; i < CHAIN_FRAMES; i++)
	{
		bool is_last = i + 1 == CHAIN_FRAMES;

		interpreter.frames[i][FRAME_PREVIOUS] = is_last ? 0 : (uintptr_t) interpreter.frames[i + 1];
		interpreter.frames[i][FRAME_CODE] = (uintptr_t) interpreter.code;
		interpreter.frames[i][FRAME_INSTRUCTION] = (uintptr_t) interpreter.code + 2 * i;
	}
	interpreter.code[0] = 1;
	return runtime;
}

static void
assert_chain(const struct pfs_chain *chain, const uint64_t *words)
{
	uint32_t next = 0;

	assert_int_equal(chain->status, PFS_CHAIN_WHOLE);
	assert_int_equal(chain->found, 2 * CHAIN_FRAMES);
	for (size_t i = 0; i < CHAIN_FRAMES; i++)
	{
		UserFrame frame = { 0 };

		assert_true(user_frame_next(words, chain->found, &next, &frame));
		assert_int_equal(frame.interpreter, PFS_RUNTIME_PYTHON);
		assert_int_equal(frame.code, (uintptr_t) interpreter.code);
		assert_int_equal(PFS_PYTHON_INDEX(PFS_FRAME_PAYLOAD(frame.more[0])), i);
	}
}

static void
wait_for_user(pid_t process, uid_t user)
{
	while (process_read_user((uint32_t) process) != user)
		(void) usleep(1000);
}

/* Frees the reader once abandoned threads have ended, because the next test counts threads. */
static void
let_readers_end(StackReader *reader)
{
	fuse_file_let_go(&fuse);
	for (int i = 0; prober_stuck(reader->prober) > 0 && i < 3000; i++)
		(void) usleep(10000);
	assert_int_equal(prober_stuck(reader->prober), 0);
	stack_reader_fini(reader);
}

/* Only the process that does not answer, and others of its owner, get no answer. */
static void
test_one_reading_hangs(void **state)
{
	static const uint8_t bytes[3] = { 3, 1, 2 };
	static const uint64_t number = 7;
	StackRead reads[40];
	StackReader reader;
	const uint8_t *held;
	pid_t pids[3];

	if (!have_fuse)
		skip();
	held = map_held_file();
	fuse_file_hold(&fuse, FUSE_READ);
	for (size_t i = 0; i < 3; i++)
		pids[i] = start_owner(65000 + (uid_t) i);
	wait_for_user(pids[1], 65001);
	wait_for_user(pids[2], 65002);
	assert_int_equal(stack_reader_init(&reader), 0);
	for (size_t i = 0; i < 40; i++)
		reads[i] = (StackRead){ .pid = (uint32_t) pids[i % 3],
								.tid = (uint32_t) pids[i % 3],
								.address = (uintptr_t) (i == 4 ? held : bytes),
								.wanted_bytes = sizeof(bytes),
								.number_address = (uintptr_t) (i == 3 ? NULL : &number) };
	reads[6].number_address = 8; /* an unreadable address */
	reads[8].address = 8;		 /* an unreadable address */
	stack_reader_read(&reader, reads, 40);
	assert_int_equal(reader.timeouts, 1);
	for (size_t i = 0; i < 40; i++)
	{
		/* after one process of an owner has not answered, the owner's other ones are not read */
		bool is_read = i != 4 && i != 8 && (i % 3 != 1 || i < 4);

		assert_int_equal(reads[i].done_bytes, is_read ? sizeof(bytes) : 0);
		assert_int_equal(reads[i].stuck, i == 4);
		if (is_read)
			assert_memory_equal(reads[i].bytes, bytes, sizeof(bytes));
		assert_int_equal(reads[i].has_number, (is_read || i == 8) && i != 3 && i != 6);
		if (reads[i].has_number)
			assert_int_equal(reads[i].number, number);
		free(reads[i].bytes);
	}
	/* in the next round no process of that owner is read */
	reads[4].address = (uintptr_t) bytes;
	stack_reader_read(&reader, reads, 6);
	assert_int_equal(reader.timeouts, 1);
	assert_int_equal(reads[4].done_bytes, 0);
	assert_int_equal(reads[5].done_bytes, sizeof(bytes));
	for (size_t i = 0; i < 6; i++)
		free(reads[i].bytes);
	let_readers_end(&reader);
	for (size_t i = 0; i < 3; i++)
	{
		(void) kill(pids[i], SIGKILL);
		(void) waitpid(pids[i], NULL, 0);
	}
	munmap((void *) (uintptr_t) held, (size_t) 2 * PAGE_BYTES);
}

/*
 * The interpreter's chain is read together with the stack. A chain that leads into memory which
 * does not answer is abandoned, and the other threads have theirs.
 */
static void
test_chains(void **state)
{
	struct pfs_runtime runtime = make_interpreter();
	uint64_t roots[2] = { (uintptr_t) &interpreter.state, 0 }; /* the root of each thread */
	StackRead reads[40];
	StackReader reader;
	uint8_t *held;
	pid_t pids[2];

	if (!have_fuse)
		skip();
	held = map_held_file();
	roots[1] = (uintptr_t) held;
	fuse_file_hold(&fuse, FUSE_READ);
	for (size_t i = 0; i < 2; i++)
		pids[i] = start_owner(65000 + (uid_t) i);
	wait_for_user(pids[0], 65000);
	wait_for_user(pids[1], 65001);
	assert_int_equal(stack_reader_init(&reader), 0);
	for (size_t i = 0; i < 40; i++)
		reads[i] = (StackRead){ .pid = (uint32_t) pids[i % 2],
								.tid = (uint32_t) pids[i % 2],
								.address = (uintptr_t) roots,
								.wanted_bytes = sizeof(roots),
								.runtime = &runtime,
								.thread_pointer = (uintptr_t) &roots[i == 11],
								.sp = 4096 + 16 * i };
	stack_reader_read(&reader, reads, 40);
	assert_int_equal(reader.timeouts, 1);
	for (size_t i = 0; i < 40; i++)
	{
		bool is_read = i % 2 == 0 || i < 11;

		assert_int_equal(reads[i].stuck, i == 11);
		assert_int_equal(reads[i].done_bytes, is_read ? sizeof(roots) : 0);
		assert_int_equal(reads[i].chain != NULL, is_read);
		if (is_read)
		{
			const struct pfs_chain *chain = (const void *) reads[i].chain;

			assert_int_equal(chain->first_sp, 4096 + 16 * i);
			assert_int_equal(chain->end_count, 0);
			assert_int_equal(reads[i].chain_words,
							 sizeof(*chain) / sizeof(uint64_t) + 2 * CHAIN_FRAMES);
			assert_chain(chain, reads[i].chain + sizeof(*chain) / sizeof(uint64_t));
		}
		free(reads[i].bytes);
		free(reads[i].chain);
	}
	let_readers_end(&reader);
	for (size_t i = 0; i < 2; i++)
	{
		(void) kill(pids[i], SIGKILL);
		(void) waitpid(pids[i], NULL, 0);
	}
	munmap(held, (size_t) 2 * PAGE_BYTES);
}

/* Objects of V8, in the layout below: their words, by name. */
static struct
{
	uint64_t function[4];
	uint64_t shared[PFS_V8_SHARED_WORDS];
	uint64_t script[4];
	uint64_t script_map[2];
	uint64_t context[2];
} v8_objects;

#define V8_OBJECT(words) ((uintptr_t) (words) + 1)
#define V8_STACK_WORDS	 64

enum
{
	V8_SHARED_NAME = 1,
	V8_SHARED_SCRIPT,
	V8_SHARED_LENGTH,
	V8_SCRIPT_ID = 2,
	V8_SCRIPT_TYPE = 77
};

/* Builds the objects of a function, and describes them to the walk. */
static struct pfs_runtime
make_v8(void)
{
	struct pfs_runtime runtime = { .kind = PFS_RUNTIME_V8, .is_placed = 1 };
	struct pfs_v8_layout *layout = &runtime.v8;

	layout->slot_context = PFS_V8_SLOT_WORDS - 1;
	layout->slot_function = PFS_V8_SLOT_WORDS - 2;
	layout->slot_bytecodes = PFS_V8_SLOT_WORDS - 4;
	layout->slot_offset = PFS_V8_SLOT_WORDS - 5;
	layout->shared_name = V8_SHARED_NAME;
	layout->shared_script = V8_SHARED_SCRIPT;
	layout->shared_length = V8_SHARED_LENGTH;
	layout->script_id = V8_SCRIPT_ID;
	layout->function_shared = 16;
	layout->map_type = 8;
	layout->script_type = V8_SCRIPT_TYPE;
	v8_objects.function[2] = V8_OBJECT(v8_objects.shared);
	v8_objects.shared[V8_SHARED_NAME] = 5;
	v8_objects.shared[V8_SHARED_SCRIPT] = V8_OBJECT(v8_objects.script);
	v8_objects.script[0] = V8_OBJECT(v8_objects.script_map);
	v8_objects.script[V8_SCRIPT_ID] = UINT64_C(3) << 32;
	v8_objects.script_map[1] = V8_SCRIPT_TYPE;
	return runtime;
}

/* Puts a frame at one position of the stack, and its caller's at another. */
static void
put_v8_frame(uint64_t *stack, size_t place, size_t caller, uintptr_t function)
{
	stack[place] = (uintptr_t) &stack[caller];
	stack[place + 1] = 0x1000;
	stack[place - 1] = V8_OBJECT(v8_objects.context);
	stack[place - 2] = function;
	stack[place - 5] = UINT64_C(7) << 32;
}

/*
 * Frames of V8's functions are described by their addresses, from the stack pointer on: only those
 * whose slots lead to a function of a script. A stack in which every position looks like a frame
 * does not hold up the others.
 */
static void
test_v8_frames(void **state)
{
	struct pfs_runtime runtime = make_v8();
	static uint64_t stack[V8_STACK_WORDS];
	static uint64_t hostile[PFS_TEND_PAGES * PFS_LATE_CHUNK_BYTES / 8];
	const uint64_t check =
		pfs_v8_check(v8_objects.script[V8_SCRIPT_ID], v8_objects.shared[V8_SHARED_NAME], 0);
	static const uint32_t places[] = { 10 - 2, 40 - 2 };
	const struct pfs_chain *chain;
	StackReader reader;
	StackRead reads[2];
	uint32_t next = 0;
	UserFrame frame = { 0 };
	pid_t pid;

	put_v8_frame(stack, 10, 20, V8_OBJECT(v8_objects.function));
	put_v8_frame(stack, 20, 30, V8_OBJECT(v8_objects.context)); /* not the object of a function */
	/* the frame of its caller lies below */
	put_v8_frame(stack, 30, 20, V8_OBJECT(v8_objects.function));
	put_v8_frame(stack, 40, 50, V8_OBJECT(v8_objects.function));
	stack[50] = (uintptr_t) &stack[60];
	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++)
		hostile[i] = (uintptr_t) &hostile[i + 2] + 1;
	pid = start_owner(65000);
	wait_for_user(pid, 65000);
	assert_int_equal(stack_reader_init(&reader), 0);
	for (size_t i = 0; i < 2; i++)
		reads[i] = (StackRead){ .pid = (uint32_t) pid,
								.tid = (uint32_t) pid,
								.address = (uintptr_t) (i == 0 ? hostile : stack),
								.wanted_bytes = i == 0 ? sizeof(hostile) : sizeof(stack),
								.runtime = &runtime,
								.sp = (uintptr_t) (i == 0 ? hostile : stack + 2) };
	stack_reader_read(&reader, reads, 2);
	assert_int_equal(reader.timeouts, 0);
	assert_non_null(reads[0].chain);
	assert_non_null(reads[1].chain);
	chain = (const void *) reads[1].chain;
	assert_int_equal(chain->status, PFS_CHAIN_WHOLE);
	assert_int_equal(chain->marks, PFS_MARKS_PLACES);
	assert_int_equal(chain->found, 3 * 2);
	for (size_t i = 0; i < 2; i++)
	{
		assert_true(user_frame_next(reads[1].chain + sizeof(*chain) / sizeof(uint64_t),
									chain->found, &next, &frame));
		assert_int_equal(frame.interpreter, PFS_RUNTIME_V8);
		assert_int_equal(frame.code, (uintptr_t) v8_objects.shared);
		assert_int_equal(PFS_V8_CHECK(PFS_FRAME_PAYLOAD(frame.more[0])), check);
		assert_int_equal(PFS_V8_OFFSET(PFS_FRAME_PAYLOAD(frame.more[0])), 7);
		assert_int_equal(PFS_V8_NUMBER(PFS_FRAME_PAYLOAD(frame.more[1])), places[i]);
	}
	for (size_t i = 0; i < 2; i++)
	{
		free(reads[i].bytes);
		free(reads[i].chain);
	}
	stack_reader_fini(&reader);
	(void) kill(pid, SIGKILL);
	(void) waitpid(pid, NULL, 0);
}

/*
 * An owner whose processes hang again and again, each in another process, leaves at most its share
 * of threads abandoned. The processes of others are read nevertheless.
 */
static void
test_owner_goes_on_hanging(void **state)
{
	static const uint8_t bytes[1] = { 7 };
	StackReader reader;
	uint8_t *held;
	pid_t other;

	if (!have_fuse)
		skip();
	held = map_held_file();
	fuse_file_hold(&fuse, FUSE_READ);
	other = start_owner(65001);
	wait_for_user(other, 65001);
	assert_int_equal(stack_reader_init(&reader), 0);
	for (size_t i = 0; i < PROBER_OWNER_STUCK + 4; i++)
	{
		pid_t hanging = start_owner(65000);
		StackRead reads[2] = { { .pid = (uint32_t) hanging,
								 .tid = (uint32_t) hanging,
								 .address = (uintptr_t) held,
								 .wanted_bytes = sizeof(bytes) },
							   { .pid = (uint32_t) other,
								 .tid = (uint32_t) other,
								 .address = (uintptr_t) bytes,
								 .wanted_bytes = sizeof(bytes) } };

		wait_for_user(hanging, 65000);
		stack_reader_read(&reader, reads, 2);
		(void) kill(hanging, SIGKILL);
		assert_int_equal(reads[0].stuck, i < PROBER_OWNER_STUCK);
		assert_int_equal(reads[0].done_bytes, 0);
		assert_int_equal(reads[1].done_bytes, sizeof(bytes));
		free(reads[1].bytes);
		/* as if the time had passed during which the owner is skipped */
		memset(reader.stalled, 0, sizeof(reader.stalled));
		(void) waitpid(hanging, NULL, 0);
	}
	assert_int_equal(prober_stuck(reader.prober), PROBER_OWNER_STUCK);
	let_readers_end(&reader);
	(void) kill(other, SIGKILL);
	(void) waitpid(other, NULL, 0);
	munmap(held, (size_t) 2 * PAGE_BYTES);
}

#ifdef __x86_64__

typedef struct Sleeper
{
	uint8_t *stack; /* NULL: the thread's own stack */
	pthread_t thread;
	_Atomic uint32_t tid;
	_Atomic uint64_t start_time_ns; /* start time of its process, as in samples */
	_Atomic uint64_t exec_id;		/* exec id of its process, as in samples */
	int32_t state_offset;			/* offset of its thread_state from the thread pointer */
	atomic_uint chains;				/* samples of waits with the interpreter's chain */
	atomic_uint told;				/* number of samples of waits */
	atomic_uint copied;				/* samples of waits with a copy of the stack */
	_Atomic uint64_t unloaded;		/* number of unloaded classes in the last one */
} Sleeper;

#define CROWD 1500

/* Threads whose records fill several batches. */
typedef struct Member
{
	pthread_t thread;
	_Atomic uint32_t tid;
	unsigned told; /* number of samples of waits */
} Member;

static Sleeper sleepers[3];
static _Thread_local uint64_t thread_state; /* the word that points to the interpreter's state */
static Member crowd[CROWD];
static int crowd_pipe[2]; /* the threads end when this pipe is closed */

/* Sleeps with the stack pointer in the page. */
static void *
sleep_there(void *argument)
{
	static const struct timespec time = { 2, 0 };
	Sleeper *sleeper = argument;
	uint64_t sp = (uintptr_t) (sleeper->stack + PAGE_BYTES / 2);
	long result;

	thread_state = (uintptr_t) &interpreter.state;
	sleeper->state_offset =
		(int32_t) ((intptr_t) &thread_state - (intptr_t) __builtin_thread_pointer());
	atomic_store(&sleeper->tid, (uint32_t) gettid());
	if (sleeper->stack == NULL)
		(void) nanosleep(&time, NULL);
	else
		__asm__ volatile("mov %%rsp, %%rbx; mov %[sp], %%rsp; syscall; mov %%rbx, %%rsp"
						 : "=a"(result)
						 : "a"(SYS_nanosleep), "D"(&time), "S"(0L), [sp] "r"(sp)
						 : "rcx", "r11", "rbx", "memory");
	return NULL;
}

static void
on_record(void *context, const void *bytes, size_t length_bytes)
{
	Record record;

	(void) context;
	assert_true(record_parse(bytes, length_bytes, &record));
	if (record.sample->kind == PFS_KIND_ON_CPU)
		return;
	for (size_t i = 0; i < sizeof(sleepers) / sizeof(sleepers[0]); i++)
	{
		if (record.sample->tid != atomic_load(&sleepers[i].tid))
			continue;
		atomic_store(&sleepers[i].start_time_ns, record.sample->start_time_ns);
		atomic_store(&sleepers[i].exec_id, record.sample->exec_id);
		if (record.chain != NULL)
		{
			assert_chain(record.chain, record.chain_words);
			atomic_fetch_add(&sleepers[i].chains, 1);
		}
		if (record.late != NULL)
			atomic_store(&sleepers[i].unloaded, record.late->unloaded);
		atomic_fetch_add(&sleepers[i].told, 1);
		atomic_fetch_add(&sleepers[i].copied, record.late != NULL && record.late->length > 0);
	}
}

static void *
stay_in_crowd(void *argument)
{
	Member *member = argument;
	ssize_t length;
	char byte;

	atomic_store(&member->tid, (uint32_t) gettid());
	length = read(crowd_pipe[0], &byte, 1);
	(void) length;
	return NULL;
}

static void
on_crowd_record(void *context, const void *bytes, size_t length_bytes)
{
	Record record;

	(void) context;
	assert_true(record_parse(bytes, length_bytes, &record));
	for (size_t i = 0; i < CROWD && record.sample->kind != PFS_KIND_ON_CPU; i++)
		crowd[i].told += record.sample->tid == atomic_load(&crowd[i].tid);
}

/* Each wait is delivered, also one whose record crosses the end of a batch. */
static void
test_waits_of_many_threads(void **state)
{
	static Losses losses;
	const SamplerOptions options = { .frequency_hz = 1,
									 .memory_bytes = (size_t) 96 << 20,
									 .sources = { .off_cpu_period_ns = 10000000,
												  .off_cpu_rate = 1000000 },
									 .losses = &losses,
									 .interval_ns = NS_PER_S };
	unsigned missing = 0;
	pthread_attr_t small;
	Sampler *sampler;
	Failure failure;

	if (sampler_create(&options, on_crowd_record, NULL, &sampler, &failure) != EXIT_OK)
	{
		print_message("skipped: %s: %s\n", failure.message, failure.detail);
		assert_int_equal(failure.code, EXIT_PRIVILEGE);
		skip();
	}
	assert_int_equal(sampler_attach(sampler, &failure), EXIT_OK);
	assert_int_equal(pipe(crowd_pipe), 0);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, (size_t) 64 * 1024);
	for (size_t i = 0; i < CROWD; i++)
		assert_int_equal(pthread_create(&crowd[i].thread, &small, stay_in_crowd, &crowd[i]), 0);
	for (size_t i = 0; i < CROWD; i++)
	{
		while (atomic_load(&crowd[i].tid) == 0)
			(void) usleep(1000);
	}
	(void) usleep(300000);
	sampler_tend(sampler);
	for (size_t i = 0; i < CROWD; i++)
		missing += crowd[i].told == 0;
	assert_int_equal(missing, 0);
	close(crowd_pipe[1]);
	for (size_t i = 0; i < CROWD; i++)
		pthread_join(crowd[i].thread, NULL);
	close(crowd_pipe[0]);
	pthread_attr_destroy(&small);
	sampler_stop(sampler);
	sampler_free(sampler);
}

/*
 * Maps memory whose pages another thread would have to supply; NULL: this machine does not support
 * it.
 */
static uint8_t *
map_user_memory(int *fd)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register area = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	uint8_t *pages = mmap(NULL, (size_t) 2 * PAGE_BYTES, PROT_READ | PROT_WRITE,
						  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*fd = (int) syscall(SYS_userfaultfd, O_CLOEXEC);
	area.range.start = (uintptr_t) pages;
	area.range.len = (uint64_t) 2 * PAGE_BYTES;
	if (*fd < 0 || ioctl(*fd, UFFDIO_API, &api) != 0 || ioctl(*fd, UFFDIO_REGISTER, &area) != 0)
		return NULL;
	return pages;
}

/* Waits with a stack in such memory are reported without the stack, other waits with it. */
static void
test_waits_that_go_on(void **state)
{
	static Losses losses;
	const SamplerOptions options = { .frequency_hz = 1,
									 .memory_bytes = (size_t) 96 << 20,
									 .sources = { .off_cpu_period_ns = 10000000,
												  .off_cpu_rate = 1000000 },
									 .losses = &losses,
									 .interval_ns = 300000000 };
	Sampler *sampler;
	Failure failure;
	int fd;

	if (!have_fuse)
		skip();
	memset(sleepers, 0, sizeof(sleepers));
	sleepers[0].stack = map_held_file();
	sleepers[1].stack = map_user_memory(&fd);
	fuse_file_hold(&fuse, FUSE_READ);
	if (sampler_create(&options, on_record, NULL, &sampler, &failure) != EXIT_OK)
	{
		print_message("skipped: %s: %s\n", failure.message, failure.detail);
		assert_int_equal(failure.code, EXIT_PRIVILEGE);
		skip();
	}
	assert_int_equal(sampler_attach(sampler, &failure), EXIT_OK);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&sleepers[i].thread, NULL, sleep_there, &sleepers[i]), 0);
	(void) usleep(500000);
	sampler_tend(sampler);
	assert_false(atomic_load(&overdue));
	for (size_t i = 0; i < 3; i++)
	{
		assert_int_equal(atomic_load(&sleepers[i].told), 1);
		assert_int_equal(atomic_load(&sleepers[i].copied), i == 2 || sleepers[i].stack == NULL);
	}
	/* no thread was abandoned, so no read was attempted */
	assert_int_equal(atomic_load(&fuse.held_count), 0);
	assert_true(losses_total(&losses, LOSS_WAITS_UNREAD) >= 1);
	for (size_t i = 0; i < 3; i++)
		pthread_join(sleepers[i].thread, NULL);
	sampler_stop(sampler);
	sampler_free(sampler);
	munmap(sleepers[0].stack, (size_t) 2 * PAGE_BYTES);
	if (fd >= 0)
		close(fd);
}

/*
 * An ongoing wait has the interpreter's chain, as soon as the process is known, or HotSpot's number
 * of unloaded classes.
 */
static void
test_chain_of_a_wait(void **state)
{
	static Losses losses;
	const SamplerOptions options = { .frequency_hz = 1,
									 .memory_bytes = (size_t) 96 << 20,
									 .sources = { .off_cpu_period_ns = 10000000,
												  .off_cpu_rate = 1000000 },
									 .losses = &losses,
									 .interval_ns = 300000000 };
	static const uint64_t unloaded = 12;
	struct pfs_runtime runtime = make_interpreter();
	Sleeper *sleeper = &sleepers[0];
	KernelTables *tables;
	Sampler *sampler;
	Failure failure;

	memset(sleepers, 0, sizeof(sleepers));
	if (sampler_create(&options, on_record, NULL, &sampler, &failure) != EXIT_OK)
	{
		print_message("skipped: %s: %s\n", failure.message, failure.detail);
		assert_int_equal(failure.code, EXIT_PRIVILEGE);
		skip();
	}
	assert_int_equal(sampler_attach(sampler, &failure), EXIT_OK);
	assert_int_equal(pthread_create(&sleeper->thread, NULL, sleep_there, sleeper), 0);
	while (atomic_load(&sleeper->tid) == 0)
		(void) usleep(1000);
	(void) usleep(200000);
	sampler_tend(sampler);
	assert_int_equal(atomic_load(&sleeper->copied), 1);
	assert_int_equal(atomic_load(&sleeper->chains), 0);
	runtime.start_time_ns = atomic_load(&sleeper->start_time_ns);
	runtime.exec_id = atomic_load(&sleeper->exec_id);
	runtime.state_offset = sleeper->state_offset;
	tables = sampler_tables(sampler);
	assert_int_equal(tables->ops->set_runtime(tables, (uint32_t) getpid(), &runtime), 0);
	(void) usleep(200000);
	sampler_tend(sampler);
	assert_int_equal(atomic_load(&sleeper->copied), 2);
	assert_int_equal(atomic_load(&sleeper->chains), 1);
	/* another image with that pid is another process */
	runtime.exec_id++;
	assert_int_equal(tables->ops->set_runtime(tables, (uint32_t) getpid(), &runtime), 0);
	(void) usleep(200000);
	sampler_tend(sampler);
	assert_int_equal(atomic_load(&sleeper->copied), 3);
	assert_int_equal(atomic_load(&sleeper->chains), 1);
	assert_true(atomic_load(&sleeper->unloaded) == PFS_UNLOADED_UNKNOWN);
	runtime.exec_id--;
	runtime.kind = PFS_RUNTIME_HOTSPOT;
	runtime.hotspot = (struct pfs_hotspot_layout){ .unloaded = (uintptr_t) &unloaded };
	assert_int_equal(tables->ops->set_runtime(tables, (uint32_t) getpid(), &runtime), 0);
	(void) usleep(200000);
	sampler_tend(sampler);
	assert_int_equal(atomic_load(&sleeper->copied), 4);
	assert_int_equal(atomic_load(&sleeper->chains), 1);
	assert_int_equal(atomic_load(&sleeper->unloaded), unloaded);
	pthread_join(sleeper->thread, NULL);
	sampler_stop(sampler);
	sampler_free(sampler);
}

#endif

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_reading_hangs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_chains, setup, teardown),
		cmocka_unit_test(test_v8_frames),
		cmocka_unit_test_setup_teardown(test_owner_goes_on_hanging, setup, teardown),
#ifdef __x86_64__
		cmocka_unit_test_setup_teardown(test_waits_that_go_on, setup, teardown),
		cmocka_unit_test_setup_teardown(test_chain_of_a_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(test_waits_of_many_threads, setup, teardown),
#endif
	};
	pthread_t watchdog;
	int failed;

	have_fuse = fuse_file_open(&fuse);
	atomic_store(&deadline_ns, LLONG_MAX);
	if (pthread_create(&watchdog, NULL, watch, NULL) != 0)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (have_fuse)
		fuse_file_close(&fuse);
	return failed;
}
