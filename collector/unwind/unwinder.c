/*
 * unwinder.c
 *		Binaries with their tables, and the processes that map them.
 *
 * 1. A binary's table is compiled, or found in the cache, packed, and written (table_store.h). Of a
 *    large table in the cache only the parts that walks need are written, when they are needed.
 * 2. A process is described by its mappings, each with the kind and the place of its binary's
 *    table.
 * 3. When a table is loaded or unloaded, the mappings of all processes that refer to it are
 *    updated.
 *
 * Order of writing: rules, lines, the directory, then the kind of mappings; mappings, then the
 * process. Removal is in reverse order, and slots rest before they are reused (extent_pool.h). So a
 * concurrent walk sees an old table or a new one, never a mixture.
 */
#include "unwind/unwinder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "unwind/generated_tables.h"
#include "unwind/table_store.h"
#include "unwind/trampolines.h"

/*
 * A table in the kernel that all binaries with equal CFI share, because containers of one image map
 * separate files. An equal build ID is not sufficient, because a build ID can be forged.
 */
typedef struct SharedTable
{
	uint64_t hash; /* hash of the CFI with the unwinder's seed */
	uint32_t users;
	TablePlace place;
	/*
	 * Names the table's file in the cache, which contains the parts that were left out; "": there
	 * is no file.
	 */
	char build_id[ELF_BUILD_ID_TEXT_BYTES];
	TableFileIndex index;
	UT_hash_handle hh;
} SharedTable;

struct UnwindBinary
{
	GeneratedTable generated; /* listed while a table of generated code is loaded; first member */
	SharedTable *shared;	  /* NULL if the binary has no table, or is JIT code */
	uint32_t references;
	uint32_t spans;	  /* number of spans of described processes */
	uint32_t kind;	  /* enum pfs_mapping_kind */
	TablePlace place; /* position of the binary's table, if the table is not shared */
};

typedef struct Described
{
	uint32_t pid;
	/* Copy of the kernel's entry; .count is 0 while the process has no slots. */
	struct pfs_unwind_process entry;
	uint32_t span_count;
	UnwindBinary **binaries; /* held; one for each span, NULL for code without a file */
	UT_hash_handle hh;
} Described;

struct Unwinder
{
	KernelTables *tables;
	TableCache *cache; /* NULL: no cache */
	TableStore store;
	GeneratedTables generated;
	ExtentPool mappings;
	Described *processes;
	SharedTable *shared;
	uint64_t seed;
	UnwinderStats stats;
};

int
unwinder_create(KernelTables *tables, Unwinder **result)
{
	Unwinder *unwinder = calloc(1, sizeof(*unwinder));

	if (unwinder == NULL)
		return -ENOMEM;
	if (table_store_init(&unwinder->store, tables) != 0)
	{
		table_store_fini(&unwinder->store);
		free(unwinder);
		return -ENOMEM;
	}
	unwinder->tables = tables;
	unwinder->seed = unwinder->store.rules.rules.seed;
	extent_pool_init(&unwinder->mappings, tables->mapping_limit);
	*result = unwinder;
	return 0;
}

void
unwinder_use_cache(Unwinder *unwinder, TableCache *cache)
{
	unwinder->cache = cache;
}

void
unwinder_stats(const Unwinder *unwinder, UnwinderStats *stats)
{
	*stats = unwinder->stats;
	stats->processes = HASH_COUNT(unwinder->processes);
	stats->lines = unwinder->store.lines.used_count;
	stats->entries = unwinder->store.entries.used_count;
	stats->mappings = unwinder->mappings.used_count;
	stats->rules = rule_set_count(&unwinder->store.rules);
}

UnwindBinary *
unwinder_binary_create(Unwinder *unwinder)
{
	UnwindBinary *binary = calloc(1, sizeof(*binary));

	if (binary == NULL)
		return NULL;
	binary->references = 1;
	binary->kind = PFS_MAPPING_PENDING;
	unwinder->stats.binaries++;
	return binary;
}

void
unwinder_binary_retain(UnwindBinary *binary)
{
	binary->references++;
}

bool
unwinder_binary_is_shared(const UnwindBinary *binary)
{
	return binary->references > 1;
}

