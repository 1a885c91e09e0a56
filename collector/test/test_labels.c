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
		cmocka_unit_test(test_systemd),		  cmocka_unit_test(test_containers),
		cmocka_unit_test(test_no_containers), cmocka_unit_test(test_hierarchies),
		cmocka_unit_test(test_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
