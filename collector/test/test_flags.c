/*
 * test_flags.c
 *		Command-line flags: accepted values, and messages about others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent_config.h"
#include "base/log.h"
#include "receive/receive_options.h"
#include "serve/serve_options.h"

static AgentOptions options;
static Failure failure;

static ExitCode
parse(int count, const char *const *arguments)
{
	Flag flags[AGENT_FLAGS_MAX];
	size_t flag_count = agent_flags(&options, flags);

	memset(&failure, 0, sizeof(failure));
	return flags_parse(flags, flag_count, count, (char **) (uintptr_t) arguments, &failure);
}

#define PARSE(...)                                                          \
	parse((int) (sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *)), \
		  (const char *[]){ __VA_ARGS__ })

static void
test_defaults(void **state)
{
	assert_int_equal(parse(0, NULL), EXIT_OK);
	assert_int_equal(options.frequency_hz, 19);
	assert_int_equal(options.interval_ms, 10000);
	assert_int_equal(options.duration_ms, 0);
	assert_int_equal(options.queue_bytes, 64 << 20);
	assert_string_equal(options.database, "");
	assert_true(strlen(options.node) > 0);
	assert_false(options.label_pid);
	assert_int_equal(options.log.level, LOG_INFO);
}

static void
test_values(void **state)
{
	assert_int_equal(PARSE("--db", "host=/tmp dbname=x", "--frequency=97", "--duration", "1m30s",
						   "--interval=1s", "--label-pid", "--label-thread", "--node", "n1",
						   "--log-level", "debug", "--log-format=json", "--queue-size", "1MB",
						   "--summary=/tmp/s", "--progress"),
					 EXIT_OK);
	assert_string_equal(options.database, "host=/tmp dbname=x");
	assert_int_equal(options.frequency_hz, 97);
	assert_int_equal(options.duration_ms, 90000);
	assert_int_equal(options.interval_ms, 1000);
	assert_true(options.label_pid && options.label_thread && options.progress);
	assert_string_equal(options.node, "n1");
	assert_int_equal(options.log.level, LOG_DEBUG);
	assert_int_equal(options.log.format, 1);
	assert_int_equal(options.queue_bytes, 1 << 20);
	assert_string_equal(options.summary_file, "/tmp/s");
	assert_int_equal(PARSE("--frequency", "5", "--frequency", "7"), EXIT_OK);
	assert_int_equal(options.frequency_hz, 7);
	assert_int_equal(PARSE("--freq", "11"), EXIT_OK);
	assert_int_equal(options.frequency_hz, 11);
	/* a value may look like a flag, and may hold '=' */
	assert_int_equal(PARSE("--db=host=/tmp port=1", "--node", "--x"), EXIT_OK);
	assert_string_equal(options.database, "host=/tmp port=1");
	assert_string_equal(options.node, "--x");
}

static void
test_usage_errors(void **state)
{
	assert_int_equal(PARSE("--frequenzy", "3"), EXIT_USAGE);
	assert_string_equal(failure.message, "unrecognized flag");
	assert_non_null(strstr(failure.detail, "--frequenzy"));
	assert_non_null(strstr(failure.hint, "--frequency"));
	assert_int_equal(PARSE("--completely-different"), EXIT_USAGE);
	assert_null(strstr(failure.hint, "Perhaps"));
	assert_int_equal(PARSE("--duration"), EXIT_USAGE);
	assert_string_equal(failure.message, "a flag's value is missing");
	assert_int_equal(PARSE("stray"), EXIT_USAGE);
	assert_string_equal(failure.message, "unexpected argument");
	assert_int_equal(PARSE("-f"), EXIT_USAGE);
	assert_string_equal(failure.detail, "There is no flag -f.");
	assert_null(strstr(failure.hint, "Perhaps"));
	assert_int_equal(PARSE("--", "--frequency"), EXIT_USAGE);
	assert_string_equal(failure.message, "unexpected argument");
	/* an ambiguous prefix means neither flag */
	assert_int_equal(PARSE("--label", "3"), EXIT_USAGE);
	assert_string_equal(failure.message, "unrecognized flag");
}

