/*
 * test_threads.c
 *		Labels of threads: requested keys, values of any bytes, records that contain them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/reader/record.h"
#include "base/clock.h"
#include "labels/labeller.h"
#include "threads/custom_labels.h"
#include "threads/label_pages.h"

static void
test_keys(void **state)
{
	static const char *const refused[] = { "",
										   "a,",
										   ",a",
										   "a,,b",
										   "node",
										   "pid",
										   "thread.name",
										   "namespace",
										   "pod",
										   "container",
										   "workload",
										   "workload.kind",
										   "pod.label.app",
										   "pod_annotation_x",
										   "tenant",
										   "__name__",
										   "a.b,a-b",
										   "a,a",
										   "a23456789012345678901234567890",
										   "1,2,3,4,5,6,7,8,9" };
	/* names of the kinds of samples */
	static const char *const of_kinds[] = {
#define LABEL(identifier, profile_type, label, value) label,
		PFS_KINDS(LABEL)
#undef LABEL
	};
	CustomLabels wanted;
	const char *problem;

	for (size_t i = 0; i < sizeof(of_kinds) / sizeof(of_kinds[0]); i++)
		assert_false(custom_labels_parse(of_kinds[i], &wanted, &problem));
	assert_true(custom_labels_parse("endpoint,http.route,9x", &wanted, &problem));
	assert_int_equal(wanted.count, 3);
	assert_string_equal(wanted.keys[1], "http.route");
	assert_string_equal(wanted.names[1], "http_route");
	assert_string_equal(wanted.names[2], "_x");
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
	{
		assert_false(custom_labels_parse(refused[i], &wanted, &problem));
		assert_non_null(problem);
	}
}

static void
add(struct pfs_labels *labels, const char *key, const char *value, size_t length)
{
	struct pfs_label *label = &labels->labels[labels->count++];

	label->key_length = (uint16_t) strlen(key);
	memcpy(label->key, key, label->key_length);
	label->value_length = (uint16_t) length;
	memcpy(label->value, value, length);
}

static void
test_values(void **state)
{
	struct pfs_labels labels = { .count = 0 };
	char bad[PFS_LABEL_VALUE_BYTES];
	CustomLabels wanted;
	CustomValues values;
	const char *problem;

	assert_true(custom_labels_parse("b,a.b,none,empty,bad", &wanted, &problem));
	memset(bad, 0xff, sizeof(bad));
	add(&labels, "a.b", "one", 3);
	add(&labels, "b", "x\0y\xc3\xa4\xc3", 6);
	add(&labels, "b", "second", 6);
	add(&labels, "empty", "", 0);
	add(&labels, "bad", bad, sizeof(bad));
	add(&labels, "other", "z", 1);
	custom_labels_pick(&wanted, &labels, &values);
	assert_int_equal(values.count, 3);
	assert_string_equal(values.labels[0].name, "b");
	assert_string_equal(values.labels[0].value, "x\xef\xbf\xbdy\xc3\xa4\xef\xbf\xbd");
	assert_string_equal(values.labels[1].name, "a_b");
	assert_string_equal(values.labels[1].value, "one");
	assert_string_equal(values.labels[2].name, "bad");
	assert_int_equal(strlen(values.labels[2].value), 3 * sizeof(bad));
}

/* The id of a trace or span is not a label; a value that only resembles one stays a label. */
static void
test_traces(void **state)
{
	static const char trace[] = "4bf92f3577b34da6a3ce929d0e0e4736";
	static const char span[] = "00f067aa0ba902b7";
	struct pfs_labels labels = { .count = 0 };
	CustomLabels wanted;
	CustomValues values;
	const char *problem;

	assert_true(custom_labels_parse("route,trace_id,span.id", &wanted, &problem));
	add(&labels, "trace_id", trace, strlen(trace));
	add(&labels, "span.id", span, strlen(span));
	custom_labels_pick(&wanted, &labels, &values);
	assert_int_equal(values.count, 0);
	assert_int_equal(values.ids.trace[0], 0x4b);
	assert_int_equal(values.ids.trace[15], 0x36);
	assert_int_equal(values.ids.span[1], 0xf0);

	labels.count = 0;
	add(&labels, "route", "/", 1);
	add(&labels, "trace_id", "none", 4);
	custom_labels_pick(&wanted, &labels, &values);
	assert_int_equal(values.count, 2);
	assert_string_equal(values.labels[1].name, "trace_id");
	assert_false(pfs_trace_is_known(&values.ids) || pfs_span_is_known(&values.ids));
}

