/*
 * descriptors.h
 *		The limit of open files and sockets of this process.
 */
#ifndef COLLECTOR_BASE_DESCRIPTORS_H
#define COLLECTOR_BASE_DESCRIPTORS_H

#include <stdint.h>

/* Raises the soft limit to the hard limit, and returns it; INT64_MAX if it is unlimited. */
int64_t descriptors_raise_limit(void);

#endif
