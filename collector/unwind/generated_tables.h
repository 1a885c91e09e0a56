/*
 * generated_tables.h
 *		How much of the kernel's tables the generated code of each owner has.
 *
 * All generated code together may use a part of the kernel's tables. If that part is used up, the
 * owner of processes (process/owner.h) with the most lines or entries, the new table included,
 * loses its oldest table, so an owner that generates much code, in any number of processes,
 * displaces only its own tables. Rules cannot be freed one by one, so an owner may add rules only
 * while at least as many as it has added are left for other owners. Not thread-safe.
 */
#ifndef COLLECTOR_GENERATED_TABLES_H
#define COLLECTOR_GENERATED_TABLES_H

#include <stdint.h>

typedef struct GeneratedOwner GeneratedOwner;

/* The table of generated code, in the kernel's tables. */
typedef struct GeneratedTable
{
	GeneratedOwner *owner; /* NULL: the table is not listed */
	uint32_t lines;
	uint32_t entries;
	struct GeneratedTable *prev; /* in the owner's list */
	struct GeneratedTable *next;
} GeneratedTable;

/* A zeroed structure has no tables and no rules. */
typedef struct GeneratedTables
{
	GeneratedOwner *owners; /* each has a table, or has added rules */
	uint64_t lines;			/* of all tables in the lists */
	uint64_t entries;
	uint32_t rules; /* number of rules that generated code has added */
} GeneratedTables;

/* Frees the owners. No table may be listed. */
void generated_tables_fini(GeneratedTables *tables);

/* Lists a table of the owner. Returns 0 or -ENOMEM. */
int generated_tables_add(GeneratedTables *tables, uint64_t owner, GeneratedTable *table);

/* Takes a table out of its list; does nothing if it is not listed. */
void generated_tables_remove(GeneratedTables *tables, GeneratedTable *table);

/*
 * Each returns the table that makes room for a new one of owner: the oldest table of the owner that
 * would have the most lines, or the most entries. NULL: that would be the new table's owner, which
 * has no other table.
 */
GeneratedTable *generated_tables_with_lines(const GeneratedTables *tables, uint64_t owner,
											uint64_t lines);
GeneratedTable *generated_tables_with_entries(const GeneratedTables *tables, uint64_t owner,
											  uint64_t entries);

/* Returns the number of rules that the owner may add if all owners together may have limit. */
uint32_t generated_tables_rules_left(const GeneratedTables *tables, uint64_t owner, uint32_t limit);

/* Notes that the owner has added rules. Returns 0 or -ENOMEM. */
int generated_tables_add_rules(GeneratedTables *tables, uint64_t owner, uint32_t count);

/* Notes that all rules were freed. */
void generated_tables_forget_rules(GeneratedTables *tables);

#endif
