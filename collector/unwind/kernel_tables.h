/*
 * kernel_tables.h
 *		The memory that the walker reads, behind an interface: BPF maps in the agent, plain arrays
 *		in tests.
 *
 * Slots are addressed by number. Lines, directories and mappings are written by plain stores into
 * memory that the walker shares; what leads to them is set only after that.
 */
#ifndef COLLECTOR_KERNEL_TABLES_H
#define COLLECTOR_KERNEL_TABLES_H

#include <stdint.h>

#include "runtime_types.h"
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
	/* the shared memory of one directory entry; NULL where it cannot be had */
	union pfs_unwind_entry *(*entry)(KernelTables *tables, uint32_t slot);
	/* the shared memory of one mapping slot; NULL where it cannot be had */
	struct pfs_unwind_mapping *(*mapping)(KernelTables *tables, uint32_t slot);
	/* the shared memory of one rule that was found, of 1 << PFS_RECENT_SLOT_BITS */
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
