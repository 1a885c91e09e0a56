/*
 * test_runtimes.c
 *		Processes with an interpreter whose place is searched for again and again.
 *
 * The process is this program, whose variables have the places of those that HotSpot exports.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtimes/runtimes.h"

#define PAUSE_NS   (100 * NS_PER_S) /* longer than the longest pause between two searches */
#define CODE_BYTES 65536

typedef struct World
{
	Runtimes *runtimes;
	RuntimeFile file;
	ExecImage image;
	uint64_t exports[HOTSPOT_EXPORTS];
	uint64_t now_ns;
} World;

/* Attaches this process as a new program. */
static void
attach(World *world)
{
	world->image.exec_id++;
	runtimes_attach(world->runtimes, &world->image, 1, &world->file, 0, world->now_ns);
}

static int
make_world(void **state)
{
	static World world;

	memset(&world, 0, sizeof(world));
	world.image = (ExecImage){ .pid = (uint32_t) getpid(), .start_time_ns = 1 };
	world.now_ns = NS_PER_S;
	world.file = (RuntimeFile){ .kind = &hotspot_kind, .is_known = true };
	world.file.hotspot.is_known = true;
	for (int i = 0; i < HOTSPOT_EXPORTS; i++)
		world.file.hotspot.exports[i] = (uint64_t) (uintptr_t) &world.exports[i];
	*state = &world;
	return runtimes_create(CODE_BYTES, &world.runtimes);
}

static int
free_world(void **state)
{
	World *world = *state;

	runtimes_free(world->runtimes);
	return 0;
}

/*
 * Searches once. started: the loader has mapped the variables, and nothing has been stored in them
 * yet; otherwise they contain another part of the file. Returns the number of processes whose
 * version is unknown.
 */
static uint64_t
unknown_after(World *world, bool started)
{
	RuntimesStats stats;

	memset(world->exports, started ? 0 : 'x', sizeof(world->exports));
	assert_true(runtimes_seeks(world->runtimes, &world->image, 0, world->now_ns));
	runtimes_seek(world->runtimes, &world->image, 0, 0, true, world->now_ns);
	world->now_ns += PAUSE_NS;
	runtimes_stats(world->runtimes, &stats);
	assert_int_equal(stats.placed, 0);
	assert_int_equal(stats.unplaced, 0);
	return stats.unknown;
}

/* A process that looks strange while it starts is searched for again. */
static void
test_starting(void **state)
{
	World *world = *state;

	attach(world);
	assert_int_equal(unknown_after(world, false), 0);
	assert_int_equal(unknown_after(world, false), 0);
	assert_int_equal(unknown_after(world, true), 0);
	assert_int_equal(unknown_after(world, false), 0);
	assert_int_equal(unknown_after(world, false), 0);
}

/* A process that stays strange is counted once, and not searched for again. */
static void
test_strange(void **state)
{
	World *world = *state;

	for (uint64_t program = 0; program < 2; program++)
	{
		attach(world);
		assert_int_equal(unknown_after(world, false), program);
		assert_int_equal(unknown_after(world, false), program);
		assert_int_equal(unknown_after(world, false), program + 1);
		assert_false(runtimes_seeks(world->runtimes, &world->image, 0, world->now_ns));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_starting, make_world, free_world),
		cmocka_unit_test_setup_teardown(test_strange, make_world, free_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
