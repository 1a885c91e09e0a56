/*
 * descriptors.h
 *		How many files and sockets this process may have open at once.
 */
#ifndef COLLECTOR_BASE_DESCRIPTORS_H
#define COLLECTOR_BASE_DESCRIPTORS_H

#include <stdint.h>

/* As many as the system lets it have without asking anybody. Returns that; INT64_MAX: unbounded. */
int64_t descriptors_raise_limit(void);

#endif
