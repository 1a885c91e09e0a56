/*
 * bpf_tables.h
 *		The walker's tables in BPF maps, mapped into this process.
 */
#ifndef COLLECTOR_BPF_TABLES_H
#define COLLECTOR_BPF_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/kernel_tables.h"

/* Descriptors of maps in bpf/unwind_maps.bpf.h, bpf/runtime.bpf.h; they stay the caller's. */
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

/* How far tables may grow. */
typedef struct BpfTableLimits
{
	uint32_t chunks; /* of PFS_UNWIND_CHUNK_LINES lines */
	uint32_t entries;
	uint32_t mappings;
} BpfTableLimits;

/*
 * So that all together take about so many bytes; or for so many mappings of processes, so much code
 * of binaries (0: by the bytes). Never less than a small host needs.
 */
void bpf_table_limits(size_t bytes, uint64_t mappings, uint64_t code_bytes, BpfTableLimits *limits);

/* 0 or -errno. Ended by bpf_tables_free, which accepts NULL. */
int bpf_tables_create(const BpfTableMaps *maps, const BpfTableLimits *limits,
					  KernelTables **tables);

/* What they take now, but for the maps themselves. Any thread. */
size_t bpf_tables_bytes(const KernelTables *tables);
void bpf_tables_free(KernelTables *tables);

#endif
