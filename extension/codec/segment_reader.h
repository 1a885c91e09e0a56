/*
 * segment_reader.h
 *		A segment's reader from within: what segment_header.c fills in, segment_reader.c tells and
 *		segment_block.c decodes by.
 */
#ifndef PFS_SEGMENT_READER_H
#define PFS_SEGMENT_READER_H

#include "codec/groups.h"
#include "codec/segment.h"
#include "codec/stream.h"

typedef struct Stream
{
	size_t length; /* bytes; 0: there are none, the header tells all */
	uint32_t crc;
	uint32_t value_count;
	PfsStreamDecoder *decoder; /* NULL until loaded */
} PfsReaderStream;

typedef struct Column
{
	int16_t attnum;
	bool has_values; /* some row is not null */
	bool has_nulls;	 /* some row is null */
	bool is_grouped; /* a value per group */
	bool is_parted;	 /* the groups' sums have a stream */
	bool is_shared;	 /* the values are the base's */
	int measure;	 /* values are what is above unit times that column; -1: none */
	bool is_above;	 /* values are what is above unit times the rows of the base's groups */
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
	PfsSegmentReader *base;	  /* NULL: none was named */
	PfsReaderColumn *columns; /* in the reader's own allocation, as streams[] */
	PfsReaderStream *streams;
};

static inline PfsStatus
pfs_reader_fail(PfsError *error, PfsStatus status, const char *message, size_t offset)
{
	*error = (PfsError){ message, -1, offset };
	return status;
}

/* The base's column of that number, NULL where it has none. */
static inline const PfsReaderColumn *
pfs_reader_base_column(const PfsSegmentReader *base, const PfsReaderColumn *column)
{
	int source = pfs_reader_find_column(base, column->attnum);

	return source < 0 ? NULL : &base->columns[source];
}

#endif
