/*
 * name_chunk.h
 *		Names of the dictionary packed: functions, or locations, of up to 256 neighbouring ids in
 *		one run of bytes.
 *
 *	+--------+------+------------------------------------------------+
 *	| header | body: a part a column, zstd where that saves a tenth  |
 *	+--------+------+------------------------------------------------+
 *
 *	header  offset  0  u32  CRC-32C of all after it
 *	                4  u8   PFS_NAME_CHUNK_VERSION
 *	                5  u8   1: the body is a zstd frame
 *	                6  u8   kind: 1 functions, 2 locations
 *	                7  u8   number of rows - 1
 *	                8  u32  bytes of the body, unpacked
 *
 * Which ids are there is not in it: rows are in the order of their ids. The parts stand one after
 * the other; numbers are LEB128 varints, signed ones in zigzag, "steps" from the row before (from 0
 * for the first). Texts are UTF-8 and end with a zero byte.
 *
 *	functions  flags         a byte: 1 the system name is the name, 2 the file is that of the row
 *	                         before
 *	           start lines   steps
 *	           names, system names, files    texts; none where the flag says so
 *
 *	locations  symbolization a byte
 *	           mappings      steps
 *	           addresses     steps, modulo 2^64
 *	           line counts   unsigned
 *	           functions     steps from line to line
 *	           lines         steps from line to line
 */
#ifndef PFS_NAME_CHUNK_H
#define PFS_NAME_CHUNK_H

#include "codec/segment.h"

#define PFS_NAME_CHUNK_VERSION	   1
#define PFS_NAME_CHUNK_HEADER_SIZE 12
#define PFS_NAME_CHUNK_BITS		   8
#define PFS_NAME_CHUNK_ROWS		   (1 << PFS_NAME_CHUNK_BITS)

/* Limits of a row that can be packed: bytes of a function's texts together, lines of a location. */
#define PFS_NAME_CHUNK_MAX_TEXT	 16384
#define PFS_NAME_CHUNK_MAX_LINES 1024

typedef struct PfsPackedFunction
{
	const char *name; /* each text ends with a zero byte */
	const char *system_name;
	const char *filename;
	int32_t start_line;
} PfsPackedFunction;

typedef struct PfsPackedLocation
{
	int32_t mapping;
	int64_t address;
	char symbolization;
	uint32_t line_count;
	const int32_t *function_ids; /* line_count of each */
	const int32_t *lines;
} PfsPackedLocation;

/*
 * Pack 1 .. PFS_NAME_CHUNK_ROWS rows into bytes, which the caller frees. Return PFS_OK or
 * PFS_NO_MEMORY.
 */
PfsStatus pfs_functions_pack(const PfsPackedFunction *functions, uint32_t count,
							 PfsAllocator allocator, PfsBytes *packed);
PfsStatus pfs_locations_pack(const PfsPackedLocation *locations, uint32_t count,
							 PfsAllocator allocator, PfsBytes *packed);

/*
 * Unpack exactly count rows into the caller's array. The rows point into *memory, which the caller
 * frees, also after an error; it is NULL if nothing was allocated.
 */
PfsStatus pfs_functions_unpack(const uint8_t *bytes, size_t length, uint32_t count,
							   PfsAllocator allocator, PfsPackedFunction *functions, void **memory,
							   PfsError *error);
PfsStatus pfs_locations_unpack(const uint8_t *bytes, size_t length, uint32_t count,
							   PfsAllocator allocator, PfsPackedLocation *locations, void **memory,
							   PfsError *error);

#endif
