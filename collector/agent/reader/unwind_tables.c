/*
 * unwind_tables.c
 *		Loads unwind tables for mapped files.
 *
 * 1. A process is described: each of its mappings becomes a span, either of a file, which may have
 *    no table yet, or of generated code.
 * 2. A walk that ends because a table, or a part of one, is missing asks for it; the entry counts
 *    these walks.
 * 3. The table that most walks ask for is loaded.
 * 4. If the kernel's tables are full, tables that no process maps are unloaded, then those of the
 *    owner with the most, until half of the room is free. Walks ask again for tables that are in
 *    use.
 * 5. The sweep drops entries that no process has mapped for a while, and deleted files.
 */
#include "agent/reader/unwind_tables.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <uthash.h>
#include <utlist.h>

#include "agent/reader/file_look.h"
#include "agent/reader/stalled_processes.h"
#include "agent/reader/table_account.h"
#include "base/clock.h"
#include "base/log.h"
#include "code/user_frame.h"
#include "threads/label_pages.h"
#include "unwind/extent_pool.h"
#include "unwind/jit_frames.h"
#include "unwind/late_walk.h"
#include "unwind/remote_memory.h"

/*
 * Pause after tables were unloaded to make room. Their extents become free only after
 * EXTENT_GRACE_NS, and tables that found no room must have a chance to use them before more is
 * unloaded.
 */
#define ROOM_RETRY_NS	 (2 * EXTENT_GRACE_NS)
#define ROOM_INTERVAL_NS (10 * EXTENT_GRACE_NS)
/* if no table was refused for this long, the kernel's tables have room again */
#define ROOM_AGAIN_NS	 (60 * EXTENT_GRACE_NS)

/*
 * Divisor of --max-memory for the limit of the CFI that is read. Compiling CFI takes at most as
 * much memory again.
 */
#define CFI_SHARE 3

/*
 * CPU time of a search for CFI of generated code that is not charged: that of ordinary processes
 * (0.6 ms in Node, 1 ms in PostgreSQL, 2 ms in Java), which map code as often as they are sampled.
 */
#define SEARCH_FREE_NS UINT64_C(2000000)

/* pause before missing parts of a table are tried again */
#define PARTS_RETRY_NS (60 * EXTENT_GRACE_NS)

/* State of one mapped file. */
typedef struct Entry
{
	MappedFile *file;	  /* held */
	bool looked;		  /* the file has answered */
	UnwindBinary *binary; /* held; NULL if the file is unreadable */
	FileFacts facts;
	uint64_t number; /* number of its table, never reused */
	bool loaded;	 /* true if the table is loaded, or can never be loaded */
	/* Number of walks that ended because the table, or a part of it, was missing. */
	uint32_t wanted;
	PackedParts parts;		   /* parts of a large table that these walks need */
	struct Entry *next_wanted; /* in the list of wanted entries */
	struct Entry *prev_wanted;
	uint64_t owner; /* owner of the last process that wanted the table, who is charged for it */
	uint64_t loaded_ns;
	/* next table of the same owner; used only while tables to unload are chosen */
	struct Entry *younger;
	uint64_t retry_ns; /* not loaded before this time, because there was no room */
	Stall stall;
	uint64_t used_ns;
	UT_hash_handle hh;
	UT_hash_handle by_binary; /* linked only if binary is not NULL */
} Entry;

struct UnwindTables
{
	MappedFileTable *files;
	Unwinder *unwinder;
	Entry *entries;
	Entry *by_binary;
	Entry *wanted; /* list of wanted entries */
	uint64_t last_number;
	Patience patience; /* deadlines of reading files and memory of processes */
	TableAccount account;
	TableAccount generated_account; /* tables of generated code */
	uint64_t put_off;
	uint64_t generated_put_off;
	StalledProcesses stalled; /* processes whose memory did not answer */
	LabelPages label_pages;
	CodePages *code_pages; /* code pages of the process that was walked last */
	CodeSightings *sightings;
	Runtimes *runtimes; /* NULL: files are not searched for interpreters */
	bool find_labels;
	bool cache_warned;
	uint64_t room_ns; /* earliest time at which tables may be unloaded again */
	bool full;		  /* state that was logged last */
	uint64_t full_ns; /* last time at which there was no room */
};

