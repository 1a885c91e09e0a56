/*
 * segment.h
 *		A segment: up to PFS_SEGMENT_MAX_ROWS rows of fixed-width columns as compressed, checked
 *		streams of bytes.
 *
 * Rows of a block that agree in all key columns are a *group*. Where groups are large enough to
 * pay, the segment has one more stream, of their lengths; key columns then hold a value per group,
 * and other columns may be encoded beside the groups.
 *
 * Every column is handled as int64 values, whatever its SQL type: integers, bool, date, timestamptz
 * and oid by value (sign-extended as their type is signed or not), float4 and float8 by their bits.
 * A segment is one *header* (row count, one entry per stream with encoding, lengths and CRC32C) and
 * one run of bytes per *stream*; a column has a value stream and, where it holds NULLs, a null
 * stream. A stream is cut in blocks of PFS_BLOCK_ROWS values, which decode alone and carry their
 * minimum and maximum. The bytes themselves are described in format.h alone.
 *
 * This room knows no server header. Functions return a PfsStatus and fill in PfsError; they never
 * abort on stored bytes. Memory comes from the caller's allocator, so that the server can pass
 * palloc.
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
	PFS_CORRUPT,	 /* bytes that no encoder of ours wrote: message and offset tell */
	PFS_UNSUPPORTED, /* a newer format version, or a codec that this build lacks */
	PFS_NO_MEMORY	 /* the allocator returned NULL */
} PfsStatus;

typedef struct PfsError
{
	const char *message; /* static text, PostgreSQL message style */
	int stream;			 /* stream number, -1 for the header */
	size_t offset;		 /* byte offset within the stream or header */
} PfsError;

/* realloc semantics: (NULL, n) allocates, (p, 0) frees and returns NULL. */
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
	const int64_t *values; /* one value per row; ignored where null */
	const bool *nulls;	   /* one flag per row, or NULL where the column has no null */
	bool is_key;		   /* sorted by it, or by keys before it: equal values are neighbours */
	bool wants_sums; /* the sums of groups will be asked for: keep them, if there are groups */

	/*
	 * Of a segment that stands beside another, its base, and has a row for each group of that:
	 * is_shared: the values are those of the groups in the base's key column of the same number, or
	 * their sums if it keeps them, or their rows where the base has no such column; nothing is
	 * stored. row_counts, if not NULL: rows of the groups, with which the values grow. They are
	 * told by the base, or by measure, which is the position of a column before this one.
	 */
	bool is_shared;
	const int64_t *row_counts;
	uint32_t measure; /* not the first; 0: there is none */
} PfsColumn;

typedef struct PfsBytes
{
	uint8_t *data;
	size_t length;
} PfsBytes;

/*
 * An encoded segment. All memory is of the allocator that encode got; pfs_segment_free gives it
 * back.
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
	PFS_EFFORT_FAST, /* L0 and L1: zstd level 1, only where it saves more than a tenth */
	PFS_EFFORT_DENSE /* what stays: L2 */
} PfsEffort;

/* Encodes rows 0 .. row_count-1 of all columns; 1 <= row_count <= PFS_SEGMENT_MAX_ROWS. */
PfsStatus pfs_segment_encode(const PfsColumn *columns, uint32_t column_count, uint32_t row_count,
							 PfsEffort effort, PfsAllocator allocator, PfsSegment *segment,
							 PfsError *error);
void pfs_segment_free(PfsSegment *segment, PfsAllocator allocator);

/* Reading. The reader keeps pointers into header and stream bytes: they must outlive it. */
typedef struct PfsSegmentReader PfsSegmentReader;

/* Checks the whole header; no stream byte is needed yet. */
PfsStatus pfs_reader_open(const uint8_t *header, size_t length, PfsAllocator allocator,
						  PfsSegmentReader **reader, PfsError *error);
void pfs_reader_close(PfsSegmentReader *reader); /* accepts NULL */

uint32_t pfs_reader_row_count(const PfsSegmentReader *reader);
uint32_t pfs_reader_block_count(const PfsSegmentReader *reader);
uint32_t pfs_reader_stream_count(const PfsSegmentReader *reader);
size_t pfs_reader_stream_length(const PfsSegmentReader *reader, uint32_t stream);

/*
 * Number of columns stored, and the position (0 ..) of an attribute, -1 where the segment lacks it.
 */
uint32_t pfs_reader_column_count(const PfsSegmentReader *reader);
int pfs_reader_find_column(const PfsSegmentReader *reader, int16_t attnum);

/* The streams of a column: value stream number, and null stream number or -1. */
void pfs_reader_column_streams(const PfsSegmentReader *reader, int column, int *values, int *nulls);

/*
 * The stream that tells the groups, -1 where rows are not grouped. It is needed beside the streams
 * of every column that is encoded by groups, and does no harm to others.
 */
int pfs_reader_groups_stream(const PfsSegmentReader *reader);

/*
 * Names the base of a segment that stands beside it, before any block is read; the base must
 * outlive the reader.
 */
