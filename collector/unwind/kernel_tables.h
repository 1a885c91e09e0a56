/*
 * kernel_tables.h
 *		Interface of the tables that the BPF program reads: BPF maps in the agent, plain arrays in
 *		tests.
 *
 * Each table has numbered slots. Lines, directories and mappings are written with plain stores into
 * shared memory; a reference to them is written only afterwards.
 */
#ifndef COLLECTOR_KERNEL_TABLES_H
#define COLLECTOR_KERNEL_TABLES_H

#include <stdint.h>

#include "runtime_types.h"
#include "unwind_types.h"

typedef struct KernelTables KernelTables;

/* All functions return 0 or -errno unless stated otherwise. */
typedef struct KernelTablesOps
{
	int (*write_lines)(KernelTables *tables, uint32_t first, uint32_t count,
					   const struct pfs_unwind_line *lines);
	/* Returns the shared memory of a line that was written; NULL if it is not available. */
	const struct pfs_unwind_line *(*line)(KernelTables *tables, uint32_t number);
	int (*write_rule)(KernelTables *tables, uint32_t number, const struct pfs_unwind_rule *rule);
	/* Returns the shared memory of a directory entry; NULL if it is not available. */
	union pfs_unwind_entry *(*entry)(KernelTables *tables, uint32_t slot);
	/* Returns the shared memory of a mapping slot; NULL if it is not available. */
	struct pfs_unwind_mapping *(*mapping)(KernelTables *tables, uint32_t slot);
	/*
	 * Returns the shared memory of a slot in the cache of found rules, which has 1 <<
	 * PFS_RECENT_SLOT_BITS slots.
	 */
	__u64 *(*recent)(KernelTables *tables, uint32_t slot);
	int (*set_process)(KernelTables *tables, uint32_t pid,
					   const struct pfs_unwind_process *process);
	void (*remove_process)(KernelTables *tables, uint32_t pid);
	int (*set_runtime)(KernelTables *tables, uint32_t pid, const struct pfs_runtime *runtime);
	void (*remove_runtime)(KernelTables *tables, uint32_t pid);
} KernelTablesOps;

struct KernelTables
{
	const KernelTablesOps *ops;
	uint32_t line_limit;
	uint32_t entry_limit;
	uint32_t mapping_limit;
};

#endif
