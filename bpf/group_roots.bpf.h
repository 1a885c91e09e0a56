/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * group_roots.bpf.h
 *		Finds the root of the collector's control group namespace in each hierarchy.
 *
 * The kernel writes the paths in /proc/PID/cgroup relative to the reader's namespace. The paths of
 * the namespace's roots are in no file, only in the kernel's structures.
 */
#ifndef PFS_GROUP_ROOTS_BPF_H
#define PFS_GROUP_ROOTS_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "events.h"
#include "kernel_types.h"

/* Results of pfs_read_group_root. */
volatile __u32 pfs_group_found = 0;				/* the hierarchy exists */
volatile __u32 pfs_group_hierarchy = 0;			/* number of the hierarchy in /proc/PID/cgroup */
char pfs_group_name[PFS_GROUP_NAME_BYTES] = ""; /* "" for the root of the hierarchy */

/*
 * Returns the root of the namespace in the hierarchy at a position of the kernel's list; NULL if
 * there is none.
 */
static __always_inline struct cgroup *
pfs_group_root(struct task_struct *task, __u64 position)
{
	struct css_set *set = BPF_CORE_READ(task, nsproxy, cgroup_ns, root_cset);
	struct list_head *end;
	struct list_head *at;
	struct cgrp_cset_link *link;

	if (!set || !bpf_core_type_exists(struct cgrp_cset_link))
		return 0;
	/*
	 * The list is circular: its head is in the css_set, its members are links, one for each
	 * hierarchy.
	 */
	end = __builtin_preserve_access_index(&set->cgrp_links);
	at = BPF_CORE_READ(end, next);
	for (__u32 i = 0; i < PFS_GROUP_HIERARCHIES && i < position && at != end; i++)
		at = BPF_CORE_READ(at, next);
	if (!at || at == end)
		return 0;
	link = (void *) ((char *) at - bpf_core_field_offset(struct cgrp_cset_link, cgrp_link));
	return BPF_CORE_READ(link, cgrp);
}

/*
 * Run explicitly (BPF_PROG_TEST_RUN) in the collector's thread. Arguments: a position in the list
 * of hierarchies, and a number of levels above the namespace's root. Sets the name of the group
 * there.
 */
SEC("raw_tp")
int
pfs_read_group_root(struct bpf_raw_tracepoint_args *context)
{
	__u64 position = context->args[0];
	__u64 level = context->args[1];
	struct cgroup *group = pfs_group_root((struct task_struct *) bpf_get_current_task(), position);
	struct cgroup_subsys_state *parent;
	const char *name;

	pfs_group_found = 0;
	pfs_group_name[0] = '\0';
	if (!group)
		return 0;
	pfs_group_found = 1;
	pfs_group_hierarchy = (__u32) BPF_CORE_READ(group, root, hierarchy_id);
	parent = BPF_CORE_READ(group, self.parent);
	/* level 0 is the namespace's root itself */
	for (__u32 i = 0; i < PFS_GROUP_LEVELS && i < level && parent; i++)
	{
		group = BPF_CORE_READ(parent, cgroup);
		parent = BPF_CORE_READ(group, self.parent);
	}
	/* a group without a parent is the root of the hierarchy, whose name is "" */
	if (!parent)
		return 0;
	name = BPF_CORE_READ(group, kn, name);
	bpf_probe_read_kernel_str(pfs_group_name, sizeof(pfs_group_name), name);
	return 0;
}

#endif
