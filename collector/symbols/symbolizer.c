/*
 * symbolizer.c
 *		Life of the symbolizer and of its binaries.
 *
 * 1. binary_open looks for the file among the binaries, by (device, inode, size, ctime), then by
 *    (build ID, size, hash of the first page). Only a file that neither knows is described.
 * 2. binary_release keeps the last ones that nobody holds for whoever maps them next.
 * 3. Budgets are kept by dropping results and symbol tables; both are made again when asked for.
 *
 * The path from an address to its lines is in lookup.c.
 */
#include "symbols/symbolizer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utlist.h>

#include "base/hash.h"
#include "symbols/binary.h"
#include "symbols/file_id.h"

#define KALLSYMS_PATH	  "/proc/kallsyms"
#define IDLE_BINARIES_MAX 256 /* released binaries that are kept for whoever maps them next */

int
symbolizer_create(const SymbolizerOptions *options, Symbolizer **symbolizer)
{
	Symbolizer *made = calloc(1, sizeof(*made));
	int err = made == NULL ? -ENOMEM : 0;

	if (err == 0)
		err = result_cache_create(options->cache_bytes / 2, &made->results);
	if (err == 0)
		err = kallsyms_create(KALLSYMS_PATH, KALLSYMS_RELOAD_MIN_NS, &made->kallsyms);
	if (err == 0)
		err = worker_client_create(&made->worker);
	if (err == 0)
	{
		made->table_budget_bytes = options->cache_bytes / 2;
		made->inlined_lines = options->inlined_lines;
		made->debug_directory =
			strdup(options->debug_directory != NULL ? options->debug_directory : "");
		if (made->debug_directory == NULL)
			err = -ENOMEM;
	}
	if (err == 0)
		*symbolizer = made;
	else
		symbolizer_free(made);
	return err;
}

void
symbolizer_drop_table(Binary *binary)
{
	Symbolizer *symbolizer = binary->symbolizer;

	if (binary->table == NULL)
		return;
	DL_DELETE2(symbolizer->tables, binary, table_prev, table_next);
	symbolizer->table_bytes -= symbol_table_bytes(binary->table);
	symbol_table_free(binary->table);
	binary->table = NULL;
}

/* Ends a binary that nobody holds, found by the hash tables or not yet. */
static void
binary_free(Binary *binary)
{
	if (binary->file.source.fd >= 0)
		close(binary->file.source.fd);
	elf_file_fini(&binary->file);
	debug_files_close(&binary->debug_files);
	free(binary->name);
	free(binary);
}

static void
forget(Binary *binary)
{
	Symbolizer *symbolizer = binary->symbolizer;

	symbolizer_drop_table(binary);
	HASH_DELETE(by_file, symbolizer->by_file, binary);
	if (binary->file.build_id_bytes > 0)
		HASH_DELETE(by_content, symbolizer->by_content, binary);
	binary_free(binary);
}

void
symbolizer_free(Symbolizer *symbolizer)
{
	if (symbolizer == NULL)
		return;
	while (symbolizer->by_file != NULL)
		forget(symbolizer->by_file);
	result_cache_free(symbolizer->results);
	kallsyms_free(symbolizer->kallsyms);
	worker_client_free(symbolizer->worker);
	free(symbolizer->debug_directory);
	free(symbolizer);
}

void
symbolizer_stats(const Symbolizer *symbolizer, SymbolizerStats *stats)
{
	*stats = symbolizer->stats;
	stats->worker_failures = worker_client_failures(symbolizer->worker);
	stats->results_evicted = result_cache_evictions(symbolizer->results);
	stats->cache_bytes = result_cache_bytes(symbolizer->results) + symbolizer->table_bytes +
						 kallsyms_bytes(symbolizer->kallsyms);
}

void
symbolizer_shrink(Symbolizer *symbolizer)
{
	result_cache_shrink(symbolizer->results);
	while (symbolizer->tables != NULL)
	{
		symbolizer_drop_table(symbolizer->tables);
		symbolizer->stats.tables_evicted++;
	}
	worker_client_end(symbolizer->worker);
}

pid_t
symbolizer_worker_pid(const Symbolizer *symbolizer)
{
	return worker_client_pid(symbolizer->worker);
}

/*
 * Opens a regular file for reading; -errno. Never waits for a writer of a pipe that someone put
 * there.
 */
static int
open_file(const char *path, FileIdentity *identity)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int err;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) != 0)
	{
		err = -errno;
		close(fd);
		return err;
	}
	if (!S_ISREG(status.st_mode))
	{
		close(fd);
		return -ENOEXEC;
	}
	memset(identity, 0, sizeof(*identity));
	identity->device = status.st_dev;
	identity->inode = status.st_ino;
	identity->size_bytes = status.st_size;
	identity->changed = status.st_ctim;
	return fd;
}

static uint64_t
hash_header(const ElfSource *source)
{
	uint8_t page[4096] = { 0 };
	size_t size_bytes = source->size_bytes < sizeof(page) ? source->size_bytes : sizeof(page);

	return elf_source_read(source, 0, page, size_bytes) ? hash_bytes(0, page, size_bytes) : 0;
}

/* A process sees its debug files under its own root. */
static void
note_root(Binary *binary, const char *path)
{
	static const char proc[] = "/proc/";
	size_t length = sizeof(proc) - 1;

	binary->root[0] = '\0';
	if (strncmp(path, proc, length) != 0)
		return;
	length += strspn(path + length, "0123456789");
	if (path[length] == '/' && path[length - 1] != '/')
		(void) snprintf(binary->root, sizeof(binary->root), "%.*s/root", (int) length, path);
}

