/*
 * test_labels.c
 *		Control group paths of the container runtimes and of systemd.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "labels/cgroup.h"
#include "labels/cgroup_table.h"
#include "labels/labeller.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

#define OTHER_ID "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define POD		 "pod6a4b8f0e-8a3b-4b4f-9d52-1c1e4f5f0001"

static void
check(const char *text, const char *path, const char *container_id, const char *systemd_unit)
{
	CgroupLabels labels;

	cgroup_parse(text, &labels);
	assert_string_equal(labels.path, path);
	assert_string_equal(labels.container_id, container_id);
	assert_string_equal(labels.systemd_unit, systemd_unit);
}

static void
test_systemd(void **state)
{
	check("0::/system.slice/nginx.service\n", "/system.slice/nginx.service", "", "nginx.service");
	check("0::/user.slice/user-0.slice/session-3.scope\n",
		  "/user.slice/user-0.slice/session-3.scope", "", "session-3.scope");
	/* below the manager of a user, that user creates groups of any name */
	check("0::/user.slice/user-1.slice/user@1.service/app.slice/editor.service\n",
		  "/user.slice/user-1.slice/user@1.service/app.slice/editor.service", "", "user@1.service");
	check("0::/user.slice/user-1.slice/user@1.service/evil.slice/docker-" ID
		  ".scope/postgresql.service\n",
		  "/user.slice/user-1.slice/user@1.service/evil.slice/docker-" ID
		  ".scope/postgresql.service",
		  "", "user@1.service");
	/* a service or scope, too, may create groups below its own if they are delegated to it */
	check("0::/system.slice/ci.service/postgresql.service\n",
		  "/system.slice/ci.service/postgresql.service", "", "ci.service");
	check("0::/user.slice/user-0.slice/session-3.scope/postgresql.service\n",
		  "/user.slice/user-0.slice/session-3.scope/postgresql.service", "", "session-3.scope");
	check("0::/init.scope\n", "/init.scope", "", "init.scope");
	/* a group that was removed */
	check("0::/system.slice/nginx.service (deleted)\n", "/system.slice/nginx.service", "",
		  "nginx.service");
	check("0::/..hidden\n", "/..hidden", "", "");
	check("0::/\n", "", "", "");
	check("", "", "", "");
}

/* Returns true if the path in the text does not begin at the root of its hierarchy. */
static bool
is_relative(const char *text)
{
	CgroupLabels labels;

	cgroup_parse(text, &labels);
	return labels.is_relative;
}

/* In a control group namespace the kernel writes paths relative to the namespace's root. */
static void
test_namespaces(void **state)
{
	static const CgroupRoot roots[] = { { 0, "/kubepods/" POD "/" ID }, { 4, "" }, { 7, "/a/b" } };

	cgroup_use_roots(roots, sizeof(roots) / sizeof(roots[0]));
	check("0::/\n", "/kubepods/" POD "/" ID, ID, "");
	check("0::/worker (deleted)\n", "/kubepods/" POD "/" ID "/worker", ID, "");
	check("0::/../" OTHER_ID "\n", "/kubepods/" POD "/" OTHER_ID, OTHER_ID, "");
	check("0::/../../../system.slice/nginx.service\n", "/system.slice/nginx.service", "",
		  "nginx.service");
	check("0::/../../..\n", "", "", "");
	check("0::/..hidden\n", "/kubepods/" POD "/" ID "/..hidden", ID, "");
	check("4:memory:/docker/" ID "\n", "/docker/" ID, ID, "");
	check("7:pids:/../c\n", "/a/c", "", "");
	assert_false(is_relative("7:pids:/../c\n"));
	/* nothing lies above the root of the hierarchy; the root of hierarchy 9 is unknown */
	check("7:pids:/../../../c\n", "/../../../c", "", "");
	assert_true(is_relative("7:pids:/../../../c\n"));
	check("9:cpu:/../c\n", "/../c", "", "");
	check("9:cpu:/c\n", "/c", "", "");
	assert_true(is_relative("9:cpu:/c\n"));
	cgroup_use_roots(NULL, 0);
	check("0::/../x.service\n", "/../x.service", "", "x.service");
	assert_true(is_relative("0::/../x.service\n"));
	assert_false(is_relative("9:cpu:/c\n"));
}

