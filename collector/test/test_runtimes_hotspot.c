/*
 * test_runtimes_hotspot.c
 *		Frames of HotSpot: the BPF code in plain memory reads stopped threads of each Java on this
 *		machine, at each instruction of calls, and memory whose reads fail or return wrong values.
 */
#include "hotspot_fixture.h"

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

static int
compile_programs(void **state)
{
	return compile_java(PROGRAMS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spin),		  cmocka_unit_test(test_calls),
		cmocka_unit_test(test_broken_memory), cmocka_unit_test(test_lying_tables),
		cmocka_unit_test(test_stale_code),
	};

	return cmocka_run_group_tests(tests, compile_programs, remove_programs);
}
