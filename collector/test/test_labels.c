/*
 * test_labels.c
 *		Control group paths of the container runtimes and of systemd.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "labels/cgroup.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

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
	/* a user's service lies deeper than the manager that runs it */
	check("0::/user.slice/user-1.slice/user@1.service/app.slice/editor.service\n",
		  "/user.slice/user-1.slice/user@1.service/app.slice/editor.service", "", "editor.service");
	check("0::/init.scope\n", "/init.scope", "", "init.scope");
	/* removed, and seen from a control group namespace beside it */
	check("0::/system.slice/nginx.service (deleted)\n", "/system.slice/nginx.service", "",
		  "nginx.service");
	check("0::/../../system.slice/nginx.service\n", "/system.slice/nginx.service", "",
		  "nginx.service");
	check("0::/..\n", "", "", "");
	check("0::/..hidden\n", "/..hidden", "", "");
	check("0::/\n", "", "", "");
	check("", "", "", "");
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
	check("0::/lxc.payload.web/system.slice/cron.service\n",
		  "/lxc.payload.web/system.slice/cron.service", "web", "cron.service");
	check("0::/lxc/web\n", "/lxc/web", "web", "");
	check("0::/machine.slice/machine-box.scope\n", "/machine.slice/machine-box.scope", "box",
		  "machine-box.scope");
}

#define OTHER_ID "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define POD		 "pod6a4b8f0e-8a3b-4b4f-9d52-1c1e4f5f0001"
#define POD_UID	 "pod6a4b8f0e_8a3b_4b4f_9d52_1c1e4f5f0001"

/* The paths of Kubernetes' runtimes, by both of their drivers and in both hierarchies. */
static void
test_kubernetes(void **state)
{
	static const char *const groups[] = {
		/* cgroupfs driver: containerd, CRI-O and cri-dockerd alike, by class of service */
		"/kubepods/" POD "/" ID,
		"/kubepods/burstable/" POD "/" ID,
		"/kubepods/besteffort/" POD "/" ID,
		/* systemd driver, each runtime's own name */
		"/kubepods.slice/kubepods-" POD_UID ".slice/cri-containerd-" ID ".scope",
		"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-" POD_UID
		".slice/cri-containerd-" ID ".scope",
		"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-" POD_UID ".slice/crio-" ID
		".scope",
		"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-" POD_UID ".slice/docker-" ID
		".scope",
		/* containerd with a cgroupfs path under systemd's service */
		"/system.slice/containerd.service/kubepods-burstable-" POD_UID ".slice:cri-containerd:" ID,
		/* a group that the container made for itself */
		"/kubepods/" POD "/" ID "/init",
		/* nodes that are containers themselves (kind, k3d): the innermost counts */
		"/docker/" OTHER_ID "/kubepods/besteffort/" POD "/" ID,
		"/system.slice/docker-" OTHER_ID
		".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-" POD_UID
		".slice/cri-containerd-" ID ".scope",
	};

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
	{
		static const char *const hierarchies[] = {
			"0::%s\n",								  /* version 2 */
			"11:cpu,cpuacct:%s\n3:pids:%s\n",		  /* version 1 */
			"5:memory:%s\n1:name=systemd:%s\n0::/\n", /* both, all in version 1 */
			"4:devices:/\n0::%s\n",					  /* both, in version 2 */
			"0::/../../..%s\n",						  /* from another control group namespace */
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
			cgroup_parse(text, &labels);
			assert_string_equal(labels.container_id, ID);
			assert_string_equal(labels.path, groups[i]);
		}
	}
}

/* Runtimes without Kubernetes. */
static void
test_other_runtimes(void **state)
{
	check("0::/default/" ID "\n", "/default/" ID, ID, ""); /* nerdctl, cgroupfs driver */
	check("0::/user.slice/user-1000.slice/user@1000.service/user.slice/nerdctl-" ID ".scope\n",
		  "/user.slice/user-1000.slice/user@1000.service/user.slice/nerdctl-" ID ".scope", ID,
		  "user@1000.service");
	check("0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID
		  ".scope/container\n",
		  "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope/container",
		  ID, "user@1000.service");
	check("9:perf_event:/ecs/0123456789abcdef0123456789abcdef/" ID "\n",
		  "/ecs/0123456789abcdef0123456789abcdef/" ID, ID, "");
	check("13:pids:/docker/" ID "\n", "/docker/" ID, ID, "");
	check("0::/docker/" ID "/system.slice/nginx.service\n",
		  "/docker/" ID "/system.slice/nginx.service", ID, "nginx.service");
}

/* What only looks like an ID is none. */
static void
test_no_containers(void **state)
{
	check("0::/system.slice/run-0123456789abcdef.scope\n",
		  "/system.slice/run-0123456789abcdef.scope", "", "run-0123456789abcdef.scope");
	check("0::/jobs/x" ID "\n", "/jobs/x" ID, "", "");
	check("0::/jobs/" ID "0\n", "/jobs/" ID "0", "", "");
	check("0::/kubepods/pod6a4b8f0e-8a3b-4b4f-9d52-1c1e4f5f0001\n",
		  "/kubepods/pod6a4b8f0e-8a3b-4b4f-9d52-1c1e4f5f0001", "", "");
}

/* Old hierarchies, and both kinds side by side. */
static void
test_hierarchies(void **state)
{
	check("12:memory:/docker/" ID "\n1:name=systemd:/docker/" ID "\n0::/\n", "/docker/" ID, ID, "");
	check("4:memory:/user.slice\n1:name=systemd:/system.slice/cron.service\n",
		  "/system.slice/cron.service", "", "cron.service");
	check("4:memory:/system.slice/cron.service\n0::/system.slice/cron.service\n",
		  "/system.slice/cron.service", "", "cron.service");
	/* the hierarchy that knows the container tells more than the unified one */
	check("4:memory:/docker/" ID "\n0::/system.slice/containerd.service\n", "/docker/" ID, ID, "");
	/* controllers and names of hierarchies may hold commas and '=', paths may hold ':' */
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_systemd),		   cmocka_unit_test(test_containers),
		cmocka_unit_test(test_no_containers),  cmocka_unit_test(test_hierarchies),
		cmocka_unit_test(test_malformed),	   cmocka_unit_test(test_kubernetes),
		cmocka_unit_test(test_other_runtimes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
