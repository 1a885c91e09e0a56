/*
 * cgroup.h
 *		What a control group's path tells about a process: container, systemd unit.
 *
 * Understands the unified hierarchy (v2), the old ones (v1) and both side by side, with the path
 * shapes of Docker, containerd, CRI-O, Podman, Kubernetes (cgroupfs and systemd drivers), LXC and
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
	/* "" for the root group; "/.." and so on, as the kernel writes it, if is_relative */
	char path[CGROUP_PATH_BYTES];
	bool is_relative; /* seen from another namespace, whose place in the hierarchy is not known */
	/* the outermost container; "" outside of containers; hexadecimal, LXC and nspawn: the name */
	char container_id[CGROUP_NAME_BYTES];
	char systemd_unit[CGROUP_NAME_BYTES];  /* the outermost .service or .scope; "" for none */
	char systemd_slice[CGROUP_NAME_BYTES]; /* the innermost .slice above the unit */
} CgroupLabels;

/* The group at which the control group namespace of this process begins, in one hierarchy. */
typedef struct CgroupRoot
{
	uint32_t hierarchy;			  /* its number in /proc/PID/cgroup */
	char path[CGROUP_PATH_BYTES]; /* "" for the root of the hierarchy */
} CgroupRoot;

#define CGROUP_ROOTS_MAX 32

/*
 * Has cgroup_parse() put paths together with these roots, which are copied. Paths of hierarchies
 * without a root are then relative. If roots is NULL, as without a call, paths are those of the
 * host. Call before another thread parses.
 */
void cgroup_use_roots(const CgroupRoot *roots, size_t count);

/*
 * From the text of /proc/PID/cgroup. Of several hierarchies the one that tells most counts: the
 * unified one unless it is the root, then systemd's own, then any other. Never fails: what is not
 * understood stays "".
 */
void cgroup_parse(const char *text, CgroupLabels *labels);

/*
 * Length of the part of a path that its owner cannot choose: to the first container, service, scope
 * or user's slice. What is below may be divided by whoever runs there.
 */
size_t cgroup_owner_length(const char *path);

/* Is the part of a path a user's manager (user@UID.service), below which the user makes groups? */
bool cgroup_is_users(const char *part, size_t length);

/* A runtime's container ID at the end of a part of a path, behind '-' or ':' or alone. */
bool cgroup_find_id(const char *part, size_t length, const char **id, size_t *id_length);

#endif