/* A record with labels, and a late walk after them; cut at any byte it is refused. */
static void
test_records(void **state)
{
	struct
	{
		struct pfs_sample sample;
		uint64_t frames[2];
		uint32_t count;
		uint32_t cut;
		uint64_t missing;
		struct pfs_label labels[2];
		uint8_t late[offsetof(struct pfs_late, bytes)];
	} bytes = { .count = 2 };
	Record record;

	bytes.sample.kernel_count = 1;
	bytes.sample.user_count = 1;
	bytes.sample.flags = PFS_SAMPLE_LABELS | PFS_SAMPLE_LATE;
	bytes.labels[1].key_length = PFS_LABEL_KEY_BYTES;
	assert_true(record_parse(&bytes, sizeof(bytes), &record));
	assert_ptr_equal(record.labels, &bytes.count);
	assert_ptr_equal(record.late, bytes.late);
	for (size_t length = 0; length < sizeof(bytes); length++)
		assert_false(record_parse(&bytes, length, &record));

	bytes.sample.flags = PFS_SAMPLE_LABELS;
	assert_true(record_parse(&bytes, offsetof(__typeof__(bytes), late), &record));
	assert_null(record.late);
	bytes.sample.flags = 0;
	assert_true(record_parse(&bytes, sizeof(bytes), &record));
	assert_null(record.labels);

	bytes.sample.flags = PFS_SAMPLE_LABELS;
	bytes.labels[1].key_length++;
	assert_false(record_parse(&bytes, sizeof(bytes), &record));
	bytes.labels[1].key_length = 0;
	bytes.labels[0].value_length = PFS_LABEL_VALUE_BYTES + 1;
	assert_false(record_parse(&bytes, sizeof(bytes), &record));
	bytes.labels[0].value_length = 0;
	bytes.count = 0;
	assert_false(record_parse(&bytes, sizeof(bytes), &record));
	bytes.missing = 1;
	assert_true(record_parse(&bytes, sizeof(bytes), &record));
	assert_int_equal(record.labels->count, 0);
	bytes.count = PFS_MAX_LABELS + 1;
	assert_false(record_parse(&bytes, sizeof(bytes), &record));
	bytes.count = UINT32_MAX;
	assert_false(record_parse(&bytes, sizeof(bytes), &record));
}

/* A page is read once a minute, and each owner has an allowance of pages. */
static void
test_pages(void **state)
{
	static LabelPages pages;
	ExecImage image = { (uint32_t) getpid(), 1, 1 };
	uint64_t now_ns = 1;
	uint64_t page = 1;
	int taken = 0;

	assert_true(label_pages_take(&pages, &image, 1, 0x1000, now_ns));
	assert_false(label_pages_take(&pages, &image, 1, 0x1fff, now_ns));
	assert_true(label_pages_take(&pages, &image, 1, 0x2000, now_ns));
	image.exec_id++;
	assert_true(label_pages_take(&pages, &image, 1, 0x1000, now_ns));
	assert_false(label_pages_take(&pages, &image, 1, 0x1000, now_ns + 59 * NS_PER_S));
	now_ns += 60 * NS_PER_S;
	assert_true(label_pages_take(&pages, &image, 1, 0x1000, now_ns));
	now_ns += 1000 * NS_PER_S;
	while (label_pages_take(&pages, &image, 1, ++page << 12, now_ns))
		taken++;
	assert_int_equal(taken, LABEL_PAGES_AT_ONCE);
	/* a page of another owner */
	assert_true(label_pages_take(&pages, &image, 2, ++page << 12, now_ns));
	now_ns += 3 * NS_PER_S;
	for (taken = 0; label_pages_take(&pages, &image, 1, ++page << 12, now_ns); taken++)
		;
	assert_int_equal(taken, 3);
}

/*
 * A program that invents values gets a limited number of series, and further samples have none of
 * its labels.
 */
static void
test_many_series(void **state)
{
	const LabellerOptions options = { .node = "n", .custom = true };
	const CgroupLabels cgroup = { .path = "", .container_id = "", .systemd_unit = "" };
	const LabelFacts facts = { .comm = "c", .exe = "", .cgroup = &cgroup };
	IssuedLabels issued = { .set = NULL };
	Labeller *labeller;
	LabelSet *plain;
	int capped_count = 0;

	assert_int_equal(labeller_create(&options, &labeller), 0);
	plain = labeller_issue(labeller, &issued, &facts, 1);
	for (int i = 0; i < 2000; i++)
	{
		char value[16];
		const BatchLabel label = { .name = "part", .value = value };
		LabelSet *set;
		LabelSet *again;
		bool capped;

		snprintf(value, sizeof(value), "%d", i);
		set = labeller_issue_with(labeller, &issued, &label, 1, &capped, 1);
		assert_non_null(set);
		assert_string_equal(label_set_value(set, "part"), capped ? "" : value);
		assert_string_equal(label_set_value(set, "comm"), "c");
		assert_true(capped == (set == plain));
		capped_count += capped;
		if (!capped)
		{
			again = labeller_issue_with(labeller, &issued, &label, 1, &capped, 1);
			assert_ptr_equal(again, set);
			assert_false(capped);
			label_set_release(again);
		}
		label_set_release(set);
	}
	assert_in_range(2000 - capped_count, LABELLER_PROCESS_BURST,
					LABELLER_PROCESS_BURST * LABELLER_THREADS_IN_EXCESS + 1);
	assert_ptr_equal(labeller_issue(labeller, &issued, &facts, 1), plain);
	issued_labels_fini(&issued);
	labeller_free(labeller);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),   cmocka_unit_test(test_values),
		cmocka_unit_test(test_traces), cmocka_unit_test(test_records),
		cmocka_unit_test(test_pages),  cmocka_unit_test(test_many_series),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
