/*
 * test_governor.c
 *		The governor as a pure function, with a collector whose cost depends on its frequency.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/agent_options.h"
#include "agent/governor.h"
#include "agent/reader/table_account.h"
#include "base/clock.h"

#define MB ((size_t) 1 << 20)

static const GovernorLimits limits = {
	.frequency_hz = 19,
	.cpu_percent = 5,
	.memory_bytes = 256 * MB,
};

typedef struct Run
{
	Governor governor;
	GovernorReading reading;
} Run;

static void
begin(Run *run, const GovernorLimits *of)
{
	run->reading = (GovernorReading){ .now_ns = 100 * NS_PER_S, .resident_bytes = 50 * MB };
	governor_init(&run->governor, of, &run->reading);
}

/* Lets seconds pass: each sample costs sample_ns of CPU time, each second second_ns more. */
static void
pass(Run *run, int seconds, int64_t sample_ns, int64_t second_ns)
{
	for (int i = 0; i < seconds; i++)
	{
		run->reading.now_ns += NS_PER_S;
		run->reading.cpu_ns += second_ns + run->governor.frequency_hz * sample_ns;
		governor_observe(&run->governor, &run->reading);
	}
}

static void
test_below(void **state)
{
	Run run;

	begin(&run, &limits);
	pass(&run, 600, NS_PER_S / 1000, 0); /* 1.9 % of a CPU */
	assert_int_equal(run.governor.frequency_hz, 19);
	assert_false(run.governor.symbols_wait);
}

/* Three CPU seconds at once are the allowance of a minute at 5 %. */
static void
test_burst(void **state)
{
	Run run;

	begin(&run, &limits);
	pass(&run, 4, 0, NS_PER_S * 7 / 10);
	assert_int_equal(run.governor.frequency_hz, 19);
	assert_false(run.governor.symbols_wait);
	pass(&run, 2, 0, NS_PER_S);
	assert_int_equal(run.governor.frequency_hz, 9);
	assert_true(run.governor.symbols_wait);
}

/* 10 ms a sample are 19 % at 19 Hz, 9 % at 9 Hz, 4 % at 4 Hz. */
static void
test_excess(void **state)
{
	Run run;
	int64_t before_ns;
	int changes = 0;
	int64_t frequency_hz;

	begin(&run, &limits);
	pass(&run, 60, NS_PER_S / 100, 0);
	assert_int_equal(run.governor.frequency_hz, 4);
	/* from here on the ceiling holds, and the frequency does not swing */
	before_ns = run.reading.cpu_ns;
	frequency_hz = run.governor.frequency_hz;
	for (int i = 0; i < 600; i++)
	{
		pass(&run, 1, NS_PER_S / 100, 0);
		changes += run.governor.frequency_hz != frequency_hz;
		frequency_hz = run.governor.frequency_hz;
	}
	assert_true(run.reading.cpu_ns - before_ns <= 600 * NS_PER_S / 20);
	assert_int_equal(changes, 0);
	/* below the lowest frequency the governor only makes symbols wait */
	pass(&run, 60, NS_PER_S / 20, 0);
	assert_int_equal(run.governor.frequency_hz, GOVERNOR_FREQUENCY_HZ_MIN);
	assert_true(run.governor.symbols_wait);
}

static void
test_recovery(void **state)
{
	Run run;
	int64_t seconds_at[20] = { 0 };

	begin(&run, &limits);
	pass(&run, 60, NS_PER_S / 100, 0);
	assert_int_equal(run.governor.frequency_hz, 4);
	for (int i = 0; i < 300 && run.governor.frequency_hz < 19; i++)
	{
		pass(&run, 1, NS_PER_S / 10000, 0);
		seconds_at[run.governor.frequency_hz]++;
	}
	assert_int_equal(run.governor.frequency_hz, 19);
	assert_false(run.governor.symbols_wait);
	assert_true(seconds_at[4] >= 29 && seconds_at[9] >= 29); /* it recovers slowly */
}

/* A configured frequency below the lowest that the governor chooses stays as it is. */
static void
test_low_frequency(void **state)
{
	const GovernorLimits low = { .frequency_hz = 2, .cpu_percent = 1, .memory_bytes = 256 * MB };
	Run run;

	begin(&run, &low);
	pass(&run, 100, NS_PER_S / 10, 0);
	assert_int_equal(run.governor.frequency_hz, 2);
}

/* The time of a worker that ended between two readings is missing for a moment. */
static void
test_clock_steps_back(void **state)
{
	Run run;
	double credit_ns;

	begin(&run, &limits);
	pass(&run, 3, 0, NS_PER_S / 2);
	credit_ns = run.governor.credit_ns;
	run.reading.cpu_ns -= NS_PER_S;
	pass(&run, 1, 0, 0);
	assert_true(run.governor.credit_ns > credit_ns);
	run.reading.cpu_ns += NS_PER_S;
	pass(&run, 1, 0, 0);
	assert_true(run.governor.credit_ns > credit_ns); /* the worker's time was not charged twice */
	governor_observe(&run.governor, &run.reading);	 /* no time has passed */
	assert_int_equal(run.governor.frequency_hz, 19);
}

