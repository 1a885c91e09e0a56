/*
 * unwinder.c
 *		Keeping the kernel's unwind tables.
 *
 * Order of writing: rules, then lines, then pages, then the kind of mappings; mappings, then the process. The way back is
 * the reverse, and slots rest before they are used again (extent_pool.h), so a walk that runs meanwhile sees an old
 * table or a new one, never a mixture.
 */
#include "unwind/unwinder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "unwind/cfi_image.h"
#include "unwind/extent_pool.h"
#include "unwind/packed_table.h"
#include "unwind/rule_set.h"

typedef struct BinaryPage
{
	uint32_t page;
	struct pfs_unwind_page place;
} BinaryPage;

struct UnwindBinary
{
	uint32_t number; /* its name in the kernel's tables, never used again */
	uint32_t references;
	enum pfs_mapping_kind kind;
	uint32_t first_line;
	uint32_t line_count;
	BinaryPage *pages; /* ascending */
	size_t page_count;
	UT_hash_handle hh; /* by number */
};

typedef struct Described
{
	uint32_t pid;
	uint32_t first;
	uint32_t slot_count;	 /* count, or 0 while it has no slots */
	uint32_t count;			 /* of spans */
	UnwindBinary **binaries; /* held; one for each span, NULL for code without a file */
	UT_hash_handle hh;
} Described;

struct Unwinder
{
	KernelTables *tables;
	ExtentPool lines;
	ExtentPool mappings;
	RuleSet rules;
	uint32_t rules_written;
	uint32_t next_number;
	UnwindBinary *binaries;
	Described *processes;
	UnwinderStats stats;
};

int
unwinder_create(KernelTables *tables, Unwinder **result)
{
	Unwinder *unwinder = calloc(1, sizeof(*unwinder));

	if (unwinder == NULL)
		return -ENOMEM;
	if (rule_set_init(&unwinder->rules) != 0)
	{
		free(unwinder);
		return -ENOMEM;
	}
	unwinder->tables = tables;
	extent_pool_init(&unwinder->lines, tables->line_limit);
	extent_pool_init(&unwinder->mappings, tables->mapping_limit);
	*result = unwinder;
	return 0;
}

void
unwinder_free(Unwinder *unwinder)
{
	Described *process;
	Described *next;

	if (unwinder == NULL)
		return;
	HASH_ITER(hh, unwinder->processes, process, next)
		unwinder_process_forget(unwinder, process->pid, 0);
	extent_pool_fini(&unwinder->lines);
	extent_pool_fini(&unwinder->mappings);
	rule_set_fini(&unwinder->rules);
	free(unwinder);
}

void
unwinder_stats(const Unwinder *unwinder, UnwinderStats *stats)
{
	*stats = unwinder->stats;
	stats->binaries = HASH_COUNT(unwinder->binaries);
	stats->processes = HASH_COUNT(unwinder->processes);
	stats->lines = unwinder->lines.used_count;
	stats->mappings = unwinder->mappings.used_count;
	stats->rules = rule_set_count(&unwinder->rules);
}

UnwindBinary *
unwinder_binary_create(Unwinder *unwinder)
{
	UnwindBinary *binary = calloc(1, sizeof(*binary));

	if (binary == NULL)
		return NULL;
	binary->number = ++unwinder->next_number;
	binary->references = 1;
	binary->kind = PFS_MAPPING_PENDING;
	HASH_ADD(hh, unwinder->binaries, number, sizeof(binary->number), binary);
	return binary;
}

void
unwinder_binary_retain(UnwindBinary *binary)
{
	binary->references++;
}

static void
remove_pages(Unwinder *unwinder, const UnwindBinary *binary)
{
	for (size_t i = 0; i < binary->page_count; i++)
	{
		struct pfs_unwind_page_key key = { binary->number, binary->pages[i].page };

		unwinder->tables->ops->remove_page(unwinder->tables, &key);
	}
}

void
unwinder_binary_release(Unwinder *unwinder, UnwindBinary *binary, uint64_t now_ns)
{
	if (binary == NULL || --binary->references > 0)
		return;
	remove_pages(unwinder, binary);
	extent_pool_give(&unwinder->lines, binary->first_line, binary->line_count, now_ns);
	HASH_DEL(unwinder->binaries, binary);
	free(binary->pages);
	free(binary);
}

static int
write_new_rules(Unwinder *unwinder)
{
	KernelTables *tables = unwinder->tables;
	int err = 0;

	while (err == 0 && unwinder->rules_written < rule_set_count(&unwinder->rules))
	{
		err = tables->ops->write_rule(tables, unwinder->rules_written,
									  rule_set_get(&unwinder->rules,
												   (uint16_t) unwinder->rules_written));
		if (err == 0)
			unwinder->rules_written++;
	}
	return err;
}

