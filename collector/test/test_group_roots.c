/*
 * test_group_roots.c
 *		Control groups of other processes, seen from a control group namespace: their paths are
 *		those that the host sees.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "kernel/group_roots.h"
#include "process/owner.h"
#include "profiler.skel.h"

/*
 * Groups of a container's processes, of one beside it and of one outside; the first is the test's
 * own.
 */
static const char *const groups[] = { "/pod/agent", "/pod/other", "/other", "" };

#define GROUPS (sizeof(groups) / sizeof(groups[0]))

/* A directory for groups in one hierarchy, with a process in each group. */
typedef struct Place
{
	char directory[128];
	pid_t members[GROUPS];
	CgroupLabels seen[GROUPS]; /* as the host sees them */
} Place;

static bool
join_group(const Place *place, size_t group, pid_t pid)
{
	char path[256];
	FILE *members;

	snprintf(path, sizeof(path), "%s%s/cgroup.procs", place->directory, groups[group]);
	members = fopen(path, "we");
	if (members == NULL)
		return false;
	fprintf(members, "%d\n", pid);
	return fclose(members) == 0;
}

static void
remove_place(Place *place)
{
	char path[256];

	for (size_t i = 0; i < GROUPS; i++)
	{
		(void) kill(place->members[i], SIGKILL);
		(void) waitpid(place->members[i], NULL, 0);
		snprintf(path, sizeof(path), "%s%s", place->directory, groups[i]);
		(void) rmdir(path);
	}
	snprintf(path, sizeof(path), "%s/pod", place->directory);
	(void) rmdir(path);
	(void) rmdir(place->directory);
}

/* Returns false if this hierarchy does not exist, or labels are not taken from it. */
static bool
make_place(Place *place, const char *hierarchy)
{
	bool usable = true;
	char path[256];

	snprintf(place->directory, sizeof(place->directory), "/sys/fs/cgroup/%s/pfs-roots-%d",
			 hierarchy, getpid());
	snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/cgroup.procs", hierarchy);
	if (access(path, F_OK) != 0 || mkdir(place->directory, 0755) != 0)
		return false;
	snprintf(path, sizeof(path), "%s/pod", place->directory);
	assert_int_equal(mkdir(path, 0755), 0);
	for (size_t i = 0; i < GROUPS; i++)
	{
		snprintf(path, sizeof(path), "%s%s", place->directory, groups[i]);
		(void) mkdir(path, 0755);
		place->members[i] = fork();
		if (place->members[i] == 0)
		{
			(void) pause();
			_exit(0);
		}
		assert_true(join_group(place, i, place->members[i]));
		assert_true(process_read_cgroup((uint32_t) place->members[i], &place->seen[i]) != 0);
		usable &= strstr(place->seen[i].path, "/pfs-roots-") != NULL;
	}
	if (!usable)
		remove_place(place);
	return usable;
}

/* Reads control groups like the sampler, but with this program alone. */
static bool
find_roots(void)
{
	struct profiler *skeleton = profiler__open();
	struct bpf_program *program;
	bool loaded;

	if (skeleton == NULL)
		return false;
	bpf_object__for_each_program(program, skeleton->obj)(void)
		bpf_program__set_autoload(program, program == skeleton->progs.pfs_read_group_root);
	loaded = profiler__load(skeleton) == 0;
	if (loaded)
		group_roots_find(skeleton);
	profiler__destroy(skeleton);
	return loaded;
}

enum
{
	SEEN_ALIKE,
	SEEN_OTHERWISE,
	NOT_POSSIBLE,
};

/* Runs in a process of its own, in the first group and a namespace that begins there. */
static int
look_from_within(const Place *place)
{
	if (!join_group(place, 0, getpid()) || unshare(CLONE_NEWCGROUP) != 0 || !find_roots())
		return NOT_POSSIBLE;
	for (size_t i = 0; i < GROUPS; i++)
	{
		CgroupLabels labels = { .path = "" };

		(void) process_read_cgroup((uint32_t) place->members[i], &labels);
		if (labels.is_relative || strcmp(labels.path, place->seen[i].path) != 0)
		{
			print_error("\"%s\" is seen as \"%s\"\n", place->seen[i].path, labels.path);
			return SEEN_OTHERWISE;
		}
	}
	return SEEN_ALIKE;
}

/* Runs the test for each kind of hierarchy that this machine has. */
static void
test_seen_from_namespace(void **state)
{
	static const char *const hierarchies[] = { "memory", "systemd", "unified", "" };
	bool possible = false;

	for (size_t i = 0; i < sizeof(hierarchies) / sizeof(hierarchies[0]); i++)
	{
		Place place;
		int status = 0;
		pid_t child;

		if (!make_place(&place, hierarchies[i]))
			continue;
		child = fork();
		if (child == 0)
			_exit(look_from_within(&place));
		assert_int_equal(waitpid(child, &status, 0), child);
		remove_place(&place);
		assert_true(WIFEXITED(status));
		assert_int_not_equal(WEXITSTATUS(status), SEEN_OTHERWISE);
		possible |= WEXITSTATUS(status) == SEEN_ALIKE;
	}
	if (!possible)
		skip();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seen_from_namespace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
