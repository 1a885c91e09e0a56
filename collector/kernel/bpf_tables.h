/*
 * bpf_tables.h
 *		The tables for walks, in BPF maps that are mapped into this process.
 */
#ifndef COLLECTOR_BPF_TABLES_H
#define COLLECTOR_BPF_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/kernel_tables.h"

/* Descriptors of maps in bpf/unwind_maps.bpf.h and bpf/runtime.bpf.h; the caller owns them. */
typedef struct BpfTableMaps
{
	int lines;
	int entries;
	int mappings;
	int rules;
	int recent;
	int processes;
	int runtimes;
} BpfTableMaps;

/* Limits of the tables' sizes. */
typedef struct BpfTableLimits
{
	uint32_t chunks; /* chunks of PFS_UNWIND_CHUNK_LINES lines */
	uint32_t entries;
	uint32_t mappings;
} BpfTableLimits;

/*
 * Computes limits of the tables: for about that many bytes in total or, if given, for that many
 * mappings of processes and that much code of binaries (0: derived from the bytes). The limits are
 * never below the needs of a small host.
 */
void bpf_table_limits(size_t bytes, uint64_t mappings, uint64_t code_bytes, BpfTableLimits *limits);

/* Creates the tables. Returns 0 or -errno. bpf_tables_free() accepts NULL. */
int bpf_tables_create(const BpfTableMaps *maps, const BpfTableLimits *limits,
					  KernelTables **tables);

/* Returns the present size of the tables, without the maps that contain them. Any thread. */
size_t bpf_tables_bytes(const KernelTables *tables);
void bpf_tables_free(KernelTables *tables);

#endif