static void
test_containers(void **state)
{
	check("0::/system.slice/docker-" ID ".scope\n", "/system.slice/docker-" ID ".scope", ID,
		  "docker-" ID ".scope");
	check("0::/docker/" ID "\n", "/docker/" ID, ID, "");
	check("0::/kubepods/burstable/pod6a4b8f0e-8a3b-4b4f-9d52-1c1e4f5f0001/" ID "\n",
		  "/kubepods/burstable/pod6a4b8f0e-8a3b-4b4f-9d52-1c1e4f5f0001/" ID, ID, "");
	check("0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice/"
		  "cri-containerd-" ID ".scope\n",
		  "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice/"
		  "cri-containerd-" ID ".scope",
		  ID, "cri-containerd-" ID ".scope");
	check("0::/kubepods.slice/kubepods-pod1.slice/crio-" ID ".scope/container\n",
		  "/kubepods.slice/kubepods-pod1.slice/crio-" ID ".scope/container", ID,
		  "crio-" ID ".scope");
	check("0::/system.slice/containerd.service/kubepods-besteffort-pod1.slice:cri-containerd:" ID
		  "\n",
		  "/system.slice/containerd.service/kubepods-besteffort-pod1.slice:cri-containerd:" ID, ID,
		  "containerd.service");
	check("0::/machine.slice/libpod-" ID ".scope\n", "/machine.slice/libpod-" ID ".scope", ID,
		  "libpod-" ID ".scope");
	/* a container chooses the names of its own groups */
	check("0::/lxc.payload.web/system.slice/cron.service\n",
		  "/lxc.payload.web/system.slice/cron.service", "web", "");
	check("0::/docker/" ID "/docker/" OTHER_ID "\n", "/docker/" ID "/docker/" OTHER_ID, ID, "");
	check("0::/kubepods/" POD "/" ID "/lxc/db\n", "/kubepods/" POD "/" ID "/lxc/db", ID, "");
	check("0::/lxc/web\n", "/lxc/web", "web", "");
	check("0::/machine.slice/machine-box.scope\n", "/machine.slice/machine-box.scope", "box",
		  "machine-box.scope");
}

#define POD_UID "pod6a4b8f0e_8a3b_4b4f_9d52_1c1e4f5f0001"

/* Paths of Kubernetes' runtimes, by both of their drivers and in both hierarchies. */
static void
test_kubernetes(void **state)
{
	static const char *const groups[] = {
		/* cgroupfs driver of containerd, CRI-O and cri-dockerd, by class of service */
		"/kubepods/" POD "/" ID,
		"/kubepods/burstable/" POD "/" ID,
		"/kubepods/besteffort/" POD "/" ID,
		/* systemd driver, with the name of each runtime */
		"/kubepods.slice/kubepods-" POD_UID ".slice/cri-containerd-" ID ".scope",
		"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-" POD_UID
		".slice/cri-containerd-" ID ".scope",
		"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-" POD_UID ".slice/crio-" ID
		".scope",
		"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-" POD_UID ".slice/docker-" ID
		".scope",
		/* containerd with a cgroupfs path under systemd's service */
		"/system.slice/containerd.service/kubepods-burstable-" POD_UID ".slice:cri-containerd:" ID,
		/* a group that the container created itself */
		"/kubepods/" POD "/" ID "/init",
		/* nodes that are containers themselves (kind, k3d): the outermost counts */
		"/docker/" ID "/kubepods/besteffort/" POD "/" OTHER_ID,
		"/system.slice/docker-" ID
		".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-" POD_UID
		".slice/cri-containerd-" OTHER_ID ".scope",
	};

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
	{
		static const char *const hierarchies[] = {
			"0::%s\n",						  /* version 2 */
			"11:cpu,cpuacct:%s\n3:pids:%s\n", /* version 1 */
			/* both hierarchies, all controllers in version 1 */
			"5:memory:%s\n1:name=systemd:%s\n0::/\n",
			/* both hierarchies, the container in version 2 */
			"4:devices:/\n0::%s\n",
			"6:memory:/../../..%s\n", /* from another control group namespace */
		};
		static const CgroupRoot roots[] = {
			{ 0, "" }, { 3, "" }, { 5, "" }, { 6, "/a/b/c" }, { 11, "" }
		};

		for (size_t j = 0; j < sizeof(hierarchies) / sizeof(hierarchies[0]); j++)
		{
			CgroupLabels labels;
			char text[2048] = "";
			size_t used = 0;

			for (const char *at = hierarchies[j]; *at != '\0'; at++)
			{
				if (at[0] == '%')
				{
					used += strlen(strcpy(text + used, groups[i]));
					at++;
				}
				else
					text[used++] = *at;
				text[used] = '\0';
			}
			cgroup_use_roots(roots, sizeof(roots) / sizeof(roots[0]));
			cgroup_parse(text, &labels);
			cgroup_use_roots(NULL, 0);
			assert_string_equal(labels.container_id, ID);
			assert_string_equal(labels.path, groups[i]);
		}
	}
}

