/*
 * jfr_chunk.h
 *		A chunk of a flight recording: its header, types and pools; and stacks of its pools as those
 *		of the profile. Knows no server header.
 */
#ifndef PFS_JFR_CHUNK_H
#define PFS_JFR_CHUNK_H

#include "formats/jfr/jfr_pools.h"
#include "formats/legacy/address_table.h"
#include "formats/text_index.h"

#define PFS_JFR_HEADER_BYTES 68

/* Classes that stacks are made of. */
typedef struct PfsJfrStackTypes
{
	uint32_t stack;
	uint32_t frame;
	uint32_t method;
	uint32_t class;
	uint32_t symbol;
} PfsJfrStackTypes;

typedef struct PfsJfrChunk
{
	PfsJfrBytes in; /* of the chunk alone */
	int64_t start_ns;
	int64_t duration_ns;
	int64_t start_ticks;
	int64_t ticks_per_second;
	PfsJfrTypes types;
	PfsJfrPools pools;
	PfsJfrStackTypes stack_types;
} PfsJfrChunk;

/* What all chunks of a file share: functions by name, and a location for each line of them. */
typedef struct PfsJfrFrames
{
	PfsTextIndex functions;
	PfsAddressTable lines; /* (function << 32 | line): an address for now */
} PfsJfrFrames;

/* Reads header, types and pools; "in" begins at the chunk, and is cut to it. */
PfsReadStatus pfs_jfr_chunk_open(PfsJfrChunk *chunk, const PfsJfrBytes *in);
void pfs_jfr_chunk_close(PfsJfrChunk *chunk);

/* Nanoseconds of ticks. */
int64_t pfs_jfr_nanoseconds(const PfsJfrChunk *chunk, int64_t ticks);

/*
 * Sets the frames of a sample: those of the stack with that key, 0 for none. Samples of one stack
 * share them.
 */
PfsReadStatus pfs_jfr_set_stack(PfsJfrChunk *chunk, PfsJfrFrames *frames, uint64_t key,
								PfsProfileSample *sample);

/* The field "name" of a constant; "" where there is none. */
PfsReadStatus pfs_jfr_constant_name(PfsJfrChunk *chunk, uint32_t class_index, uint64_t key,
									PfsText *name);

/* The text of a field that is read next, which may be in a pool. */
PfsReadStatus pfs_jfr_read_text(PfsJfrChunk *chunk, const PfsJfrField *field, PfsText *text);

#endif