int
unwind_tables_create(MappedFileTable *files, KernelTables *kernel, TableCache *cache,
					 UnwindTables **result)
{
	UnwindTables *tables = calloc(1, sizeof(*tables));

	if (tables == NULL || patience_init(&tables->patience) != 0 ||
		(tables->code_pages = code_pages_create()) == NULL ||
		(tables->sightings = code_sightings_create()) == NULL ||
		unwinder_create(kernel, &tables->unwinder) != 0)
	{
		if (tables != NULL)
		{
			code_sightings_free(tables->sightings);
			code_pages_free(tables->code_pages);
			patience_fini(&tables->patience);
		}
		free(tables);
		return -ENOMEM;
	}
	unwinder_use_cache(tables->unwinder, cache);
	tables->files = files;
	*result = tables;
	return 0;
}

static void
drop_entry(UnwindTables *tables, Entry *entry, uint64_t now_ns)
{
	HASH_DEL(tables->entries, entry);
	if (entry->wanted > 0)
		DL_DELETE2(tables->wanted, entry, prev_wanted, next_wanted);
	if (entry->binary != NULL)
		HASH_DELETE(by_binary, tables->by_binary, entry);
	unwinder_binary_release(tables->unwinder, entry->binary, now_ns);
	mapped_file_release(tables->files, entry->file);
	file_facts_fini(&entry->facts);
	free(entry);
}

void
unwind_tables_free(UnwindTables *tables)
{
	Entry *entry;
	Entry *next;

	if (tables == NULL)
		return;
	HASH_ITER(hh, tables->entries, entry, next)
		drop_entry(tables, entry, 0);
	unwinder_free(tables->unwinder);
	code_sightings_free(tables->sightings);
	code_pages_free(tables->code_pages);
	patience_fini(&tables->patience);
	free(tables);
}

void
unwind_tables_stats(const UnwindTables *tables, UnwinderStats *stats)
{
	unwinder_stats(tables->unwinder, stats);
	stats->timeouts = tables->patience.timeouts;
	stats->put_off = tables->put_off;
	stats->generated_put_off = tables->generated_put_off;
	stats->memory_put_off = tables->stalled.put_off;
	stats->stalls_displaced = tables->stalled.displaced;
	stats->methods_displaced = code_sightings_displaced(tables->sightings);
}

void
unwind_tables_limit(UnwindTables *tables, size_t memory_bytes, uint64_t cpu_percent)
{
	file_look_limit(memory_bytes / CFI_SHARE);
	tables->account.cpu_percent = cpu_percent;
	tables->generated_account.cpu_percent = cpu_percent;
}

void
unwind_tables_rest(UnwindTables *tables, bool rest)
{
	tables->account.resting = rest;
	tables->generated_account.resting = rest;
}

void
unwind_tables_use_runtimes(UnwindTables *tables, Runtimes *runtimes)
{
	tables->runtimes = runtimes;
}

void
unwind_tables_find_labels(UnwindTables *tables)
{
	tables->find_labels = true;
}

static Entry *
make_entry(UnwindTables *tables, MappedFile *file)
{
	Entry *entry = calloc(1, sizeof(*entry));

	if (entry == NULL)
		return NULL;
	entry->file = file;
	entry->number = ++tables->last_number;
	mapped_file_retain(tables->files, file);
	HASH_ADD_PTR(tables->entries, file, entry);
	return entry;
}

static void
look_at_file(UnwindTables *tables, Entry *entry, uint64_t now_ns)
{
	if (file_look(&tables->patience, tables->files, entry->file, tables->find_labels,
				  &entry->facts) != 0)
	{
		stall_note(&entry->stall, now_ns);
		return;
	}
	entry->looked = true;
	entry->stall = (Stall){ 0 };
	entry->binary = unwinder_binary_create(tables->unwinder);
	if (entry->binary != NULL)
		HASH_ADD(by_binary, tables->by_binary, binary, sizeof(entry->binary), entry);
}

