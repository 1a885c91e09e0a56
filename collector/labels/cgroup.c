/*
 * cgroup.c
 *		Parser of /proc/PID/cgroup.
 *
 * Lines read "hierarchy:controllers:path". Path components that carry a container, by runtime:
 *
 *		docker/ID, docker-ID.scope, cri-containerd-ID.scope, crio-ID.scope, libpod-ID.scope	hex ID
 *		kubepods/burstable/podUID/ID, kubepods-burstable-podUID.slice:cri-containerd:ID		hex ID
 *		garden/ID, ecs/TASK/ID, system.slice:docker:ID										hex ID
 *		ecs/TASK/HASH-NUMBER (Fargate)												HASH-NUMBER
 *		crio-conmon-ID.scope, libpod-conmon-ID.scope: who watches the container, and is not in it
 *		lxc/NAME, lxc.payload.NAME, lxc.payload/NAME, machine.slice/machine-NAME.scope			name
 */
#include "labels/cgroup.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CONTAINER_ID_DIGITS	  64
#define CONTAINER_ID_SHORTEST 32 /* IDs of ECS and some versions of garden */

static void
copy_part(char *to, size_t size, const char *from, size_t length)
{
	if (length >= size)
		length = size - 1;
	memcpy(to, from, length);
	to[length] = '\0';
}

static bool
starts_with(const char *text, size_t length, const char *prefix)
{
	size_t prefix_length = strlen(prefix);

	return length >= prefix_length && memcmp(text, prefix, prefix_length) == 0;
}

static bool
cgroup_ends_with(const char *text, size_t length, const char *suffix)
{
	size_t suffix_length = strlen(suffix);

	return length >= suffix_length &&
		   memcmp(text + length - suffix_length, suffix, suffix_length) == 0;
}

/* Returns the length of "HASH-NUMBER", or 0 if the component has another form. */
static size_t
numbered_id(const char *part, size_t length)
{
	size_t at = 0;

	while (at < length && isxdigit((unsigned char) part[at]) && !isupper((unsigned char) part[at]))
		at++;
	/* The hash must be followed by "-" and at least one digit. */
	if (at != CONTAINER_ID_SHORTEST || at + 1 >= length || part[at] != '-')
		return 0;
	for (at++; at < length; at++)
	{
		if (!isdigit((unsigned char) part[at]))
			return 0;
	}
	return length;
}

bool
cgroup_find_id(const char *part, size_t length, const char **id, size_t *id_length)
{
	size_t digits = 0;

	/* conmon watches the container from outside, in a group that has the container's ID. */
	if (starts_with(part, length, "crio-conmon-") || starts_with(part, length, "libpod-conmon-"))
		return false;
	*id = part;
	*id_length = numbered_id(part, length);
	if (*id_length > 0)
		return true;
	/* systemd appends ".scope" to the name that the runtime chose. */
	if (cgroup_ends_with(part, length, ".scope"))
		length -= strlen(".scope");
	/* The ID comes last, after a prefix that differs between runtimes. */
	while (digits < length && isxdigit((unsigned char) part[length - digits - 1]) &&
		   !isupper((unsigned char) part[length - digits - 1]))
		digits++;
	if (digits != CONTAINER_ID_DIGITS && digits != CONTAINER_ID_SHORTEST)
		return false;
	/* Hexadecimal digits at the end of a longer word are not an ID. */
	if (digits < length && part[length - digits - 1] != '-' && part[length - digits - 1] != ':')
		return false;
	*id = part + length - digits;
	*id_length = digits;
	return true;
}

/*
 * Finds the name that LXC and systemd-nspawn use instead of an ID. previous is the path component
 * before part.
 */
