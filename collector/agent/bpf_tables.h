/*
 * bpf_tables.h
 *		The walker's tables in BPF maps, mapped into this process.
 */
#ifndef COLLECTOR_BPF_TABLES_H
#define COLLECTOR_BPF_TABLES_H

#include "unwind/kernel_tables.h"

/* Descriptors of the maps in bpf/unwind_maps.bpf.h; they stay the caller's. */
typedef struct BpfTableMaps
{
	int lines;
	int entries;
	int mappings;
	int rules;
	int processes;
} BpfTableMaps;

/* 0 or -errno. Ended by bpf_tables_free, which accepts NULL. */
int bpf_tables_create(const BpfTableMaps *maps, KernelTables **tables);
void bpf_tables_free(KernelTables *tables);

#endif
