/*
 * table_store.c
 *		Writes tables, completely or in parts: first rules, then lines, then the directory.
 */
#include "unwind/table_store.h"

#include <errno.h>
#include <stdlib.h>
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
		/*
		 * A walk may still use rows with the old numbers, which must not mean other rules
		 * meanwhile.
		 */
		if (now_ns < store->rules_free_ns)
			return -ENOSPC;
		rule_set_fini(&store->rules);
		store->rules_written = 0;
		if (rule_set_init(&store->rules) != 0)
			return -ENOMEM;
		store->rules_free_ns = 0;
	}
	rule_set_next_file(&store->rules, RULE_SET_SHARE);
	return 0;
}

/* Returns the entry of a page; NULL if the directory has none. */
static union pfs_unwind_entry *
store_find_entry(const TableStore *store, const TablePlace *place, uint64_t page)
{
	KernelTables *tables = store->tables;
	const union pfs_unwind_entry *head =
		place->directory.count > 0 ? tables->ops->entry(tables, place->directory.first) : NULL;

	if (head == NULL || page < head->head.low_page ||
		page - head->head.low_page >= head->head.page_count)
		return NULL;
	/* entry 0 of a directory is its head, so page low_page has entry 1 */
	return tables->ops->entry(tables,
							  place->directory.first + 1 + (uint32_t) (page - head->head.low_page));
}

static void
set_entry(union pfs_unwind_entry *entry, uint32_t first_line, uint32_t line_count)
{
	/*
	 * one store of the whole word: a walk must not see the first line of one table and the line
	 * count of another
	 */
	union pfs_unwind_entry page = { .page = { first_line, line_count } };

	__atomic_store_n(&entry->word, page.word, __ATOMIC_RELEASE);
}

static bool
is_left_out(const union pfs_unwind_entry *entry)
{
	return (entry->page.line_count & PFS_UNWIND_NOT_LOADED) != 0;
}

/*
 * Returns the table's lines to the pool. Lines that were written together are contiguous, so they
 * are returned as one run.
 */
static void
give_lines(TableStore *store, const TablePlace *place, uint64_t now_ns)
{
	KernelTables *tables = store->tables;
	Extent run = { 0, 0 };

	for (uint32_t i = 1; i < place->directory.count; i++)
	{
		const union pfs_unwind_entry *entry =
			tables->ops->entry(tables, place->directory.first + i);

		if (entry == NULL || entry->page.line_count == 0 || is_left_out(entry))
			continue;
		/* Parts that were added later have runs of their own, in any order. */
		if (entry->page.first_line != run.first + run.count)
		{
			extent_pool_give(&store->lines, run.first, run.count, now_ns);
			run = (Extent){ entry->page.first_line, 0 };
		}
		run.count += entry->page.line_count;
	}
	extent_pool_give(&store->lines, run.first, run.count, now_ns);
}

void
table_store_give(TableStore *store, TablePlace *place, uint64_t now_ns)
{
	give_lines(store, place, now_ns);
	extent_pool_give(&store->entries, place->directory.first, place->directory.count, now_ns);
	/*
	 * The number is not given to another table, because pfs_recent may still have rules under it.
	 */
	place->number = 0;
	place->line_count = 0;
	place->directory = (Extent){ 0, 0 };
}

static int
write_new_rules(TableStore *store)
{
	KernelTables *tables = store->tables;
	int err = 0;

	/*
	 * Rules are only ever appended to the set, so the rules to write are those after rules_written.
	 */
	while (err == 0 && store->rules_written < rule_set_count(&store->rules))
	{
		err = tables->ops->write_rule(tables, store->rules_written,
									  rule_set_get(&store->rules, (uint16_t) store->rules_written));
		if (err == 0)
			store->rules_written++;
	}
	return err;
}

/*
 * Writes a table's directory: its head, then an entry for each page from the first to the last one.
 */