static void
test_value_errors(void **state)
{
	assert_int_equal(PARSE("--frequency", "0"), EXIT_CONFIG);
	assert_non_null(strstr(failure.hint, "from 1 to 1000"));
	assert_int_equal(PARSE("--frequency", "1001"), EXIT_CONFIG);
	assert_int_equal(PARSE("--frequency", "fast"), EXIT_CONFIG);
	assert_int_equal(PARSE("--frequency", "19x"), EXIT_CONFIG);
	assert_int_equal(PARSE("--frequency", "99999999999999999999"), EXIT_CONFIG);
	assert_int_equal(PARSE("--frequency="), EXIT_CONFIG);
	assert_int_equal(PARSE("--interval", "10"), EXIT_CONFIG);
	assert_non_null(strstr(failure.detail, "--interval does not accept \"10\""));
	assert_int_equal(PARSE("--interval", "500ms"), EXIT_CONFIG);
	assert_non_null(strstr(failure.hint, "from 1s to 1h."));
	assert_int_equal(PARSE("--duration", "-1s"), EXIT_CONFIG);
	assert_int_equal(PARSE("--log-level", "loud"), EXIT_CONFIG);
	assert_non_null(strstr(failure.hint, "debug, info, warning, error"));
	assert_int_equal(PARSE("--queue-size", "64"), EXIT_CONFIG);
	assert_int_equal(PARSE("--label-pid=yes"), EXIT_CONFIG);
}

/* Each number of the hints on limits must have a unit after it. */
static void
assert_limits(const Flag *flags, size_t count)
{
	for (size_t i = 0; i < count; i++)
	{
		const bool is_size = flags[i].kind == FLAG_SIZE;

		if ((!is_size && flags[i].kind != FLAG_DURATION) || flags[i].minimum <= 0)
			continue;
		assert_int_equal(flag_take(&flags[i], is_size ? "0B" : "0ms", &failure), EXIT_CONFIG);
		for (const char *at = failure.hint; *at != '\0'; at++)
			if (*at >= '0' && *at <= '9' && (at[1] < '0' || at[1] > '9') &&
				(at[1] == '\0' || strchr(is_size ? "kMGTB" : "dhms", at[1]) == NULL))
				fail_msg("--%s: %s", flags[i].name, failure.hint);
		assert_null(strstr(failure.hint, " 0"));
	}
}

static void
test_limits_as_typed(void **state)
{
	Flag agent[AGENT_FLAGS_MAX];
	Flag receive[RECEIVE_FLAGS_MAX];
	ReceiveOptions received;
	Flag serve[SERVE_FLAGS_MAX];
	ServeOptions served;
	const Flag age = { "max-age", FLAG_DURATION, &options.duration_ms, "TIME",
					   "",		  1000,			 INT64_C(31622400000) };

	assert_int_equal(flag_take(&age, "4000d", &failure), EXIT_CONFIG);
	assert_string_equal(failure.hint, "It takes values from 1s to 366d.");
	assert_limits(agent, agent_flags(&options, agent));
	assert_limits(receive, receive_flags(&received, receive));
	assert_limits(serve, serve_flags(&served, serve));
}

/* Writes a file with these lines; its name is valid until the next call. */
static const char *
write_config(const char *lines)
{
	static char path[32];
	int file;

	snprintf(path, sizeof(path), "/tmp/flags-XXXXXX");
	file = mkstemp(path);
	assert_true(file >= 0);
	assert_int_equal(write(file, lines, strlen(lines)), strlen(lines));
	close(file);
	return path;
}

/* Reads the agent's options from a configuration of these lines and one more argument. */
static AgentConfig *
read_config(const char *lines, const char *argument)
{
	const char *path = write_config(lines);
	const char *arguments[] = { "--config", path, argument };
	AgentConfig *config;

	memset(&failure, 0, sizeof(failure));
	config = agent_config_read(&options, 3, (char **) (uintptr_t) arguments, NULL, &failure);
	unlink(path);
	return config;
}

static void
test_configuration(void **state)
{
	AgentConfig *config = read_config("# of this host\ninterval: 1m30s\n"
									  "db: host=db.example dbname=profiles\nexclude-self: true\n"
									  "keep-times: no\nnode:\nfrequency: 97\noff-cpu: 10ms\n"
									  "cache-directory: ''\nlabels: {zone: eu, tier: '1'}\n",
									  "--frequency=29");

	assert_non_null(config);
	assert_int_equal(options.interval_ms, 90000);
	assert_string_equal(options.database, "host=db.example dbname=profiles");
	assert_true(options.exclude_self);
	assert_false(options.keep_times);
	assert_string_equal(options.node, options.host_name);
	assert_string_equal(options.cache_directory, "");
	assert_int_equal(options.off_cpu_ms, 10);
	assert_int_equal(options.frequency_hz, 29); /* the command line overrides the file */
	assert_int_equal(config->rules.labels.count, 2);
	assert_false(config->kubernetes.wanted);
	assert_non_null(config->process_rules);
	agent_config_free(config);
	config =
		read_config("kubernetes: {pod_labels: [app.kubernetes.io/name], pod_annotations: [team]}",
					"--exclude-self");
	assert_non_null(config);
	assert_true(config->kubernetes.wanted);
	assert_int_equal(config->pods.chosen.count, 2);
	assert_string_equal(((const char *const *) config->pods.chosen.items)[0],
						"pod_label_app_kubernetes_io_name");
	assert_string_equal(((const char *const *) config->pods.chosen.items)[1],
						"pod_annotation_team");
	agent_config_free(config);
	config = read_config("# nothing\n", "--exclude-self");
	assert_non_null(config);
	assert_null(config->process_rules);
	agent_config_free(config);
}

