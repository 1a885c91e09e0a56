/*
 * test_pods.c
 *		Pods as lines of text describe them, and the pod of a process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "kubernetes/pod_client.h"
#include "kubernetes/pod_lines.h"
#include "labels/pod_table.h"

#define ID		 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER_ID "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define NODE_ID	 "aaaaaaaaaaaaaaaa0123456789abcdef0123456789abcdef0123456789abcdef"
#define POD		 "6a4b8f0e-8a3b-4b4f-9d52-1c1e4f5f0001"
#define POD_	 "6a4b8f0e_8a3b_4b4f_9d52_1c1e4f5f0001"
#define OTHER	 "00000000-8a3b-4b4f-9d52-1c1e4f5f0002"
#define HASH	 "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
#define SECOND	 UINT64_C(1000000000)

#define API_LINE                                                                        \
	POD "\tnamespace=shop\tpod_name=api-1\tworkload_kind=Deployment\tworkload_name=api" \
		"\tpod_label_app=a%25b%09c\tpod_label_tier=front\tcontainer=" ID " main registry/api:1 0"
#define OTHER_LINE \
	OTHER "\tnamespace=bank\tpod_name=vault\tcontainer=" OTHER_ID " safe registry/vault:1 1"

static PodTable *table;

static int
setup(void **state)
{
	return pod_table_create(&table);
}

static int
teardown(void **state)
{
	pod_table_free(table);
	return 0;
}

/* Returns the labels of a process whose control group has this path: "a=1 b=2". */
static const char *
labels_of(const char *path)
{
	static const char *const chosen[] = { "pod_label_app" };
	static char text[4096];
	PodLabels settings = { table, { (void *) (uintptr_t) chosen, 1 } };
	CgroupLabels cgroup = { .path = "" };
	LabelFacts facts = { .cgroup = &cgroup };
	LabelBuilder labels;
	size_t used = 0;

	snprintf(cgroup.path, sizeof(cgroup.path), "%s", path);
	label_builder_init(&labels);
	pod_labels_add(&settings, &facts, &labels);
	label_builder_sort(&labels);
	text[0] = '\0';
	for (size_t i = 0; i < labels.count; i++)
		if (strncmp(labels.labels[i].name, "__", 2) != 0)
			used +=
				(size_t) snprintf(text + used, sizeof(text) - used, "%s%s=%s", used > 0 ? " " : "",
								  labels.labels[i].name, labels.labels[i].value);
	label_builder_fini(&labels);
	return text;
}

#define API_LABELS                                                \
	"namespace=shop pod=api-1 pod_label_app=a%b\tc workload=api " \
	"workload_kind=Deployment"

/* Paths of the runtimes, by both drivers. */
static void
test_paths(void **state)
{
	static const char *const paths[] = {
		"/kubepods/pod" POD "/" ID,
		"/kubepods/burstable/pod" POD "/" ID,
		"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" POD_
		".slice/cri-containerd-" ID ".scope",
		"/kubepods.slice/kubepods-pod" POD_ ".slice/crio-" ID ".scope/container",
		"/kubepods.slice/kubepods-pod" POD_ ".slice/docker-" ID ".scope/init/below",
		"/system.slice/containerd.service/kubepods-burstable-pod" POD_ ".slice:cri-containerd:" ID,
		"/docker/" NODE_ID "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" POD_
		".slice/cri-containerd-" ID ".scope",
	};

	assert_int_equal(pod_table_set(table, API_LINE), 1);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		assert_string_equal(labels_of(paths[i]), "container=main " API_LABELS);
	/* the sandbox is not in the list of containers */
	assert_string_equal(labels_of("/kubepods/pod" POD "/" NODE_ID), API_LABELS);
	/* the process that watches a container is not in the list either */
	assert_string_equal(labels_of("/kubepods.slice/kubepods-pod" POD_ ".slice/crio-conmon-" ID
								  ".scope"),
						API_LABELS);
	assert_string_equal(labels_of("/system.slice/cron.service"), "");
	assert_string_equal(labels_of("/docker/" ID), ""); /* a group outside its pod's */
	assert_string_equal(labels_of("/kubepods/podcast-" POD), "");
	assert_string_equal(labels_of(""), "");
}

/* An owner that may create groups below its own cannot take another pod's name. */
static void
test_groups_of_others(void **state)
{
	assert_int_equal(pod_table_set(table, API_LINE), 1);
	assert_int_equal(pod_table_set(table, OTHER_LINE), 1);
	assert_string_equal(labels_of("/kubepods/pod" OTHER "/" OTHER_ID),
						"container=safe namespace=bank pod=vault");
	assert_string_equal(labels_of("/kubepods/pod" POD "/" ID "/kubepods/pod" OTHER "/" OTHER_ID),
						"container=main " API_LABELS);
	assert_string_equal(labels_of("/kubepods/pod" POD "/" OTHER_ID), API_LABELS);
	assert_string_equal(labels_of("/kubepods/pod" POD "/x/pod" OTHER "/" OTHER_ID), API_LABELS);
	/* an unknown pod gets no other pod's labels either */
	assert_string_equal(labels_of("/kubepods/pod6a4b8f0e-8a3b-4b4f-9d52-1c1e4f5f0009/x/pod" OTHER
								  "/" OTHER_ID),
						"");
	assert_string_equal(labels_of("/user.slice/user-1000.slice/user@1000.service/kubepods/pod" OTHER
								  "/" OTHER_ID),
						"");
}