void pfs_reader_set_base(PfsSegmentReader *reader, PfsSegmentReader *base);

/*
 * The stream of the column above which a column's values are told; -1: none. It is needed for
 * these.
 */
int pfs_reader_measure_stream(const PfsSegmentReader *reader, int column);

/*
 * The stream that has the sums of the groups, -1 where the column does not keep them. It is needed
 * for values too.
 */
int pfs_reader_sums_stream(const PfsSegmentReader *reader, int column);

/* The streams of the base that the column needs too; -1: none. */
void pfs_reader_base_streams(const PfsSegmentReader *reader, int column, int *values, int *groups);

/* Whether pfs_reader_block_range gives bounds of the column, and not its very range. */
bool pfs_reader_range_is_bounds(const PfsSegmentReader *reader, int column);

/*
 * Hands a stream's bytes to the reader, which checks length and CRC, and parses them; needed before
 * its blocks are read. A stream of length 0 (the header tells its one value) needs no bytes and may
 * be left out.
 */
PfsStatus pfs_reader_load_stream(PfsSegmentReader *reader, uint32_t stream, const uint8_t *bytes,
								 size_t length, PfsError *error);

/*
 * Smallest and largest non-null value of a column in a block, of a loaded stream; false where all
 * are null. They may be bounds only: those of the blocks nearby, or of the whole column.
 */
bool pfs_reader_block_range(const PfsSegmentReader *reader, int column, uint32_t block,
							int64_t *min, int64_t *max);
/* The same over the whole segment; known from the header alone. */
bool pfs_reader_column_range(const PfsSegmentReader *reader, int column, int64_t *min,
							 int64_t *max);

/*
 * Decodes one block of a column: writes its values (PFS_BLOCK_ROWS, fewer in the last block) and,
 * where some of them are null, its flags; *has_nulls tells whether nulls[] was written. Both arrays
 * must have room for PFS_BLOCK_ROWS. A null row's value is any number. Both streams of the column
 * and that of the groups must be loaded.
 */
PfsStatus pfs_reader_block(PfsSegmentReader *reader, int column, uint32_t block, int64_t *values,
						   bool *nulls, bool *has_nulls, PfsError *error);
/* The same, but rows of the block's groups that are not wanted may get any value. */
PfsStatus pfs_reader_block_of_groups(PfsSegmentReader *reader, int column, uint32_t block,
									 const bool *wanted, int64_t *values, bool *nulls,
									 bool *has_nulls, PfsError *error);

/* Values of a block in units: least + divisor * units[row]. */
typedef struct PfsUnits
{
	const uint64_t *units; /* NULL: all are 0 */
	int64_t least;
	uint64_t divisor;
	uint64_t range; /* no unit is greater */
} PfsUnits;

/*
 * The same for who can do with units, where a block of a column without nulls keeps these;
 * *are_kept false: it does not. Units of rows that are not wanted may be anything. They stay until
 * another block of the column is decoded.
 */
PfsStatus pfs_reader_block_units(PfsSegmentReader *reader, int column, uint32_t block,
								 const bool *wanted, PfsUnits *units, bool *are_kept,
								 PfsError *error);

/* Whether the rows of each group have one value in a column. */
bool pfs_reader_is_by_group(const PfsSegmentReader *reader, int column);

/*
 * How the rows of a block are grouped: its first group, how many there are, and how many rows each
 * has, minus 1, until another block is decoded. The groups' stream must be loaded.
 */
PfsStatus pfs_reader_block_groups(PfsSegmentReader *reader, uint32_t block, uint32_t *first,
								  uint32_t *count, const int64_t **lengths, PfsError *error);

/* Groups of the segment; 0 where rows are not grouped. */
uint32_t pfs_reader_group_count(const PfsSegmentReader *reader);

/*
 * Decodes up to PFS_BLOCK_ROWS groups from any one on: how many rows each has, or their values in a
 * grouped column, or their sums in one that keeps them, modulo 2^64. The groups' stream, or that of
 * the column, or for sums both, must be loaded.
 */
PfsStatus pfs_reader_group_rows(PfsSegmentReader *reader, uint32_t first, uint32_t count,
								int64_t *rows, PfsError *error);
PfsStatus pfs_reader_group_values(PfsSegmentReader *reader, int column, uint32_t first,
								  uint32_t count, int64_t *values, PfsError *error);

/*
 * How many distinct values a grouped column, whose stream is loaded, tells in a dictionary; 0: it
 * has none. Of groups it tells ranks, which are places in it, and of a rank the value.
 */
uint32_t pfs_reader_distinct_count(const PfsSegmentReader *reader, int column);
PfsStatus pfs_reader_group_ranks(PfsSegmentReader *reader, int column, uint32_t first,
								 uint32_t count, int64_t *ranks, PfsError *error);
/* Puts the values in the place of ranks, of which there is one at least. */
PfsStatus pfs_reader_look_up(PfsSegmentReader *reader, int column, uint32_t count, int64_t *values,
							 PfsError *error);

#endif