static bool
find_named_id(const char *previous, size_t previous_length, const char *part, size_t length,
			  const char **id, size_t *id_length)
{
	static const char *const prefixes[] = { "lxc.payload.", "machine-" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
	{
		size_t prefix_length = strlen(prefixes[i]);

		if (starts_with(part, length, prefixes[i]) && length > prefix_length)
		{
			*id = part + prefix_length;
			*id_length = length - prefix_length;
			if (cgroup_ends_with(*id, *id_length, ".scope"))
				*id_length -= strlen(".scope");
			return true;
		}
	}
	/*
	 * LXC has a directory of its own for containers, so any name below it is that of a container.
	 */
	if ((previous_length == 3 && memcmp(previous, "lxc", 3) == 0) ||
		(previous_length == 11 && memcmp(previous, "lxc.payload", 11) == 0))
	{
		*id = part;
		*id_length = length;
		return true;
	}
	return false;
}

/* Roots of this process's cgroup namespace. Set once, before other threads start. */
static struct
{
	bool is_contained; /* this process is not in the host's namespace */
	size_t count;
	CgroupRoot roots[CGROUP_ROOTS_MAX];
} cgroup_own;

void
cgroup_use_roots(const CgroupRoot *roots, size_t count)
{
	cgroup_own.is_contained = roots != NULL;
	cgroup_own.count = roots == NULL ? 0 : count < CGROUP_ROOTS_MAX ? count : CGROUP_ROOTS_MAX;
	for (size_t i = 0; i < cgroup_own.count; i++)
		cgroup_own.roots[i] = roots[i];
}

/* Returns the namespace's root in a hierarchy, or NULL if it is not known. */
static const char *
cgroup_root(uint32_t hierarchy)
{
	for (size_t i = 0; i < cgroup_own.count; i++)
	{
		if (cgroup_own.roots[i].hierarchy == hierarchy)
			return cgroup_own.roots[i].path;
	}
	/* In the host's namespace, paths start at the root of the hierarchy already. */
	return cgroup_own.is_contained ? NULL : "";
}

static bool
leads_up(const char *path, size_t length)
{
	/* "/..x" is the name of a group. */
	return starts_with(path, length, "/..") && (length == 3 || path[3] == '/');
}

/*
 * Converts a path to one that starts at the root of the hierarchy. The kernel writes paths relative
 * to the reader's cgroup namespace: a collector in a container reads "/../../x" for a group outside
 * of its own, and "/" for its own. It appends " (deleted)" if the group was removed while its last
 * process still ran. Returns false, with the path unchanged, if the root is not known: if ".." was
 * simply removed, two groups could get the same name.
 */
static bool
make_absolute(uint32_t hierarchy, const char *path, size_t length, char absolute[CGROUP_PATH_BYTES])
{
	static const char deleted[] = " (deleted)";
	const char *root = cgroup_root(hierarchy);
	size_t root_length = root != NULL ? strlen(root) : 0;
	const char *rest = path;
	size_t rest_length;

	if (cgroup_ends_with(path, length, deleted))
		length -= strlen(deleted);
	/* Each leading "/.." removes one component from the namespace's root. */
	for (rest_length = length; leads_up(rest, rest_length) && root_length > 0; rest_length -= 3)
	{
		while (root[--root_length] != '/')
			;
		rest += 3;
	}
	if (root == NULL || leads_up(rest, rest_length))
	{
		copy_part(absolute, CGROUP_PATH_BYTES, path, length > 1 ? length : 0);
		return false;
	}
	copy_part(absolute, CGROUP_PATH_BYTES, root, root_length);
	/* A rest of "/" is the namespace's root itself. */
	if (rest_length > 1)
		copy_part(absolute + root_length, CGROUP_PATH_BYTES - root_length, rest, rest_length);
	return true;
}

bool
cgroup_is_users(const char *part, size_t length)
{
	return length > strlen("user@.service") && starts_with(part, length, "user@") &&
		   cgroup_ends_with(part, length, ".service");
}

/*
 * Returns true if part is the task in "ecs/TASK/ID". A task is a hash, too, but not the ID of a
 * container.
 */
static bool
is_task(const char *previous, size_t previous_length, const char *slash)
{
	return slash != NULL && previous_length == 3 && memcmp(previous, "ecs", 3) == 0;
}

/*
 * Reads a path from its root to the outermost container or user's manager; below these, users may
 * create groups with any name. The unit is the outermost service or scope.
 */
static void
parse_path(CgroupLabels *labels)
{
	const char *path = labels->path;
	const char *end = path + strlen(path);
	const char *part = path;
	const char *previous = path;
	size_t previous_length = 0;
	bool is_owned = false;

	while (part < end && !is_owned)
	{
		const char *slash = memchr(part, '/', (size_t) (end - part));
		size_t length = (size_t) ((slash != NULL ? slash : end) - part);
		bool is_unit =
			cgroup_ends_with(part, length, ".service") || cgroup_ends_with(part, length, ".scope");
		const char *id;
		size_t id_length;

		/* The task of ECS precedes the container, so the search must not end with it. */
		if (!is_task(previous, previous_length, slash) &&
			(cgroup_find_id(part, length, &id, &id_length) ||
			 find_named_id(previous, previous_length, part, length, &id, &id_length)))
		{
			copy_part(labels->container_id, sizeof(labels->container_id), id, id_length);
			is_owned = true;
		}
		is_owned |= cgroup_is_users(part, length);
		/*
		 * Slices are nested and above the unit, so the last slice before the unit is the innermost
		 * one.
		 */
		if (labels->systemd_unit[0] == '\0' && is_unit)
			copy_part(labels->systemd_unit, sizeof(labels->systemd_unit), part, length);
		else if (labels->systemd_unit[0] == '\0' && cgroup_ends_with(part, length, ".slice"))
			copy_part(labels->systemd_slice, sizeof(labels->systemd_slice), part, length);
		previous = part;
		previous_length = length;
		part += length + 1;
	}
}

/* Rates a hierarchy's line; the highest rank is used. */
static int
rank_line(const char *controllers, size_t length, const CgroupLabels *labels)
{
	int rank = 0;

	if (labels->path[0] == '\0')
		return 0;
	if (length == 0)
		rank = 3; /* unified */
	else if (length == strlen("name=systemd") && memcmp(controllers, "name=systemd", length) == 0)
		rank = 2;
	else
		rank = 1;
	/* A path with a container is better than any path without one. */
	return labels->container_id[0] != '\0' ? rank + 3 : rank;
}

void
cgroup_parse(const char *text, CgroupLabels *labels)
{
	int best = 0;

	memset(labels, 0, sizeof(*labels));
	while (*text != '\0')
	{
		size_t length = strcspn(text, "\n");
		const char *controllers = memchr(text, ':', length);
		const char *path = NULL;

		if (controllers != NULL)
		{
			controllers++;
			path = memchr(controllers, ':', length - (size_t) (controllers - text));
		}
		if (path != NULL)
		{
			CgroupLabels found;
			int rank;

			memset(&found, 0, sizeof(found));
			found.is_relative = !make_absolute((uint32_t) strtoul(text, NULL, 10), path + 1,
											   length - (size_t) (path + 1 - text), found.path);
			parse_path(&found);
			rank = rank_line(controllers, (size_t) (path - controllers), &found);
			if (rank > best)
			{
				best = rank;
				*labels = found;
			}
		}
		text += length;
		if (*text == '\n')
			text++;
	}
}

size_t
cgroup_owner_length(const char *path)
{
	const char *part = path;
	const char *previous = path;
	size_t previous_length = 0;

	while (*part != '\0')
	{
		size_t length;
		const char *id;
		size_t id_length;

		part += *part == '/';
		length = strcspn(part, "/");
		if (cgroup_ends_with(part, length, ".service") ||
			cgroup_ends_with(part, length, ".scope") ||
			(starts_with(part, length, "user-") && cgroup_ends_with(part, length, ".slice")) ||
			cgroup_find_id(part, length, &id, &id_length) ||
			find_named_id(previous, previous_length, part, length, &id, &id_length))
			return (size_t) (part - path) + length;
		previous = part;
		previous_length = length;
		part += length;
	}
	return (size_t) (part - path);
}
