/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * memory_tables.c
 *		Tables in arrays. The unwinder itself looks up rules and processes.
 */
#include "memory_tables.h"

#include <stdlib.h>
#include <string.h>

#define LINE_LIMIT	  (1 << 20)
#define ENTRY_LIMIT	  (1 << 18)
#define MAPPING_LIMIT (1 << 17)

typedef struct MemoryTables {
	KernelTables tables; /* must be the first member, because the operations get its address */
	struct pfs_unwind_line *lines;
	union pfs_unwind_entry *entries;
	struct pfs_unwind_mapping *mappings;
	__u64 *recent;
} MemoryTables;

static int
write_lines(KernelTables *tables, uint32_t first, uint32_t count,
			const struct pfs_unwind_line *lines)
{
	memcpy(((MemoryTables *) tables)->lines + first, lines, count * sizeof(*lines));
	return 0;
}

static const struct pfs_unwind_line *
line(KernelTables *tables, uint32_t number)
{
	return number < LINE_LIMIT ? &((MemoryTables *) tables)->lines[number] : NULL;
}

static struct pfs_unwind_mapping *
mapping(KernelTables *tables, uint32_t slot)
{
	return slot < MAPPING_LIMIT ? &((MemoryTables *) tables)->mappings[slot] : NULL;
}

static int
write_rule(KernelTables *tables, uint32_t number, const struct pfs_unwind_rule *rule)
{
	(void) tables;
	(void) number;
	(void) rule;
	return 0;
}

static __u64 *
recent(KernelTables *tables, uint32_t slot)
{
	return &((MemoryTables *) tables)->recent[slot];
}

static union pfs_unwind_entry *
entry(KernelTables *tables, uint32_t slot)
{
	return slot < ENTRY_LIMIT ? &((MemoryTables *) tables)->entries[slot] : NULL;
}

static int
set_process(KernelTables *tables, uint32_t pid, const struct pfs_unwind_process *process)
{
	(void) tables;
	(void) pid;
	(void) process;
	return 0;
}

static void
remove_process(KernelTables *tables, uint32_t pid)
{
	(void) tables;
	(void) pid;
}

static int
set_runtime(KernelTables *tables, uint32_t pid, const struct pfs_runtime *runtime)
{
	(void) tables;
	(void) pid;
	(void) runtime;
	return 0;
}

static void
remove_runtime(KernelTables *tables, uint32_t pid)
{
	(void) tables;
	(void) pid;
}

static const KernelTablesOps operations = {
	.write_lines = write_lines,
	.line = line,
	.write_rule = write_rule,
	.recent = recent,
	.entry = entry,
	.mapping = mapping,
	.set_process = set_process,
	.remove_process = remove_process,
	.set_runtime = set_runtime,
	.remove_runtime = remove_runtime,
};

KernelTables *
memory_tables_create(void)
{
	MemoryTables *memory = calloc(1, sizeof(*memory));

	if (memory == NULL)
		return NULL;
	memory->tables = (KernelTables){ &operations, LINE_LIMIT, ENTRY_LIMIT, MAPPING_LIMIT };
	memory->lines = calloc(LINE_LIMIT, sizeof(*memory->lines));
	memory->entries = calloc(ENTRY_LIMIT, sizeof(*memory->entries));
	memory->mappings = calloc(MAPPING_LIMIT, sizeof(*memory->mappings));
	memory->recent = calloc(1 << PFS_RECENT_SLOT_BITS, sizeof(*memory->recent));
	if (memory->recent != NULL && memory->lines != NULL && memory->entries != NULL &&
		memory->mappings != NULL)
		return &memory->tables;
	memory_tables_free(&memory->tables);
	return NULL;
}

void
memory_tables_free(KernelTables *tables)
{
	MemoryTables *memory = (MemoryTables *) tables;

	if (memory == NULL)
		return;
	free(memory->lines);
	free(memory->recent);
	free(memory->entries);
	free(memory->mappings);
	free(memory);
}