/* Returns the place of the binary's table. */
static const TablePlace *
unwind_place_of(const UnwindBinary *binary)
{
	return binary->shared != NULL ? &binary->shared->place : &binary->place;
}

/* Frees the slots of the binary's table, to which no mapping may refer. */
static void
give_table(Unwinder *unwinder, UnwindBinary *binary, uint64_t now_ns)
{
	SharedTable *shared = binary->shared;

	if (shared == NULL)
	{
		generated_tables_remove(&unwinder->generated, &binary->generated);
		table_store_give(&unwinder->store, &binary->place, now_ns);
		return;
	}
	/* the last binary that shares the table frees it */
	binary->shared = NULL;
	if (--shared->users > 0)
		return;
	HASH_DEL(unwinder->shared, shared);
	table_store_give(&unwinder->store, &shared->place, now_ns);
	table_file_index_fini(&shared->index);
	free(shared);
}

/* Makes the binary share the table of binaries with equal CFI. Returns false if there is none. */
static bool
use_shared(Unwinder *unwinder, UnwindBinary *binary, uint64_t hash)
{
	SharedTable *shared;

	HASH_FIND(hh, unwinder->shared, &hash, sizeof(hash), shared);
	if (shared == NULL)
		return false;
	shared->users++;
	binary->shared = shared;
	binary->kind = PFS_MAPPING_TABLE;
	unwinder->stats.shared++;
	return true;
}

void
unwinder_binary_release(Unwinder *unwinder, UnwindBinary *binary, uint64_t now_ns)
{
	if (binary == NULL || --binary->references > 0)
		return;
	give_table(unwinder, binary, now_ns);
	free(binary);
	unwinder->stats.binaries--;
}

bool
unwinder_rules_are_full(const Unwinder *unwinder)
{
	return unwinder->store.rules_refused;
}

/* Less CFI than this is compiled as fast as a file of the cache is read. */
#define CACHED_MIN_BYTES 8192

static bool
is_worth_caching(const CfiSections *sections)
{
	const CfiInput *input = &sections->input;

	return sections->build_id[0] != '\0' &&
		   input->eh_frame.length + input->debug_frame.length + input->pclntab.length >=
			   CACHED_MIN_BYTES;
}

/* A table that was made for a file. */
typedef struct MadeTable
{
	PackedTable packed; /* has no pages if the file has no CFI */
	CfiStats stats;
	bool is_kept;		  /* the cache contains the table */
	TableFileIndex index; /* index of its file in the cache */
} MadeTable;

static void
made_table_fini(MadeTable *made)
{
	packed_table_free(&made->packed);
	if (made->is_kept)
		table_file_index_fini(&made->index);
}

/* Stores a table in the cache. Returns false on failure. */
static bool
keep_on_disk(Unwinder *unwinder, const CfiSections *sections, MadeTable *made)
{
	int err = table_cache_store(unwinder->cache, sections->build_id, &sections->input,
								&unwinder->store.rules, &made->packed, &made->stats, &made->index);

	if (err == 0)
		return true;
	unwinder->stats.cache_failures++;
	unwinder->stats.cache_error = err;
	return false;
}

/*
 * Compiles a table, or reads it from the cache. From a large table in the cache only the given
 * parts are read; NULL: all parts.
 */
static int
make_table(Unwinder *unwinder, const CfiSections *sections, const PackedParts *parts,
		   MadeTable *made)
{
	bool cacheable = unwinder->cache != NULL && is_worth_caching(sections);
	uint64_t refused = unwinder->store.rules.refused;
	PackedTable *packed = &made->packed;
	int err;

	/*
	 * A file that the cache has, but that is damaged or of other CFI, counts as absent and is
	 * replaced below.
	 */
	made->is_kept = cacheable && table_cache_load(unwinder->cache, sections->build_id,
												  &sections->input, parts, &unwinder->store.rules,
												  packed, &made->stats, &made->index) == 0;
	if (made->is_kept)
	{
		unwinder->stats.cached++;
		return 0;
	}
	err = packed_table_compile(&sections->input, &unwinder->store.rules, packed, &made->stats);
	if (err != 0)
		return err;
	if (packed->line_count == 0 && packed->rows_outside > 0)
	{
		packed_table_free(packed);
		return -ENOEXEC; /* the CFI describes addresses that no program can have */
	}
	/*
	 * If rules were refused, rules of other files may be the reason, so do not keep the incomplete
	 * table for the next run.
	 */
	if (cacheable && packed->line_count > 0 && unwinder->store.rules.refused == refused)
		made->is_kept = keep_on_disk(unwinder, sections, made);
	/*
	 * The cache has all rows, so the kernel's tables need only the parts that were asked for.
	 * Without the cache all rows stay, because there is nowhere to read the others from.
	 */
	if (made->is_kept && parts != NULL)
		packed_table_choose(packed, parts);
	return 0;
}

