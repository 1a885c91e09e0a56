/*
 * table_file.h
 *		A table file: what the cache keeps of the CFI of one ELF file.
 *
 * Rules are numbered anew in each run, so a table file carries its own and is renumbered when it is
 * read. It is believed only where its checksum holds, where all that it says is in bounds, and
 * where it was made of the very CFI that the file has now, whatever build ID that claims.
 *
 *		OFFSET  SIZE        DESCRIPTION
 *		0       8           "PFSUNWND"
 *		8       4           CRC-32 of all that follows
 *		12      4           CFI_COMPILER_VERSION
 *		16      8           seed, drawn for this table file
 *		24      8           hash of the CFI under the seed
 *		32      4, 4, 4, 4  numbers of rules, pages, lines; 0
 *		48      8, 8        rows without a rule, malformed FDEs, for the statistics
 *		64      16 × rules  struct pfs_unwind_rule
 *		…       16 × pages  page (8 bytes), first line, lines
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

/* A table with at least one line. *bytes is the caller's to free. 0 or -ENOMEM. */
int table_file_encode(const CfiInput *input, const RuleSet *rules, const PackedTable *packed,
					  const CfiStats *stats, uint8_t **bytes, size_t *length);

/*
 * Foreign bytes into a table whose rules are numbered by the set. 0; -EBADMSG where the bytes are
 * no table file, or not one of this input; -ENOMEM. *packed is to be freed on success only; of
 * *stats what the table file tells is set.
 */
int table_file_decode(const uint8_t *bytes, size_t length, const CfiInput *input, RuleSet *rules,
					  PackedTable *packed, CfiStats *stats);

#endif