/*
 * A pod from a file is identified by the hash of its configuration; its containers have both
 * identifiers.
 */
static void
test_static_pod(void **state)
{
	assert_int_equal(pod_table_set(table, POD "\tpod_name=etcd\tstatic_uid=" HASH "\tcontainer=" ID
											  " etcd etcd:3 0"),
					 1);
	assert_string_equal(labels_of("/kubepods/pod" HASH "/" ID), "container=etcd pod=etcd");
	assert_string_equal(labels_of("/kubepods/pod" HASH), "pod=etcd");
}

static void
test_news(void **state)
{
	assert_int_equal(pod_table_set(table, API_LINE), 1);
	assert_int_equal(pod_table_set(table, API_LINE), 0);
	assert_int_equal(pod_table_set(table, POD "\tpod_name=api-2\tcontainer=" ID " c i 0"), 1);
	assert_string_equal(labels_of("/kubepods/pod" POD "/" ID), "container=c pod=api-2");
	assert_int_equal(pod_table_count(table), 1);
	/* samples of a moment earlier still get the name */
	pod_table_remove(table, POD, SECOND);
	pod_table_sweep(table, SECOND + POD_KEEP_NS);
	assert_string_equal(labels_of("/kubepods/pod" POD "/" ID), "container=c pod=api-2");
	pod_table_sweep(table, SECOND + POD_KEEP_NS + 1);
	assert_string_equal(labels_of("/kubepods/pod" POD "/" ID), "");
	assert_int_equal(pod_table_count(table), 0);
}

/* A pod that a new process does not list is removed, but not before the list is complete. */
static void
test_told_anew(void **state)
{
	pod_table_set(table, API_LINE);
	pod_table_set(table, OTHER_LINE);
	pod_table_begin(table);
	pod_table_sweep(table, 2 * POD_KEEP_NS);
	assert_int_equal(pod_table_count(table), 2);
	assert_int_equal(pod_table_set(table, API_LINE), 0);
	pod_table_end(table, SECOND);
	pod_table_sweep(table, SECOND + POD_KEEP_NS + 1);
	assert_int_equal(pod_table_count(table), 1);
	assert_string_equal(labels_of("/kubepods/pod" POD), API_LABELS);
}

static void
test_malformed(void **state)
{
	static const char *const lines[] = {
		"",
		"\tpod_name=x",
		POD "\tpod_name",
		POD "\t=x",
		POD "\ta-b=x",
		POD "\tx=%4",
		POD "\tx=%zz",
		POD "\tx=%00",
		POD "\tx=\xff",
		POD "\tcontainer=" ID,
		POD "\tcontainer=" ID " a b 2",
		POD "\tcontainer= a b 0",
		POD "\tcontainer=" ID " a\xff b 0",
		POD "\t",
		"a-uid-that-is-far-too-long-a-uid-that-is-far-too-long-a-uid-that-is-far-too-long",
	};
	char *many = calloc(1, POD_LINE_BYTES);

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_equal(pod_table_set(table, lines[i]), -EINVAL);
	strcpy(many, POD);
	for (int i = 0; i < 1000; i++)
		strcat(many, "\ta=b");
	assert_int_equal(pod_table_set(table, many), -EINVAL);
	free(many);
	assert_int_equal(pod_table_count(table), 0);
	for (int i = 0; i < PODS_MAX; i++)
	{
		char line[64];

		snprintf(line, sizeof(line), "uid-%d\tpod_name=x", i);
		assert_int_equal(pod_table_set(table, line), 1);
	}
	assert_int_equal(pod_table_set(table, API_LINE), -ENOSPC);
}

static int
feed(PodLines *lines, const char *text)
{
	return pod_lines_take(lines, text, strlen(text), SECOND);
}

/* Lines arrive in pieces of any size. */
static void
test_lines(void **state)
{
	static const char text[] = "pod " API_LINE "\npod " OTHER_LINE "\nsynced\ngone " OTHER "\n";
	char *longer = calloc(1, POD_LINE_BYTES + 1);
	PodLines lines;

	assert_int_equal(pod_lines_init(&lines, table), 0);
	pod_lines_begin(&lines);
	for (size_t i = 0; i < strlen(text); i++)
		assert_int_equal(pod_lines_take(&lines, text + i, 1, SECOND), 0);
	assert_true(lines.news);
	assert_true(lines.synced);
	pod_table_sweep(table, SECOND + POD_KEEP_NS + 1);
	assert_int_equal(pod_table_count(table), 1);
	lines.news = false;
	assert_int_equal(feed(&lines, "pod " API_LINE "\n"), 0);
	assert_false(lines.news);
	assert_int_equal(feed(&lines, "gone nobody\n"), 0);
	assert_int_equal(feed(&lines, "hello\n"), -EINVAL);
	pod_lines_begin(&lines);
	assert_int_equal(pod_lines_take(&lines, "synced\0\n", 8, SECOND), -EINVAL);
	pod_lines_begin(&lines);
	memset(longer, 'x', POD_LINE_BYTES);
	assert_int_equal(feed(&lines, longer), 0);
	assert_int_equal(feed(&lines, "x"), -EINVAL);
	free(longer);
	pod_lines_fini(&lines);
}