/*
 * Takes one more reference; an idle binary comes back to life with the descriptor, which is closed
 * otherwise.
 */
static void
reuse(Binary *binary, int fd, const char *path)
{
	Symbolizer *symbolizer = binary->symbolizer;

	if (binary->references++ > 0)
	{
		close(fd);
		return;
	}
	DL_DELETE(symbolizer->idle, binary);
	symbolizer->idle_count--;
	binary->file.source.fd = fd;
	note_root(binary, path);
}

/* In hexadecimal; a file's own, or what stands for it. */
static void
set_build_id(Binary *binary)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *id = binary->file.build_id;
	uint32_t id_bytes = binary->file.build_id_bytes;
	uint8_t computed[FILE_ID_BYTES];

	if (id_bytes == 0 && file_id_compute(&binary->file.source, computed))
	{
		id = computed;
		id_bytes = sizeof(computed);
	}
	for (uint32_t i = 0; i < id_bytes; i++)
	{
		binary->build_id[2 * i] = digits[id[i] >> 4];
		binary->build_id[2 * i + 1] = digits[id[i] & 15];
	}
}

/* Describes a file that is not known by its identity; takes the descriptor also on failure. */
static int
read_binary(Symbolizer *symbolizer, int fd, const FileIdentity *identity, const char *path,
			const char *name, Binary **binary)
{
	ElfSource source = { .fd = fd, .size_bytes = (uint64_t) identity->size_bytes };
	Binary *made = calloc(1, sizeof(*made));
	Binary *known = NULL;
	int err;

	if (made == NULL)
	{
		close(fd);
		return -ENOMEM;
	}
	made->symbolizer = symbolizer;
	made->file_identity = *identity;
	made->file.source.fd = fd;
	made->debug_files = DEBUG_FILES_NONE;
	note_root(made, path);
	made->name = strdup(name);
	err = made->name == NULL ? -ENOMEM : elf_file_init(&made->file, &source);
	if (err != 0)
	{
		made->file.source.fd = fd;
		binary_free(made);
		return err;
	}
	memcpy(made->content.build_id, made->file.build_id, made->file.build_id_bytes);
	made->content.build_id_bytes = made->file.build_id_bytes;
	made->content.size_bytes = source.size_bytes;
	made->content.header_hash = hash_header(&source);

	if (made->file.build_id_bytes > 0)
		HASH_FIND(by_content, symbolizer->by_content, &made->content, sizeof(made->content), known);
	if (known != NULL)
	{
		made->file.source.fd = -1;
		binary_free(made);
		reuse(known, fd, path);
		*binary = known;
		return 0;
	}
	set_build_id(made);
	made->number = ++symbolizer->last_number;
	made->references = 1;
	HASH_ADD(by_file, symbolizer->by_file, file_identity, sizeof(made->file_identity), made);
	if (made->file.build_id_bytes > 0)
		HASH_ADD(by_content, symbolizer->by_content, content, sizeof(made->content), made);
	*binary = made;
	return 0;
}

int
binary_open(Symbolizer *symbolizer, const char *path, const char *name, Binary **binary)
{
	FileIdentity identity;
	Binary *known = NULL;
	int fd = open_file(path, &identity);
	int err = fd < 0 ? fd : 0;

	if (err == 0)
	{
		HASH_FIND(by_file, symbolizer->by_file, &identity, sizeof(identity), known);
		if (known != NULL)
		{
			reuse(known, fd, path);
			*binary = known;
		}
		else
			err = read_binary(symbolizer, fd, &identity, path, name, binary);
	}
	if (err == 0)
		symbolizer->stats.binaries_opened++;
	else
		symbolizer->stats.binaries_unreadable++;
	return err;
}

void
binary_release(Binary *binary)
{
	Symbolizer *symbolizer = binary->symbolizer;

	if (--binary->references > 0)
		return;
	/* an open descriptor would keep a deleted file's space on disk */
	close(binary->file.source.fd);
	binary->file.source.fd = -1;
	if (binary->debug_files.debug.source.fd >= 0 || binary->debug_files.mini_bytes != NULL)
		symbolizer_drop_table(binary); /* it points into files that may be others next time */
	debug_files_close(&binary->debug_files);
	binary->debug_files_known = false;
	binary->dwarf_unusable = false;
	DL_APPEND(symbolizer->idle, binary);
	if (++symbolizer->idle_count > IDLE_BINARIES_MAX)
	{
		Binary *oldest = symbolizer->idle;

		DL_DELETE(symbolizer->idle, oldest);
		symbolizer->idle_count--;
		forget(oldest);
	}
}

const char *
binary_build_id(const Binary *binary)
{
	return binary->build_id;
}

bool
binary_address(const Binary *binary, uint64_t file_offset, uint64_t *address)
{
	return elf_file_address(&binary->file, file_offset, address);
}

bool
kernel_symbolize(Symbolizer *symbolizer, uint64_t address, const char **name, const char **module,
				 uint64_t *start)
{
	KernelSymbol symbol;

	if (!kallsyms_find(symbolizer->kallsyms, address, &symbol))
		return false;
	*name = symbol.name;
	*module = symbol.module;
	*start = symbol.start;
	return true;
}

bool
kallsyms_readable(Symbolizer *symbolizer)
{
	return kallsyms_has_addresses(symbolizer->kallsyms);
}
