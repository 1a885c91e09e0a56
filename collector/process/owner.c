/*
 * owner.c
 *		Hashes users and control groups into owners.
 */
#include "process/owner.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/hash.h"
#include "process/proc_file.h"

#define CGROUP_LIMIT_BYTES ((size_t) 64 * 1024)
#define USER_RANGE		   65536U

/* The seed is secret, because processes may choose names of control groups. */
static uint64_t seed;
static pthread_once_t seeded = PTHREAD_ONCE_INIT;

static void
draw_seed(void)
{
	seed = hash_seed();
}

uint64_t
owner_of(uint32_t user, const char *group)
{
	/*
	 * System users below 65,536 count one by one; above, each range of 65,536 counts as one. The
	 * sum keeps both kinds apart.
	 */
	uint32_t range = user < USER_RANGE ? user : USER_RANGE + user / USER_RANGE;
	uint64_t owner;

	(void) pthread_once(&seeded, draw_seed);
	owner = hash_word(hash_bytes(seed, group, cgroup_owner_length(group)), range);
	return owner == 0 || owner == OWNER_ENDED ? 1 : owner;
}

uint64_t
owner_of_process(uint32_t pid)
{
	CgroupLabels group = { .path = "" };
	uint32_t user = process_read_user(pid);

	if (user == USER_UNKNOWN || process_read_cgroup(pid, &group) == 0)
		return OWNER_ENDED;
	return owner_of(user, group.path);
}

uint32_t
process_read_user(uint32_t pid)
{
	struct stat status;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u", pid);
	return stat(path, &status) == 0 ? status.st_uid : USER_UNKNOWN;
}

uint64_t
process_read_cgroup(uint32_t pid, CgroupLabels *cgroup)
{
	char path[64];
	char *text;

	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	if (proc_file_read(path, CGROUP_LIMIT_BYTES, &text, NULL) != 0)
		return 0;
	cgroup_parse(text, cgroup);
	free(text);
	/* The clock is read last: a sample with a later time was taken after the group was read. */
	return (uint64_t) clock_ns(CLOCK_MONOTONIC);
}
