/*
 * legacy.h
 *		Formats of profiles before protobuf: those that "go tool pprof" opens. Knows no server
 *		header.
 *
 * Readers take what begins as their format does, and are as pfs_pprof_read. Values, stacks and
 * types are those that pprof makes of the same file (google/pprof, profile/legacy_profile.go and
 * legacy_java_profile.go); names that Go writes in comments are read besides.
 */
#ifndef PFS_LEGACY_H
#define PFS_LEGACY_H

#include "formats/profile.h"

typedef PfsReadStatus (*PfsReadFn)(const uint8_t *bytes, size_t length, PfsProfile *profile,
								   PfsReadError *error);

/* Binary, of gperftools: processor time. */
PfsReadStatus pfs_cpu_read(const uint8_t *bytes, size_t length, PfsProfile *profile,
						   PfsReadError *error);

/* Text of gperftools, tcmalloc and Go: memory in use, and its growth. */
PfsReadStatus pfs_heap_read(const uint8_t *bytes, size_t length, PfsProfile *profile,
							PfsReadError *error);

/* Text of Go: counts of stacks, as goroutines and threads have them. */
PfsReadStatus pfs_count_read(const uint8_t *bytes, size_t length, PfsProfile *profile,
							 PfsReadError *error);

/* Text of C++ programs: a stack for each thread. */
PfsReadStatus pfs_thread_read(const uint8_t *bytes, size_t length, PfsProfile *profile,
							  PfsReadError *error);

/* Text of C++ programs and Go: how long locks were waited for. */
PfsReadStatus pfs_contention_read(const uint8_t *bytes, size_t length, PfsProfile *profile,
								  PfsReadError *error);

/* Text of Java: heaps and contention; and what of processor time stands behind the binary part. */
PfsReadStatus pfs_java_read(const uint8_t *bytes, size_t length, PfsProfile *profile,
							PfsReadError *error);

/* The reader of the format that the bytes begin as; NULL for none of them. */
PfsReadFn pfs_legacy_reader(const uint8_t *bytes, size_t length);

#endif
