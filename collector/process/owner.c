/*
 * owner.c
 *		Owners by user and control group.
 */
#include "process/owner.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "process/proc_file.h"

#define CGROUP_LIMIT_BYTES ((size_t) 64 * 1024)
#define OF_CGROUP		   (UINT64_C(1) << 63)

/* Of hashes, because names of control groups may be for the process to choose. */
static uint64_t seed;
static pthread_once_t seeded = PTHREAD_ONCE_INIT;

static void
draw_seed(void)
{
	seed = hash_seed();
}

uint64_t
owner_of_process(uint32_t pid)
{
	uint64_t hash = 0;
	struct stat status;
	char path[64];
	size_t length;
	char *text;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	if (stat(path, &status) != 0)
		return UINT64_MAX;
	if (status.st_uid != 0)
		return status.st_uid;
	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	if (proc_file_read(path, CGROUP_LIMIT_BYTES, &text, &length) == 0)
	{
		(void) pthread_once(&seeded, draw_seed);
		hash = hash_bytes(seed, text, length);
		free(text);
	}
	return hash | OF_CGROUP;
}
