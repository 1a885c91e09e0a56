/*
 * test_process_rules.c
 *		Relabelling of processes by a configuration: input and output of its rules.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/flusher/resolve.h"
#include "labels/process_rules.h"
#include "labels/relabel_read.h"

#define ID	   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define SECOND UINT64_C(1000000000)

#define AGENTS_OWN 3 /* number of own labels: node, comm, exe */

static Document document;
static ProcessRulesSettings settings;
static ProcessRules *rules;
static Labeller *labeller;
static LabelSource source;
static CgroupLabels cgroup;

static const char environment[] = "PATH=/bin\0SERVICE=shop\0SERVICE_2=no\0EMPTY=\0ODD=a\xff"
								  "b\0";

/* Creates a labeller with this configuration. */
static void
configure(const char *yaml)
{
	static const ConfigField fields[] = {
		{ "labels", process_rules_read_labels, offsetof(ProcessRulesSettings, labels) },
		{ "environment", process_rules_read_names, offsetof(ProcessRulesSettings, environment) },
		{ "relabel_configs", relabel_rules_read, offsetof(ProcessRulesSettings, rules) },
	};
	const LabellerOptions options = { .node = "host" };
	Failure failure = { .detail = "" };
	ConfigReader reader = { &document, &failure, "" };

	memset(&settings, 0, sizeof(settings));
	if (document_parse(&document, "test", yaml, strlen(yaml), &failure) != EXIT_OK ||
		!config_read_fields(&reader, document.root, CONFIG_FIELDS(fields), &settings))
		fail_msg("%s", failure.detail);
	assert_int_equal(process_rules_create(&settings, &source, &rules), 0);
	assert_int_equal(labeller_create(&options, &labeller), 0);
	labeller_use_rule(labeller, process_rules_apply, rules);
}

static int
teardown(void **state)
{
	labeller_free(labeller);
	process_rules_free(rules);
	document_free(&document);
	labeller = NULL;
	rules = NULL;
	source = (LabelSource){ NULL };
	return 0;
}

static LabelSet *
issue(IssuedLabels *issued, const char *comm, const char *exe)
{
	LabelFacts facts = { .exe = exe, .cgroup = &cgroup, .environment = environment, .pid = 42 };

	snprintf(facts.comm, sizeof(facts.comm), "%s", comm);
	return labeller_issue(labeller, issued, &facts, SECOND);
}

/* Returns the labels of a process, "a=1 b=2"; "dropped" if it has none. */
static const char *
labels_of(const char *comm, const char *exe)
{
	static char text[4096];
	IssuedLabels issued = { 0 };
	LabelSet *set = issue(&issued, comm, exe);
	const BatchLabel *labels;
	uint32_t count = set == NULL ? 0 : label_set_labels(set, &labels);
	size_t used = 0;

	strcpy(text, issued.dropped ? "dropped" : "");
	for (uint32_t i = 0; i < count; i++)
		used += (size_t) snprintf(text + used, sizeof(text) - used, "%s%s=%s", i > 0 ? " " : "",
								  labels[i].name, labels[i].value);
	issued_labels_fini(&issued);
	return text;
}

static void
test_own_labels(void **state)
{
	configure("labels: {zone: eu, tier: 1}");
	assert_string_equal(labels_of("nginx", "/usr/sbin/nginx"),
						"comm=nginx exe=/usr/sbin/nginx node=host tier=1 zone=eu");
}

static void
test_what_is_known(void **state)
{
	cgroup_parse("0::/system.slice/ci.service/app.slice/docker-" ID ".scope\n", &cgroup);
	configure("environment: [SERVICE, EMPTY, MISSING, ODD]\n"
			  "relabel_configs:\n"
			  "- {action: labelmap, regex: '__meta_(.+)', replacement: 'm_$1'}\n"
			  "- {action: labelkeep, regex: 'm_.*'}\n");
	assert_string_equal(
		labels_of("x", "/usr/bin/x"),
		"m_container_id=" ID " m_env_var_ODD=a\xEF\xBF\xBD"
		"b m_env_var_SERVICE=shop "
		"m_process_cgroup=/system.slice/ci.service/app.slice/docker-" ID
		".scope m_process_comm=x m_process_executable_name=x "
		"m_process_executable_path=/usr/bin/x m_process_pid=42 m_systemd_slice=system.slice "
		"m_systemd_unit=ci.service");
	memset(&cgroup, 0, sizeof(cgroup));
}

static void
test_rules(void **state)
{
	configure("environment: [SERVICE]\n"
			  "labels: {zone: eu}\n"
			  "relabel_configs:\n"
			  "- {source_labels: [comm], regex: 'cron|sshd', action: drop}\n"
			  "- {source_labels: [__meta_env_var_SERVICE], target_label: service-name}\n"
			  "- {source_labels: [comm], modulus: 8, action: hashmod, target_label: __tmp}\n"
			  "- {regex: exe, action: labeldrop}\n"
			  "- {source_labels: [comm], regex: 'secret', target_label: comm, replacement: ''}\n");
	assert_string_equal(labels_of("cron", "/usr/sbin/cron"), "dropped");
	assert_string_equal(labels_of("crond", "/usr/sbin/crond"),
						"comm=crond node=host service_name=shop zone=eu");
	assert_string_equal(labels_of("secret", "/x"), "node=host service_name=shop zone=eu");
	assert_string_equal(labels_of("odd\xff", ""), "comm=odd\xEF\xBF\xBD node=host "
												  "service_name=shop zone=eu");
}

