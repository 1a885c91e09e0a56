/*
 * lookup.c
 *		Asks the worker and caches its answers.
 *
 * A binary that makes the worker fail is asked about without DWARF and without demangling for ten
 * minutes. If that fails too, it is not asked about for ten minutes. Answers of that time are used,
 * but not cached.
 *
 * Many addresses are asked about in one question, which saves two switches of processes per
 * address. If such a question fails, the address at fault is unknown, so each address is then asked
 * about alone.
 */
#include "symbols/lookup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "symbols/worker/worker_protocol.h"

/* Stands for the number of a binary in the cache, for names that belong to none. */
#define NAMES_NUMBER UINT64_MAX

#define PAUSE_NS INT64_C(600000000000)

/* limit of the files of split units that are looked up for one binary */
#define SPLITS_MAX	 4096
/* limit of the files that one question may need, in case a worker drops them */
#define SPLITS_A_ASK 4

#define TABLE_SUFFIX	  ".symbols"
#define TABLE_NAME_BYTES  96
#define TABLES_MAX_BYTES  ((size_t) 32 << 20) /* limit of all symbol tables on disk */
/* A smaller table is not stored, because sorting it again is cheap. */
#define TABLE_SYMBOLS_MIN 2048
#define TABLE_TRIES_MAX	  3

int
lookup_init(Lookup *lookup, const SymbolizerOptions *options)
{
	const char *directory = options->debug_directory != NULL ? options->debug_directory : "";
	int err = result_cache_create(options->cache_bytes, &lookup->results);

	if (err == 0)
		err = worker_client_create(options->worker_bytes, &lookup->worker);
	if (err != 0)
		return err;
	/* without the directory the collector works, but looks up more slowly */
	if (options->table_directory != NULL && options->table_directory[0] != '\0')
		(void) cache_directory_open(options->table_directory, TABLE_SUFFIX, TABLES_MAX_BYTES,
									&lookup->tables);
	lookup->inlined_lines = options->inlined_lines;
	lookup->style = options->style;
	lookup->name_seed = hash_seed();
	lookup->debug_directory = strdup(directory);
	return lookup->debug_directory == NULL ? -ENOMEM : 0;
}

void
lookup_fini(Lookup *lookup)
{
	result_cache_free(lookup->results);
	worker_client_free(lookup->worker);
	cache_directory_close(lookup->tables);
	free(lookup->debug_directory);
}

/* A checksum to ask the worker for. */
typedef struct ChecksumAsk
{
	WorkerClient *worker;
	uint64_t binary;
	const SymbolAsk *terms;
} ChecksumAsk;

/*
 * Asks the worker for a checksum: a container may provide a large file, and the worker's time is
 * limited.
 */
static int
lookup_compare_checksum(void *context, int fd, const FileIdentity *identity, uint32_t checksum)
{
	const ChecksumAsk *ask = context;

	return worker_client_checksum(ask->worker, ask->binary, fd, identity, checksum, ask->terms);
}

/* Returns the places where debug files of a binary are searched for. */
static DebugPlaces
debug_places(const Lookup *lookup, const Binary *binary)
{
	return (DebugPlaces){
		.patience = lookup->patience,
		.root_pid = binary->root_pid,
		.name = binary->name,
		.device = binary->file_identity.device,
		.owner = binary->owner,
		.directory = lookup->debug_directory,
	};
}

/*
 * Searches for a binary's debug files, once. If their file system does not answer, the binary is
 * used without them for a while. Returns 0; -EINPROGRESS if the worker has not answered by the
 * deadline.
 */
