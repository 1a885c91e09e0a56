/*
 * cgroup.h
 *		Parses a control group's path into labels: container and systemd unit.
 *
 * Supports the unified hierarchy (v2), the old ones (v1) and both side by side, with the paths of
 * Docker, containerd, CRI-O, Podman, Kubernetes (cgroupfs and systemd drivers), LXC and
 * systemd-nspawn.
 */
#ifndef COLLECTOR_CGROUP_H
#define COLLECTOR_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CGROUP_PATH_BYTES 1024
#define CGROUP_NAME_BYTES 256

typedef struct CgroupLabels
{
	/*
	 * "" for the root group; if is_relative is set, the path as the kernel wrote it, such as
	 * "/../x".
	 */
	char path[CGROUP_PATH_BYTES];
	bool is_relative; /* the path is relative to a cgroup namespace whose root is not known */
	/* outermost container: hexadecimal ID, or the name (LXC, nspawn); "" outside of containers */
	char container_id[CGROUP_NAME_BYTES];
	char systemd_unit[CGROUP_NAME_BYTES];  /* outermost .service or .scope; "" if none */
	char systemd_slice[CGROUP_NAME_BYTES]; /* innermost .slice above the unit */
} CgroupLabels;

/* The root of this process's cgroup namespace in one hierarchy. */
typedef struct CgroupRoot
{
	uint32_t hierarchy;			  /* number of the hierarchy in /proc/PID/cgroup */
	char path[CGROUP_PATH_BYTES]; /* "" for the root of the hierarchy */
} CgroupRoot;

#define CGROUP_ROOTS_MAX 32

/*
 * Sets the roots of the namespace, which are copied; cgroup_parse() prepends them. Paths of
 * hierarchies without a root stay relative then. NULL, the initial state, means that this process
 * is in the host's namespace. Call it before other threads call cgroup_parse().
 */
void cgroup_use_roots(const CgroupRoot *roots, size_t count);

/*
 * Parses the text of /proc/PID/cgroup. Of several hierarchies, prefers one that names a container,
 * then the unified one unless the path is its root, then systemd's, then any other. Cannot fail:
 * unknown parts are "".
 */
void cgroup_parse(const char *text, CgroupLabels *labels);

/*
 * Returns the length of the part of a path that the group's owner cannot choose: up to the first
 * container, service, scope or user slice. The owner may create any groups below it.
 */
size_t cgroup_owner_length(const char *path);

/*
 * Returns true if a component is a user's manager (user@UID.service), below which the user may
 * create groups.
 */
bool cgroup_is_users(const char *part, size_t length);

/*
 * Finds a runtime's container ID in a component: the whole component, or the part after a '-' or
 * ':'.
 */
bool cgroup_find_id(const char *part, size_t length, const char **id, size_t *id_length);

#endif
