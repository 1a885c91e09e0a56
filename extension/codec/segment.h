/*
 * segment.h
 *		A segment: up to PFS_SEGMENT_MAX_ROWS rows of fixed-width columns as compressed, checked
 *		streams of bytes.
 *
 * Rows of a block that agree in all key columns are a *group*. If groups are large enough to
 * pay, the segment has one more stream, of their lengths; key columns then hold a value per group,
 * and other columns may be encoded beside the groups.
 *
 * Every column is handled as int64 values, whatever its SQL type: integers, bool, date, timestamptz
 * and oid by value (sign-extended as their type is signed or not), float4 and float8 by their bits.
 * A segment is one *header* (row count, one entry per stream with encoding, lengths and CRC32C) and
 * one run of bytes per *stream*; a column has a value stream and, if it holds NULLs, a null
 * stream. A stream is cut in blocks of PFS_BLOCK_ROWS values, which decode alone and carry their
 * minimum and maximum. The bytes themselves are described in segment_format.h alone.
 *
 * This room includes no server header. Functions return a PfsStatus and fill in PfsError; they
 * never abort on stored bytes. Memory comes from the caller's allocator, so that the server can
 * pass palloc.
 */
#ifndef PFS_SEGMENT_H
#define PFS_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PFS_BLOCK_ROWS		 1024
#define PFS_SEGMENT_MAX_ROWS (1 << 21)

typedef enum PfsStatus
{
	PFS_OK = 0,
	PFS_CORRUPT,	 /* bytes that no encoder of ours wrote; see PfsError for message and offset */
	PFS_UNSUPPORTED, /* a newer format version, or an encoding that this build does not know */
	PFS_NO_MEMORY	 /* the allocator returned NULL */
} PfsStatus;

typedef struct PfsError
{
	const char *message; /* static text, PostgreSQL message style */
	int stream;			 /* stream number, -1 for the header */
	size_t offset;		 /* byte offset within the stream or header */
} PfsError;

/* Behaves like realloc: (NULL, n) allocates; (pointer, 0) frees and returns NULL. */
typedef void *(*PfsReallocFn)(void *context, void *pointer, size_t bytes);

typedef struct PfsAllocator
{
	PfsReallocFn realloc;
	void *context;
} PfsAllocator;

/* One column of rows to encode. */
typedef struct PfsColumn
{
	int16_t attnum;		   /* the table's attribute number, stored with the stream */
	uint8_t width;		   /* bytes of the SQL type: 1, 2, 4 or 8 */
	const int64_t *values; /* one value per row; the value of a null row is ignored */
	const bool *nulls;	   /* one flag per row, or NULL if the column has no nulls */
	bool is_key; /* rows are sorted by it and by the keys before it: equal values are neighbours */
	bool wants_sums; /* store the sum of each group, if there are groups */

	/*
	 * The next three fields are for a segment that stands beside another one, its base, and has a
	 * row for each group of the base.
	 *
	 * is_shared: nothing is stored, because the base has the values: those of its key column with
	 * the same attribute number, or the sums of that column if it stores sums, or, if the base has
	 * no such column, the number of rows of each group.
	 *
	 * row_counts: number of rows of each group, or NULL. The values grow with them, so only the
	 * difference from a multiple of them is stored. A reader takes the row counts from the base,
	 * or, if measure is not 0, from the column at position measure, which stands before this one.
	 */
	bool is_shared;
	const int64_t *row_counts;
	/* position of a column before this one, never 0; 0: take the row counts from the base */
	uint32_t measure;
} PfsColumn;

typedef struct PfsBytes
{
	uint8_t *data;
	size_t length;
} PfsBytes;

/*
 * An encoded segment. Its memory comes from the allocator given to pfs_segment_encode();
 * pfs_segment_free() frees it.
 */
typedef struct PfsSegment
{
	PfsBytes header;
	uint32_t stream_count;
	PfsBytes *streams;
	uint32_t group_count; /* 0: rows are not grouped */
} PfsSegment;

