/*
 * record.h
 *		A record of the ring buffer, by its parts.
 */
#ifndef COLLECTOR_RECORD_H
#define COLLECTOR_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events.h"

/* Points into the record's bytes. */
typedef struct Record
{
	const struct pfs_sample *sample;
	const uint64_t *kernel_frames;
	const uint64_t *user_frames;	 /* words; see user_frame.h */
	const struct pfs_labels *labels; /* of the thread; NULL: none */
	const struct pfs_chain *chain;	 /* of the thread's interpreter; NULL: none */
	const uint32_t *ends;			 /* of user frames, chain->end_count; see runtime_types.h */
	const uint64_t *chain_words;	 /* pfs_chain_kept(chain->found) */
	const struct pfs_late *late;	 /* NULL: none */
} Record;

/* False where the size does not fit what the record says, or where that cannot be. */
bool record_parse(const void *bytes, size_t length_bytes, Record *record);

/* Kernel threads, threads that work for the kernel, and processes inside exec or exit have none. */
bool record_has_user_side(const struct pfs_sample *sample);

#endif
