/*
 * test_runtime_job.c
 *		Reads of an interpreter's functions in a probe, which answers, or does not answer in time.
 *
 * The interpreter of this test has functions whose names are numbers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtimes/runtime_job.h"

#define WORDS	 4
#define UPDATED	 42
#define ENOUGH_S 20

/* The process's data of this test's interpreter. */
typedef struct Own
{
	uint64_t updated;
} Own;

static atomic_bool is_held;			   /* functions do not return */
static atomic_uint_least32_t releases; /* of Own */
static uint64_t sampled = 7;		   /* memory of the process, which is this one */

static void
wait_while_held(void)
{
	while (atomic_load(&is_held))
		usleep(1000);
}

static void
refresh(RemoteMemory *memory, RuntimeTarget *target, const CodeWalk *walk)
{
	Own *own = target->own;

	(void) memory;
	wait_while_held();
	own->updated = walk->words[walk->count - 1];
}

/* Names each object by the last of its words, and by the word at its address. */
static void
read_codes(RemoteMemory *memory, RuntimeTarget *target, CodeWanted *wanted, size_t count)
{
	(void) target;
	wait_while_held();
	for (size_t i = 0; i < count; i++)
	{
		const RemotePieces piece = { .address = wanted[i].key.address,
									 .piece_bytes = sizeof(sampled),
									 .count = 1 };
		uint64_t word;
		char name[64];

		if (remote_memory_read(memory, &piece, &word) != sizeof(word))
			continue;
		snprintf(name, sizeof(name), "%d.%d", (int) wanted[i].more[wanted[i].more_count - 1],
				 (int) word);
		wanted[i].code.name = strdup(name);
	}
}

static void
release(RuntimeTarget *target)
{
	free(target->own);
	target->own = NULL;
	atomic_fetch_add(&releases, 1);
}

static const RuntimeKind kind = { .refresh = refresh,
								  .read_codes = read_codes,
								  .release = release };

typedef struct World
{
	Patience patience;
	RemoteMemory memory;
	RuntimeTarget target;
	uint64_t words[WORDS];
	CodeWalk walk;
	CodeWanted wanted[2];
} World;

static void
begin_world(World *world)
{
	*world = (World){ .words = { 1, 2, 3, UPDATED } };
	assert_int_equal(patience_init(&world->patience), 0);
	world->memory = (RemoteMemory){ .patience = &world->patience, .pid = (uint32_t) getpid() };
	world->target.file.kind = &kind;
	world->target.own = calloc(1, sizeof(Own));
	world->walk = (CodeWalk){ .words = world->words, .count = WORDS };
	for (size_t i = 0; i < 2; i++)
		world->wanted[i] = (CodeWanted){ .key.address = (uint64_t) (uintptr_t) &sampled,
										 .more = &world->words[i],
										 .more_count = 2 };
	world->wanted[1].key.address = 4096; /* nothing is there */
	atomic_store(&is_held, false);
	atomic_store(&releases, 0);
}

static void
test_answers(void **state)
{
	World world;

	(void) state;
	begin_world(&world);
	runtime_job_refresh(&world.memory, &world.target, &world.walk);
	assert_int_equal(((Own *) world.target.own)->updated, UPDATED);
	runtime_job_read_codes(&world.memory, &world.target, &world.walk, world.wanted, 2);
	assert_false(world.memory.stuck);
	assert_string_equal(world.wanted[0].code.name, "2.7");
	assert_null(world.wanted[1].code.name);
	assert_ptr_equal(world.wanted[0].more, &world.words[0]);
	assert_int_equal(atomic_load(&releases), 0);
	runtime_code_fini(&world.wanted[0].code);
	release(&world.target);
	patience_fini(&world.patience);
}

/* The caller goes on, and what the thread that was left behind uses is freed when it ends. */
static void
check_late(void (*run)(World *world))
{
	uint64_t until_ns;
	World world;

	begin_world(&world);
	atomic_store(&is_held, true);
	run(&world);
	assert_true(world.memory.stuck);
	assert_null(world.target.own);
	assert_null(world.wanted[0].code.name);
	/* the thread has a copy of the words */
	memset(world.words, 0xff, sizeof(world.words));
	assert_int_equal(atomic_load(&releases), 0);
	atomic_store(&is_held, false);
	until_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC) + ENOUGH_S * NS_PER_S;
	while (prober_stuck(world.patience.prober) > 0 &&
		   (uint64_t) clock_ns(CLOCK_MONOTONIC) < until_ns)
		usleep(1000);
	assert_int_equal(prober_stuck(world.patience.prober), 0);
	patience_fini(&world.patience);
	while (atomic_load(&releases) == 0 && (uint64_t) clock_ns(CLOCK_MONOTONIC) < until_ns)
		usleep(1000);
	assert_int_equal(atomic_load(&releases), 1);
}

static void
refresh_late(World *world)
{
	runtime_job_refresh(&world->memory, &world->target, &world->walk);
}

static void
read_late(World *world)
{
	runtime_job_read_codes(&world->memory, &world->target, &world->walk, world->wanted, 2);
}

static void
test_late(void **state)
{
	(void) state;
	check_late(refresh_late);
	check_late(read_late);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
