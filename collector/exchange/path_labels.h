/*
 * path_labels.h
 *		Labels from a file's path, by a pattern such as "{service}/{instance}.pb.gz".
 *
 * The pattern is compared with the last components of the path, as many as it has itself. "{name}"
 * matches one or more characters of a component and makes them the value of that label; "*" matches
 * any number of characters of a component; other characters match themselves. If several matches
 * are possible, earlier wildcards match as little as possible.
 */
#ifndef COLLECTOR_PATH_LABELS_H
#define COLLECTOR_PATH_LABELS_H

#include "exchange/given_labels.h"

/*
 * Returns EXIT_OK; otherwise EXIT_CONFIG with *failure set, if there is no label name, an invalid
 * one, or a repeated one.
 */
ExitCode path_pattern_check(const char *pattern, Failure *failure);

/* Returns whether a path matches. */
bool path_pattern_matches(const char *pattern, const char *path);

/* Adds the labels of a matching path. Returns false on out of memory. */
bool path_labels(const char *pattern, const char *path, GivenLabels *labels);

#endif