/* Assigns a table to the binary, and shares it with later binaries of equal hash. */
static int
unwind_table_keep(Unwinder *unwinder, UnwindBinary *binary, const PackedTable *packed,
				  uint64_t hash, uint64_t now_ns)
{
	SharedTable *shared = calloc(1, sizeof(*shared));
	int err;

	if (shared == NULL)
		return -ENOMEM;
	err = table_store_write(&unwinder->store, &shared->place, packed, now_ns);
	if (err != 0)
	{
		free(shared);
		return err;
	}
	shared->hash = hash;
	shared->users = 1;
	HASH_ADD(hh, unwinder->shared, hash, sizeof(shared->hash), shared);
	binary->shared = shared;
	binary->kind = PFS_MAPPING_TABLE;
	return 0;
}

/* Records the cache file that contains the parts which were left out. */
static void
note_file(SharedTable *shared, const CfiSections *sections, MadeTable *made)
{
	table_file_index_fini(&shared->index);
	shared->build_id[0] = '\0';
	/* a complete table needs no file later */
	if (!made->is_kept || packed_table_is_whole(&made->packed))
		return;
	memcpy(shared->build_id, sections->build_id, sizeof(shared->build_id));
	shared->index = made->index;
	/* the shared table owns the index, and made_table_fini() must not free it */
	made->index = (TableFileIndex){ 0 };
}

/* Makes a file's table and gives it to the binary. Returns like unwinder_binary_load(). */
static int
unwind_table_load(Unwinder *unwinder, UnwindBinary *binary, const CfiSections *sections,
				  uint64_t hash, const PackedParts *parts, uint64_t now_ns)
{
	uint64_t refused = unwinder->store.rules.refused;
	MadeTable made;
	int err = table_store_begin(&unwinder->store, now_ns);

	if (err == 0)
		err = make_table(unwinder, sections, parts, &made);
	if (err != 0)
		return err;
	/*
	 * If only the file's own share of rules was used up, the table is kept without the refused
	 * rules, because another attempt would end there too. If the set is full, the caller unloads
	 * tables and tries again.
	 */
	if (unwinder->store.rules.refused != refused && rule_set_is_full(&unwinder->store.rules))
	{
		unwinder->store.rules_refused = true;
		made_table_fini(&made);
		return -ENOSPC;
	}
	unwinder->stats.rows_unsupported += made.stats.rows_unsupported;
	unwinder->stats.fdes_malformed += made.stats.fdes_malformed;
	if (made.packed.page_count == 0) /* the file has no CFI at all */
		binary->kind = PFS_MAPPING_FRAME_POINTER;
	else
		err = unwind_table_keep(unwinder, binary, &made.packed, hash, now_ns);
	if (err == 0 && binary->shared != NULL)
		note_file(binary->shared, sections, &made);
	made_table_fini(&made);
	return err;
}

/*
 * Compiles parts again whose file the cache has removed. The rules of the table are in the set
 * already, so no rule is added.
 */
static int
make_parts_again(Unwinder *unwinder, SharedTable *shared, const CfiSections *sections,
				 uint64_t hash, const PackedParts *parts, uint64_t now_ns)
{
	MadeTable made;
	int err;

	if (hash != shared->hash)
		return -ENOEXEC; /* the file has changed */
	rule_set_next_file(&unwinder->store.rules, 0);
	err = make_table(unwinder, sections, parts, &made);
	if (err != 0)
		return err;
	note_file(shared, sections, &made);
	/*
	 * If the cache could not keep the table again, all of its parts are added, since no file is
	 * left from which others could come.
	 */
	err = table_store_add(&unwinder->store, &shared->place, &made.packed,
						  made.is_kept ? parts : NULL, now_ns);
	made_table_fini(&made);
	return err;
}

