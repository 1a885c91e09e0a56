/*
 * late_names.c
 *		The list of addresses whose names are owed.
 *
 * Each pass sorts the list by the symbolization time that the owners have used, then by file, so
 * that all addresses of a file are asked for together. Addresses that are answered or given up
 * leave the list, and its hash table is rebuilt.
 */
#include "agent/flusher/late_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/flusher/batch_lines.h"
#include "agent/flusher/file_binary.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/table.h"
#include "symbols/worker/worker_accounts.h"

#define OWED_MAX_NS INT64_C(600000000000)
#define NO_ACCOUNT	WORKER_ACCOUNTS

typedef struct LateName
{
	MappedFile *file; /* held */
	uint64_t offset;
	uint64_t owners;
	int64_t since_ns;
	int64_t used_ns;  /* symbolization time that the owners had used when the pass began */
	uint32_t account; /* the owner's account, whose count includes this entry */
	bool settled;
} LateName;

struct LateNames
{
	MappedFileTable *files;
	Budget budget;
	Table names;						  /* table of LateName */
	uint32_t counts[WORKER_ACCOUNTS + 1]; /* number of names by account */
	uint64_t dropped;
};

int
late_names_create(MappedFileTable *files, LateNames **late)
{
	LateNames *made = calloc(1, sizeof(*made));

	if (made == NULL)
		return -ENOMEM;
	made->files = files;
	made->budget.limit_bytes = SIZE_MAX;
	table_init(&made->names, &made->budget, sizeof(LateName));
	*late = made;
	return 0;
}

void
late_names_free(LateNames *late)
{
	if (late == NULL)
		return;
	for (uint32_t i = 0; i < late->names.count; i++)
		mapped_file_release(late->files, ((LateName *) table_item(&late->names, i))->file);
	table_fini(&late->names);
	free(late);
}

static bool
name_equal(const void *item, const void *key)
{
	const LateName *a = item;
	const LateName *b = key;

	return a->file == b->file && a->offset == b->offset;
}

static uint64_t
name_hash(const Table *table, const LateName *name)
{
	return hash_word(hash_word(table->seed, (uintptr_t) name->file), name->offset);
}

/* Returns the account among owners that has the fewest addresses in the list. */
static uint32_t
choose_account(const LateNames *late, uint64_t owners)
{
	uint32_t chosen = NO_ACCOUNT;

	for (uint32_t i = 0; i < WORKER_ACCOUNTS; i++)
	{
		if ((owners >> i & 1) != 0 &&
			(chosen == NO_ACCOUNT || late->counts[i] < late->counts[chosen]))
			chosen = i;
	}
	return chosen;
}

void
late_names_add(LateNames *late, MappedFile *file, uint64_t offset, uint64_t owners)
{
	Table *table = &late->names;
	LateName added = { .file = file,
					   .offset = offset,
					   .owners = owners,
					   .since_ns = clock_ns(CLOCK_MONOTONIC),
					   .account = choose_account(late, owners) };
	uint64_t hash = name_hash(table, &added);
	uint32_t position;

	if (table_find(table, hash, name_equal, &added, &position))
	{
		((LateName *) table_item(table, position))->owners |= owners;
		return;
	}
	if (table->count >= LATE_NAMES_MAX || late->counts[added.account] >= LATE_NAMES_OWNER_MAX ||
		table_reserve(table) != 0)
	{
		late->dropped++;
		return;
	}
	*(LateName *) table_append(table, hash) = added;
	late->counts[added.account]++;
	mapped_file_retain(late->files, file);
}

static int
compare_names(const void *a, const void *b)
{
	const LateName *left = a;
	const LateName *right = b;

	if (left->used_ns != right->used_ns)
		return left->used_ns < right->used_ns ? -1 : 1;
	if (left->file != right->file)
		return (uintptr_t) left->file < (uintptr_t) right->file ? -1 : 1;
	return (left->offset > right->offset) - (left->offset < right->offset);
}