/* Paths of runtimes without Kubernetes. */
static void
test_other_runtimes(void **state)
{
	check("0::/default/" ID "\n", "/default/" ID, ID, ""); /* nerdctl with the cgroupfs driver */
	/* without root: a name that the user may have invented */
	check("0::/user.slice/user-1000.slice/user@1000.service/user.slice/nerdctl-" ID ".scope\n",
		  "/user.slice/user-1000.slice/user@1000.service/user.slice/nerdctl-" ID ".scope", "",
		  "user@1000.service");
	check("0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID
		  ".scope/container\n",
		  "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope/container",
		  "", "user@1000.service");
	check("9:perf_event:/ecs/0123456789abcdef0123456789abcdef/" ID "\n",
		  "/ecs/0123456789abcdef0123456789abcdef/" ID, ID, "");
	/* Fargate: the task's hash, and a number of its container */
	check("0::/ecs/0123456789abcdef0123456789abcdef/0123456789abcdef0123456789abcdef-2574839563\n",
		  "/ecs/0123456789abcdef0123456789abcdef/0123456789abcdef0123456789abcdef-2574839563",
		  "0123456789abcdef0123456789abcdef-2574839563", "");
	check("13:pids:/docker/" ID "\n", "/docker/" ID, ID, "");
	check("0::/docker/" ID "/system.slice/nginx.service\n",
		  "/docker/" ID "/system.slice/nginx.service", ID, "");
}

/* A name that only resembles an ID is not an ID. */
static void
test_no_containers(void **state)
{
	check("0::/system.slice/run-0123456789abcdef.scope\n",
		  "/system.slice/run-0123456789abcdef.scope", "", "run-0123456789abcdef.scope");
	check("0::/jobs/x" ID "\n", "/jobs/x" ID, "", "");
	check("0::/jobs/0123456789abcdef0123456789abcdef-\n", "/jobs/0123456789abcdef0123456789abcdef-",
		  "", "");
	/* the process that watches a container is not in it */
	check("0::/machine.slice/libpod-conmon-" ID ".scope\n",
		  "/machine.slice/libpod-conmon-" ID ".scope", "", "libpod-conmon-" ID ".scope");
	check("0::/kubepods.slice/kubepods-pod1.slice/crio-conmon-" ID ".scope\n",
		  "/kubepods.slice/kubepods-pod1.slice/crio-conmon-" ID ".scope", "",
		  "crio-conmon-" ID ".scope");
	check("0::/jobs/" ID "0\n", "/jobs/" ID "0", "", "");
	check("0::/kubepods/pod6a4b8f0e-8a3b-4b4f-9d52-1c1e4f5f0001\n",
		  "/kubepods/pod6a4b8f0e-8a3b-4b4f-9d52-1c1e4f5f0001", "", "");
}