static int
load_sections(Unwinder *unwinder, UnwindBinary *binary, const CfiSections *sections,
			  const PackedParts *parts, uint64_t now_ns)
{
	uint64_t hash = cfi_input_hash(unwinder->seed, &sections->input);

	if (binary->shared != NULL)
		return make_parts_again(unwinder, binary->shared, sections, hash, parts, now_ns);
	if (use_shared(unwinder, binary, hash))
		return 0;
	return unwind_table_load(unwinder, binary, sections, hash, parts, now_ns);
}

/* Returns a binary's kind without its table. Generated code is not loaded when it is needed. */
static enum pfs_mapping_kind
kind_without_table(const UnwindBinary *binary)
{
	return binary->place.generated ? PFS_MAPPING_FRAME_POINTER : PFS_MAPPING_PENDING;
}

/* Returns the value for a mapping's .kind. */
static uint32_t
kind_and_table(const UnwindBinary *binary)
{
	return binary->kind | unwind_place_of(binary)->number << PFS_MAPPING_KIND_BITS;
}

/* Returns the process described last; hh.prev leads to those before it. */
static Described *
newest_process(const Unwinder *unwinder)
{
	if (unwinder->processes == NULL)
		return NULL;
	return ELMT_FROM_HH(unwinder->processes->hh.tbl, unwinder->processes->hh.tbl->tail);
}

/*
 * Sets the kind of all mappings of a binary. The kind is one aligned word and stored last, so a
 * walk sees a mapping either without its table or with all of it. Searches the processes that were
 * described last first: they have the new binaries, and most older processes have ended.
 */
static void
publish_kind(Unwinder *unwinder, const UnwindBinary *binary)
{
	uint32_t left = binary->spans;

	for (Described *process = newest_process(unwinder); process != NULL && left > 0;
		 process = process->hh.prev)
	{
		for (uint32_t i = 0; i < process->entry.count; i++)
		{
			struct pfs_unwind_mapping *slot;

			if (process->binaries[i] != binary)
				continue;
			left--;
			/*
			 * Before the kind: a walk that sees the new kind must find the directory that belongs
			 * to it.
			 */
			slot = unwinder->tables->ops->mapping(unwinder->tables, process->entry.first + i);
			if (slot != NULL)
			{
				slot->directory = unwind_place_of(binary)->directory.first;
				__atomic_store_n(&slot->kind, kind_and_table(binary), __ATOMIC_RELEASE);
			}
		}
	}
}

/*
 * Removes the table of one binary, or of all binaries if binary is NULL, from mappings. The
 * .directory of a mapping stays, because a concurrent walk may have read the kind before. Searches
 * the processes that were described first, which have the oldest tables, before others.
 */
static void
withdraw(Unwinder *unwinder, const UnwindBinary *binary)
{
	uint32_t left = binary != NULL ? binary->spans : 1;
	Described *process;
	Described *next;

	HASH_ITER(hh, unwinder->processes, process, next)
	{
		if (left == 0)
			return;
		for (uint32_t i = 0; i < process->entry.count; i++)
		{
			struct pfs_unwind_mapping *slot;

			if (process->binaries[i] == NULL || (binary != NULL && process->binaries[i] != binary))
				continue;
			left -= binary != NULL;
			slot = unwinder->tables->ops->mapping(unwinder->tables, process->entry.first + i);
			/* code that is walked by frame pointer has no table to remove */
			if (slot != NULL && pfs_mapping_kind(slot) != PFS_MAPPING_FRAME_POINTER)
				__atomic_store_n(&slot->kind, kind_without_table(process->binaries[i]),
								 __ATOMIC_RELEASE);
		}
	}
}

bool
unwinder_binary_has_table(const UnwindBinary *binary)
{
	return binary->kind == PFS_MAPPING_TABLE || binary->kind == PFS_MAPPING_JIT;
}

uint32_t
unwinder_binary_lines(const UnwindBinary *binary)
{
	return unwind_place_of(binary)->line_count;
}

