/*
 * path_labels.h
 *		Labels that a file's path tells, by a pattern such as "{service}/{instance}.pb.gz".
 *
 * The pattern is held against the last components of the path, as many as it has itself. "{name}"
 * stands for one or more characters of a component, and makes them the value of that label; "*"
 * for any number of characters of a component; all else for itself. Where several readings are
 * possible, what stands first is as short as can be.
 */
#ifndef COLLECTOR_PATH_LABELS_H
#define COLLECTOR_PATH_LABELS_H

#include "exchange/given_labels.h"

/* EXIT_OK, or EXIT_CONFIG with *failure: no name, an invalid one, or one that comes twice. */
ExitCode path_pattern_check(const char *pattern, Failure *failure);

/* Whether a path fits. */
bool path_pattern_matches(const char *pattern, const char *path);

/* Adds the labels of a path that fits; false where memory is out. */
bool path_labels(const char *pattern, const char *path, GivenLabels *labels);

#endif