/* On failure the pages set so far are taken back. */
static int
write_pages(Unwinder *unwinder, UnwindBinary *binary, const PackedTable *packed)
{
	KernelTables *tables = unwinder->tables;
	int err = 0;

	binary->pages = calloc(packed->page_count, sizeof(*binary->pages));
	if (binary->pages == NULL)
		return -ENOMEM;
	for (size_t i = 0; err == 0 && i < packed->page_count; i++)
	{
		struct pfs_unwind_page_key key = { binary->number, packed->pages[i].page };
		struct pfs_unwind_page page = { binary->first_line + packed->pages[i].first_line,
										packed->pages[i].line_count };

		err = tables->ops->set_page(tables, &key, &page);
		if (err == 0)
			binary->pages[binary->page_count++] = (BinaryPage){ key.page, page };
	}
	if (err != 0)
	{
		remove_pages(unwinder, binary);
		binary->page_count = 0;
	}
	return err;
}

static int
write_table(Unwinder *unwinder, UnwindBinary *binary, const PackedTable *packed, uint64_t now_ns)
{
	KernelTables *tables = unwinder->tables;
	uint32_t line_count = (uint32_t) packed->line_count;
	uint32_t first_line;
	int err;

	if (packed->line_count > tables->line_limit)
		return -ENOSPC;
	err = extent_pool_take(&unwinder->lines, line_count, now_ns, &first_line);
	if (err != 0)
		return err;

	binary->first_line = first_line;
	err = write_new_rules(unwinder);
	if (err == 0)
		err = tables->ops->write_lines(tables, first_line, line_count, packed->lines);
	if (err == 0)
		err = write_pages(unwinder, binary, packed);
	if (err != 0)
	{
		extent_pool_give(&unwinder->lines, first_line, line_count, now_ns);
		return err;
	}
	binary->line_count = line_count;
	return 0;
}

static int
load_table(Unwinder *unwinder, UnwindBinary *binary, const CfiInput *input, uint64_t now_ns)
{
	UnwindTable table;
	PackedTable packed;
	int err = cfi_compile(input, &table);

	if (err != 0)
		return err;
	unwinder->stats.rows_unsupported += table.stats.rows_unsupported;
	unwinder->stats.fdes_malformed += table.stats.fdes_malformed;
	if (table.count == 0)
		binary->kind = PFS_MAPPING_FRAME_POINTER;
	else
	{
		err = packed_table_build(&table, &unwinder->rules, &packed);
		if (err == 0)
		{
			err = write_table(unwinder, binary, &packed, now_ns);
			packed_table_free(&packed);
		}
		if (err == 0)
			binary->kind = PFS_MAPPING_TABLE;
	}
	unwind_table_free(&table);
	return err;
}

/* The kind is one aligned word: a walk sees the old one or the new one. */
static void
publish_kind(Unwinder *unwinder, const UnwindBinary *binary)
{
	Described *process;
	Described *next;

	HASH_ITER(hh, unwinder->processes, process, next)
	{
		for (uint32_t i = 0; i < process->slot_count; i++)
		{
			struct pfs_unwind_mapping *slot;

			if (process->binaries[i] != binary)
				continue;
			slot = unwinder->tables->ops->mapping(unwinder->tables, process->first + i);
			if (slot != NULL)
				__atomic_store_n(&slot->kind, (uint32_t) binary->kind, __ATOMIC_RELEASE);
		}
	}
}

int
unwinder_binary_load(Unwinder *unwinder, UnwindBinary *binary, int fd, uint64_t now_ns)
{
	CfiImage image;
	int err = cfi_image_init(&image, fd);

	if (err == 0)
	{
		err = load_table(unwinder, binary, &image.input, now_ns);
		cfi_image_fini(&image);
	}
	if (err != 0)
		unwinder->stats.load_failures++;
	publish_kind(unwinder, binary);
	return err;
}

static void
fill_slot(struct pfs_unwind_mapping *slot, const UnwindSpan *span)
{
	slot->start = span->start;
	slot->end = span->end;
	slot->bias = span->bias;
	slot->binary = span->binary != NULL ? span->binary->number : 0;
	slot->kind = (uint32_t) (span->binary != NULL ? span->binary->kind : PFS_MAPPING_FRAME_POINTER);
}

