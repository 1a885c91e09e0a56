/*
 * legacy.h
 *		Formats of profiles before protobuf, as "go tool pprof" opens them. Includes no server
 *		header.
 *
 * Each reader takes bytes that begin like its format, and ends like pfs_pprof_read(). Values,
 * stacks and types are those that pprof makes of the file (google/pprof, profile/legacy_profile.go
 * and legacy_java_profile.go); names that Go writes in comments are read in addition.
 */
#ifndef PFS_LEGACY_H
#define PFS_LEGACY_H

#include "formats/profile.h"

typedef PfsReadStatus (*PfsReadFn)(const uint8_t *bytes, size_t length, PfsProfile *profile,
								   PfsReadError *error);

/* Reads gperftools' binary format: CPU time. */
PfsReadStatus pfs_cpu_read(const uint8_t *bytes, size_t length, PfsProfile *profile,
						   PfsReadError *error);

/* Reads text of gperftools, tcmalloc and Go: memory in use, and its growth. */
PfsReadStatus pfs_heap_read(const uint8_t *bytes, size_t length, PfsProfile *profile,
							PfsReadError *error);

/* Reads text of Go: numbers of stacks, such as goroutines and threads. */
PfsReadStatus pfs_count_read(const uint8_t *bytes, size_t length, PfsProfile *profile,
							 PfsReadError *error);

/* Reads text of C++ programs: a stack for each thread. */
PfsReadStatus pfs_thread_read(const uint8_t *bytes, size_t length, PfsProfile *profile,
							  PfsReadError *error);

/* Reads text of C++ programs and Go: time that locks were waited for. */
PfsReadStatus pfs_contention_read(const uint8_t *bytes, size_t length, PfsProfile *profile,
								  PfsReadError *error);

/* Reads text of Java: heaps and contention, and the names after binary samples of CPU time. */
PfsReadStatus pfs_java_read(const uint8_t *bytes, size_t length, PfsProfile *profile,
							PfsReadError *error);

/* Returns the reader of the format that the bytes begin with; NULL if there is none. */
PfsReadFn pfs_legacy_reader(const uint8_t *bytes, size_t length);

#endif