/*
 * Finds the entry of a file, or makes one. Returns NULL if the file does not answer; it may answer
 * later.
 */
static Entry *
get_entry(UnwindTables *tables, MappedFile *file, uint64_t now_ns)
{
	Entry *entry;

	HASH_FIND_PTR(tables->entries, &file, entry);
	if (entry == NULL)
		entry = make_entry(tables, file);
	if (entry == NULL)
		return NULL;
	entry->used_ns = now_ns;
	if (!entry->looked && entry->stall.until_ns <= now_ns)
		look_at_file(tables, entry, now_ns);
	return entry->looked ? entry : NULL;
}

/* A process whose mappings are described. */
typedef struct Subject
{
	const ExecImage *process;
	uint64_t owner;
	const DescribedMapping *mappings;
	size_t count;
	uint64_t now_ns;
} Subject;

/* Returns the segment of the file that the mapping contains a part of; NULL: none. */
static const ElfRange *
mapped_segment(const Entry *entry, const DescribedMapping *mapping)
{
	uint64_t length = mapping->end - mapping->start;

	for (uint32_t i = 0; i < entry->facts.segment_count; i++)
	{
		const ElfRange *segment = &entry->facts.segments[i];

		if (mapping->file_offset < segment->offset + segment->size_bytes &&
			segment->offset < mapping->file_offset + length)
			return segment;
	}
	return NULL;
}

/*
 * Returns whether the file's data are at their distance from the mapping. They are not if the
 * mapping lacks the start of its segment and another mapping has it: V8 maps the middle of its code
 * a second time, near the code that it generates.
 */
static bool
is_beside_data(const Subject *subject, const DescribedMapping *mapping, const ElfRange *segment)
{
	/* the kernel maps whole pages, so a mapping may begin before its segment */
	if (mapping->file_offset <= segment->offset)
		return true;
	for (size_t i = 0; i < subject->count; i++)
	{
		const DescribedMapping *other = &subject->mappings[i];

		if (other->file == mapping->file && other->file_offset <= segment->offset &&
			segment->offset - other->file_offset < other->end - other->start)
			return false;
	}
	return true;
}

/*
 * Fills in the span of a mapping. Returns false if nothing is known about the mapping's code;
 * *later is then set if the file did not answer in time.
 */
static bool
make_span(UnwindTables *tables, const Subject *subject, const DescribedMapping *mapping,
		  UnwindSpan *span, bool *later)
{
	const ElfRange *segment;
	const Entry *entry;

	*span = (UnwindSpan){ .start = mapping->start, .end = mapping->end };
	if (mapping->file == NULL)
		return true;
	entry = get_entry(tables, mapping->file, subject->now_ns);
	*later |= entry == NULL;
	if (entry != NULL && entry->facts.segment_count == 0)
		/* The file is not a program: JIT compilers keep generated code in shared memory. */
		return true;
	if (entry == NULL || entry->binary == NULL ||
		(segment = mapped_segment(entry, mapping)) == NULL)
		return false;
	span->binary = entry->binary;
	span->bias = mapping->start - mapping->file_offset + segment->offset - segment->address;
	if (!is_beside_data(subject, mapping, segment))
		return true;
	if (entry->facts.runtime != NULL && tables->runtimes != NULL)
		runtimes_attach(tables->runtimes, subject->process, subject->owner, entry->facts.runtime,
						span->bias, subject->now_ns);
	if (entry->facts.labels.kind != PFS_LABELS_NONE)
		span->labels = &entry->facts.labels;
	return true;
}

/*
 * Reads the memory of a process with generated code. Returns NULL if an earlier read did not
 * return, or if the owner has used up its CPU time; *later is set in the second case.
 */
static JitMemory *
read_generated(UnwindTables *tables, const Subject *subject, bool *later)
{
	if (stalled_processes_put_off(&tables->stalled, subject->process, subject->now_ns))
		return NULL;
	if (!table_account_may(&tables->generated_account, subject->owner, subject->now_ns))
	{
		tables->generated_put_off++;
		*later = true;
		return NULL;
	}
	return jit_memory_read(&tables->patience, subject->process->pid, subject->owner);
}

