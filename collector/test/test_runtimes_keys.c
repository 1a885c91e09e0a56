/*
 * test_runtimes_keys.c
 *		The place of a thread's state in programs of the C libraries glibc and musl: searches of
 *		CPython, Perl and Ruby find it in one thread, and the BPF code reads it in all threads.
 */
#include "runtime_replay.h"

#include "runtimes/common/beside_thread.h"
#include "runtimes/cpython/thread_place.h"
#include "runtimes/perl/perl_code.h"
#include "runtimes/ruby/ruby_place.h"
#include "shell.h"

#define THREADS			  3 /* the third one has no state */
#define KEYS_MADE		  "20"
#define STATE_STACK		  8	 /* offset in the program's state of the word for Perl */
#define STACK_TYPE		  11 /* word of four bytes with the type of Perl's stack */
#define CONTEXT_OF_THREAD 16 /* offset of the context in the program's state */

static const char *const compilers[] = { "gcc -pthread", "gcc -pthread -static", "musl-gcc",
										 "musl-gcc -static" };

typedef struct KeysProgram
{
	Replay replay;
	uint64_t key; /* address of the key's number */
	uint64_t thread_pointers[THREADS];
	uint64_t states[THREADS];
} KeysProgram;

static uint64_t
thread_pointer_of(pid_t thread)
{
	ThreadRegisters registers;

	assert_int_equal(ptrace(PTRACE_ATTACH, thread, NULL, NULL), 0);
	assert_int_equal(waitpid(thread, NULL, __WALL), thread);
	assert_true(thread_registers_read(thread, &registers));
	assert_int_equal(ptrace(PTRACE_DETACH, thread, NULL, NULL), 0);
	return registers.thread_pointer;
}

static void
start_program(KeysProgram *program, const char *path, const char *keys)
{
	const char *const arguments[] = { path, keys, NULL };
	char *rest;

	replay_start(&program->replay, arguments);
	rest = program->replay.text;
	program->key = strtoull(strsep(&rest, "\n"), NULL, 16);
	for (int i = 0; i < THREADS; i++)
	{
		unsigned long long state;
		int thread;

		assert_non_null(rest);
		assert_int_equal(sscanf(strsep(&rest, "\n"), "%d %llx", &thread, &state), 2);
		program->states[i] = state;
		program->thread_pointers[i] = thread_pointer_of(thread);
	}
	/* reads wait for an answer: a search that gave up would find nothing */
	program->replay.memory.patience = NULL;
}

/* Reads the word of a thread as the kernel does. Returns non-zero if it cannot be read. */
static int
read_state(const KeysProgram *program, const struct pfs_runtime *runtime, int thread, __u64 *word)
{
	struct pfs_runtime at = *runtime; /* the programs' code has no "const" in tests */

	*word = 1;
	replay_world_reset(program->replay.pid, program->thread_pointers[thread]);
	return pfs_read_state_word(&at, program->thread_pointers[thread], word);
}

/* The BPF code reads the states of the threads that have one, and 0 in the others. */
static void
assert_states_read(const KeysProgram *program, const struct pfs_runtime *runtime, int with_state)
{
	for (int i = 0; i < THREADS; i++)
	{
		__u64 word;

		assert_int_equal(read_state(program, runtime, i, &word), 0);
		assert_int_equal(word, i < with_state ? program->states[i] : 0);
	}
}

static struct pfs_runtime
runtime_at(const ThreadPlace *place)
{
	return (struct pfs_runtime){ .state_offset = place->offset, .state_pointer = place->pointer };
}

