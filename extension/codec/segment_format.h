/*
 * segment_format.h
 *		The format of a segment: the only description of its bytes, and the constants.
 *
 * A segment is a header and, per column, a value stream and, if the column has nulls, a null
 * stream. The header is enough to skip a segment and to find its streams; the entries of a stream
 * are enough to skip its blocks and to decode any of them alone.
 *
 *	 header				  value stream of a column				  null stream
 *	 +--------+---------+-----+  +------+--------------+---------+------+   the same form,
 *	 | prefix | column… | CRC |  | head | block entry… | section…| data |   values 0 and 1
 *	 +--------+---------+-----+  +------+--------------+---------+------+
 *
 * All numbers are little-endian. "varint" is LEB128 in its shortest form, "zigzag" a varint of a
 * signed number (bytes.h). Anything that these tables do not allow is corrupt. Version 1 is the
 * only one; a reader refuses any other, and flag or kind bits that it does not know, as
 * unsupported.
 *
 * Header
 *	 OFFSET	SIZE	DESCRIPTION
 *	 0		4		magic "PFSG"
 *	 4		1		format version, 1
 *	 5		1		flags: bit 0 rows are grouped
 *	 6		2		number of columns, 1 .. PFS_SEGMENT_MAX_COLUMNS
 *	 8		4		number of rows, 1 .. PFS_SEGMENT_MAX_ROWS
 *	 12		-		columns
 *	 -		varint	number of groups, 1 .. number of rows	(grouped)
 *	 -		varint	length of the groups stream, at least 1 (grouped)
 *	 -		4		CRC-32C of the groups stream			(grouped)
 *	 -		4		CRC-32C of all before it
 *
 * Column, in the header
 *	 SIZE	DESCRIPTION
 *	 2		attribute number, signed
 *	 1		bits 0-3 bytes of the type: 1, 2, 4, 8
 *			bits 4-7 kind: 0 plain, 1 some rows are null, 2 all are, 4 a value per group,
 *			6 sums of groups and how their rows divide them, 8 shared with the base,
 *			10 minus a multiple of another column, 12 minus a multiple of the groups' rows
 *	 zigzag	least value that is not null	(unless all are null)
 *	 varint	greatest minus least value		(unless all are null)
 *	 varint	unit							(kinds 6, 10, 12)
 *	 varint	position of the other column	(kind 10)
 *	 varint	length of the value stream		(unless all are null, the column is shared, or
 *	 4		CRC-32C of the value stream		 greatest equals least and no row is null)
 *	 varint	length of the sums stream		(kind 6)
 *	 4		CRC-32C of the sums stream		(kind 6)
 *	 varint	length of the null stream		(some rows are null)
 *	 4		CRC-32C of the null stream		(some rows are null)
 *
 * Example: one row, attribute 3 of type int4, the value 300:
 *	 50 46 53 47  01 00  01 00  01 00 00 00	  prefix
 *	 03 00	04	d8 04  00					  attribute 3, 4 bytes, least 300, range 0, so no stream
 *	 xx xx xx xx							  CRC
 *
 * Groups: neighbouring rows of one block that agree in all key columns make a group. A key column
 * has one value per group in its stream, which is cut in blocks of PFS_BLOCK_ROWS groups. The
 * groups stream is the last of the segment:
 *	 SIZE	DESCRIPTION
 *	 varint	length of the first of two streams
 *	 -		stream of the groups of each block of rows, minus 1; a value per block of rows
 *	 -		stream of the rows of each group, minus 1; a value per group
 *
 * Kind 6: a value is least + unit * q. The sums stream has one value per group, the sum of its q,
 * and is cut in blocks of PFS_BLOCK_ROWS groups. Blocks of the value stream may be PARTED, which
 * means that they are decoded with the help of these sums.
 *
 * Kind 10: the stream holds the value minus unit times that of the other column, modulo 2^64. The
 * other column stands before this one, and is of kind 0.
 *
 * A segment may stand beside another one, its base, and have one row per group of the base. Kind 8:
 * the values are those of the groups in the base's key column of the same attribute number, or
 * their sums if that column is of kind 6, or their rows if the base has no such column. Kind 12:
 * the stream holds the value minus unit times the rows of the group, modulo 2^64.
 *
 * Stream
 *	 SIZE	DESCRIPTION
 *	 1		head: bits 0-1 packing, 0 bits or 1 planes; bit 2 a dictionary follows; the rest 0
 *	 varint	number of distinct values, 1 .. number of values					(dictionary)
 *	 varint	length of their stream											(dictionary)
 *	 -		stream of the distinct values, ascending, without dictionary	(dictionary);
 *			the blocks then hold places in it, from 0
 *	 -		one entry per block of PFS_BLOCK_ROWS rows, the last one shorter
 *	 -		planes only: the section table
 *	 -		data, up to the end of the stream
 *
 * A block stores *symbols*: its values after three steps, each of which the reader undoes.
 *	 1. units: q = (value - least) / divisor, an unsigned number; the divisor is common to the block
 *	 2. runs, if bit 3 is set: of equal neighbours one q is kept, and the run's length - 1 beside it
 *	 3. transform of the q that are left:
 *		PLAIN	symbol[i] = q[i]
 *		DELTA	symbol[i] = q[i] - q[i-1] - base,						 symbol[0] = 0
 *		DELTA2	symbol[i] = (q[i] - q[i-1]) - (q[i-1] - q[i-2]) - base,	 symbol[0] = symbol[1] = 0
 *	 modulo 2^k, where k is the bits of the range: if q falls, as times do at the start of the
 *	 next stack, the delta takes no more bits than q itself.
 *
 * Block entry
 *	 SIZE	DESCRIPTION
 *	 1		bits 0-2 transform: 0 NULLS, 1 CONSTANT, 2 PLAIN, 3 DELTA, 4 DELTA2, 5 RISING,
 *			6 BANDED, 7 PARTED; the last three in packing "bits" beside groups only
 *			bit 3 runs (PLAIN and DELTA)
 *			bit 4 a divisor follows; otherwise it is that of the entry before, initially 1
 *			bit 5 symbols are patched (not RISING, PARTED); bit 6 run lengths are patched
 *			bits 3-6 are 0 for NULLS and CONSTANT
 *			bit 7 is the fourth bit of the transform: 0, since there is no transform 8 to 15 yet
 *	 zigzag	least value, minus that of the last entry that had one,
 *			initially 0, modulo 2^64									(not for NULLS)
 *	 varint	range, (greatest - least) / divisor, at least 1			(this and all that follows not
 *																	 for NULLS and CONSTANT)
 *	 varint	divisor, at least 1										(bit 4)
 *	 varint	number of runs, 1 .. rows of the block					(bit 3)
 *	 1		bits of a run length - 1, 0 .. 10						(bit 3)
 *	 varint	q[0]													(DELTA, DELTA2)
 *	 zigzag	q[1] - q[0]												(DELTA2)
 *	 zigzag	base													(DELTA, DELTA2)
 *	 1		bits of a symbol, 0 .. k								(DELTA, DELTA2)
 *	 1		kept bits of a symbol, less than its bits				(bit 5)
 *	 varint	number of patched symbols, 1 .. number of symbols		(bit 5)
 *	 1		bits of a gap between patched symbols, 0 .. 10			(bit 5)
 *			the same three of run lengths							(bit 6)
 *	 varint	number of symbols										(RISING)
 *	 4		bits of a number in each band, four bits a band			(BANDED)
 *	 varint	bytes of the group bits									(RISING, BANDED, PARTED)
 *
 * A NULLS block has no value, a CONSTANT block a single one; neither has symbols. PLAIN symbols
 * have exactly the bits that the range needs. A null row holds the value of some other row of the
 * block.
 *
 * Packing "bits": the data are, block after block, the symbols and then the run lengths, each
 * bit-packed as bitpack.h draws it. A patched array (patched.h) is three in a row: the kept low
 * bits of all numbers; for each patched number, how many numbers lie between it and the patched one
 * before; and its bits above the kept ones.
 *
 * RISING: the q of each group rise; a group has k of the W = range + 1 possible numbers. The number
 * of rows alone decides how a group is stored, by the fewest bits (symbols may take 16/15 of
 * that):
 *  - k symbols with the bits of the range, in the array of symbols; or
 *  - W group bits, of which those numbered q are set; or
 *  - with l = the bits of W / k, minus 1: first k + (range >> l) group bits, of which those
 *    numbered (q[i] >> l) + i are set, then the l low bits of each q.
 * The group bits follow the array of symbols.
 *
 * BANDED: a group of k rows is in band b = the bits of k, minus 1, but at most 7. The group bits
 * hold its q with the bits of its band. A larger q is patched: it is 0 in the group bits, and whole
 * in the array of symbols, which keeps no bits. In a sums stream, which has one value per group, k
 * is the number of rows of the value's group.
 *
 * PARTED: least value and divisor are least and unit of the column, so the least value is only a
 * bound; there are no symbols. A group of k rows and sum s has no bits if k = 1 or s = 0.
 * Otherwise, with l = the bits of s / k, minus 1 (0 if s < k): the l low bits of the q of all rows
 * but the last, then for each of these q >> l zeros and a one. The last row is the sum minus the
 * others.
 *
 * Packing "planes": every array is cut in planes of one byte per symbol, as many as its bits need,
 * least significant first; nothing is patched. PFS_STRIPE_BLOCKS blocks make a stripe. Plane i of
 * all blocks of a stripe makes a section: sections 0 .. 7 are the planes of symbols, 8 .. 9 those
 * of run lengths. The section table lists, stripe after stripe, the sections that are not empty:
 *	 SIZE	DESCRIPTION
 *	 1		code: 0 raw, 1 one byte repeated, 2 a zstd frame without content size and checksum
 *	 varint	length of the frame											(code 2)
 * The data are the sections in that order. A stripe can be decoded alone.
 */