static int
look_for_debug_files(Lookup *lookup, Binary *binary, const SymbolAsk *terms)
{
	const DebugWanted wanted = { &binary->file.build_id, &binary->links, binary->file.has_dwarf };
	ChecksumAsk ask = { lookup->worker, binary->number, terms };
	DebugPlaces places = debug_places(lookup, binary);
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	int err;

	places.compare_checksum = lookup_compare_checksum;
	places.context = &ask;

	if (binary->debug_files_known || binary->stall.until_ns > now_ns)
		return 0;
	err = debug_files_open(&binary->debug_files, &wanted, &places);
	binary->debug_files_known = err == 0;
	if (err == 0)
		binary->stall = (Stall){ 0 };
	else if (err != -EINPROGRESS)
		stall_note(&binary->stall, now_ns);
	return err == -EINPROGRESS ? err : 0;
}

void
lookup_forget_leader(Lookup *lookup, Binary *binary)
{
	if (binary->is_leader)
		HASH_DELETE(by_twin_key, lookup->leaders, binary);
	binary->is_leader = false;
}

static WorkerFiles
worker_files(const Lookup *lookup, const Binary *binary)
{
	return (WorkerFiles){
		.binary = binary->file.source.fd,
		.debug = binary->debug_files.debug.source.fd,
		.alternative = binary->debug_files.alt_fd,
		.package = binary->debug_files.package_fd,
		.table = -1,
		.identity = &binary->file_identity,
		.no_dwarf = !lookup->inlined_lines,
		.style = lookup->style,
	};
}

/* Returns true if a binary's symbol table is large enough to be stored on disk. */
static bool
has_kept_table(const Lookup *lookup, const Binary *binary)
{
	const ElfSymbols *own = binary->file.symbols;
	const ElfSymbols *separate = binary->debug_files.debug.symbols;

	return lookup->tables != NULL &&
		   own[ELF_SYMTAB].count + own[ELF_DYNSYM].count + separate[ELF_SYMTAB].count >=
			   TABLE_SYMBOLS_MIN;
}

/*
 * Makes the file name of a binary's symbol table on disk. The name begins with the owner whose
 * share of the directory the file uses: the binary's user on the binary's device, because each
 * container has a device of its own. It includes the inode, so that files of different owners have
 * different names.
 */
static void
set_table_name(const Binary *binary, char name[TABLE_NAME_BYTES])
{
	const FileIdentity *file = &binary->file_identity;

	snprintf(name, TABLE_NAME_BYTES, "%x.%llx-%llx" TABLE_SUFFIX, (unsigned) binary->owner,
			 (unsigned long long) file->device, (unsigned long long) file->inode);
}

/* Opens a binary's symbol table on disk; returns -1 if there is none. */
static int
open_table(const Lookup *lookup, const Binary *binary)
{
	char name[TABLE_NAME_BYTES];
	int fd;

	if (!has_kept_table(lookup, binary))
		return -1;
	set_table_name(binary, name);
	fd = cache_directory_find(lookup->tables, name);
	return fd < 0 ? -1 : fd;
}

static void
close_table(int fd)
{
	if (fd >= 0)
		close(fd);
}

/*
 * Makes the worker write its symbol table of a binary, which it has open under a number, to disk.
 */
static void
keep_table(Lookup *lookup, Binary *binary, uint64_t number, const SymbolAsk *terms)
{
	char name[TABLE_NAME_BYTES];
	struct stat status;
	int fd;
	int err;

	if (binary->table_tries == TABLE_TRIES_MAX || !has_kept_table(lookup, binary))
		return;
	fd = cache_directory_make(lookup->tables);
	if (fd < 0)
		return;
	binary->table_tries++;
	err = worker_client_keep(lookup->worker, number, fd, terms);
	if (err == -EALREADY)
		binary->table_tries = TABLE_TRIES_MAX;
	if (err == 0 && fstat(fd, &status) == 0)
	{
		set_table_name(binary, name);
		(void) cache_directory_keep(lookup->tables, name, (size_t) status.st_size);
		binary->table_tries = TABLE_TRIES_MAX;
	}
	else
		cache_directory_drop(lookup->tables);
	close(fd);
}

