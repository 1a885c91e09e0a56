/*
 * table_store.h
 *		Where unwind tables lie in the kernel's memory: lines, directories, and the rules of all.
 *
 * What leads to a table is the caller's: mappings say so after a table was written, and no more
 * before it is given back. Not thread-safe.
 */
#ifndef COLLECTOR_TABLE_STORE_H
#define COLLECTOR_TABLE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/extent_pool.h"
#include "unwind/kernel_tables.h"
#include "unwind/packed_table.h"
#include "unwind/rule_set.h"

/*
 * Of the kernel's tables, for one binary or process, or all generated code: programs are not to be
 * trusted with more.
 */
#define TABLE_STORE_SHARE 4

typedef struct TableStore
{
	KernelTables *tables;
	ExtentPool lines;
	ExtentPool entries;
	RuleSet rules;
	uint32_t rules_written;
	uint32_t last_number; /* of tables */
	uint64_t generated_lines;
	uint64_t generated_entries;
	uint32_t generated_rules; /* since the set began */
	bool rules_refused;		  /* for want of room, not of a share */
	uint64_t rules_free_ns; /* when numbers that were given back can be used again; 0: none were */
} TableStore;

/* Where one table lies; zeroes: nowhere. */
typedef struct TablePlace
{
	bool generated; /* what it takes is counted with all other generated code */
	/* no other table ever has it; 0: it has none, as those of generated code, which come and go */
	uint32_t number;
	uint32_t line_count; /* the directory says where they are */
	Extent directory;
} TablePlace;

/* The tables outlive the store. 0 or -ENOMEM. */
int table_store_init(TableStore *store, KernelTables *tables);
void table_store_fini(TableStore *store);

/* The rules that follow are another file's. -ENOSPC while numbers that were given back rest. */
int table_store_begin(TableStore *store, uint64_t now_ns);

/*
 * Writes a table with at least one page, whose rules are of store->rules. Walks end at pages whose
 * lines were left out. 0; -E2BIG, -ENOSPC, -ENOMEM: what was taken is given back.
 */
int table_store_write(TableStore *store, TablePlace *place, const PackedTable *packed,
					  uint64_t now_ns);

/*
 * Adds lines that were left out, of the same table; those that are there already are left out of
 * *packed. Walks end no more in these parts (NULL: nowhere). As table_store_write().
 */
int table_store_add(TableStore *store, TablePlace *place, PackedTable *packed,
					const PackedParts *parts, uint64_t now_ns);

/*
 * A table of those pages of the parts whose lines were left out, with room for the lines, to be
 * freed. 0 or -ENOMEM.
 */
int table_store_left_out(const TableStore *store, const TablePlace *place, const PackedParts *parts,
						 PackedTable *packed);

/* Whether walks end at an ELF address because its lines were left out. */
bool table_store_lacks(const TableStore *store, const TablePlace *place, uint64_t address);
void table_store_give(TableStore *store, TablePlace *place, uint64_t now_ns);

/* All rules go, once EXTENT_GRACE_NS have passed; tables that were made of them are withdrawn. */
void table_store_forget_rules(TableStore *store, uint64_t now_ns);

#endif
