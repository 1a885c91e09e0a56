/*
 * generated_tables.c
 *		Tables in a list for each owner, oldest first; owners in a hash table.
 */
#include "unwind/generated_tables.h"

#include <errno.h>
#include <stdlib.h>

#include <uthash.h>
#include <utlist.h>

struct GeneratedOwner
{
	uint64_t key;
	uint64_t lines;
	uint64_t entries;
	uint32_t rules;
	GeneratedTable *tables; /* the one that was made first is the first */
	UT_hash_handle hh;
};

static GeneratedOwner *
generated_owner_find(const GeneratedTables *tables, uint64_t key)
{
	GeneratedOwner *owner;

	HASH_FIND(hh, tables->owners, &key, sizeof(key), owner);
	return owner;
}

/* Returns an owner, adding it if needed; NULL if out of memory. */
static GeneratedOwner *
generated_owner_get(GeneratedTables *tables, uint64_t key)
{
	GeneratedOwner *owner = generated_owner_find(tables, key);

	if (owner != NULL)
		return owner;
	owner = calloc(1, sizeof(*owner));
	if (owner == NULL)
		return NULL;
	owner->key = key;
	HASH_ADD(hh, tables->owners, key, sizeof(owner->key), owner);
	return owner;
}

/* Frees an owner without tables and rules. */
static void
generated_owner_settle(GeneratedTables *tables, GeneratedOwner *owner)
{
	if (owner->tables != NULL || owner->rules > 0)
		return;
	HASH_DEL(tables->owners, owner);
	free(owner);
}

void
generated_tables_fini(GeneratedTables *tables)
{
	generated_tables_forget_rules(tables);
}

int
generated_tables_add(GeneratedTables *tables, uint64_t key, GeneratedTable *table)
{
	GeneratedOwner *owner = generated_owner_get(tables, key);

	if (owner == NULL)
		return -ENOMEM;
	table->owner = owner;
	DL_APPEND(owner->tables, table);
	owner->lines += table->lines;
	owner->entries += table->entries;
	tables->lines += table->lines;
	tables->entries += table->entries;
	return 0;
}

void
generated_tables_remove(GeneratedTables *tables, GeneratedTable *table)
{
	GeneratedOwner *owner = table->owner;

	if (owner == NULL)
		return;
	DL_DELETE(owner->tables, table);
	owner->lines -= table->lines;
	owner->entries -= table->entries;
	tables->lines -= table->lines;
	tables->entries -= table->entries;
	table->owner = NULL;
	generated_owner_settle(tables, owner);
}

static uint64_t
generated_owner_lines(const GeneratedOwner *owner)
{
	return owner->lines;
}

static uint64_t
generated_owner_entries(const GeneratedOwner *owner)
{
	return owner->entries;
}

/* Returns the oldest table of the owner that uses most, after `more` is added to what key uses. */
static GeneratedTable *
generated_tables_of_largest(const GeneratedTables *tables, uint64_t key, uint64_t more,
							uint64_t (*used)(const GeneratedOwner *owner))
{
	const GeneratedOwner *own = generated_owner_find(tables, key);
	GeneratedTable *oldest = own != NULL ? own->tables : NULL;
	uint64_t most = own != NULL ? used(own) + more : more;

	for (const GeneratedOwner *each = tables->owners; each != NULL; each = each->hh.next)
	{
		if (each == own || used(each) <= most)
			continue;
		oldest = each->tables;
		most = used(each);
	}
	return oldest;
}

GeneratedTable *
generated_tables_with_lines(const GeneratedTables *tables, uint64_t key, uint64_t lines)
{
	return generated_tables_of_largest(tables, key, lines, generated_owner_lines);
}

GeneratedTable *
generated_tables_with_entries(const GeneratedTables *tables, uint64_t key, uint64_t entries)
{
	return generated_tables_of_largest(tables, key, entries, generated_owner_entries);
}

uint32_t
generated_tables_rules_left(const GeneratedTables *tables, uint64_t key, uint32_t limit)
{
	const GeneratedOwner *owner = generated_owner_find(tables, key);
	uint32_t left = tables->rules < limit ? limit - tables->rules : 0;
	uint32_t added = owner != NULL ? owner->rules : 0;

	/* each further rule leaves one less, and is one more that the owner has */
	return left > added ? (left - added) / 2 : 0;
}

int
generated_tables_add_rules(GeneratedTables *tables, uint64_t key, uint32_t count)
{
	GeneratedOwner *owner;

	tables->rules += count;
	if (count == 0)
		return 0;
	owner = generated_owner_get(tables, key);
	if (owner == NULL)
		return -ENOMEM;
	owner->rules += count;
	return 0;
}

void
generated_tables_forget_rules(GeneratedTables *tables)
{
	GeneratedOwner *owner = tables->owners;

	tables->rules = 0;
	while (owner != NULL)
	{
		/* read here, because the owner may be freed */
		GeneratedOwner *next = owner->hh.next;

		owner->rules = 0;
		generated_owner_settle(tables, owner);
		owner = next;
	}
}