/*
 * Lets copies of one file share their answers: a hundred containers of one image have a hundred
 * copies. Build ID, size and first page select possible copies; anybody can forge these, so the
 * worker compares all bytes. The debug files must be identical files. Returns 0; -EINPROGRESS or
 * -EAGAIN if the result is not known yet.
 */
static int
join_twins(Lookup *lookup, Binary *binary, const SymbolAsk *terms)
{
	Binary *leader;
	int err;

	if (binary->twin_known || binary->is_alone || !binary->debug_files_known ||
		binary->twin_key.build_id_bytes == 0)
		return 0;
	binary->twin_key.debug = binary->debug_files.identity;
	binary->twin_key.alternative = binary->debug_files.alt_identity;
	binary->twin_key.package = binary->debug_files.package_identity;
	HASH_FIND(by_twin_key, lookup->leaders, &binary->twin_key, sizeof(binary->twin_key), leader);
	if (leader == NULL)
	{
		HASH_ADD(by_twin_key, lookup->leaders, twin_key, sizeof(binary->twin_key), binary);
		binary->is_leader = true;
	}
	else
	{
		err = worker_client_compare(lookup->worker, binary->number, binary->file.source.fd,
									leader->number, leader->file.source.fd, terms);
		if (err == -EINPROGRESS || err == -EAGAIN)
			return err;
		if (err == 0)
			binary->number = leader->number;
	}
	binary->twin_known = true;
	return 0;
}

/*
 * Decides whether DWARF may be read for this question, and records the question's round. Reading
 * DWARF costs most, so it is read only for a binary that was also asked about in an earlier round.
 */
static bool
wants_all(Binary *binary, const SymbolAsk *terms)
{
	if (binary->first_round == 0)
		binary->first_round = terms->round;
	return terms->round == 0 || binary->first_round != terms->round ||
		   (binary->debug_files_known && !binary->file.has_dwarf &&
			binary->debug_files.debug.source.fd < 0);
}

/*
 * Returns the cache key of a binary's answers; answers with and without DWARF have different keys.
 */
static uint64_t
result_number(const Binary *binary, bool all)
{
	return binary->number * 2 + !all;
}

/*
 * Returns the number under which the worker has a binary open. It differs with DWARF, without
 * DWARF, and with raw names.
 */
static uint64_t
worker_number(const Binary *binary, const WorkerFiles *files)
{
	return binary->number * 4 + (files->raw_names ? 2 : files->no_dwarf ? 1 : 0);
}

/* Finds the best cached answer that is good enough for the question. */
static bool
find_result(Lookup *lookup, const Binary *binary, uint64_t address, bool all, SymbolLines *lines)
{
	return result_cache_find(lookup->results, result_number(binary, true), address, lines) ||
		   (!all &&
			result_cache_find(lookup->results, result_number(binary, false), address, lines));
}

/*
 * Gives the worker the file of a split unit that it requested. The file was found by a path in the
 * binary, which shows nothing about copies of the binary, so the binary stops sharing names with
 * copies. Returns 0 if the question can be repeated.
 */
static int
offer_split(Lookup *lookup, Binary *binary, const WorkerFiles *files, const SymbolAsk *terms)
{
	const DebugPlaces places = debug_places(lookup, binary);
	WorkerWanted wanted = worker_client_wanted(lookup->worker);
	int fd = -1;
	int err = 0;

	if (!binary->is_alone)
	{
		lookup_forget_leader(lookup, binary);
		binary->number = ++lookup->last_number;
		binary->is_alone = true;
		return 0;
	}
	if (binary->splits < SPLITS_MAX)
	{
		binary->splits++;
		err = debug_split_open(wanted.path, &places, &fd);
	}
	if (err == 0)
		err = worker_client_add_split(lookup->worker, worker_number(binary, files), wanted.id, fd,
									  terms);
	if (fd >= 0)
		patience_close(lookup->patience, fd);
	return err == -ESTALE ? 0 : err;
}