/* Old hierarchies, and both kinds on one machine. */
static void
test_hierarchies(void **state)
{
	check("12:memory:/docker/" ID "\n1:name=systemd:/docker/" ID "\n0::/\n", "/docker/" ID, ID, "");
	check("4:memory:/user.slice\n1:name=systemd:/system.slice/cron.service\n",
		  "/system.slice/cron.service", "", "cron.service");
	check("4:memory:/system.slice/cron.service\n0::/system.slice/cron.service\n",
		  "/system.slice/cron.service", "", "cron.service");
	/* the hierarchy that names the container is preferred to the unified one */
	check("4:memory:/docker/" ID "\n0::/system.slice/containerd.service\n", "/docker/" ID, ID, "");
	/* names of controllers and hierarchies may contain commas and '=', paths may contain ':' */
	check("3:cpu,cpuacct:/a:b/c.service\n", "/a:b/c.service", "", "c.service");
}

static void
test_malformed(void **state)
{
	char text[4096] = "0::/";

	check("nonsense\n::\n0\n0:\n", "", "", "");
	memset(text + 4, 'a', sizeof(text) - 5);
	text[sizeof(text) - 1] = '\0';
	{
		CgroupLabels labels;

		cgroup_parse(text, &labels);
		assert_int_equal(strlen(labels.path), CGROUP_PATH_BYTES - 1);
	}
}

static void
test_controllers(void **state)
{
	static const char head[] = "#subsys_name\thierarchy\tnum_cgroups\tenabled\n";
	uint32_t hierarchy;
	char text[256];

	snprintf(text, sizeof(text), "%scpu\t3\t1\t1\npids\t8\t1\t1\nmemory\t4\t22\t1\n", head);
	assert_int_equal(cgroup_controller_parse(text, &hierarchy), PFS_CONTROLLER_MEMORY);
	assert_int_equal(hierarchy, 4);
	/* the memory controller is switched off, or in the unified hierarchy */
	snprintf(text, sizeof(text), "%scpu\t3\t1\t1\npids\t8\t1\t1\nmemory\t0\t22\t1\n", head);
	assert_int_equal(cgroup_controller_parse(text, &hierarchy), PFS_CONTROLLER_PIDS);
	assert_int_equal(hierarchy, 8);
	snprintf(text, sizeof(text), "%scpu\t0\t1\t1\nmemory\t0\t22\t1", head);
	assert_int_equal(cgroup_controller_parse(text, &hierarchy), PFS_CONTROLLER_NONE);
	assert_int_equal(hierarchy, 0);
	assert_int_equal(cgroup_controller_parse("", &hierarchy), PFS_CONTROLLER_NONE);
	assert_int_equal(cgroup_controller_parse("\n\nmemory", &hierarchy), PFS_CONTROLLER_NONE);
}

static void
test_cgroup_table(void **state)
{
	CgroupTable *table;
	CgroupLabels labels = { .path = "/a" };
	CgroupKey key = { .unified_id = 1 };
	CgroupKey other = { .controller_id = 1, .hierarchy = 4 };

	assert_int_equal(cgroup_table_create(2, &table), 0);
	cgroup_table_learn(table, &key, &labels);
	assert_false(cgroup_table_find(table, &other, &labels));
	strcpy(labels.path, "/b");
	cgroup_table_learn(table, &other, &labels);
	assert_true(cgroup_table_find(table, &key, &labels));
	assert_string_equal(labels.path, "/a");
	/* the entry that was not used is removed */
	key.unified_id = 2;
	cgroup_table_learn(table, &key, &labels);
	assert_false(cgroup_table_find(table, &other, &labels));
	key.unified_id = 1;
	assert_true(cgroup_table_find(table, &key, &labels));
	cgroup_table_free(table);
}

