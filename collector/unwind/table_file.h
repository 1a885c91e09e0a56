/*
 * table_file.h
 *		A table file: what the cache keeps of the CFI of one ELF file.
 *
 * Rules are numbered anew in each run, so a table file carries its own and is renumbered when it is
 * read. It is believed only if its checksums hold, if all that it says is in bounds, and if it was
 * made of the very CFI that the file has now, whatever build ID that claims. Of a large table the
 * parts (packed_table.h) are read that are wanted.
 *
 *		OFFSET  SIZE        DESCRIPTION
 *		0       8           "PFSUNWND"
 *		8       4           CRC-32 of all that follows, up to the lines
 *		12      4           CFI_COMPILER_VERSION
 *		16      8           seed, drawn for this table file
 *		24      8           hash of the CFI under the seed
 *		32      4, 4, 4, 4  numbers of rules, pages, lines, parts
 *		48      8, 8        rows without a rule, malformed FDEs, for the statistics
 *		64      16 × rules  struct pfs_unwind_rule
 *		…       16 × pages  page (8 bytes), first line, lines
 *		…       4 × parts   CRC-32 of the part's lines
 *		…       64 × lines  struct pfs_unwind_line, its rules numbered by their place above
 *
 * In the byte order of the machine: a table file never leaves it.
 */
#ifndef COLLECTOR_TABLE_FILE_H
#define COLLECTOR_TABLE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/cfi.h"
#include "unwind/packed_table.h"

#define TABLE_FILE_MAX_BYTES (UINT64_C(64) << 20) /* more than the kernel's tables hold */

/* A part of a table file (packed_table.h). */
typedef struct TableFilePart
{
	uint64_t number;
	uint32_t first_line;
	uint32_t check; /* CRC-32 of its lines */
} TableFilePart;

/*
 * What is kept of a table file that was read or written, so that parts of it can be read without
 * its head. Two table files never have the same seed and hash.
 */
typedef struct TableFileIndex
{
	uint64_t seed;
	uint64_t check; /* hash of the CFI under the seed */
	uint64_t lines; /* where they begin in the file */
	uint32_t rule_count;
	uint16_t *numbers; /* of the file's rules in the set */
	uint32_t part_count;
	TableFilePart *parts; /* ascending */
} TableFileIndex;

void table_file_index_fini(TableFileIndex *index);

/*
 * A whole table with at least one line. *bytes and *index are the caller's to free. 0 or -ENOMEM.
 */
int table_file_encode(const CfiInput *input, const RuleSet *rules, const PackedTable *packed,
					  const CfiStats *stats, uint8_t **bytes, size_t *length,
					  TableFileIndex *index);

/*
 * Reads a table of the input from a file. Of a large table the lines of other parts are left out
 * (NULL: of none). 0; -EBADMSG if the bytes are no table file, or not one of this input; -ENOMEM.
 * *packed and *index are to be freed on success only; of *stats what the table file has is set.
 */
int table_file_read(int fd, const CfiInput *input, const PackedParts *parts, RuleSet *rules,
					PackedTable *packed, CfiStats *stats, TableFileIndex *index);

/*
 * Reads the lines of a table's pages, which are those of some parts, from a file with this index.
 * 0; -EBADMSG if it is another file, or damaged, or if its parts have other pages.
 */
int table_file_read_parts(int fd, const TableFileIndex *index, PackedTable *packed);

#endif
