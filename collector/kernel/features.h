/*
 * features.h
 *		Tests what sampling requires of the host and the process. Features are tried, not derived
 *		from version numbers, with one exception: a fault that cannot be tried.
 */
#ifndef COLLECTOR_FEATURES_H
#define COLLECTOR_FEATURES_H

#include <stdbool.h>
#include <stddef.h>

#include "program/failure.h"

typedef enum FeatureNeed
{
	FEATURE_REQUIRED,
	FEATURE_WANTED, /* without it, profiles lack the part that the consequence names */
} FeatureNeed;

typedef struct Feature
{
	const char *group; /* "kernel", "privilege" */
	const char *name;
	FeatureNeed need;
	bool present;
	const char *consequence; /* consequence of its absence, as a full sentence */
	const char *hint;		 /* how to get it; NULL: further capabilities may help */
	char detail[128];		 /* result of the test; "": nothing to report */
} Feature;

#define FEATURES_MAX 24

/*
 * Tests all features in the order in which "check" prints them, and returns their number.
 * allow_unsafe_kernel accepts a kernel that can lock up. From this call on, libbpf's messages go to
 * our log.
 */
size_t features_probe(bool allow_unsafe_kernel, Feature features[FEATURES_MAX]);

/*
 * Appends the features that a security module may forbid although the capabilities suffice
 * (ptrace_scope 3 of Yama, policies of SELinux and AppArmor, a seccomp filter): reading the memory
 * and the mappings of another process. They are tested on a child. Returns the new number of
 * features.
 */
size_t features_probe_processes(Feature features[FEATURES_MAX], size_t count);

/*
 * Returns EXIT_OK if all required features exist; otherwise EXIT_PRIVILEGE, with a failure that
 * names all missing ones.
 */
ExitCode features_check(bool allow_unsafe_kernel, Failure *failure);

#endif