/*
 * Frees the memory (or NULL), and charges its owner for CPU time beyond that of ordinary processes
 * since this thread had taken begun_ns.
 */
static void
free_generated(UnwindTables *tables, const Subject *subject, JitMemory *memory, int64_t begun_ns)
{
	uint64_t spent_ns;

	if (memory == NULL)
		return;
	spent_ns =
		(uint64_t) (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns) + jit_memory_spent_ns(memory);
	if (spent_ns > SEARCH_FREE_NS)
		table_account_charge(&tables->generated_account, subject->owner, subject->now_ns,
							 spent_ns - SEARCH_FREE_NS);
	if (jit_memory_is_stuck(memory))
		stalled_processes_note(&tables->stalled, subject->process, subject->owner, subject->now_ns);
	jit_memory_free(memory);
}

int
unwind_tables_describe(UnwindTables *tables, const ExecImage *process, uint64_t owner,
					   const DescribedMapping *mappings, size_t count, uint64_t now_ns)
{
	const Subject subject = { process, owner, mappings, count, now_ns };
	UnwindSpan *spans;
	uint32_t span_count = 0;
	JitMemory *memory = NULL;
	int64_t begun_ns = 0;
	bool generated = false;
	bool later = false;
	int result;

	spans = calloc(JIT_SPANS(count), sizeof(*spans));
	if (spans == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
	{
		if (mappings[i].file == NULL && !generated)
		{
			generated = true;
			begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
			memory = read_generated(tables, &subject, &later);
		}
		if (mappings[i].file == NULL && memory != NULL)
			span_count += jit_frames_spans(tables->unwinder, memory, mappings[i].start,
										   mappings[i].end, now_ns, &spans[span_count]);
		else
			span_count += make_span(tables, &subject, &mappings[i], &spans[span_count], &later);
	}
	free_generated(tables, &subject, memory, begun_ns);
	result = unwinder_process_set(tables->unwinder, process, spans, span_count, now_ns);
	/* The process owns tables of generated code; tables of files belong to this object. */
	for (uint32_t i = 0; i < span_count; i++)
	{
		if (spans[i].generated)
			unwinder_binary_release(tables->unwinder, spans[i].binary, now_ns);
	}
	free(spans);
	return result == 0 && later ? -EAGAIN : result;
}

void
unwind_tables_read_labels(UnwindTables *tables, const ExecImage *process, uint64_t owner,
						  uint64_t address, uint64_t now_ns)
{
	RemoteMemory memory = { .patience = &tables->patience, .pid = process->pid };
	const RemotePieces text = { .address = address,
								.piece_bytes = PFS_LABEL_VALUE_BYTES,
								.count = 1 };
	uint8_t bytes[PFS_LABEL_VALUE_BYTES];

	if (stalled_processes_put_off(&tables->stalled, process, now_ns) ||
		!label_pages_take(&tables->label_pages, process, owner, address, now_ns))
		return;
	(void) remote_memory_read(&memory, &text, bytes);
	if (memory.stuck)
		stalled_processes_note(&tables->stalled, process, owner, now_ns);
}

void
unwind_tables_forget(UnwindTables *tables, const ExecImage *process, uint64_t now_ns)
{
	unwinder_process_forget(tables->unwinder, process, now_ns);
	if (tables->runtimes != NULL)
		runtimes_forget(tables->runtimes, process);
}

void
unwind_tables_note_code(UnwindTables *tables, const ExecImage *process, uint64_t owner,
						const uint64_t *frames, size_t count, uint64_t time_ns)
{
	const struct pfs_runtime *runtime =
		tables->runtimes != NULL ? runtimes_machine(tables->runtimes, process) : NULL;
	CompiledCode code;

	if (runtime == NULL || runtime->kind != PFS_RUNTIME_HOTSPOT)
		return;
	for (size_t i = 0; i < count; i++)
	{
		if (compiled_code_of(frames, count, i, &code))
			code_sightings_note(tables->sightings, process, owner, &code, time_ns);
	}
}

size_t
unwind_tables_walk(UnwindTables *tables, const ExecImage *process, uint64_t owner,
				   const struct pfs_late *late, uint64_t time_ns, bool trust_jit, uint64_t *frames,
				   uint64_t *ends, size_t capacity, int *status)
{
	LateMemory memory = { late->bytes,	late->length,		 late->address,
						  late->chunks, late->other_address, late->other_chunks };
	RemoteMemory code = { .patience = &tables->patience, .pid = process->pid };
	LateWalk walk = { process, &late->at, late_memory_read, &memory, trust_jit, ends };
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	size_t found;

	if (tables->runtimes != NULL)
		walk.runtime = runtimes_machine(tables->runtimes, process);
	if (walk.runtime != NULL && stalled_processes_put_off(&tables->stalled, process, now_ns))
		walk.runtime = NULL;
	if (walk.runtime != NULL)
		code_pages_begin(tables->code_pages, process, now_ns);
	walk.unloaded = late->unloaded;
	walk.memory = &code;
	walk.code = tables->code_pages;
	walk.sightings = tables->sightings;
	walk.owner = owner;
	walk.time_ns = time_ns;
	found = late_walk(tables->unwinder, &walk, frames, capacity, status);
	if (code.stuck)
		stalled_processes_note(&tables->stalled, process, owner, now_ns);
	return found;
}

static bool
has_table(const Entry *entry)
{
	return entry->loaded && entry->binary != NULL && unwinder_binary_has_table(entry->binary);
}

/*
 * Counts a walk of an owner's process that needs the table at an address. Returns false if the
 * owner has used up its CPU time.
 */
static bool
note_wanted(UnwindTables *tables, Entry *entry, uint64_t owner, uint64_t address, uint64_t now_ns)
{
	entry->owner = owner;
	if (!table_account_may(&tables->account, entry->owner, now_ns))
	{
		tables->put_off++;
		return false;
	}
	if (entry->wanted++ == 0)
		DL_APPEND2(tables->wanted, entry, prev_wanted, next_wanted);
	packed_parts_add(&entry->parts, address);
	return true;
}

uint64_t
unwind_tables_want(UnwindTables *tables, const ExecImage *process, uint64_t owner, uint64_t frame,
				   uint64_t now_ns)
{
	uint64_t address = user_frame_code(frame);
	const UnwindBinary *binary;
	Entry *entry;

	if (tables->runtimes != NULL)
		address = runtimes_rule_address(tables->runtimes, process, address);
	binary = unwinder_pending(tables->unwinder, process, address, &address);

	if (binary == NULL)
		return 0;
	HASH_FIND(by_binary, tables->by_binary, &binary, sizeof(binary), entry);
	if (entry == NULL || (entry->loaded && !has_table(entry)) || entry->retry_ns > now_ns ||
		entry->stall.until_ns > now_ns || !note_wanted(tables, entry, owner, address, now_ns))
		return 0;
	return entry->number;
}

/* Logs once that tables cannot be written to the cache. */
static void
warn_of_cache(UnwindTables *tables)
{
	UnwinderStats stats;

	unwinder_stats(tables->unwinder, &stats);
	if (stats.cache_failures == 0 || tables->cache_warned)
		return;
	tables->cache_warned = true;
	log_event(LOG_WARNING, "agent", "could not keep an unwind table in the cache",
			  log_text("detail", strerror(-stats.cache_error)),
			  log_text("hint", "It is compiled again after the next start."));
}

static void
drop_unused(UnwindTables *tables, uint64_t now_ns)
{
	Entry *entry;
	Entry *next;

	HASH_ITER(hh, tables->entries, entry, next)
	{
		if (entry->binary != NULL && entry->loaded && !unwinder_binary_is_shared(entry->binary))
			drop_entry(tables, entry, now_ns);
	}
}

/* The loaded tables of one owner, while tables to unload are chosen. */
typedef struct OwnerTables
{
	uint64_t owner;
	uint64_t lines;
	Entry *oldest;
	Entry **end; /* where the next table is appended to the list that begins at oldest */
	UT_hash_handle hh;
} OwnerTables;

static int
compare_loaded(const Entry *a, const Entry *b)
{
	return (a->loaded_ns > b->loaded_ns) - (a->loaded_ns < b->loaded_ns);
}

/* Sorts the loaded tables by owner. Returns NULL if there are none or memory is short. */
static OwnerTables *
list_owners(UnwindTables *tables)
{
	OwnerTables *owners = NULL;

	HASH_SORT(tables->entries, compare_loaded);
	for (Entry *entry = tables->entries; entry != NULL; entry = entry->hh.next)
	{
		OwnerTables *owner;

		if (!has_table(entry))
			continue;
		HASH_FIND(hh, owners, &entry->owner, sizeof(entry->owner), owner);
		if (owner == NULL)
		{
			owner = calloc(1, sizeof(*owner));
			if (owner == NULL)
				continue;
			owner->owner = entry->owner;
			owner->end = &owner->oldest;
			HASH_ADD(hh, owners, owner, sizeof(owner->owner), owner);
		}
		owner->lines += unwinder_binary_lines(entry->binary);
		entry->younger = NULL;
		*owner->end = entry;
		owner->end = &entry->younger;
	}
	return owners;
}

/*
 * Removes the oldest table of the owner with the most lines from its list and returns it; NULL if
 * no table is left.
 */
static Entry *
next_to_go(OwnerTables *owners)
{
	OwnerTables *most = NULL;
	Entry *entry;

	for (OwnerTables *owner = owners; owner != NULL; owner = owner->hh.next)
	{
		if (owner->oldest != NULL && (most == NULL || owner->lines > most->lines))
			most = owner;
	}
	if (most == NULL)
		return NULL;
	entry = most->oldest;
	most->oldest = entry->younger;
	most->lines -= unwinder_binary_lines(entry->binary);
	return entry;
}

static void
free_owners(OwnerTables *owners)
{
	OwnerTables *owner;
	OwnerTables *next;

	HASH_ITER(hh, owners, owner, next)
	{
		HASH_DEL(owners, owner);
		free(owner);
	}
}

/* Unloads all tables. */
static void
unload_all(UnwindTables *tables, uint64_t now_ns)
{
	Entry *entry;
	Entry *next;

	HASH_ITER(hh, tables->entries, entry, next)
	{
		if (has_table(entry))
			entry->loaded = false;
	}
	unwinder_forget_rules(tables->unwinder, now_ns);
}

/*
 * Unloads tables of the owners with the most lines until half of the kernel's room is free. It is
 * not known which tables are in use; walks ask again at once for a table that they need.
 */
static void
unload_most(UnwindTables *tables, uint64_t now_ns)
{
	UnwinderStats stats;
	uint64_t lines;
	uint64_t entries;
	OwnerTables *owners = list_owners(tables);
	Entry *entry;

	unwinder_stats(tables->unwinder, &stats);
	lines = stats.lines / 2;
	entries = stats.entries / 2;
	while ((stats.lines > lines || stats.entries > entries) && (entry = next_to_go(owners)) != NULL)
	{
		unwinder_binary_unload(tables->unwinder, entry->binary, now_ns);
		entry->loaded = false;
		unwinder_stats(tables->unwinder, &stats);
	}
	free_owners(owners);
}

/*
 * Makes room in the kernel's full tables: unloads the tables of files that no process maps, then
 * the oldest of the owner with the most.
 */
static void
unwind_tables_make_room(UnwindTables *tables, uint64_t now_ns)
{
	tables->full_ns = now_ns;
	if (now_ns < tables->room_ns)
		return;
	tables->room_ns = now_ns + ROOM_INTERVAL_NS;
	if (!tables->full)
		log_event(LOG_WARNING, "agent", "unwind tables are full; unloading older ones",
				  log_text("hint",
						   "Some stacks are incomplete until tables in use are loaded again."));
	tables->full = true;
	drop_unused(tables, now_ns);
	if (unwinder_rules_are_full(tables->unwinder))
		unload_all(tables, now_ns);
	else
		unload_most(tables, now_ns);
}

/* Makes a file's table, or the missing parts of it. */
static int
load_from_file(UnwindTables *tables, Entry *entry, uint64_t now_ns, uint64_t *spent_ns)
{
	CfiSections sections;
	int result =
		file_look_at_cfi(&tables->patience, tables->files, entry->file, &sections, spent_ns);
	bool read = result == 0;

	if (result != -EAGAIN)
		result = unwinder_binary_load_sections(tables->unwinder, entry->binary,
											   read ? &sections : NULL, &entry->parts, now_ns);
	if (read)
		cfi_sections_fini(&sections);
	return result;
}

/*
 * Loads a table and charges its owner. Returns -EAGAIN if the file does not answer in time but may
 * later.
 */
static int
unwind_tables_load(UnwindTables *tables, Entry *entry, uint64_t now_ns)
{
	int64_t begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t spent_ns = 0;
	int result = unwinder_binary_load_parts(tables->unwinder, entry->binary, &entry->parts, now_ns);

	if (result == -ENOENT)
		result = load_from_file(tables, entry, now_ns, &spent_ns);
	spent_ns += (uint64_t) (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns);
	table_account_charge(&tables->account, entry->owner, now_ns, spent_ns);
	entry->parts.count = 0;
	return result;
}

/* Sets when the table of an entry may be wanted again, according to the result of a load. */
static void
note_result(UnwindTables *tables, Entry *entry, int result, uint64_t now_ns)
{
	bool had_table = has_table(entry);

	/* A file that is unreadable at this moment is taken as unreadable forever. */
	entry->loaded = had_table || (result != -ENOSPC && result != -EAGAIN);
	if (result == -EAGAIN)
		stall_note(&entry->stall, now_ns);
	else
		entry->stall = (Stall){ 0 };
	if (result == -ENOSPC)
	{
		entry->retry_ns = now_ns + ROOM_RETRY_NS;
		unwind_tables_make_room(tables, now_ns);
	}
	else if (result != 0 && had_table)
		entry->retry_ns = now_ns + PARTS_RETRY_NS;
}

uint64_t
unwind_tables_load_wanted(UnwindTables *tables, uint64_t now_ns)
{
	Entry *hottest = NULL;
	Entry *entry;
	uint64_t number;

	DL_FOREACH2(tables->wanted, entry, next_wanted)
	{
		if (hottest == NULL || entry->wanted > hottest->wanted)
			hottest = entry;
	}
	if (hottest == NULL)
		return 0;
	DL_DELETE2(tables->wanted, hottest, prev_wanted, next_wanted);
	number = hottest->number;
	hottest->wanted = 0;
	hottest->loaded_ns = now_ns;
	note_result(tables, hottest, unwind_tables_load(tables, hottest, now_ns), now_ns);
	warn_of_cache(tables);
	return number;
}

/*
 * Returns true if the file is deleted, so that no new process can map it. Uses only what this
 * machine's kernel knows, because the server of a network file system may not answer.
 */
static bool
is_deleted(const MappedFile *file)
{
	struct statx status;

	return statx(mapped_file_descriptor(file), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_NLINK,
				 &status) == 0 &&
		   status.stx_nlink == 0;
}

void
unwind_tables_sweep(UnwindTables *tables, uint64_t now_ns, uint64_t keep_ns)
{
	Entry *entry;
	Entry *next;

	if (tables->full && now_ns - tables->full_ns > ROOM_AGAIN_NS)
	{
		tables->full = false;
		log_event(LOG_INFO, "agent", "unwind tables have room again");
	}
	HASH_ITER(hh, tables->entries, entry, next)
	{
		/*
		 * Keep a table that a described process uses: dropped, it would be made again for the next
		 * process that maps the file.
		 */
		if (entry->binary != NULL && unwinder_binary_is_shared(entry->binary))
			entry->used_ns = now_ns;
		else if (now_ns < entry->stall.until_ns && !is_deleted(entry->file))
			/*
			 * Keep the entry until its pause ends; a new entry would read the file's header at
			 * once.
			 */
			continue;
		else if (now_ns - entry->used_ns > keep_ns || is_deleted(entry->file))
			drop_entry(tables, entry, now_ns);
	}
}