/* Asks the worker, and gives it the files that it requests. Returns like worker_client_ask(). */
static int
ask_with_splits(Lookup *lookup, Binary *binary, const WorkerFiles *files, const uint64_t *addresses,
				uint32_t count, const SymbolAsk *terms, uint32_t *answered)
{
	int err = -EAGAIN;

	for (int i = 0; i < SPLITS_A_ASK; i++)
	{
		err = worker_client_ask(lookup->worker, worker_number(binary, files), files, addresses,
								count, terms, answered);
		if (err != -ENOLINK)
			return err;
		err = offer_split(lookup, binary, files, terms);
		if (err != 0)
			return err == -EIO ? err : -EAGAIN;
	}
	return -EAGAIN;
}

/* Asks about one address. */
static int
ask_about(Lookup *lookup, Binary *binary, const WorkerFiles *files, uint64_t address,
		  const SymbolAsk *terms, SymbolLines *lines)
{
	uint32_t answered;
	int err = ask_with_splits(lookup, binary, files, &address, 1, terms, &answered);

	return err != 0 ? err : worker_client_take(lookup->worker, lines);
}

/*
 * Asks the worker about one binary. Sets *whole if the answer is the best possible one, or as good
 * as requested.
 */
static int
lookup_ask_worker(Lookup *lookup, Binary *binary, uint64_t address, bool all,
				  const SymbolAsk *terms, SymbolLines *lines, bool *whole)
{
	int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	WorkerFiles files = worker_files(lookup, binary);
	bool plain = binary->plain_until_ns > now_ns;
	int err = 0;

	*whole = !plain && binary->debug_files_known;
	if (!plain)
	{
		files.no_dwarf |= !binary->debug_files_known || !all;
		files.table = open_table(lookup, binary);
		err = ask_about(lookup, binary, &files, address, terms, lines);
		close_table(files.table);
		files.table = -1;
		if (err != -EIO)
			return err;
		binary->plain_until_ns = now_ns + PAUSE_NS;
		*whole = false;
	}
	files.no_dwarf = true;
	files.raw_names = true;
	err = ask_about(lookup, binary, &files, address, terms, lines);
	if (err == -EIO)
		binary->pause_until_ns = now_ns + PAUSE_NS;
	return err;
}

static void
count_answer(Lookup *lookup, const SymbolLines *found)
{
	if (symbol_lines_are_named(found))
		lookup->resolved++;
	else
		lookup->unknown++;
}

int
lookup_symbolize(Lookup *lookup, Binary *binary, uint64_t address, const SymbolAsk *terms,
				 SymbolLines *lines)
{
	bool over = clock_ns(CLOCK_MONOTONIC) >= terms->deadline_ns;
	bool all = wants_all(binary, terms);
	SymbolLines found = { 0, NULL };
	bool whole;
	int err;

	if (find_result(lookup, binary, address, all && !over, lines))
		return 0;
	*lines = found;
	if (binary->pause_until_ns > clock_ns(CLOCK_MONOTONIC))
		return 0;
	if (over || look_for_debug_files(lookup, binary, terms) != 0 ||
		join_twins(lookup, binary, terms) != 0)
		return -EAGAIN;
	all = wants_all(binary, terms);
	if (find_result(lookup, binary, address, all, lines))
		return 0;
	err = lookup_ask_worker(lookup, binary, address, all, terms, &found, &whole);
	if (err == -EAGAIN || err == -EINPROGRESS)
		return -EAGAIN;
	count_answer(lookup, &found);
	if (err == -ENOMEM && !binary->left_out)
	{
		lookup->left_out++;
		binary->left_out = true;
	}
	*lines = found;
	/* if the file has changed since it was opened, its answers must not be shared with copies */
	if (!whole || err == -EIO || err == -ENOEXEC)
		return 0;
	err = result_cache_add(lookup->results, result_number(binary, all), address, &found, lines);
	if (err == 0 && all)
	{
		const WorkerFiles files = worker_files(lookup, binary);

		keep_table(lookup, binary, worker_number(binary, &files), terms);
	}
	return err;
}

