/*
 * descriptors.h
 *		The limit of open files and sockets of this process.
 */
#ifndef COLLECTOR_BASE_DESCRIPTORS_H
#define COLLECTOR_BASE_DESCRIPTORS_H

#include <stdint.h>

/* Raises the soft limit to the hard limit. Returns the limit; INT64_MAX if there is none. */
int64_t descriptors_raise_limit(void);

#endif