static int
write_process(Unwinder *unwinder, Described *process, const UnwindSpan *spans)
{
	KernelTables *tables = unwinder->tables;
	struct pfs_unwind_process entry = { process->first, process->count };

	for (uint32_t i = 0; i < process->count; i++)
	{
		struct pfs_unwind_mapping *slot = tables->ops->mapping(tables, process->first + i);

		if (slot == NULL)
			return -ENOMEM;
		fill_slot(slot, &spans[i]);
	}
	return tables->ops->set_process(tables, process->pid, &entry);
}

static Described *
describe(uint32_t pid, const UnwindSpan *spans, uint32_t count)
{
	Described *process = calloc(1, sizeof(*process));

	if (process == NULL)
		return NULL;
	process->pid = pid;
	process->count = count;
	process->binaries = calloc(count + 1, sizeof(*process->binaries));
	if (process->binaries == NULL)
	{
		free(process);
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++)
	{
		if (spans[i].binary != NULL)
			unwinder_binary_retain(spans[i].binary);
		process->binaries[i] = spans[i].binary;
	}
	return process;
}

/* Gives back what a description holds; the kernel's entry is gone or leads elsewhere. */
static void
discard(Unwinder *unwinder, Described *process, uint64_t now_ns)
{
	extent_pool_give(&unwinder->mappings, process->first, process->slot_count, now_ns);
	for (uint32_t i = 0; i < process->count; i++)
		unwinder_binary_release(unwinder, process->binaries[i], now_ns);
	free(process->binaries);
	free(process);
}

int
unwinder_process_set(Unwinder *unwinder, uint32_t pid, const UnwindSpan *spans, uint32_t count,
					 uint64_t now_ns)
{
	Described *process = describe(pid, spans, count);
	Described *old;
	int err;

	if (process == NULL)
		return -ENOMEM;
	err = extent_pool_take(&unwinder->mappings, count, now_ns, &process->first);
	if (err == 0)
	{
		process->slot_count = count;
		err = write_process(unwinder, process, spans);
	}
	if (err != 0)
	{
		discard(unwinder, process, now_ns);
		unwinder_process_forget(unwinder, pid, now_ns);
		unwinder->stats.process_failures++;
		return err;
	}

	HASH_FIND(hh, unwinder->processes, &pid, sizeof(pid), old);
	if (old != NULL)
	{
		HASH_DEL(unwinder->processes, old);
		discard(unwinder, old, now_ns);
	}
	HASH_ADD(hh, unwinder->processes, pid, sizeof(process->pid), process);
	return 0;
}

void
unwinder_process_forget(Unwinder *unwinder, uint32_t pid, uint64_t now_ns)
{
	Described *process;

	HASH_FIND(hh, unwinder->processes, &pid, sizeof(pid), process);
	if (process == NULL)
		return;
	unwinder->tables->ops->remove_process(unwinder->tables, pid);
	HASH_DEL(unwinder->processes, process);
	discard(unwinder, process, now_ns);
}

bool
unwinder_find_process(const Unwinder *unwinder, uint32_t pid, struct pfs_unwind_process *process)
{
	Described *found;

	HASH_FIND(hh, unwinder->processes, &pid, sizeof(pid), found);
	if (found != NULL)
		*process = (struct pfs_unwind_process){ found->first, found->slot_count };
	return found != NULL;
}

const struct pfs_unwind_mapping *
unwinder_mapping(const Unwinder *unwinder, uint32_t slot)
{
	return unwinder->tables->ops->mapping(unwinder->tables, slot);
}

static int
compare_page(const void *key, const void *item)
{
	uint32_t page = *(const uint32_t *) key;
	const BinaryPage *entry = item;

	return (page > entry->page) - (page < entry->page);
}

const struct pfs_unwind_page *
unwinder_page(const Unwinder *unwinder, const struct pfs_unwind_page_key *key)
{
	UnwindBinary *binary;
	const BinaryPage *entry = NULL;

	HASH_FIND(hh, unwinder->binaries, &key->binary, sizeof(key->binary), binary);
	if (binary != NULL && binary->page_count > 0)
		entry =
			bsearch(&key->page, binary->pages, binary->page_count, sizeof(*entry), compare_page);
	return entry != NULL ? &entry->place : NULL;
}

const struct pfs_unwind_line *
unwinder_line(const Unwinder *unwinder, uint32_t number)
{
	return unwinder->tables->ops->line(unwinder->tables, number);
}

const struct pfs_unwind_rule *
unwinder_rule(const Unwinder *unwinder, uint32_t number)
{
	return number < rule_set_count(&unwinder->rules)
			   ? rule_set_get(&unwinder->rules, (uint16_t) number)
			   : NULL;
}
