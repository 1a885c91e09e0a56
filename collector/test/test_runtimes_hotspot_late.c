/*
 * test_runtimes_hotspot_late.c
 *		Walks through HotSpot's frames in user space, after the sample, when methods may have been
 *		compiled, replaced or unloaded since.
 */
#include "hotspot_fixture.h"

#include "base/clock.h"
#include "memory_tables.h"
#include "runtimes/hotspot/hotspot_code.h"
#include "runtimes/hotspot/hotspot_unloads.h"
#include "unwind/late_walk.h"

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

static int
compile_programs(void **state)
{
	return compile_java(PROGRAMS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_late_walk),
		cmocka_unit_test(test_replaced_code),
	};

	return cmocka_run_group_tests(tests, compile_programs, remove_programs);
}
