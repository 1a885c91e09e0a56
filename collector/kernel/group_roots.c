/*
 * group_roots.c
 *		Asks a BPF program for the path of a control group, one component at a time.
 *
 * The program answers for one level of one hierarchy, so that it needs neither long loops nor room
 * for paths. This takes some fifty runs of a few microseconds, once at the start.
 */
#include "kernel/group_roots.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/log.h"
#include "events.h"
#include "labels/cgroup.h"
#include "profiler.skel.h"

#define OWN_NAMESPACE	"/proc/self/ns/cgroup"
/* Inode of the host's control group namespace: PROC_CGROUP_INIT_INO in every kernel. */
#define FIRST_NAMESPACE 0xEFFFFFFBU

/* Runs the program, which leaves its answer in its variables. Returns 0 or -errno. */
static int
group_roots_ask(const struct profiler *skeleton, uint64_t position, uint64_t level)
{
	uint64_t arguments[] = { position, level };
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = arguments, .ctx_size_in = sizeof(arguments));

	return bpf_prog_test_run_opts(bpf_program__fd(skeleton->progs.pfs_read_group_root), &options);
}

/* Prepends "/" and a name to the path. Returns false if there is no room. */
static bool
put_before(char path[CGROUP_PATH_BYTES], const char *name)
{
	size_t length = strlen(path);
	size_t added = strnlen(name, PFS_GROUP_NAME_BYTES) + 1;

	if (length + added >= CGROUP_PATH_BYTES)
		return false;
	memmove(path + added, path, length + 1);
	path[0] = '/';
	memcpy(path + 1, name, added - 1);
	return true;
}

/*
 * Finds the path of the root in one hierarchy. Returns 0; -ENOENT if the hierarchy does not exist;
 * or another -errno.
 */
static int
find_root(const struct profiler *skeleton, uint64_t position, CgroupRoot *root)
{
	const struct profiler__bss *answer = skeleton->bss;

	root->path[0] = '\0';
	for (uint64_t level = 0; level < PFS_GROUP_LEVELS; level++)
	{
		int result = group_roots_ask(skeleton, position, level);

		if (result != 0)
			return result;
		if (!answer->pfs_group_found)
			return -ENOENT;
		root->hierarchy = answer->pfs_group_hierarchy;
		/* The root of the hierarchy has no name, so the path is complete. */
		if (answer->pfs_group_name[0] == '\0')
			return 0;
		if (!put_before(root->path, answer->pfs_group_name))
			return -ENAMETOOLONG;
	}
	return -ENAMETOOLONG;
}

bool
group_roots_wanted(void)
{
	struct stat status;

	return stat(OWN_NAMESPACE, &status) == 0 && status.st_ino != FIRST_NAMESPACE;
}

void
group_roots_find(const struct profiler *skeleton)
{
	CgroupRoot roots[CGROUP_ROOTS_MAX];
	size_t count = 0;
	int result = 0;

	while (result == 0 && count < CGROUP_ROOTS_MAX)
	{
		result = find_root(skeleton, count, &roots[count]);
		count += result == 0;
	}
	if (result != 0 && result != -ENOENT)
		log_event(LOG_WARNING, "sampler", "could not find the control group of this container",
				  log_text("detail", strerror(-result)));
	/* After a failure use the hierarchies that were found before it. */
	cgroup_use_roots(roots, count);
}