/* CPython: each thread with a state leads to the place, and no other thread does. */
static void
check_python(KeysProgram *program, struct pfs_runtime *runtime)
{
	PythonFile file = { .layout.minor = 11 };
	ThreadPlace places[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(thread_place_find(&program->replay.memory, &file,
										   program->thread_pointers[i], i == 0, &places[i]),
						 i < 2);
	assert_int_equal(places[0].offset, places[1].offset);
	assert_int_equal(places[0].pointer, places[1].pointer);
	*runtime = runtime_at(&places[0]);
	assert_states_read(program, runtime, 2);
}

static void
check_perl(KeysProgram *program, const struct pfs_runtime *expected)
{
	const struct pfs_perl_layout layout = { .state_stack = STATE_STACK, .stack_type = STACK_TYPE };

	for (int i = 0; i < THREADS; i++)
	{
		ThreadPlace place;

		assert_int_equal(perl_place_find(&program->replay.memory, &layout, program->key,
										 program->thread_pointers[i], &place),
						 i < 2);
		assert_true(i >= 2 || (place.offset == expected->state_offset &&
							   place.pointer == expected->state_pointer));
	}
}

static void
check_ruby(KeysProgram *program, const struct pfs_runtime *expected)
{
	const RubyLayout layout = { .has_variable = false };

	for (int i = 0; i < THREADS; i++)
	{
		struct pfs_runtime entry = { 0 };

		assert_int_equal(ruby_place_find(&program->replay.memory, &layout,
										 program->thread_pointers[i], &entry),
						 i < 2);
		assert_true(i >= 2 || (entry.state_offset == expected->state_offset &&
							   entry.state_pointer == expected->state_pointer &&
							   entry.ruby.thread_context == CONTEXT_OF_THREAD));
	}
}

/*
 * Without keys, the place that they would have contains no state. CPython 3.15 has the state in a
 * thread-local variable, which is found in the first thread.
 */
static void
check_without_keys(const char *path, const struct pfs_runtime *runtime_of_keys)
{
	PythonFile file = { .layout.minor = 11 };
	static KeysProgram program;
	struct pfs_runtime runtime;
	ThreadPlace place;

	start_program(&program, path, "none");
	assert_false(
		thread_place_find(&program.replay.memory, &file, program.thread_pointers[0], true, &place));
	assert_states_read(&program, runtime_of_keys, 0);
	file.layout.minor = 15;
	assert_true(
		thread_place_find(&program.replay.memory, &file, program.thread_pointers[0], true, &place));
	assert_int_equal(place.pointer, 0);
	runtime = runtime_at(&place);
	assert_states_read(&program, &runtime, 2);
	replay_end(&program.replay);
}

/* The pointer or the word after it cannot be read. */
static void
check_unreadable(const KeysProgram *program, const struct pfs_runtime *runtime)
{
	for (int i = 1; i <= (runtime->state_pointer != 0 ? 2 : 1); i++)
	{
		__u64 word;

		replay_world.failing_read = i;
		assert_int_not_equal(read_state(program, runtime, 0, &word), 0);
		assert_int_equal(replay_world.reads, i);
		replay_world.failing_read = 0;
	}
}

static void
test_places(void **state)
{
	char directory[] = "/tmp/profstore_test_keys_XXXXXX";
	bool has_musl = system("command -v musl-gcc >/dev/null") == 0;

	assert_non_null(mkdtemp(directory));
	for (size_t i = 0; i < sizeof(compilers) / sizeof(compilers[0]); i++)
	{
		bool is_musl = strncmp(compilers[i], "musl", 4) == 0;
		static KeysProgram program;
		struct pfs_runtime runtime;
		char path[64];

		if (is_musl && !has_musl)
			continue;
		snprintf(path, sizeof(path), "%s/keys", directory);
		run("%s -O2 -o %s %s", compilers[i], path, KEYS_SOURCE);
		start_program(&program, path, KEYS_MADE);
		check_python(&program, &runtime);
		assert_int_equal(runtime.state_pointer != 0, is_musl);
		check_perl(&program, &runtime);
		check_ruby(&program, &runtime);
		check_unreadable(&program, &runtime);
		check_without_keys(path, &runtime);
		replay_end(&program.replay);
	}
	run("rm -r %s", directory);
	if (!has_musl)
		skip();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
