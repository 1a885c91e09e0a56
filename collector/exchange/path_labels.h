/*
 * path_labels.h
 *		Makes labels from a file's path, by a pattern such as "{service}/{instance}.pb.gz".
 *
 * The pattern is compared with the path's last components; it has as many components itself.
 * "{name}" matches one or more characters of a component and makes them the value of that label;
 * "*" matches any number of characters of a component; other characters match themselves. If
 * several matches are possible, earlier wildcards match as little as possible.
 */
#ifndef COLLECTOR_PATH_LABELS_H
#define COLLECTOR_PATH_LABELS_H

#include "exchange/given_labels.h"

/*
 * Checks a pattern. Returns EXIT_OK; EXIT_CONFIG, with *failure set, if a label name is missing,
 * invalid or repeated.
 */
ExitCode path_pattern_check(const char *pattern, Failure *failure);

/* Returns true if a path matches the pattern. */
bool path_pattern_matches(const char *pattern, const char *path);

/* Adds the labels of a matching path. Returns false on out of memory. */
bool path_labels(const char *pattern, const char *path, GivenLabels *labels);

#endif