/* Rules are evaluated once, and again after a change, but not for dropped processes. */
static void
test_asked_once(void **state)
{
	IssuedLabels issued = { 0 };
	LabelSet *set;

	configure("relabel_configs: [{source_labels: [comm], regex: a, action: keep}]");
	assert_null(issue(&issued, "b", "/b"));
	assert_true(issued.dropped);
	set = issue(&issued, "a", "/b"); /* the process took another name */
	assert_non_null(set);
	assert_false(issued.dropped);
	assert_ptr_equal(issue(&issued, "a", "/ignored: the same until it is stale"), set);
	assert_string_equal(label_set_value(set, "exe"), "/b");
	issued.stale = true;
	assert_string_equal(label_set_value(issue(&issued, "a", "/c"), "exe"), "/c");
	labeller_use_rule(labeller, NULL, NULL);
	assert_string_equal(label_set_value(issue(&issued, "b", "/c"), "comm"), "b");
	issued_labels_fini(&issued);
}

static void
add_pod(void *context, const LabelFacts *facts, LabelBuilder *labels)
{
	const char *name = context;

	if (name[0] == '\0')
		return;
	label_builder_set(labels, "pod", label_builder_copy(labels, name));
	label_builder_set(labels, "__meta_kubernetes_namespace", "shop");
	label_builder_set(labels, "comm", "nobody takes a process's own name");
}

/*
 * Labels that become known late are in the next sample, also of processes that were dropped without
 * them.
 */
static void
test_late(void **state)
{
	char name[16] = "";
	IssuedLabels issued = { 0 };

	source = (LabelSource){ add_pod, name };
	configure("relabel_configs:\n"
			  "- {source_labels: [__meta_kubernetes_namespace], regex: shop, action: keep}");
	assert_null(issue(&issued, "api", ""));
	strcpy(name, "api-1");
	assert_null(issue(&issued, "api", ""));
	labeller_learned(labeller);
	assert_non_null(issue(&issued, "api", ""));
	assert_string_equal(label_set_value(issued.set, "pod"), "api-1");
	assert_string_equal(label_set_value(issued.set, "comm"), "api");
	issued_labels_fini(&issued);
}

static const char *
value_of(const BatchSeries *series, const char *name)
{
	for (uint32_t i = 0; i < series->label_count; i++)
		if (strcmp(series->labels[i].name, name) == 0)
			return series->labels[i].value;
	return "";
}

/* More labels than a series may have: no sample is lost. */
static void
test_too_much(void **state)
{
	IssuedLabels issued = { 0 };
	char yaml[8192] = "labels:\n";
	LabelSet *set;

	for (int i = 0; i < LABELS_MAX + 1 - AGENTS_OWN; i++)
		sprintf(yaml + strlen(yaml), "  l%d: x\n", i);
	configure(yaml);
	set = issue(&issued, "a", "/a");
	assert_true(issued.failed);
	assert_false(issued.dropped);
	assert_string_equal(label_set_value(set, "comm"), LABELLER_OTHER);
	assert_string_equal(label_set_value(set, "node"), "host");
	issued_labels_fini(&issued);
}

/*
 * As many labels as a process may have: the reason of a wait has room beside them, or replaces a
 * label of a rule.
 */
static void
test_room_for_wait(void **state)
{
	static const char *const last[] = { "last", "wait" };

	for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++)
	{
		ResolveContext context = { .deadline_ns = INT64_MAX };
		ResolveStats stats = { 0 };
		IssuedLabels issued = { 0 };
		char yaml[8192] = "labels:\n";
		const BatchSeries *series;
		LabelSet *waiting;
		Interval *interval;
		uint32_t next = 0;
		uint32_t index;
		Batch *batch;

		for (int j = 0; j < LABELS_MAX - AGENTS_OWN - 1; j++)
			sprintf(yaml + strlen(yaml), "  l%d: x\n", j);
		sprintf(yaml + strlen(yaml), "relabel_configs:\n- {target_label: %s, replacement: rule}\n",
				last[i]);
		configure(yaml);
		waiting = issue(&issued, "a", "/a");
		assert_false(issued.failed);
		assert_int_equal(interval_create(NULL, 1 << 20, &interval), 0);
		assert_int_equal(interval_add_series(interval,
											 (IntervalSeries){ waiting, 1, PFS_KIND_WAIT_IO },
											 &index),
						 0);
		assert_int_equal(batch_create(1 << 20, &batch), 0);
		assert_int_equal(resolve_interval(&context, interval, &next, batch, &stats), 0);
		assert_int_equal(batch_series(batch, &series), 1);
		assert_int_equal(series[0].label_count, BATCH_MAX_LABELS - i);
		assert_string_equal(value_of(&series[0], "wait"), "io");
		assert_string_equal(value_of(&series[0], "comm"), "a");
		batch_free(batch);
		interval_free(interval);
		issued_labels_fini(&issued);
		teardown(NULL);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_own_labels, teardown),
		cmocka_unit_test_teardown(test_what_is_known, teardown),
		cmocka_unit_test_teardown(test_rules, teardown),
		cmocka_unit_test_teardown(test_asked_once, teardown),
		cmocka_unit_test_teardown(test_late, teardown),
		cmocka_unit_test_teardown(test_too_much, teardown),
		cmocka_unit_test(test_room_for_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
