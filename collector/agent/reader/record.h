/*
 * record.h
 *		The parts of a record of the ring buffer.
 */
#ifndef COLLECTOR_RECORD_H
#define COLLECTOR_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events.h"
#include "gpu_rows.h"

/* A record split into its parts. All pointers point into the record's bytes. */
typedef struct Record
{
	const struct pfs_sample *sample;
	const uint64_t *kernel_frames;
	const uint64_t *user_frames;	 /* words; see user_frame.h */
	const struct pfs_labels *labels; /* labels of the thread; NULL: no labels */
	const struct pfs_chain *chain;	 /* chain of the thread's interpreter; NULL: no chain */
	/* Where each user frame ends on the stack, chain->end_count words; see runtime_types.h. */
	const uint32_t *ends;
	const uint64_t *chain_words; /* pfs_chain_kept(chain->found) words */
	const struct pfs_late *late; /* NULL: the kernel finished the walk itself */
	/* sample->value rows of a program's GPU library; NULL: the record is not of that kind */
	const struct pfs_gpu_row *rows;
} Record;

/*
 * Splits a record. Returns false if its length does not match its counts, or if a count is invalid.
 */
bool record_parse(const void *bytes, size_t length_bytes, Record *record);

/*
 * Returns false for kernel threads, threads that work for the kernel, and processes inside exec or
 * exit.
 */
bool record_has_user_side(const struct pfs_sample *sample);

#endif