#ifndef PFS_SEGMENT_FORMAT_H
#define PFS_SEGMENT_FORMAT_H

#include "codec/segment.h"

#define PFS_SEGMENT_MAGIC		0x47534650u /* "PFSG" */
#define PFS_FORMAT_VERSION		1
#define PFS_SEGMENT_MAX_COLUMNS 1664 /* above a table's own limit of 1600 */

/* far more than an encoder writes for the largest segment, and far too small to overflow a size */
#define PFS_STREAM_MAX_BYTES ((size_t) PFS_SEGMENT_MAX_ROWS * 32)

#define PFS_HEADER_CRC_BYTES 4
#define PFS_COLUMN_MIN_BYTES 3

#define PFS_COLUMN_WIDTH_MASK 0x0f
#define PFS_COLUMN_HAS_NULLS  0x10
#define PFS_COLUMN_ALL_NULL	  0x20
#define PFS_COLUMN_GROUPED	  0x40
#define PFS_COLUMN_PARTED	  0x60
#define PFS_COLUMN_SHARED	  0x80
#define PFS_COLUMN_MEASURED	  0xa0
#define PFS_COLUMN_ABOVE	  0xc0

#define PFS_HEADER_GROUPED 0x01

#define PFS_STREAM_PACKING_MASK 0x03
#define PFS_STREAM_DICTIONARY	0x04

