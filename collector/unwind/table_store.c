/*
 * table_store.c
 *		Writing of tables: rules, lines, then the directory.
 */
#include "unwind/table_store.h"

#include <errno.h>
#include <string.h>

int
table_store_init(TableStore *store, KernelTables *tables)
{
	memset(store, 0, sizeof(*store));
	store->tables = tables;
	extent_pool_init(&store->lines, tables->line_limit);
	extent_pool_init(&store->entries, tables->entry_limit);
	return rule_set_init(&store->rules);
}

void
table_store_fini(TableStore *store)
{
	extent_pool_fini(&store->lines);
	extent_pool_fini(&store->entries);
	rule_set_fini(&store->rules);
}

int
table_store_begin(TableStore *store, uint64_t now_ns)
{
	if (store->rules_free_ns != 0)
	{
		if (now_ns < store->rules_free_ns)
			return -ENOSPC;
		rule_set_fini(&store->rules);
		store->rules_written = 0;
		store->generated_rules = 0;
		if (rule_set_init(&store->rules) != 0)
			return -ENOMEM;
		store->rules_free_ns = 0;
	}
	rule_set_next_file(&store->rules, RULE_SET_SHARE);
	return 0;
}

void
table_store_give(TableStore *store, TablePlace *place, uint64_t now_ns)
{
	extent_pool_give(&store->entries, place->directory.first, place->directory.count, now_ns);
	extent_pool_give(&store->lines, place->lines.first, place->lines.count, now_ns);
	if (place->generated)
	{
		store->generated_lines -= place->lines.count;
		store->generated_entries -= place->directory.count;
	}
	place->number = 0;
	place->directory = (Extent){ 0, 0 };
	place->lines = (Extent){ 0, 0 };
}

static int
write_new_rules(TableStore *store)
{
	KernelTables *tables = store->tables;
	int err = 0;

	while (err == 0 && store->rules_written < rule_set_count(&store->rules))
	{
		err = tables->ops->write_rule(tables, store->rules_written,
									  rule_set_get(&store->rules, (uint16_t) store->rules_written));
		if (err == 0)
			store->rules_written++;
	}
	return err;
}

static int
write_directory(TableStore *store, const TablePlace *place, const PackedTable *packed)
{
	KernelTables *tables = store->tables;
	uint64_t low_page = packed->pages[0].page;
	uint32_t slot = place->directory.first;
	size_t next = 0;

	for (uint32_t i = 0; i < place->directory.count; i++)
	{
		union pfs_unwind_entry *entry = tables->ops->entry(tables, slot + i);

		if (entry == NULL)
			return -ENOMEM;
		if (i == 0)
			entry->head = (struct pfs_unwind_directory){
				low_page & PFS_UNWIND_MOST_PAGE,
				(place->directory.count - 1) & PFS_UNWIND_MOST_PAGES,
			};
		else if (packed->pages[next].page == low_page + i - 1)
		{
			entry->page = (struct pfs_unwind_page){
				place->lines.first + packed->pages[next].first_line,
				packed->pages[next].line_count,
			};
			next++;
		}
		else
			entry->page = (struct pfs_unwind_page){ 0, 0 };
	}
	return 0;
}

/* What generated code takes is added to *generated; NULL: it is a file's. */
static int
take_extent(ExtentPool *pool, uint64_t count, uint64_t now_ns, uint64_t *generated, Extent *extent)
{
	uint32_t first;
	int err;

	if (count + (generated != NULL ? *generated : 0) > pool->limit / TABLE_STORE_SHARE)
		return -E2BIG;
	err = extent_pool_take(pool, (uint32_t) count, now_ns, &first);
	if (err != 0)
		return err;
	*extent = (Extent){ first, (uint32_t) count };
	if (generated != NULL)
		*generated += count;
	return 0;
}

/* What was taken goes back on failure. */
int
table_store_write(TableStore *store, TablePlace *place, const PackedTable *packed, uint64_t now_ns)
{
	KernelTables *tables = store->tables;
	uint64_t page_count = packed->pages[packed->page_count - 1].page - packed->pages[0].page + 1;
	int err = take_extent(&store->lines, packed->line_count, now_ns,
						  place->generated ? &store->generated_lines : NULL, &place->lines);

	if (err == 0)
		err = take_extent(&store->entries, page_count + 1, now_ns,
						  place->generated ? &store->generated_entries : NULL, &place->directory);
	if (err == 0)
		err = write_new_rules(store);
	if (err == 0)
		err =
			tables->ops->write_lines(tables, place->lines.first, place->lines.count, packed->lines);
	if (err == 0)
		err = write_directory(store, place, packed);
	if (err != 0)
		table_store_give(store, place, now_ns);
	else if (!place->generated && store->last_number < PFS_MAPPING_MOST_TABLES)
		place->number = ++store->last_number;
	return err;
}

void
table_store_forget_rules(TableStore *store, uint64_t now_ns)
{
	store->rules_refused = false;
	store->rules_free_ns = now_ns + EXTENT_GRACE_NS;
}