/* Withdraws the binary's table from mappings and returns its slots. */
static void
take_table_back(Unwinder *unwinder, UnwindBinary *binary, uint64_t now_ns)
{
	/*
	 * slots rest after they are returned, so walks that read a mapping before withdraw() still find
	 * the old rows
	 */
	binary->kind = kind_without_table(binary);
	give_table(unwinder, binary, now_ns);
	unwinder->stats.unloaded++;
}

void
unwinder_binary_unload(Unwinder *unwinder, UnwindBinary *binary, uint64_t now_ns)
{
	if (!unwinder_binary_has_table(binary))
		return;
	withdraw(unwinder, binary);
	take_table_back(unwinder, binary, now_ns);
}

void
unwinder_forget_rules(Unwinder *unwinder, uint64_t now_ns)
{
	Described *process;
	Described *next;

	/* first all mappings, then the tables: no mapping may refer to a table whose slots rest */
	withdraw(unwinder, NULL);
	HASH_ITER(hh, unwinder->processes, process, next)
	{
		for (uint32_t i = 0; i < process->span_count; i++)
		{
			/* several processes may map the binary, whose table is taken back once */
			if (process->binaries[i] != NULL && unwinder_binary_has_table(process->binaries[i]))
				take_table_back(unwinder, process->binaries[i], now_ns);
		}
	}
	table_store_forget_rules(&unwinder->store, now_ns);
	generated_tables_forget_rules(&unwinder->generated);
}

int
unwinder_binary_load_sections(Unwinder *unwinder, UnwindBinary *binary, const CfiSections *sections,
							  const PackedParts *parts, uint64_t now_ns)
{
	int err =
		sections != NULL ? load_sections(unwinder, binary, sections, parts, now_ns) : -ENOEXEC;

	if (err != 0)
		unwinder->stats.load_failures++;
	else
		unwinder->stats.loaded++;
	publish_kind(unwinder, binary);
	return err;
}

int
unwinder_binary_load(Unwinder *unwinder, UnwindBinary *binary, int fd, uint64_t now_ns)
{
	CfiSections sections;
	bool read = cfi_sections_init(&sections, fd) == 0;
	int err =
		unwinder_binary_load_sections(unwinder, binary, read ? &sections : NULL, NULL, now_ns);

	if (read)
		cfi_sections_fini(&sections);
	return err;
}

int
unwinder_binary_load_parts(Unwinder *unwinder, UnwindBinary *binary, const PackedParts *parts,
						   uint64_t now_ns)
{
	SharedTable *shared = binary->shared;
	PackedTable packed;
	int err;

	if (shared == NULL || shared->build_id[0] == '\0')
		return -ENOENT;
	err = table_store_left_out(&unwinder->store, &shared->place, parts, &packed);
	if (err != 0)
		return err;
	/*
	 * -ENOENT makes the caller read the file's sections, from which make_parts_again() makes the
	 * parts
	 */
	if (table_cache_load_parts(unwinder->cache, shared->build_id, &shared->index, &packed) != 0)
	{
		packed_table_free(&packed);
		return -ENOENT;
	}
	err = table_store_add(&unwinder->store, &shared->place, &packed, parts, now_ns);
	packed_table_free(&packed);
	if (err == 0)
		unwinder->stats.parts += parts->count;
	else
		unwinder->stats.load_failures++;
	return err;
}

/*
 * Unloads tables of generated code until a new one of the owner fits into the part of the kernel's
 * tables that all generated code may use. Returns 0; -E2BIG if the part is smaller than the table,
 * or no other owner has as much.
 */
static int
unwinder_make_generated_room(Unwinder *unwinder, uint64_t owner, uint64_t lines, uint64_t entries,
							 uint64_t now_ns)
{
	GeneratedTables *generated = &unwinder->generated;
	uint64_t line_limit = unwinder->store.lines.limit / TABLE_STORE_SHARE;
	uint64_t entry_limit = unwinder->store.entries.limit / TABLE_STORE_SHARE;

	if (lines > line_limit || entries > entry_limit)
		return -E2BIG;
	while (generated->lines + lines > line_limit || generated->entries + entries > entry_limit)
	{
		/* an owner of many lines may have few entries, so only what is short counts */
		GeneratedTable *table = generated->lines + lines > line_limit
									? generated_tables_with_lines(generated, owner, lines)
									: generated_tables_with_entries(generated, owner, entries);

		if (table == NULL)
			return -E2BIG;
		unwinder_binary_unload(unwinder, (UnwindBinary *) table, now_ns);
		unwinder->stats.generated_displaced++;
	}
	return 0;
}

