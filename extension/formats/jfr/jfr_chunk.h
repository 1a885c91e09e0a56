/*
 * jfr_chunk.h
 *		Reads a chunk of a flight recording: header, types and pools; converts stacks of its
 *		pools to the profile's. Includes no server header.
 */
#ifndef PFS_JFR_CHUNK_H
#define PFS_JFR_CHUNK_H

#include "formats/jfr/jfr_pools.h"
#include "formats/legacy/address_table.h"
#include "formats/text_index.h"

#define PFS_JFR_HEADER_BYTES 68

/* Classes that describe stacks. */
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
	PfsJfrBytes in; /* limited to the chunk */
	int64_t start_ns;
	int64_t duration_ns;
	int64_t start_ticks;
	int64_t ticks_per_second;
	PfsJfrTypes types;
	PfsJfrPools pools;
	PfsJfrStackTypes stack_types;
} PfsJfrChunk;

/*
 * Data that all chunks of a file share: functions by name, and a location for each of their lines.
 */
typedef struct PfsJfrFrames
{
	PfsTextIndex functions;
	/*
	 * locations by (function << 32 | line), which takes the place of an address while the file is
	 * read
	 */
	PfsAddressTable lines;
} PfsJfrFrames;

/* Reads header, types and pools; "in" begins with the chunk, and is limited to it. */
PfsReadStatus pfs_jfr_chunk_open(PfsJfrChunk *chunk, const PfsJfrBytes *in);
void pfs_jfr_chunk_close(PfsJfrChunk *chunk);

/* Converts ticks to nanoseconds. */
int64_t pfs_jfr_nanoseconds(const PfsJfrChunk *chunk, int64_t ticks);

/*
 * Sets the frames of a sample to those of the stack with that key; none for key 0. Samples of one
 * stack share its frames.
 */
PfsReadStatus pfs_jfr_set_stack(PfsJfrChunk *chunk, PfsJfrFrames *frames, uint64_t key,
								PfsProfileSample *sample);

/* Reads the field "name" of a constant; "" if it has none. */
PfsReadStatus pfs_jfr_constant_name(PfsJfrChunk *chunk, uint32_t class_index, uint64_t key,
									PfsText *name);

/* Reads the text of the next field, which may be in a pool. */
PfsReadStatus pfs_jfr_read_text(PfsJfrChunk *chunk, const PfsJfrField *field, PfsText *text);

#endif
