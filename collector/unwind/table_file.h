/*
 * table_file.h
 *		A table file: the cached unwind table of one ELF file's CFI.
 *
 * Rules are numbered differently in each run, so a table file contains its rules, which are
 * renumbered when it is read. The file is accepted only if its checksums match, all values are
 * within bounds, and it was made from exactly the CFI that the ELF file has now, regardless of the
 * build ID. Of a large table only the wanted parts (packed_table.h) are read.
 *
 *   OFFSET  SIZE        DESCRIPTION
 *   0       8           "PFSUNWND"
 *   8       4           CRC-32 of all that follows, up to the lines
 *   12      4           CFI_COMPILER_VERSION
 *   16      8           seed, drawn for this table file
 *   24      8           hash of the CFI under the seed
 *   32      4, 4, 4, 4  numbers of rules, pages, lines, parts
 *   48      8, 8        rows without a rule, malformed FDEs, for the statistics
 *   64      16 × rules  struct pfs_unwind_rule
 *   ...     16 × pages  page (8 bytes), first line, lines
 *   ...     4 × parts   CRC-32 of the part's lines
 *   ...     64 × lines  struct pfs_unwind_line, its rules numbered by their place above
 *
 * In the byte order of the machine, because a table file never leaves it.
 */
#ifndef COLLECTOR_TABLE_FILE_H
#define COLLECTOR_TABLE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/cfi/cfi.h"
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
 * The part of a table file's content that is needed to read further parts without reading its head
 * again. No two table files have equal seed and hash.
 */
typedef struct TableFileIndex
{
	uint64_t seed;
	uint64_t check; /* hash of the CFI under the seed */
	uint64_t lines; /* offset of the lines in the file */
	uint32_t rule_count;
	uint16_t *numbers; /* rule_set number of each rule of the file */
	uint32_t part_count;
	TableFilePart *parts; /* ascending */
} TableFileIndex;

void table_file_index_fini(TableFileIndex *index);

/*
 * Encodes a complete table with at least one line. The caller frees *bytes and *index. Returns 0 or
 * -ENOMEM.
 */
int table_file_encode(const CfiInput *input, const RuleSet *rules, const PackedTable *packed,
					  const CfiStats *stats, uint8_t **bytes, size_t *length,
					  TableFileIndex *index);

/*
 * Reads the input's table from a file. If the table is large, the lines of parts that are not in
 * parts (NULL: all) are left out. Returns 0; -EBADMSG if the file is no table file, or belongs to
 * another input; -ENOMEM. The caller frees *packed and *index, on success only. Sets only those
 * fields of *stats that the file has.
 */
int table_file_read(int fd, const CfiInput *input, const PackedParts *parts, RuleSet *rules,
					PackedTable *packed, CfiStats *stats, TableFileIndex *index);

/*
 * Reads the lines of pages of some parts from the file with this index. Returns 0; -EBADMSG if the
 * file is another one or damaged, or if its parts have other pages.
 */
int table_file_read_parts(int fd, const TableFileIndex *index, PackedTable *packed);

#endif