typedef enum PfsPacking
{
	PFS_PACKING_BITS = 0,
	PFS_PACKING_PLANES = 1
} PfsPacking;

typedef enum PfsTransform
{
	PFS_TRANSFORM_NULLS = 0,
	PFS_TRANSFORM_CONSTANT = 1,
	PFS_TRANSFORM_PLAIN = 2,
	PFS_TRANSFORM_DELTA = 3,
	PFS_TRANSFORM_DELTA2 = 4,
	PFS_TRANSFORM_RISING = 5,
	PFS_TRANSFORM_BANDED = 6,
	PFS_TRANSFORM_PARTED = 7
} PfsTransform;

#define PFS_ENTRY_TRANSFORM(kind) (((kind) &0x07) | ((kind) >> 4 & 0x08))
#define PFS_ENTRY_RUNS			  0x08
#define PFS_ENTRY_DIVISOR		  0x10
#define PFS_ENTRY_SYMBOL_PATCHES  0x20
#define PFS_ENTRY_LENGTH_PATCHES  0x40

#define PFS_RUN_LENGTH_MAX_BITS 10

#define PFS_RISING_MAX_RANGE 4095
#define PFS_BANDED_MAX_RANGE 0x7fff
#define PFS_PARTED_MAX_RANGE 8191
#define PFS_BAND_COUNT		 8
#define PFS_GROUP_BITS_MAX_BYTES \
	2048 /* limit for a block: PFS_BLOCK_ROWS numbers of the widest range */

#define PFS_STRIPE_BLOCKS	32
#define PFS_SECTION_SYMBOLS 0
#define PFS_SECTION_LENGTHS 8
#define PFS_SECTION_COUNT	10

typedef enum PfsSectionCode
{
	PFS_SECTION_RAW = 0,
	PFS_SECTION_REPEAT = 1,
	PFS_SECTION_ZSTD = 2
} PfsSectionCode;

_Static_assert(PFS_BLOCK_ROWS == 1024, "bitpack.h and run lengths of 10 bits rest on it");
_Static_assert(PFS_BLOCK_ROWS == 1 << PFS_RUN_LENGTH_MAX_BITS, "a run may fill a block");
_Static_assert(PFS_SEGMENT_MAX_ROWS % PFS_BLOCK_ROWS == 0, "the largest segment has whole blocks");

#endif