static void
test_memory(void **state)
{
	Run run;
	int shrinks = 0;

	begin(&run, &limits);
	for (int i = 0; i < 10; i++)
	{
		run.reading.resident_bytes = 225 * MB;
		pass(&run, 1, 0, 0);
		shrinks += run.governor.shrink;
		assert_false(run.governor.refuse);
	}
	assert_int_equal(shrinks, 2); /* once every five seconds */
	run.reading.resident_bytes = 257 * MB;
	pass(&run, 1, 0, 0);
	assert_true(run.governor.refuse);
	run.reading.resident_bytes = 230 * MB;
	pass(&run, 1, 0, 0);
	assert_true(run.governor.refuse); /* until memory is available again */
	run.reading.resident_bytes = 200 * MB;
	pass(&run, 1, 0, 0);
	assert_false(run.governor.refuse || run.governor.shrink);
}

static void
test_default_ceiling(void **state)
{
	AgentOptions options = { .frequency_hz = 19 };

	assert_int_equal(agent_max_cpu_percent(&options, 2), 4);
	assert_int_equal(agent_max_cpu_percent(&options, 64), 128);
	options.frequency_hz = 1;
	assert_int_equal(agent_max_cpu_percent(&options, 1), 2);
	options.frequency_hz = 97;
	assert_int_equal(agent_max_cpu_percent(&options, 2), 20);
	options.frequency_hz = 1000;
	assert_int_equal(agent_max_cpu_percent(&options, 2), 50);
	options.max_cpu_percent = 7;
	assert_int_equal(agent_max_cpu_percent(&options, 2), 7);
}

#define OWNER UINT64_C(1000)
#define OTHER UINT64_C(1001)

/*
 * Returns the CPU seconds of tables for an owner that always requests more, each of a quarter
 * second.
 */
static double
seconds_of_tables(TableAccount *account, uint64_t owner, uint64_t from_s, uint64_t to_s)
{
	double seconds = 0;

	for (uint64_t now_ns = from_s * NS_PER_S; now_ns < to_s * NS_PER_S; now_ns += NS_PER_S / 10)
	{
		if (!table_account_may(account, owner, now_ns))
			continue;
		table_account_charge(account, owner, now_ns, NS_PER_S / 4);
		seconds += 0.25;
	}
	return seconds;
}

/*
 * An owner whose tables alternate gets a burst, then a quarter of --max-cpu; other owners' tables
 * are made.
 */
static void
test_tables(void **state)
{
	TableAccount account = { .cpu_percent = 4 };
	double first = seconds_of_tables(&account, OWNER, 100, 200);
	double later;

	/* half a minute of 4 %, and 1 % of the time after it */
	assert_true(first > 1.2 && first <= 1.2 + 1 + 0.5);
	later = seconds_of_tables(&account, OWNER, 200, 1200);
	assert_true(later > 9 && later <= 10.5);
	assert_true(table_account_may(&account, OTHER, 1200 * NS_PER_S));
}

/* While the agent exceeds its share, no table is made on credit. */
static void
test_tables_rest(void **state)
{
	TableAccount account = { .cpu_percent = 4, .resting = true };

	assert_true(table_account_may(&account, OWNER, 100 * NS_PER_S));
	table_account_charge(&account, OWNER, 100 * NS_PER_S, NS_PER_S / 10);
	assert_false(table_account_may(&account, OWNER, 101 * NS_PER_S));
	assert_true(table_account_may(&account, OTHER, 101 * NS_PER_S));
	assert_true(table_account_may(&account, OWNER, 110 * NS_PER_S));
	account.resting = false;
	assert_true(table_account_may(&account, OWNER, 101 * NS_PER_S));
}

/* Owners without a number replace the one that owes least, never the one that owes most. */
static void
test_tables_owners(void **state)
{
	TableAccount account = { .cpu_percent = 4 };

	table_account_charge(&account, OWNER, 100 * NS_PER_S, 10 * NS_PER_S);
	for (uint64_t other = 0; other < 10 * TABLE_ACCOUNT_OWNERS; other++)
		table_account_charge(&account, OTHER + other, 100 * NS_PER_S, NS_PER_S);
	assert_false(table_account_may(&account, OWNER, 101 * NS_PER_S));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_below),		  cmocka_unit_test(test_burst),
		cmocka_unit_test(test_excess),		  cmocka_unit_test(test_recovery),
		cmocka_unit_test(test_low_frequency), cmocka_unit_test(test_clock_steps_back),
		cmocka_unit_test(test_memory),		  cmocka_unit_test(test_default_ceiling),
		cmocka_unit_test(test_tables),		  cmocka_unit_test(test_tables_rest),
		cmocka_unit_test(test_tables_owners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
