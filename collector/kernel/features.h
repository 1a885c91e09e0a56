/*
 * features.h
 *		Requirements of sampling to the host and the process. They are tested by trying, never by
 *		version numbers, except for one fault that cannot be tried.
 */
#ifndef COLLECTOR_FEATURES_H
#define COLLECTOR_FEATURES_H

#include <stdbool.h>
#include <stddef.h>

#include "program/failure.h"

typedef enum FeatureNeed
{
	FEATURE_REQUIRED,
	FEATURE_WANTED, /* profiles lack the part that the consequence names */
} FeatureNeed;

typedef struct Feature
{
	const char *group; /* "kernel", "privilege" */
	const char *name;
	FeatureNeed need;
	bool present;
	const char *consequence; /* consequence of its absence, a full sentence */
	const char *hint;		 /* how to get it; NULL: more capabilities may help */
	char detail[128];		 /* findings; "" if there are none */
} Feature;

#define FEATURES_MAX 24

/*
 * Tests all features in the order in which "check" prints them, and returns their number. A
 * kernel that can lock up is accepted if allow_unsafe_kernel is set. Redirects libbpf's messages to
 * our log.
 */
size_t features_probe(bool allow_unsafe_kernel, Feature features[FEATURES_MAX]);

/*
 * Appends the features that a security module may forbid regardless of capabilities (ptrace_scope 3
 * of Yama, policies of SELinux and AppArmor, a seccomp filter): reading the memory and the mappings
 * of another process, tested on a child. Returns the new number.
 */
size_t features_probe_processes(Feature features[FEATURES_MAX], size_t count);

/*
 * Returns EXIT_OK if all required features exist; otherwise EXIT_PRIVILEGE with a failure that
 * names all missing ones.
 */
ExitCode features_check(bool allow_unsafe_kernel, Failure *failure);

#endif