/*
 * Asks about addresses and caches the answers. Returns how many were answered; 0 if the worker
 * failed or did not answer in time.
 */
static uint32_t
prepare_some(Lookup *lookup, Binary *binary, const uint64_t *addresses, uint32_t count, bool all,
			 const SymbolAsk *terms)
{
	WorkerFiles files = worker_files(lookup, binary);
	uint32_t answered;
	int err;

	files.no_dwarf |= !all;
	files.table = open_table(lookup, binary);
	err = ask_with_splits(lookup, binary, &files, addresses, count, terms, &answered);
	close_table(files.table);
	if (err != 0)
		return 0;
	for (uint32_t i = 0; i < answered; i++)
	{
		SymbolLines found;
		SymbolLines stored;

		/* addresses without a cached answer are asked about again later, each alone */
		if (worker_client_take(lookup->worker, &found) != 0)
			continue;
		count_answer(lookup, &found);
		(void) result_cache_add(lookup->results, result_number(binary, all), addresses[i], &found,
								&stored);
	}
	if (all)
		keep_table(lookup, binary, worker_number(binary, &files), terms);
	return answered;
}

int
lookup_demangle(Lookup *lookup, const char *name, const SymbolAsk *terms, SymbolLines *lines)
{
	uint64_t hash = hash_bytes(lookup->name_seed, name, strlen(name));
	SymbolLines found;
	int err;

	lines->count = 0;
	if (lookup->style == NAME_STYLE_NONE)
		return 0;
	if (result_cache_find(lookup->results, NAMES_NUMBER, hash, lines) && lines->count == 1 &&
		strcmp(lines->lines[0].system_name, name) == 0)
		return 0;
	if (clock_ns(CLOCK_MONOTONIC) >= terms->deadline_ns)
		return -EINPROGRESS;
	err = worker_client_demangle(lookup->worker, name, hash, lookup->style, terms, &found);
	if (err == 0 && found.count != 1)
		err = -EPROTO;
	if (err == 0)
		err = result_cache_add(lookup->results, NAMES_NUMBER, hash, &found, lines);
	return err;
}

void
lookup_prepare(Lookup *lookup, Binary *binary, const uint64_t *addresses, uint32_t count,
			   const SymbolAsk *terms)
{
	int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	uint64_t asked[WORKER_ADDRESSES_MAX];
	uint32_t asked_count = 0;

	if (binary->plain_until_ns > now_ns || binary->pause_until_ns > now_ns)
		return;
	for (uint32_t next = 0; next < count || asked_count > 0;)
	{
		bool all = wants_all(binary, terms);
		SymbolLines known;
		uint32_t answered;

		while (next < count && asked_count < WORKER_ADDRESSES_MAX)
		{
			asked[asked_count] = addresses[next++];
			asked_count += !find_result(lookup, binary, asked[asked_count], all, &known);
		}
		if (asked_count == 0 || clock_ns(CLOCK_MONOTONIC) >= terms->deadline_ns)
			return;
		if (look_for_debug_files(lookup, binary, terms) != 0 || !binary->debug_files_known ||
			join_twins(lookup, binary, terms) != 0)
			return; /* answers without DWARF are not cached, so there is nothing to gain */
		answered =
			prepare_some(lookup, binary, asked, asked_count, wants_all(binary, terms), terms);
		if (answered == 0)
			return;
		asked_count -= answered;
		memmove(asked, asked + answered, asked_count * sizeof(*asked));
	}
}

void
lookup_shrink(Lookup *lookup)
{
	result_cache_shrink(lookup->results);
	worker_client_end(lookup->worker);
}