/* Writes a table of an owner's generated code. Returns like unwinder_binary_load_jit(). */
static int
unwinder_write_generated(Unwinder *unwinder, UnwindBinary *binary, const PackedTable *packed,
						 uint64_t owner, uint64_t now_ns)
{
	uint64_t entries = table_store_entries(packed);
	int err = unwinder_make_generated_room(unwinder, owner, packed->line_count, entries, now_ns);

	binary->place.generated = true;
	if (err == 0)
		err = table_store_write(&unwinder->store, &binary->place, packed, now_ns);
	if (err != 0)
		return err;
	binary->kind = PFS_MAPPING_JIT;
	binary->generated.lines = binary->place.line_count;
	binary->generated.entries = binary->place.directory.count;
	err = generated_tables_add(&unwinder->generated, owner, &binary->generated);
	if (err != 0)
		take_table_back(unwinder, binary, now_ns);
	return err;
}

/*
 * Compiles CFI of an owner's generated code with the rules that the owner may still add. The
 * generated code of all processes together gets one file's share of rules, because the code changes
 * often and rules are never freed individually.
 */
static int
unwinder_compile_generated(Unwinder *unwinder, const CfiInput *input, uint64_t owner,
						   UnwindTable *table)
{
	GeneratedTables *generated = &unwinder->generated;
	RuleSet *rules = &unwinder->store.rules;
	uint32_t count = rule_set_count(rules);
	int err;

	rule_set_next_file(rules, generated_tables_rules_left(generated, owner, RULE_SET_SHARE));
	err = cfi_compile(input, rules, table);
	count = rule_set_count(rules) - count;
	if (generated_tables_add_rules(generated, owner, count) == 0 || err != 0)
		return err;
	unwind_table_free(table);
	return -ENOMEM;
}

/* Packs and writes a table of generated code. Returns like unwinder_binary_load_jit(). */
static int
unwinder_keep_generated(Unwinder *unwinder, UnwindBinary *binary, const UnwindTable *table,
						uint64_t owner, uint64_t now_ns)
{
	PackedTable packed;
	int err;

	/* the last row only ends the code, so one row describes none */
	if (table->count <= 1)
		return -ENOENT;
	err = packed_table_build(table, &packed);
	if (err != 0)
		return err;
	err = packed.line_count > 0 ? unwinder_write_generated(unwinder, binary, &packed, owner, now_ns)
								: -ENOENT;
	packed_table_free(&packed);
	return err;
}

int
unwinder_binary_load_jit(Unwinder *unwinder, UnwindBinary *binary, const CfiInput *input,
						 uint64_t owner, uint64_t now_ns, uint64_t *start, uint64_t *end)
{
	UnwindTable table;
	int err = table_store_begin(&unwinder->store, now_ns);
	/* read here, because the set may have been emptied */
	uint64_t refused = unwinder->store.rules.refused;

	if (err == 0)
		err = unwinder_compile_generated(unwinder, input, owner, &table);
	if (err == 0)
	{
		err = unwinder_keep_generated(unwinder, binary, &table, owner, now_ns);
		if (err == 0)
		{
			*start = unwind_row_address(&table, 0);
			*end = unwind_row_address(&table, table.count - 1);
		}
		unwind_table_free(&table);
	}
	unwinder->stats.generated_refused +=
		err == -E2BIG || err == -ENOSPC || unwinder->store.rules.refused != refused;
	return err;
}

int
unwinder_binary_load_trampolines(Unwinder *unwinder, UnwindBinary *binary, TrampolineShape shape,
								 uint64_t now_ns)
{
	/* the shape determines the rules, so it takes the place of the hash of CFI */
	uint64_t hash = hash_word(hash_word(unwinder->seed, shape.period), shape.lead);
	PackedTable packed;
	UnwindTable table;
	int err;

	if (use_shared(unwinder, binary, hash))
		return 0;
	err = table_store_begin(&unwinder->store, now_ns);
	if (err == 0)
		err = trampolines_compile(shape, &unwinder->store.rules, &table);
	if (err != 0)
		return err;
	err = packed_table_build(&table, &packed);
	unwind_table_free(&table);
	if (err != 0)
		return err;
	err = unwind_table_keep(unwinder, binary, &packed, hash, now_ns);
	packed_table_free(&packed);
	return err;
}