static void
assert_config_fails(const char *lines, ExitCode code, const char *detail)
{
	assert_null(read_config(lines, "--exclude-self"));
	assert_int_equal(failure.code, code);
	if (strstr(failure.detail, detail) == NULL)
		fail_msg("\"%s\" is not in \"%s\"", detail, failure.detail);
}

static void
test_configuration_that_is_wrong(void **state)
{
	char argument[] = "--config=/nonexistent";
	char *arguments[] = { argument };

	assert_config_fails("interval: 10s\nintervall: 10s\n", EXIT_CONFIG,
						"line 2, column 1: There is no setting \"intervall\" here.");
	assert_string_equal(failure.hint, "Perhaps you meant \"interval\".");
	assert_config_fails("\n\ninterval: 10", EXIT_CONFIG,
						"line 3, column 11: --interval does not accept \"10\".");
	assert_config_fails("interval: [10s]", EXIT_CONFIG, "line 1, column 11: Expected a string");
	assert_config_fails("exclude-self: maybe", EXIT_CONFIG,
						"line 1, column 15: Expected true or false");
	assert_config_fails("config: /etc/passwd", EXIT_CONFIG, "no setting \"config\"");
	assert_config_fails("interval: 10s\ninterval: 20s", EXIT_CONFIG, "line 2");
	assert_config_fails("frequency = 97", EXIT_CONFIG, "line 1");
	assert_config_fails("labels: {comm: x}", EXIT_CONFIG, "\"comm\" is reserved for the agent");
	assert_config_fails("labels: {__x: x}", EXIT_CONFIG, "\"__x\" is not a valid label name");
	assert_config_fails("labels: {a-b: x}", EXIT_CONFIG, "\"a-b\" is not a valid label name");
	assert_config_fails("environment: ['A=B']", EXIT_CONFIG,
						"\"A=B\" is not a valid variable name");
	assert_config_fails("relabel_configs:\n- {action: keep}\n- {action: no}", EXIT_CONFIG,
						"line 3");
	assert_null(agent_config_read(&options, 1, arguments, NULL, &failure));
	assert_int_equal(failure.code, EXIT_IO);
	assert_string_equal(failure.detail, "\"/nonexistent\": No such file or directory.");
}

static void
test_values_are_compared(void **state)
{
	AgentOptions other;
	Flag flags[2][AGENT_FLAGS_MAX];
	size_t count = agent_flags(&options, flags[0]);

	assert_int_equal(agent_flags(&other, flags[1]), count);
	for (size_t i = 0; i < count; i++)
		assert_true(flag_values_equal(&flags[0][i], &flags[1][i]));
	other.exclude_self = true;
	other.frequency_hz++;
	other.queue_bytes++;
	other.database = "x";
	other.summary_file = "x";
	other.log.level = LOG_ERROR;
	for (size_t i = 0; i < count; i++)
	{
		static const char *const changed[] = { "exclude-self", "frequency", "queue-size",
											   "db",		   "summary",	"log-level" };
		bool is_changed = false;

		for (size_t j = 0; j < sizeof(changed) / sizeof(changed[0]); j++)
			is_changed = is_changed || strcmp(flags[0][i].name, changed[j]) == 0;
		if (flag_values_equal(&flags[0][i], &flags[1][i]) == is_changed)
			fail_msg("%s", flags[0][i].name);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_usage_errors),
		cmocka_unit_test(test_value_errors),
		cmocka_unit_test(test_limits_as_typed),
		cmocka_unit_test(test_configuration),
		cmocka_unit_test(test_configuration_that_is_wrong),
		cmocka_unit_test(test_values_are_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
