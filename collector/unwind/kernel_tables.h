/*
 * kernel_tables.h
 *		The memory that the walker reads, behind an interface: BPF maps in the agent, plain arrays in tests.
 *
 * Slots are addressed by number. Writing lines and mappings is plain stores into shared memory; the entries that lead
 * to them (pages, processes) are set only after that.
 */
#ifndef COLLECTOR_KERNEL_TABLES_H
#define COLLECTOR_KERNEL_TABLES_H

#include <stdint.h>

#include "unwind_types.h"

typedef struct KernelTables KernelTables;

/* All return 0 or -errno unless they say otherwise. */
typedef struct KernelTablesOps
{
	int (*write_lines)(KernelTables *tables, uint32_t first, uint32_t count,
					   const struct pfs_unwind_line *lines);
	/* the shared memory of one line that was written; NULL where it cannot be had */
	const struct pfs_unwind_line *(*line)(KernelTables *tables, uint32_t number);
	int (*write_rule)(KernelTables *tables, uint32_t number, const struct pfs_unwind_rule *rule);
	int (*set_page)(KernelTables *tables, const struct pfs_unwind_page_key *key,
					const struct pfs_unwind_page *page);
	void (*remove_page)(KernelTables *tables, const struct pfs_unwind_page_key *key);
	/* the shared memory of one mapping slot; NULL where it cannot be had */
	struct pfs_unwind_mapping *(*mapping)(KernelTables *tables, uint32_t slot);
	int (*set_process)(KernelTables *tables, uint32_t pid,
					   const struct pfs_unwind_process *process);
	void (*remove_process)(KernelTables *tables, uint32_t pid);
} KernelTablesOps;

struct KernelTables
{
	const KernelTablesOps *ops;
	uint32_t line_limit;
	uint32_t mapping_limit;
};

#endif