static int
write_directory(TableStore *store, const Extent *directory, uint32_t first_line,
				const PackedTable *packed)
{
	KernelTables *tables = store->tables;
	uint64_t low_page = packed->pages[0].page;
	size_t next = 0;

	for (uint32_t i = 0; i < directory->count; i++)
	{
		union pfs_unwind_entry *entry = tables->ops->entry(tables, directory->first + i);
		const PackedPage *page = &packed->pages[next];

		if (entry == NULL)
			return -ENOMEM;
		/* No mapping refers to the directory yet, so the head may be written field by field. */
		if (i == 0)
			entry->head = (struct pfs_unwind_directory){
				low_page & PFS_UNWIND_MOST_PAGE,
				(directory->count - 1) & PFS_UNWIND_MOST_PAGES,
			};
		else if (page->page != low_page + i - 1)
			/* the table has no rows in this page, which lies between two pages that have some */
			set_entry(entry, 0, 0);
		else
		{
			set_entry(entry, first_line + page->first_line, page->line_count);
			next++;
		}
	}
	return 0;
}

/* Allocates slots for a table that already has `held` of them. */
static int
take_extent(ExtentPool *pool, uint64_t count, uint64_t held, uint64_t now_ns, Extent *extent)
{
	int err;

	if (count + held > pool->limit / TABLE_STORE_SHARE)
		return -E2BIG;
	err = extent_pool_take(pool, (uint32_t) count, now_ns, &extent->first);
	if (err == 0)
		extent->count = (uint32_t) count;
	return err;
}

uint64_t
table_store_entries(const PackedTable *packed)
{
	/* one for each page from the first to the last one, and the head */
	return packed->pages[packed->page_count - 1].page - packed->pages[0].page + 2;
}

/* Writes a new table to slots that it allocates. On failure returns the slots to the pools. */
int
table_store_write(TableStore *store, TablePlace *place, const PackedTable *packed, uint64_t now_ns)
{
	KernelTables *tables = store->tables;
	Extent lines = { 0, 0 };
	Extent directory = { 0, 0 };
	int err = take_extent(&store->lines, packed->line_count, 0, now_ns, &lines);

	if (err == 0)
		err = take_extent(&store->entries, table_store_entries(packed), 0, now_ns, &directory);
	/*
	 * Order: a walk follows mapping, directory, lines, rules, so each is complete before anything
	 * refers to it. The caller writes the mappings afterwards.
	 */
	if (err == 0)
		err = write_new_rules(store);
	if (err == 0)
		err = tables->ops->write_lines(tables, lines.first, lines.count, packed->lines);
	if (err == 0)
		err = write_directory(store, &directory, lines.first, packed);
	if (err != 0)
	{
		/*
		 * no mapping refers to the slots, but they rest all the same, which is harmless; an empty
		 * extent is ignored
		 */
		extent_pool_give(&store->entries, directory.first, directory.count, now_ns);
		extent_pool_give(&store->lines, lines.first, lines.count, now_ns);
		return err;
	}
	place->directory = directory;
	place->line_count = lines.count;
	if (!place->generated && store->last_number < PFS_MAPPING_MOST_TABLES)
		/*
		 * Tables without a number work, but their rules are not found in pfs_recent. After
		 * PFS_MAPPING_MOST_TABLES tables, 16 million, new ones get none.
		 */
		place->number = ++store->last_number;
	return 0;
}

/* A table to which lines are being added. */
typedef struct Growth
{
	const TableStore *store;
	const TablePlace *place;
} Growth;

static bool
is_page_left_out(const void *context, uint64_t page)
{
	const Growth *growth = context;
	const union pfs_unwind_entry *entry = store_find_entry(growth->store, growth->place, page);

	return entry != NULL && is_left_out(entry);
}

/* Marks the pages that were left out and have no lines as pages without rules. */
static void
end_pages(const TableStore *store, const TablePlace *place, uint64_t page, uint64_t count)
{
	for (uint64_t end = page + count; page < end; page++)
	{
		union pfs_unwind_entry *entry = store_find_entry(store, place, page);

		/*
		 * Otherwise a walk would wait for the page forever: the part is loaded, but has no lines
		 * for it.
		 */
		if (entry != NULL && is_left_out(entry))
			set_entry(entry, 0, 0);
	}
}