static void
test_label_sets(void **state)
{
	const BatchLabel labels[] = { { "a", "1" }, { "b", "2" } };
	const BatchLabel others[] = { { "a", "1b" }, { "", "2" } };
	LabelSetTable *table;
	LabelSet *set;

	assert_int_equal(label_set_table_create(1, &table), 0);
	assert_null(label_set_find(table, labels, 2, 1));
	set = label_set_add(table, labels, 2, 1);
	assert_ptr_equal(label_set_find(table, labels, 2, 1), set);
	assert_null(label_set_find(table, labels, 1, 1));
	assert_null(label_set_find(table, others, 2, 1));
	assert_null(label_set_add(table, others, 2, 1)); /* the table has room for one entry */
	assert_string_equal(label_set_value(set, "b"), "2");
	assert_string_equal(label_set_value(set, "c"), "");
	label_set_release(set);
	label_set_table_sweep(table, 2 * LABEL_SET_KEEP_NS);
	assert_int_equal(label_set_table_count(table), 1); /* the set is still referenced */
	label_set_release(set);
	label_set_table_sweep(table, 2 * LABEL_SET_KEEP_NS + 1);
	assert_int_equal(label_set_table_count(table), 1);
	label_set_table_sweep(table, 4 * LABEL_SET_KEEP_NS);
	assert_int_equal(label_set_table_count(table), 0);
	label_set_table_free(table);
}

static LabelSet *
issue(Labeller *labeller, IssuedLabels *issued, const char *comm, const char *exe, uint64_t now_ns)
{
	static const CgroupLabels cgroup;
	LabelFacts facts = { .exe = exe, .cgroup = &cgroup, .pid = 1 };

	snprintf(facts.comm, sizeof(facts.comm), "%s", comm);
	return labeller_issue(labeller, issued, &facts, now_ns);
}

/* Thousands of new processes, each with a name of its own, become one series from a limit on. */
static void
test_new_series(void **state)
{
	const LabellerOptions options = { .node = "host" };
	const uint64_t minute_ns = 60 * UINT64_C(1000000000);
	Labeller *labeller;
	LabelSet *set = NULL;
	int named = 0;

	assert_int_equal(labeller_create(&options, &labeller), 0);
	for (int i = 0; i < 3 * LABELLER_BURST; i++)
	{
		IssuedLabels issued = { 0 };
		char name[16];

		snprintf(name, sizeof(name), "n%d", i);
		set = issue(labeller, &issued, name, "/bin/true", minute_ns);
		named += strcmp(label_set_value(set, "comm"), name) == 0;
		assert_int_equal(issued.capped, named != i + 1);
		issued_labels_fini(&issued);
	}
	assert_int_equal(named, LABELLER_BURST);
	assert_string_equal(label_set_value(set, "comm"), LABELLER_OTHER);
	assert_string_equal(label_set_value(set, "node"), "host");
	/* a minute later a few more names are allowed */
	named = 0;
	for (int i = 0; i < LABELLER_BURST; i++)
	{
		IssuedLabels issued = { 0 };
		char name[16];

		snprintf(name, sizeof(name), "m%d", i);
		set = issue(labeller, &issued, name, "/bin/true", 2 * minute_ns);
		named += strcmp(label_set_value(set, "comm"), name) == 0;
		issued_labels_fini(&issued);
	}
	assert_in_range(named, LABELLER_A_MINUTE - 1, LABELLER_A_MINUTE + 1);
	labeller_free(labeller);
}

/* Returns how many of a number of processes, each with a name of its own, keep their names. */
static int
storm(Labeller *labeller, Allowance *owner, const char *prefix, int processes, uint64_t now_ns)
{
	static const CgroupLabels cgroup;
	int named = 0;

	for (int i = 0; i < processes; i++)
	{
		LabelFacts facts = { .owner = owner, .exe = "/bin/true", .cgroup = &cgroup, .pid = 1 };
		IssuedLabels issued = { 0 };
		LabelSet *set;

		snprintf(facts.comm, sizeof(facts.comm), "%s%d", prefix, i);
		set = labeller_issue(labeller, &issued, &facts, now_ns);
		named += strcmp(label_set_value(set, "comm"), facts.comm) == 0;
		issued_labels_fini(&issued);
	}
	return named;
}

