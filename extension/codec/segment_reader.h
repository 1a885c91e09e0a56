/*
 * segment_reader.h
 *		The reader of a segment: segment_header.c fills it in, segment_reader.c answers
 *		questions about it, segment_block.c decodes with it.
 */
#ifndef PFS_SEGMENT_READER_H
#define PFS_SEGMENT_READER_H

#include "codec/groups.h"
#include "codec/segment.h"
#include "codec/stream.h"

typedef struct Stream
{
	size_t length; /* bytes; 0: nothing is stored, the header has the one value */
	uint32_t crc;
	uint32_t value_count;
	bool may_have_nulls;	   /* a value stream of a column with nulls */
	PfsStreamDecoder *decoder; /* NULL until loaded */
} PfsReaderStream;

typedef struct Column
{
	int16_t attnum;
	bool has_values; /* at least one row is not null */
	bool has_nulls;	 /* at least one row is null */
	bool is_grouped; /* kind 4: one value per group */
	bool is_parted;	 /* kind 6: the sums of the groups have a stream of their own */
	bool is_shared;	 /* kind 8: the base has the values */
	int measure;	 /* kind 10: values are stored minus unit times this column; -1: otherwise */
	bool is_above;	 /* kind 12: values are stored minus unit times the base's number of rows */
	uint64_t unit;
	int value_stream;
	int null_stream; /* -1: none */
	int sums_stream; /* -1: none */
	int64_t least;
	int64_t greatest;
} PfsReaderColumn;

struct PfsSegmentReader
{
	PfsAllocator allocator;
	uint32_t row_count;
	uint32_t column_count;
	uint32_t stream_count;
	bool is_grouped;
	uint32_t group_count;
	int groups_stream;		  /* -1: none */
	PfsGroupsDecoder *groups; /* NULL until loaded */
	PfsSegmentReader *base;	  /* NULL: not set */
	PfsReaderColumn *columns; /* columns[] and streams[] lie in the reader's own allocation */
	PfsReaderStream *streams;
};

static inline PfsStatus
pfs_reader_fail(PfsError *error, PfsStatus status, const char *message, size_t offset)
{
	*error = (PfsError){ message, -1, offset };
	return status;
}

/* Returns the base's column with the same attribute number, or NULL. */
static inline const PfsReaderColumn *
pfs_reader_base_column(const PfsSegmentReader *base, const PfsReaderColumn *column)
{
	int source = pfs_reader_find_column(base, column->attnum);

	return source < 0 ? NULL : &base->columns[source];
}

#endif