typedef enum PfsEffort
{
	PFS_EFFORT_FAST, /* levels 0 and 1: zstd level 1, and only if it saves more than a tenth */
	PFS_EFFORT_DENSE /* level 2: segments that are not merged again */
} PfsEffort;

/*
 * Encodes rows 0 .. row_count - 1 of all columns; 1 <= row_count <= PFS_SEGMENT_MAX_ROWS. Returns
 * PFS_OK or PFS_NO_MEMORY; after an error nothing has to be freed.
 */
PfsStatus pfs_segment_encode(const PfsColumn *columns, uint32_t column_count, uint32_t row_count,
							 PfsEffort effort, PfsAllocator allocator, PfsSegment *segment,
							 PfsError *error);
void pfs_segment_free(PfsSegment *segment, PfsAllocator allocator);

/* A reader keeps pointers to the bytes of the header and of the streams, which must outlive it. */
typedef struct PfsSegmentReader PfsSegmentReader;

/* Opens a segment: checks the whole header. No byte of a stream is needed yet. */
PfsStatus pfs_reader_open(const uint8_t *header, size_t length, PfsAllocator allocator,
						  PfsSegmentReader **reader, PfsError *error);
void pfs_reader_close(PfsSegmentReader *reader); /* accepts NULL */

uint32_t pfs_reader_row_count(const PfsSegmentReader *reader);
uint32_t pfs_reader_block_count(const PfsSegmentReader *reader);
uint32_t pfs_reader_stream_count(const PfsSegmentReader *reader);
size_t pfs_reader_stream_length(const PfsSegmentReader *reader, uint32_t stream);

/*
 * Returns the number of columns stored, and the position (from 0) of an attribute; -1 if the
 * segment lacks it.
 */
uint32_t pfs_reader_column_count(const PfsSegmentReader *reader);
int pfs_reader_find_column(const PfsSegmentReader *reader, int16_t attnum);

/*
 * Returns the numbers of a column's value stream and null stream; *nulls is -1 if it has no null
 * stream.
 */
void pfs_reader_column_streams(const PfsSegmentReader *reader, int column, int *values, int *nulls);

/*
 * Returns the number of the stream that stores the groups, or -1 if rows are not grouped. Load it
 * beside the streams of every column that is encoded by groups; loading it for other columns does
 * no harm.
 */
int pfs_reader_groups_stream(const PfsSegmentReader *reader);

/*
 * Sets the base of a segment that stands beside another one. Call it before reading any block; the
 * base must outlive the reader.
 */
void pfs_reader_set_base(PfsSegmentReader *reader, PfsSegmentReader *base);

/*
 * Returns the number of the value stream of the column that gives the row counts of this column
 * (see PfsColumn.measure), or -1. That stream must be loaded to read this column.
 */
int pfs_reader_measure_stream(const PfsSegmentReader *reader, int column);

/*
 * Returns the number of the stream that stores the sums of the groups, or -1 if the column has
 * none. It must be loaded to read values, too.
 */
int pfs_reader_sums_stream(const PfsSegmentReader *reader, int column);

/* Sets the streams of the base that must be loaded to read the column; -1: none. */
void pfs_reader_base_streams(const PfsSegmentReader *reader, int column, int *values, int *groups);

/*
 * Returns true if pfs_reader_block_range() gives only bounds for this column, and false if it gives
 * the exact minimum and maximum.
 */
bool pfs_reader_range_is_bounds(const PfsSegmentReader *reader, int column);

/*
 * Gives the reader a stream's bytes. The reader checks length and CRC and parses them. Load a
 * stream before reading its blocks; a stream of length 0 has no bytes (the header stores its one
 * value) and may be left out.
 */
PfsStatus pfs_reader_load_stream(PfsSegmentReader *reader, uint32_t stream, const uint8_t *bytes,
								 size_t length, PfsError *error);

/*
 * Sets the smallest and largest non-null value of a column in a block whose stream is loaded.
 * Returns false if all values are null. They may be bounds: those of neighbouring blocks, or of the
 * whole column.
 */
bool pfs_reader_block_range(const PfsSegmentReader *reader, int column, uint32_t block,
							int64_t *min, int64_t *max);