/* A flood of names reduces only its owner's share; many floods leave a few names to each owner. */
static void
test_new_series_of_owners(void **state)
{
	const LabellerOptions options = { .node = "host" };
	const uint64_t minute_ns = 60 * UINT64_C(1000000000);
	Allowance owners[6] = { 0 };
	Labeller *labeller;

	assert_int_equal(labeller_create(&options, &labeller), 0);
	assert_int_equal(storm(labeller, &owners[0], "a", 2 * LABELLER_BURST, minute_ns),
					 LABELLER_OWNER_BURST);
	assert_int_equal(storm(labeller, &owners[1], "b", 100, minute_ns), 100);
	for (int i = 2; i < 5; i++)
		(void) storm(labeller, &owners[i], "cde" + i - 2, LABELLER_BURST, minute_ns);
	assert_int_equal(storm(labeller, &owners[5], "f", LABELLER_OWNER_FEW, minute_ns),
					 LABELLER_OWNER_FEW);
	assert_true(storm(labeller, &owners[5], "g", 2 * LABELLER_BURST, minute_ns) <
				LABELLER_OWNER_FEW);
	labeller_free(labeller);
}

/*
 * Names that a process had before are not new series, and a name that was refused may be allowed
 * later.
 */
static void
test_names_of_process(void **state)
{
	const LabellerOptions options = { .node = "host" };
	const uint64_t minute_ns = 60 * UINT64_C(1000000000);
	IssuedLabels issued = { 0 };
	Labeller *labeller;
	LabelSet *set;

	assert_int_equal(labeller_create(&options, &labeller), 0);
	for (int i = 0; i < 1000; i++)
	{
		char name[16];

		snprintf(name, sizeof(name), "n%d", i % LABELLER_PROCESS_BURST);
		set = issue(labeller, &issued, name, "/bin/true", minute_ns);
		assert_string_equal(label_set_value(set, "comm"), name);
	}
	set = issue(labeller, &issued, "more", "/bin/true", minute_ns);
	assert_true(issued.capped);
	assert_string_equal(label_set_value(set, "comm"), LABELLER_OTHER);
	assert_string_equal(label_set_value(set, "exe"), "/bin/true");
	set = issue(labeller, &issued, "more", "/bin/true", 2 * minute_ns);
	assert_false(issued.capped);
	assert_string_equal(label_set_value(set, "comm"), "more");
	issued_labels_fini(&issued);
	labeller_free(labeller);
}

/* An owner may create groups of any name below its own group: these are not other owners. */
static void
test_owner_length(void **state)
{
	static const struct
	{
		const char *owned;
		const char *below;
	} cases[] = {
		{ "/system.slice/cron.service", "/a/b" },
		{ "/user.slice/user-1000.slice", "/user@1000.service/app.slice/b.scope" },
		{ "/kubepods/burstable/" POD "/" ID, "/c" },
		{ "/system.slice/docker-" ID ".scope", "/c" },
		{ "/lxc/web", "/c" },
		{ "/lxc.payload.web", "/c.service" },
		{ "/machine.slice/machine-a.scope", "/c" },
		{ "/a/b/c", "" },
		{ "", "" },
	};
	char path[512];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		snprintf(path, sizeof(path), "%s%s", cases[i].owned, cases[i].below);
		assert_int_equal(cgroup_owner_length(path), strlen(cases[i].owned));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_systemd),			 cmocka_unit_test(test_containers),
		cmocka_unit_test(test_no_containers),	 cmocka_unit_test(test_hierarchies),
		cmocka_unit_test(test_malformed),		 cmocka_unit_test(test_kubernetes),
		cmocka_unit_test(test_other_runtimes),	 cmocka_unit_test(test_controllers),
		cmocka_unit_test(test_cgroup_table),	 cmocka_unit_test(test_label_sets),
		cmocka_unit_test(test_new_series),		 cmocka_unit_test(test_new_series_of_owners),
		cmocka_unit_test(test_owner_length),	 cmocka_unit_test(test_namespaces),
		cmocka_unit_test(test_names_of_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