/*
 * Adds the names of an address to the batch if the symbolizer has an answer. Returns false if the
 * address must be asked for again.
 */
static bool
settle_name(LateName *name, Binary *binary, const SymbolAsk *terms, Batch *batch)
{
	BatchLine lines[BATCH_LINES_MAX];
	BatchMapping mapping = { binary_build_id(binary), mapped_file_name(name->file) };
	BatchLocation location = { .lines = lines };
	SymbolLines symbols = { 0 };
	uint32_t index;

	if (!binary_address(binary, name->offset, &location.address))
		return true;
	if (binary_symbolize_within(binary, location.address, terms, &symbols) == -EAGAIN)
		return false;
	if (symbols.count > 0 && batch_add_mapping(batch, &mapping, &location.mapping) == 0 &&
		batch_lines_add(batch, &symbols, lines, &location.line_count) == 0)
		(void) batch_add_location(batch, &location, &index);
	return true;
}

/* Asks for the addresses of one file. Returns the number of addresses that were answered. */
static size_t
resolve_file(LateNames *late, LateName *names, size_t count, Symbolizer *symbolizer, uint32_t round,
			 int64_t deadline_ns, Batch *batch)
{
	const SymbolAsk terms = { deadline_ns, names[0].owners, round };
	Binary *binary = file_binary(late->files, names[0].file, symbolizer);
	uint64_t *addresses = malloc(count * sizeof(*addresses));
	uint32_t known = 0;
	size_t settled = 0;

	for (size_t i = 0; binary != NULL && addresses != NULL && i < count; i++)
		known += binary_address(binary, names[i].offset, &addresses[known]);
	if (known > 0)
		binary_prepare(binary, addresses, known, &terms);
	for (size_t i = 0; binary != NULL && i < count; i++)
	{
		if (!settle_name(&names[i], binary, &terms, batch))
			break;
		names[i].settled = true;
		settled++;
	}
	free(addresses);
	return settled;
}

/* Removes addresses that were answered, and drops addresses that have been owed for too long. */
static void
names_compact(LateNames *late)
{
	int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	Table kept;

	table_init(&kept, &late->budget, sizeof(LateName));
	for (uint32_t i = 0; i < late->names.count; i++)
	{
		const LateName *name = table_item(&late->names, i);
		bool keep = !name->settled && now_ns - name->since_ns < OWED_MAX_NS;

		late->dropped += !keep && !name->settled;
		if (keep && table_reserve(&kept) == 0)
		{
			*(LateName *) table_append(&kept, name_hash(&kept, name)) = *name;
			continue;
		}
		late->dropped += keep; /* out of memory */
		late->counts[name->account]--;
		mapped_file_release(late->files, name->file);
	}
	table_fini(&late->names);
	late->names = kept;
}

size_t
late_names_resolve(LateNames *late, Symbolizer *symbolizer, uint32_t round, int64_t deadline_ns,
				   Batch *batch)
{
	LateName *names = (LateName *) (void *) late->names.items;
	uint32_t count = late->names.count;
	size_t settled = 0;

	for (uint32_t i = 0; i < count; i++)
		names[i].used_ns = symbolizer_used(symbolizer, names[i].owners);
	/* From here until the rebuild the positions in the hash table are wrong. */
	if (count > 0)
		qsort(names, count, sizeof(*names), compare_names);
	for (uint32_t i = 0, next; i < count && clock_ns(CLOCK_MONOTONIC) < deadline_ns; i = next)
	{
		for (next = i + 1; next < count && names[next].file == names[i].file;)
			next++;
		settled += resolve_file(late, &names[i], next - i, symbolizer, round, deadline_ns, batch);
	}
	names_compact(late);
	return settled;
}

size_t
late_names_count(const LateNames *late)
{
	return late->names.count;
}

uint64_t
late_names_dropped(const LateNames *late)
{
	return late->dropped;
}
