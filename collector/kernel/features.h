/*
 * features.h
 *		What sampling needs of host and process: found out by trying, never by version numbers, but
 *		for one fault that cannot be tried.
 */
#ifndef COLLECTOR_FEATURES_H
#define COLLECTOR_FEATURES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/failure.h"

typedef enum FeatureNeed
{
	FEATURE_REQUIRED,
	FEATURE_WANTED, /* profiles lack something without it; the consequence says what */
} FeatureNeed;

typedef struct Feature
{
	const char *group; /* "kernel", "privilege" */
	const char *name;
	FeatureNeed need;
	bool present;
	const char *consequence; /* of its absence, a full sentence */
	const char *hint;		 /* what to do; NULL: more rights may help */
	char detail[128];		 /* what was found, "" for nothing to say */
} Feature;

#define FEATURES_MAX 24

/*
 * All features in the order in which "check" prints them; their number. A kernel that can lock up
 * is no hindrance where it is allowed. From then on what libbpf says goes to our log.
 */
size_t features_probe(bool allow_unsafe_kernel, Feature features[FEATURES_MAX]);

/*
 * Appends what a security module may forbid whatever rights this process has (ptrace_scope 3 of
 * Yama, policies of SELinux and AppArmor, a seccomp filter): memory and mappings of another
 * process, a child of ours. Returns the new number.
 */
size_t features_probe_processes(Feature features[FEATURES_MAX], size_t count);

/*
 * EXIT_OK where all that is required is there; else EXIT_PRIVILEGE, naming everything that is
 * missing.
 */
ExitCode features_check(bool allow_unsafe_kernel, Failure *failure);

#endif