static void
fill_slot(struct pfs_unwind_mapping *slot, const UnwindSpan *span)
{
	slot->start = span->start;
	slot->end = span->end;
	slot->bias = span->bias;
	slot->directory = span->binary != NULL ? unwind_place_of(span->binary)->directory.first : 0;
	slot->kind = span->binary != NULL ? kind_and_table(span->binary) : PFS_MAPPING_FRAME_POINTER;
}

static int
write_process(Unwinder *unwinder, const Described *described, const UnwindSpan *spans)
{
	KernelTables *tables = unwinder->tables;

	for (uint32_t i = 0; i < described->entry.count; i++)
	{
		struct pfs_unwind_mapping *slot = tables->ops->mapping(tables, described->entry.first + i);

		if (slot == NULL)
			return -ENOMEM;
		fill_slot(slot, &spans[i]);
	}
	return tables->ops->set_process(tables, described->pid, &described->entry);
}

/*
 * Makes a description that holds the binaries of its spans, without slots. Returns NULL if out of
 * memory.
 */
static Described *
unwind_describe(const ExecImage *process, const UnwindSpan *spans, uint32_t count)
{
	Described *described = calloc(1, sizeof(*described));

	if (described == NULL)
		return NULL;
	described->pid = process->pid;
	described->entry.start_time_ns = process->start_time_ns;
	described->entry.exec_id = process->exec_id;
	described->span_count = count;
	/* plus one, because calloc(0) may return NULL */
	described->binaries = calloc(count + 1, sizeof(*described->binaries));
	if (described->binaries == NULL)
	{
		free(described);
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++)
	{
		if (spans[i].binary != NULL)
		{
			unwinder_binary_retain(spans[i].binary);
			spans[i].binary->spans++;
		}
		described->binaries[i] = spans[i].binary;
		if (spans[i].labels != NULL && described->entry.labels.kind == PFS_LABELS_NONE)
		{
			described->entry.labels = *spans[i].labels;
			described->entry.labels.variable += spans[i].bias;
		}
	}
	return described;
}

/* Releases the parts of a description that the kernel's entry no longer refers to. */
static void
discard(Unwinder *unwinder, Described *described, uint64_t now_ns)
{
	extent_pool_give(&unwinder->mappings, described->entry.first, described->entry.count, now_ns);
	for (uint32_t i = 0; i < described->span_count; i++)
	{
		/* before the release, which may free the binary */
		if (described->binaries[i] != NULL)
			described->binaries[i]->spans--;
		unwinder_binary_release(unwinder, described->binaries[i], now_ns);
	}
	free(described->binaries);
	free(described);
}

static Described *
find_described(const Unwinder *unwinder, uint32_t pid)
{
	Described *described;

	HASH_FIND(hh, unwinder->processes, &pid, sizeof(pid), described);
	return described;
}

static void
forget(Unwinder *unwinder, Described *described, uint64_t now_ns)
{
	unwinder->tables->ops->remove_process(unwinder->tables, described->pid);
	HASH_DEL(unwinder->processes, described);
	discard(unwinder, described, now_ns);
}

void
unwinder_free(Unwinder *unwinder)
{
	Described *process;
	Described *next;

	if (unwinder == NULL)
		return;
	HASH_ITER(hh, unwinder->processes, process, next)
		forget(unwinder, process, 0);
	extent_pool_fini(&unwinder->mappings);
	generated_tables_fini(&unwinder->generated);
	table_store_fini(&unwinder->store);
	free(unwinder);
}

