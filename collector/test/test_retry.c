/*
 * test_retry.c
 *		The meaning of an SQLSTATE, and the writer's reaction, without a server.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "writer/retry.h"

#define MS INT64_C(1000000)

#define DENIED_MS 60000

static RetryVerdict
judge(Retry *retry, const char *sqlstate, int64_t now_ms)
{
	DbError error = { "" };

	db_error_set(&error, sqlstate, "could not", NULL, NULL);
	return retry_judge(retry, db_outcome_of(sqlstate), &error, false, now_ms * MS);
}

static Retry
new_retry(void)
{
	Retry retry;

	retry_init(&retry, NULL, DENIED_MS);
	retry_begin_batch(&retry, false, false);
	return retry;
}

static void
test_what_states_mean(void **state)
{
	static const struct
	{
		DbOutcome outcome;
		const char *sqlstates[20];
	} expected[] = {
		{ DB_AWAY,
		  { "08000", "08003", "08006", "08P01", "25006", "25P03", "25P04", "40001", "40P01",
			"53000", "53100", "53200", "53300", "53400", "55006", "55P03", "57P01", "57P03",
			"58030" } },
		{ DB_AWAY, { "57P02", "57P04", "57P05", "58000" } },
		{ DB_TIMEOUT, { "57014" } },
		{ DB_DENIED,
		  { "28000", "28P01", "3D000", "3F000", "42501", "42601", "42704", "42883", "42P01",
			"58P01" } },
		{ DB_EPOCH, { "55000" } },
		{ DB_REFUSED, { "22003", "22008", "22023", "23503", "23514", "54000", "P0001", "XX001" } },
	};

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		for (const char *const *sqlstate = expected[i].sqlstates; *sqlstate != NULL; sqlstate++)
			if (db_outcome_of(*sqlstate) != expected[i].outcome)
				fail_msg("%s is %d", *sqlstate, (int) db_outcome_of(*sqlstate));
}

/* The writer never abandons an unavailable database, and its waits grow up to half a minute. */
static void
test_away_is_for_ever(void **state)
{
	Retry retry = new_retry();

	for (int i = 0; i < 1000; i++)
	{
		assert_int_equal(judge(&retry, "08006", i * 30000), VERDICT_AGAIN);
		assert_in_range(retry.wait_ms, i < 9 ? 50 << i : 15000, i < 9 ? 100 << i : 30000);
	}
	assert_int_equal(retry.state, RETRY_AWAY);
	assert_int_equal(retry.away_count, 1);
	assert_int_equal(judge(&retry, "57P03", 0), VERDICT_AGAIN);
	assert_in_range(retry.wait_ms, 500, 1000);
	assert_int_equal(retry_judge(&retry, DB_OK, NULL, false, 0), VERDICT_DONE);
	assert_int_equal(retry.state, RETRY_READY);
	assert_int_equal(judge(&retry, "08006", 0), VERDICT_AGAIN);
	assert_int_equal(retry.away_count, 2);
}

/*
 * At the very first attempt a user waits for the result; later, denied access is repeated for a
 * time.
 */
static void
test_denied_has_a_bound(void **state)
{
	Retry retry = new_retry();

	assert_int_equal(judge(&retry, "28P01", 0), VERDICT_END);
	assert_int_equal(retry.state, RETRY_ENDED);

	retry = new_retry();
	assert_int_equal(judge(&retry, "08006", 0), VERDICT_AGAIN);
	assert_int_equal(judge(&retry, "28P01", 1000), VERDICT_AGAIN);
	assert_int_equal(judge(&retry, "42501", DENIED_MS + 999), VERDICT_AGAIN);
	assert_int_equal(retry.denied_count, 1);

	/* a server that was unavailable in between is being worked on */
	assert_int_equal(judge(&retry, "57P03", DENIED_MS + 999), VERDICT_AGAIN);
	assert_int_equal(judge(&retry, "28P01", DENIED_MS + 1000), VERDICT_AGAIN);
	assert_int_equal(retry.denied_count, 2);
	assert_int_equal(judge(&retry, "28P01", 2 * DENIED_MS + 999), VERDICT_AGAIN);
	assert_int_equal(judge(&retry, "28P01", 2 * DENIED_MS + 1000), VERDICT_END);
	assert_int_equal(retry.state, RETRY_ENDED);
}

static void
test_refusals_are_three(void **state)
{
	Retry retry = new_retry();
	DbError error = { "" };

	db_error_set(&error, "55000", "could not", NULL, NULL);
	for (int batch = 0; batch < 2; batch++)
	{
		retry_begin_batch(&retry, false, false);
		assert_int_equal(judge(&retry, "22003", 0), VERDICT_AGAIN);
		assert_int_equal(judge(&retry, "08006", 0), VERDICT_AGAIN);
		assert_int_equal(judge(&retry, "22003", 0), VERDICT_AGAIN);
		/* another epoch is not an error, and needs no wait */
		assert_int_equal(retry_judge(&retry, DB_EPOCH, &error, true, 0), VERDICT_AGAIN);
		assert_int_equal(retry.wait_ms, 0);
		assert_int_equal(judge(&retry, "22003", 0), VERDICT_GIVE_UP);
		assert_int_equal(retry.state, RETRY_READY);
	}
}

/*
 * A slow server counts as unavailable, but one batch that it never completes must not hold up the
 * others.
 */
static void
test_timeouts_are_ten(void **state)
{
	Retry retry = new_retry();

	for (int i = 0; i < 9; i++)
		assert_int_equal(judge(&retry, "57014", 0), VERDICT_AGAIN);
	assert_int_equal(retry.state, RETRY_AWAY);
	assert_int_equal(judge(&retry, "57014", 0), VERDICT_GIVE_UP);
	retry_begin_batch(&retry, false, false);
	assert_int_equal(judge(&retry, "57014", 0), VERDICT_AGAIN);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_states_mean),   cmocka_unit_test(test_away_is_for_ever),
		cmocka_unit_test(test_denied_has_a_bound), cmocka_unit_test(test_refusals_are_three),
		cmocka_unit_test(test_timeouts_are_ten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