/* --- the process that watches pods --- */

static atomic_int news;

static void
count_news(void *context)
{
	atomic_fetch_add(&news, 1);
}

/*
 * Writes a shell script as the program that the client starts, beside this test, and returns its
 * path.
 */
static const char *
write_program(const char *text)
{
	static char path[4096];
	FILE *file;

	assert_true(child_path("profstore-sources", path, sizeof(path)));
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "#!/bin/sh\n%s\n", text);
	fclose(file);
	assert_int_equal(chmod(path, 0755), 0);
	return path;
}

static bool
becomes(const char *path, const char *labels)
{
	const struct timespec pause = { 0, 20000000 };

	for (int i = 0; i < 1500 && strcmp(labels_of(path), labels) != 0; i++)
		nanosleep(&pause, NULL);
	return strcmp(labels_of(path), labels) == 0;
}

static PodClient *
start_client(void)
{
	const PodClientOptions options = { .node = "n", .table = table, .learned = count_news };
	Failure failure;
	PodClient *client = pod_client_start(&options, &failure);

	assert_non_null(client);
	return client;
}

/* The program ends, and is started again; pods keep their names meanwhile. */
static void
test_process_that_ends(void **state)
{
	const char *path = write_program("[ \"$1 $2\" = 'pods --node=n' ] || exit 1\n"
									 "[ -z \"$HOME$PGPASSWORD\" ] || exit 1\n"
									 "printf 'pod " POD "\\tpod_name=%s\\nsynced\\n' $$");
	PodClient *client;
	char first[64];
	int64_t began_ns;

	setenv("PGPASSWORD", "secret", 1);
	atomic_store(&news, 0);
	client = start_client();
	for (int i = 0; i < 1500 && labels_of("/kubepods/pod" POD)[0] == '\0'; i++)
		nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
	snprintf(first, sizeof(first), "%s", labels_of("/kubepods/pod" POD));
	assert_int_equal(strncmp(first, "pod=", 4), 0);
	for (int i = 0; i < 1500 && strcmp(first, labels_of("/kubepods/pod" POD)) == 0; i++)
		nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
	assert_string_not_equal(first, labels_of("/kubepods/pod" POD));
	assert_in_range(atomic_load(&news), 2, 100);
	began_ns = clock_ns(CLOCK_MONOTONIC);
	pod_client_stop(client);
	assert_in_range((clock_ns(CLOCK_MONOTONIC) - began_ns) / 1000000, 0, 60000);
	unlink(path);
}

/*
 * The program writes nothing, ignores signals and would never end: stopping the client does not
 * wait for it.
 */
static void
test_process_that_hangs(void **state)
{
	const char *path = write_program("trap '' TERM INT HUP PIPE\n"
									 "printf 'pod " POD "\\tpod_name=x\\n'; exec sleep 1000");
	PodClient *client = start_client();

	assert_true(becomes("/kubepods/pod" POD, "pod=x"));
	pod_client_stop(client);
	assert_string_equal(labels_of("/kubepods/pod" POD), "pod=x");
	unlink(path);
}

/* A malformed line is refused, and the process that wrote it is ended. */
static void
test_process_that_raves(void **state)
{
	const char *path = write_program("printf 'pod " POD "\\tpod_name=x\\n'; cat /dev/urandom");
	PodClient *client = start_client();

	assert_true(becomes("/kubepods/pod" POD, "pod=x"));
	pod_client_stop(client);
	unlink(path);
}

static void
test_program_that_is_missing(void **state)
{
	const PodClientOptions options = { .node = "n", .table = table, .learned = count_news };
	Failure failure;

	assert_null(pod_client_start(&options, &failure));
	assert_int_equal(failure.code, EXIT_IO);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_paths, setup, teardown),
		cmocka_unit_test_setup_teardown(test_groups_of_others, setup, teardown),
		cmocka_unit_test_setup_teardown(test_static_pod, setup, teardown),
		cmocka_unit_test_setup_teardown(test_news, setup, teardown),
		cmocka_unit_test_setup_teardown(test_told_anew, setup, teardown),
		cmocka_unit_test_setup_teardown(test_malformed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lines, setup, teardown),
		cmocka_unit_test_setup_teardown(test_program_that_is_missing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_process_that_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(test_process_that_hangs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_process_that_raves, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
