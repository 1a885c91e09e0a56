/*
 * table_store.h
 *		Stores unwind tables in the kernel's memory: lines, directories, and the rules of all.
 *
 * The caller writes references to a table: mappings refer to it only after it was written, and no
 * longer before it is returned. Not thread-safe.
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
 * One binary or process, or all generated code together, may use 1/TABLE_STORE_SHARE of the
 * kernel's tables, because programs are not trusted.
 */
#define TABLE_STORE_SHARE 4

typedef struct TableStore
{
	KernelTables *tables;
	ExtentPool lines;
	ExtentPool entries;
	RuleSet rules;
	uint32_t rules_written;
	uint32_t last_number; /* last number of a table */
	uint64_t generated_lines;
	uint64_t generated_entries;
	uint32_t generated_rules; /* rules of generated code since the set was started */
	bool rules_refused;		  /* because the set was full, not a share */
	uint64_t rules_free_ns;	  /* when returned numbers can be used again; 0: none were returned */
} TableStore;

/* Position of one table; zeroed: none. */
typedef struct TablePlace
{
	bool generated; /* its use is counted with all other generated code */
	/* unique number; 0: none, as for generated code, whose tables change often */
	uint32_t number;
	uint32_t line_count; /* the directory has their positions */
	Extent directory;
} TablePlace;

/* The kernel's tables must outlive the store. Returns 0 or -ENOMEM. */
int table_store_init(TableStore *store, KernelTables *tables);
void table_store_fini(TableStore *store);

/* Starts the rules of another file. Returns -ENOSPC while returned numbers rest. */
int table_store_begin(TableStore *store, uint64_t now_ns);

/*
 * Writes a table with at least one page, whose rules are in store->rules. Walks end at pages whose
 * lines were left out. Returns 0; -E2BIG, -ENOSPC or -ENOMEM with everything returned.
 */
int table_store_write(TableStore *store, TablePlace *place, const PackedTable *packed,
					  uint64_t now_ns);

/*
 * Adds lines that were left out; lines that are stored already are left out of *packed. Walks no
 * longer end in these parts (NULL: nowhere). Returns what table_store_write() returns.
 */
int table_store_add(TableStore *store, TablePlace *place, PackedTable *packed,
					const PackedParts *parts, uint64_t now_ns);

/*
 * Returns a table of those pages of the parts whose lines were left out, with room for the lines;
 * the caller frees it. Returns 0 or -ENOMEM.
 */
int table_store_left_out(const TableStore *store, const TablePlace *place, const PackedParts *parts,
						 PackedTable *packed);

/* Returns true if walks end at an ELF address because its lines were left out. */
bool table_store_lacks(const TableStore *store, const TablePlace *place, uint64_t address);
void table_store_give(TableStore *store, TablePlace *place, uint64_t now_ns);

/*
 * Forgets all rules, after EXTENT_GRACE_NS; the tables with these rules must have been withdrawn.
 */
void table_store_forget_rules(TableStore *store, uint64_t now_ns);

#endif
