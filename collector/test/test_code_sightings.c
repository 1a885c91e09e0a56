/*
 * test_code_sightings.c
 *		The owner whose compiled methods are forgotten if there are too many, and the order in which
 *		they are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>

#include "unwind/code_sightings.h"

#define METHODS_OF_ONE	1000
#define METHODS_OF_MANY (SIGHTINGS_MAX / 4)
#define MACHINES		32

static ExecImage
machine(uint32_t pid)
{
	return (ExecImage){ .pid = pid, .start_time_ns = 1, .exec_id = 1 };
}

static void
note(CodeSightings *sightings, uint32_t pid, uint64_t owner, uint32_t id, uint64_t time_ns)
{
	ExecImage process = machine(pid);
	CompiledCode code = { .address = UINT64_C(4096) * id, .id = id };

	code_sightings_note(sightings, &process, owner, &code, time_ns);
}

static bool
had(const CodeSightings *sightings, uint32_t pid, uint32_t id, uint64_t time_ns)
{
	ExecImage process = machine(pid);
	CompiledCode code = { .address = UINT64_C(4096) * id, .id = id };

	return code_sightings_had(sightings, &process, &code, time_ns);
}

/* A method was there from its first sighting on, of its own process and compilation only. */
static void
test_first_sighting(void **state)
{
	CodeSightings *sightings = code_sightings_create();
	ExecImage process = machine(1);
	CompiledCode other = { .address = 4096, .id = 2 };

	(void) state;
	assert_non_null(sightings);
	assert_false(had(sightings, 1, 1, 100));
	note(sightings, 1, 1, 1, 100);
	assert_true(had(sightings, 1, 1, 100));
	assert_false(had(sightings, 1, 1, 99));
	note(sightings, 1, 1, 1, 90);
	note(sightings, 1, 1, 1, 110);
	assert_true(had(sightings, 1, 1, 90));
	assert_false(had(sightings, 1, 1, 89));
	assert_false(had(sightings, 2, 1, 100));
	assert_false(code_sightings_had(sightings, &process, &other, 100));
	process.exec_id++;
	other.id = 1;
	assert_false(code_sightings_had(sightings, &process, &other, 100));
	code_sightings_free(sightings);
}

/* Many machines of one owner displace no method of another owner, however recently used. */
static void
test_owner_displaces_its_own(void **state)
{
	CodeSightings *sightings = code_sightings_create();
	uint64_t noted = 0;

	(void) state;
	assert_non_null(sightings);
	for (uint32_t id = 1; id <= METHODS_OF_ONE; id++, noted++)
		note(sightings, 1, 1, id, 1);
	for (uint32_t pid = 2; pid < 2 + MACHINES; pid++)
	{
		for (uint32_t id = 1; id <= METHODS_OF_MANY; id++, noted++)
			note(sightings, pid, 2, id, 2);
	}
	for (uint32_t id = 1; id <= METHODS_OF_ONE; id++)
		assert_true(had(sightings, 1, id, 1));
	/* the hostile owner has the rest, used last */
	for (uint32_t id = 1; id <= METHODS_OF_MANY; id++)
		assert_true(had(sightings, 1 + MACHINES, id, 2));
	assert_false(had(sightings, 2, 1, 2));
	assert_in_range(code_sightings_displaced(sightings), noted - SIGHTINGS_MAX,
					noted - SIGHTINGS_MAX + 64);
	code_sightings_free(sightings);
}

/* Of an owner, the methods that were not used for the longest time are forgotten. */
static void
test_least_recently_used(void **state)
{
	CodeSightings *sightings = code_sightings_create();

	(void) state;
	assert_non_null(sightings);
	for (uint32_t id = 1; id <= SIGHTINGS_MAX; id++)
		note(sightings, 1, 1, id, 1);
	assert_int_equal(code_sightings_displaced(sightings), 0);
	for (uint32_t id = 1; id <= SIGHTINGS_MAX / 2; id++)
		note(sightings, 1, 1, id, 2);
	for (uint32_t id = 1; id <= SIGHTINGS_MAX / 2; id++)
		note(sightings, 2, 1, id, 3);
	for (uint32_t id = 1; id <= SIGHTINGS_MAX / 2; id++)
		assert_true(had(sightings, 1, id, 1));
	assert_false(had(sightings, 1, SIGHTINGS_MAX / 2 + 1, 1));
	assert_false(had(sightings, 1, SIGHTINGS_MAX, 1));
	code_sightings_free(sightings);
}

/* More owners than methods: each new one has room. */
static void
test_many_owners(void **state)
{
	CodeSightings *sightings = code_sightings_create();

	(void) state;
	assert_non_null(sightings);
	for (uint32_t pid = 1; pid <= SIGHTINGS_MAX + 100; pid++)
		note(sightings, pid, pid, 1, 1);
	assert_true(had(sightings, SIGHTINGS_MAX + 100, 1, 1));
	assert_int_equal(code_sightings_displaced(sightings), 100);
	code_sightings_free(sightings);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_sighting),
		cmocka_unit_test(test_owner_displaces_its_own),
		cmocka_unit_test(test_least_recently_used),
		cmocka_unit_test(test_many_owners),
	};

	return cmocka_run_group_tests_name("code_sightings", tests, NULL, NULL);
}
