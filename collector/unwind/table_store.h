/*
 * table_store.h
 *		Stores unwind tables in the kernel's memory: rules, which all tables share, and for each
 *		table its lines and directory.
 *
 * The caller writes the mappings that refer to a table, after the table was written, and removes
 * them before the table is returned. Not thread-safe.
 */
#ifndef COLLECTOR_TABLE_STORE_H
#define COLLECTOR_TABLE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi/rule_set.h"
#include "unwind/extent_pool.h"
#include "unwind/kernel_tables.h"
#include "unwind/packed_table.h"

/*
 * The tables of one binary, of one process, or of all generated code (generated_tables.h) may use
 * 1/TABLE_STORE_SHARE of the kernel's tables, because programs are not trusted.
 */
#define TABLE_STORE_SHARE 4

typedef struct TableStore
{
	KernelTables *tables;
	ExtentPool lines;
	ExtentPool entries;
	RuleSet rules;
	uint32_t rules_written;
	uint32_t last_number; /* the last number that was given to a table */
	/* rules were refused because the whole set was full, not just a share */
	bool rules_refused;
	/* time at which the numbers of freed rules can be used again; 0: none were freed */
	uint64_t rules_free_ns;
} TableStore;

/* Position of one table in the kernel's memory; zeroed if the table is not there. */
typedef struct TablePlace
{
	/* The table is of generated code, and gets no number, because such tables change often. */
	bool generated;
	uint32_t number;	 /* unique; 0: none */
	uint32_t line_count; /* number of lines; the directory has their positions */
	Extent directory;
} TablePlace;

/* Makes an empty store. The kernel's tables must outlive it. Returns 0 or -ENOMEM. */
int table_store_init(TableStore *store, KernelTables *tables);
void table_store_fini(TableStore *store);

/* Starts the rules of the next file. Returns -ENOSPC while the numbers of freed rules rest. */
int table_store_begin(TableStore *store, uint64_t now_ns);

/* Returns the number of directory entries for a table with at least one page. */
uint64_t table_store_entries(const PackedTable *packed);

/*
 * Writes a table with at least one page, whose rules are in store->rules. Walks end at pages whose
 * lines were left out. Returns 0; -E2BIG, -ENOSPC or -ENOMEM, after returning all slots.
 */
int table_store_write(TableStore *store, TablePlace *place, const PackedTable *packed,
					  uint64_t now_ns);

/*
 * Adds lines that were left out. Lines that are stored already are removed from *packed. Walks no
 * longer end in the given parts (NULL: nowhere in the table). Returns like table_store_write().
 */
int table_store_add(TableStore *store, TablePlace *place, PackedTable *packed,
					const PackedParts *parts, uint64_t now_ns);

/*
 * Returns a table of those pages of the parts whose lines were left out, with room for their lines;
 * the caller frees it. Returns 0 or -ENOMEM.
 */
int table_store_left_out(const TableStore *store, const TablePlace *place, const PackedParts *parts,
						 PackedTable *packed);

/* Returns true if walks end at an ELF address because the lines for it were left out. */
bool table_store_lacks(const TableStore *store, const TablePlace *place, uint64_t address);
void table_store_give(TableStore *store, TablePlace *place, uint64_t now_ns);

/*
 * Frees all rules; their numbers rest for EXTENT_GRACE_NS. The mappings must no longer refer to
 * tables with these rules.
 */
void table_store_forget_rules(TableStore *store, uint64_t now_ns);

#endif