static void
end_parts(const TableStore *store, const TablePlace *place, const PackedParts *parts)
{
	KernelTables *tables = store->tables;
	const union pfs_unwind_entry *head = tables->ops->entry(tables, place->directory.first);

	if (parts == NULL && head != NULL)
		end_pages(store, place, head->head.low_page, head->head.page_count);
	for (uint32_t i = 0; parts != NULL && i < parts->count; i++)
		end_pages(store, place, parts->numbers[i] << PACKED_PART_PAGE_BITS,
				  UINT64_C(1) << PACKED_PART_PAGE_BITS);
}

int
table_store_add(TableStore *store, TablePlace *place, PackedTable *packed, const PackedParts *parts,
				uint64_t now_ns)
{
	KernelTables *tables = store->tables;
	Growth growth = { store, place };
	Extent lines = { 0, 0 };
	int err;

	/*
	 * Two walks may have asked for one part, and a table that was compiled again has all its parts:
	 * lines that are stored must not be stored twice.
	 */
	packed_table_filter(packed, is_page_left_out, &growth);
	err = take_extent(&store->lines, packed->line_count, place->line_count, now_ns, &lines);
	if (err != 0)
		return err;
	err = write_new_rules(store);
	if (err == 0)
		err = tables->ops->write_lines(tables, lines.first, lines.count, packed->lines);
	if (err != 0)
	{
		extent_pool_give(&store->lines, lines.first, lines.count, now_ns);
		return err;
	}
	for (size_t i = 0; i < packed->page_count; i++)
	{
		const PackedPage *page = &packed->pages[i];

		/*
		 * The filter has kept lines only of pages that have an entry, so store_find_entry() returns
		 * one.
		 */
		if ((page->line_count & PFS_UNWIND_NOT_LOADED) == 0)
			set_entry(store_find_entry(store, place, page->page), lines.first + page->first_line,
					  page->line_count);
	}
	place->line_count += lines.count;
	end_parts(store, place, parts);
	return 0;
}

/* Appends to the list the pages of a part that were left out. */
static void
list_part(const TableStore *store, const TablePlace *place, uint64_t part, PackedTable *packed)
{
	uint64_t page = part << PACKED_PART_PAGE_BITS;

	for (uint64_t end = page + PACKED_PART_PAGES; page < end; page++)
	{
		const union pfs_unwind_entry *entry = store_find_entry(store, place, page);
		PackedPage listed = { .page = page, .first_line = (uint32_t) packed->line_count };

		if (entry == NULL || !is_left_out(entry))
			continue;
		/*
		 * the entry keeps the number of lines of a page that was left out, so that their room is
		 * known before the file is read
		 */
		listed.line_count = entry->page.line_count & ~PFS_UNWIND_NOT_LOADED;
		packed->pages[packed->page_count++] = listed;
		packed->line_count += listed.line_count;
	}
}

int
table_store_left_out(const TableStore *store, const TablePlace *place, const PackedParts *parts,
					 PackedTable *packed)
{
	*packed = (PackedTable){ 0 };
	/* plus one, because calloc(0) may return NULL */
	packed->pages = calloc((size_t) parts->count * PACKED_PART_PAGES + 1, sizeof(*packed->pages));
	if (packed->pages == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < parts->count; i++)
		list_part(store, place, parts->numbers[i], packed);
	packed->lines = calloc(packed->line_count + 1, sizeof(*packed->lines));
	if (packed->lines != NULL)
		return 0;
	packed_table_free(packed);
	return -ENOMEM;
}

bool
table_store_lacks(const TableStore *store, const TablePlace *place, uint64_t address)
{
	const union pfs_unwind_entry *entry =
		store_find_entry(store, place, address >> PFS_UNWIND_PAGE_BITS);

	return entry != NULL && is_left_out(entry);
}

void
table_store_forget_rules(TableStore *store, uint64_t now_ns)
{
	store->rules_refused = false;
	store->rules_free_ns = now_ns + EXTENT_GRACE_NS;
}