int
unwinder_process_set(Unwinder *unwinder, const ExecImage *process, const UnwindSpan *spans,
					 uint32_t count, uint64_t now_ns)
{
	Described *described = unwind_describe(process, spans, count);
	Described *old = find_described(unwinder, process->pid);
	int err;

	if (described == NULL)
		return -ENOMEM;
	/* 1. Write the new mappings to slots of their own: walks still use the old ones. */
	err = count > unwinder->mappings.limit / TABLE_STORE_SHARE
			  ? -E2BIG
			  : extent_pool_take(&unwinder->mappings, count, now_ns, &described->entry.first);
	if (err == 0)
	{
		described->entry.count = count;
		/* 2. write_process() then replaces the process's entry, which refers to them. */
		err = write_process(unwinder, described, spans);
	}
	if (err != 0)
	{
		discard(unwinder, described, now_ns);
		/*
		 * the old mappings may be those of another image, so no description is better than the old
		 * one
		 */
		if (old != NULL)
			forget(unwinder, old, now_ns);
		unwinder->stats.process_failures++;
		return err;
	}

	/* 3. Return the old slots, which rest until no walk can be reading them. */
	if (old != NULL)
	{
		HASH_DEL(unwinder->processes, old);
		discard(unwinder, old, now_ns);
	}
	HASH_ADD(hh, unwinder->processes, pid, sizeof(described->pid), described);
	return 0;
}

static bool
is_about(const Described *described, const ExecImage *process)
{
	return described != NULL && described->entry.start_time_ns == process->start_time_ns &&
		   described->entry.exec_id == process->exec_id;
}

void
unwinder_process_forget(Unwinder *unwinder, const ExecImage *process, uint64_t now_ns)
{
	Described *described = find_described(unwinder, process->pid);

	if (is_about(described, process))
		forget(unwinder, described, now_ns);
}

bool
unwinder_find_process(const Unwinder *unwinder, const ExecImage *process,
					  struct pfs_unwind_process *entry)
{
	const Described *described = find_described(unwinder, process->pid);

	if (!is_about(described, process))
		return false;
	*entry = described->entry;
	return true;
}

/*
 * Returns true if walks end at an ELF address because the binary's table, or a part of it, is
 * missing.
 */
static bool
is_missing(const Unwinder *unwinder, const UnwindBinary *binary, uint32_t kind, uint64_t address)
{
	return kind == PFS_MAPPING_PENDING ||
		   (kind == PFS_MAPPING_TABLE && binary->shared != NULL &&
			table_store_lacks(&unwinder->store, &binary->shared->place, address));
}

const UnwindBinary *
unwinder_pending(const Unwinder *unwinder, const ExecImage *process, uint64_t address,
				 uint64_t *elf_address)
{
	const Described *described = find_described(unwinder, process->pid);
	uint32_t low = 0;
	uint32_t high;

	if (!is_about(described, process))
		return NULL;
	high = described->entry.count;
	/* binary search: the spans ascend and are disjoint */
	while (low < high)
	{
		uint32_t middle = low + (high - low) / 2;
		const struct pfs_unwind_mapping *slot =
			unwinder_mapping(unwinder, described->entry.first + middle);

		if (slot == NULL)
			return NULL;
		if (address < slot->start)
			high = middle;
		else if (address >= slot->end)
			low = middle + 1;
		else
		{
			const UnwindBinary *binary = described->binaries[middle];

			*elf_address = address - slot->bias;
			return binary != NULL &&
						   is_missing(unwinder, binary, pfs_mapping_kind(slot), *elf_address)
					   ? binary
					   : NULL;
		}
	}
	return NULL;
}

const struct pfs_unwind_mapping *
unwinder_mapping(const Unwinder *unwinder, uint32_t slot)
{
	return unwinder->tables->ops->mapping(unwinder->tables, slot);
}

__u64 *
unwinder_recent(const Unwinder *unwinder, uint32_t slot)
{
	return unwinder->tables->ops->recent(unwinder->tables, slot);
}

const union pfs_unwind_entry *
unwinder_entry(const Unwinder *unwinder, uint32_t slot)
{
	return unwinder->tables->ops->entry(unwinder->tables, slot);
}

const struct pfs_unwind_line *
unwinder_line(const Unwinder *unwinder, uint32_t number)
{
	return unwinder->tables->ops->line(unwinder->tables, number);
}

const struct pfs_unwind_rule *
unwinder_rule(const Unwinder *unwinder, uint32_t number)
{
	return number < rule_set_count(&unwinder->store.rules)
			   ? rule_set_get(&unwinder->store.rules, (uint16_t) number)
			   : NULL;
}