/* Like pfs_reader_block_range(), but over the whole segment. It reads the header only. */
bool pfs_reader_column_range(const PfsSegmentReader *reader, int column, int64_t *min,
							 int64_t *max);

/*
 * Decodes one block of a column into values[] (PFS_BLOCK_ROWS values, fewer in the last block). If
 * some are null, sets *has_nulls and writes nulls[]; otherwise nulls[] is not written. Both arrays
 * must have room for PFS_BLOCK_ROWS. The value of a null row is unspecified. The column's streams
 * and that of the groups must be loaded.
 */
PfsStatus pfs_reader_block(PfsSegmentReader *reader, int column, uint32_t block, int64_t *values,
						   bool *nulls, bool *has_nulls, PfsError *error);
/* Like pfs_reader_block(), but rows of groups whose wanted[] is false may get any value. */
PfsStatus pfs_reader_block_of_groups(PfsSegmentReader *reader, int column, uint32_t block,
									 const bool *wanted, int64_t *values, bool *nulls,
									 bool *has_nulls, PfsError *error);

/* Values of a block in units: value = least + divisor * units[row]. */
typedef struct PfsUnits
{
	const uint64_t *units; /* NULL: all are 0 */
	int64_t least;
	uint64_t divisor;
	uint64_t range; /* no unit is greater */
} PfsUnits;

/*
 * Like pfs_reader_block_of_groups(), but returns units instead of values, for callers that can sum
 * units. *are_kept is set to false, and *units is not usable, if the block has nulls or is not
 * stored in units. Units of rows that are not wanted are unspecified. *units is valid until another
 * block of the column is decoded.
 */
PfsStatus pfs_reader_block_units(PfsSegmentReader *reader, int column, uint32_t block,
								 const bool *wanted, PfsUnits *units, bool *are_kept,
								 PfsError *error);

/* Returns true if all rows of a group have one value in this column. */
bool pfs_reader_is_by_group(const PfsSegmentReader *reader, int column);

/*
 * Returns how the rows of a block are grouped: the number of its first group, the number of its
 * groups, and the rows of each, minus 1. *lengths is valid until another block is decoded. The
 * groups stream must be loaded.
 */
PfsStatus pfs_reader_block_groups(PfsSegmentReader *reader, uint32_t block, uint32_t *first,
								  uint32_t *count, const int64_t **lengths, PfsError *error);

/* Returns the number of groups in the segment; 0 if rows are not grouped. */
uint32_t pfs_reader_group_count(const PfsSegmentReader *reader);

/*
 * Decode count groups from number first on. count is at most PFS_BLOCK_ROWS.
 * pfs_reader_group_rows() returns the number of rows of each group. pfs_reader_group_values()
 * returns the value of each group if the column is grouped, or the group's sum modulo 2^64 if the
 * column stores sums. The groups stream must be loaded for rows, the column's value stream for
 * values, the groups stream and the sums stream for sums.
 */
PfsStatus pfs_reader_group_rows(PfsSegmentReader *reader, uint32_t first, uint32_t count,
								int64_t *rows, PfsError *error);
PfsStatus pfs_reader_group_values(PfsSegmentReader *reader, int column, uint32_t first,
								  uint32_t count, int64_t *values, PfsError *error);

/*
 * pfs_reader_distinct_count() returns the number of distinct values in the dictionary of a grouped
 * column whose stream is loaded; 0: it has none. pfs_reader_group_ranks() is like
 * pfs_reader_group_values(), but returns ranks, which are places in that dictionary.
 */
uint32_t pfs_reader_distinct_count(const PfsSegmentReader *reader, int column);
PfsStatus pfs_reader_group_ranks(PfsSegmentReader *reader, int column, uint32_t first,
								 uint32_t count, int64_t *ranks, PfsError *error);
/* Replaces ranks by their values; count is at least 1. */
PfsStatus pfs_reader_look_up(PfsSegmentReader *reader, int column, uint32_t count, int64_t *values,
							 PfsError *error);

#endif
