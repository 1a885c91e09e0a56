/*
 * test_symbol_tables.c
 *		Symbol tables on disk: a table that is read equals the one that was stored, and belongs to
 *		its file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lzma.h>

#include "base/cache_directory.h"
#include "symbols/elf/symbol_table_file.h"
#include "symbols/elf/symbol_table_parts.h"
#include "symbols/symbolizer.h"
#include "symbols/worker/worker.h"

#define FUNCTIONS 3000 /* enough functions for the table to be stored */

static char directory[64];

typedef struct World
{
	char program[96];
	char tables[96];
	ElfFile file;
	const ElfFile *files[1];
	SymbolTable *table;
	uint64_t address; /* address of f1234 */
} World;

/* Compiles a program of many functions, whose names begin with the prefix. */
static void
build_program(const char *name, const char *prefix)
{
	char command[256];
	char path[128];
	FILE *source;

	snprintf(path, sizeof(path), "%s/%s.c", directory, name);
	source = fopen(path, "w");
	assert_non_null(source);
	for (int i = 0; i < FUNCTIONS; i++)
		assert_true(fprintf(source, "int %s%d(int a) { return a + %d; }\n", prefix, i, i) > 0);
	assert_true(fputs("int main(void) { return 0; }\n", source) > 0);
	assert_int_equal(fclose(source), 0);
	snprintf(command, sizeof(command),
			 "cd %s && gcc -O0 -Wl,--build-id=0x0123456789abcdef -o %s %s.c", directory, name,
			 name);
	assert_int_equal(system(command), 0);
}

static int
make_directory(void **state)
{
	strcpy(directory, "/tmp/test_tables_XXXXXX");
	if (mkdtemp(directory) == NULL)
		return -1;
	build_program("program", "f");
	build_program("forgery", "g");
	return 0;
}

static int
remove_directory(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command);
}

static void
describe(const char *path, ElfFile *file)
{
	ElfSource source = { .fd = open(path, O_RDONLY | O_CLOEXEC) };
	struct stat status;

	assert_true(source.fd >= 0);
	assert_int_equal(fstat(source.fd, &status), 0);
	source.size_bytes = (uint64_t) status.st_size;
	assert_int_equal(elf_file_init(file, &source), 0);
}

static void
forget(ElfFile *file)
{
	int fd = file->source.fd;

	elf_file_fini(file);
	close(fd);
}

/* Returns the address of a function from nm's output. */
static uint64_t
address_of(const char *program, const char *function)
{
	char command[256];
	unsigned long long address;
	FILE *nm;

	snprintf(command, sizeof(command), "nm %s | grep ' %s$'", program, function);
	nm = popen(command, "r");
	assert_non_null(nm);
	assert_int_equal(fscanf(nm, "%llx", &address), 1);
	assert_int_equal(pclose(nm), 0);
	return address;
}

static int
set_up(void **state)
{
	World *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	snprintf(world->program, sizeof(world->program), "%s/program", directory);
	snprintf(world->tables, sizeof(world->tables), "%s/tables", directory);
	describe(world->program, &world->file);
	world->files[0] = &world->file;
	assert_int_equal(symbol_table_create(world->files, 1, &world->table), 0);
	assert_true(world->table->count > FUNCTIONS);
	world->address = address_of(world->program, "f1234");
	*state = world;
	return 0;
}

static int
tear_down(void **state)
{
	World *world = *state;
	char command[128];

	symbol_table_free(world->table);
	forget(&world->file);
	snprintf(command, sizeof(command), "rm -rf %s", world->tables);
	free(world);
	return system(command);
}

static int
make_table_file(const World *world)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/table", directory);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(symbol_table_write(world->table, world->files, 1, fd), 0);
	return fd;
}

static void
comes_back_as_it_was(void **state)
{
	World *world = *state;
	int fd = make_table_file(world);
	SymbolTable *read;
	char name[SYMBOL_NAME_MAX_BYTES];
	uint64_t start;

	assert_int_equal(symbol_table_read(world->files, 1, fd, &read), 0);
	assert_int_equal(read->base, world->table->base);
	assert_int_equal(read->count, world->table->count);
	assert_memory_equal(read->entries, world->table->entries,
						read->count * sizeof(read->entries[0]));
	assert_true(symbol_table_find(read, world->files, world->address + 3, name, &start));
	assert_string_equal(name, "f1234");
	assert_int_equal(start, world->address);
	symbol_table_free(read);
	close(fd);
}

/* Compiles a program with equal build ID, size and layout, but other names of functions. */
static void
is_of_no_use_to_another_file(void **state)
{
	World *world = *state;
	int fd = make_table_file(world);
	const ElfFile *files[1];
	char path[128];
	SymbolTable *read;
	ElfFile forged;

	snprintf(path, sizeof(path), "%s/forgery", directory);
	describe(path, &forged);
	files[0] = &forged;
	assert_int_equal(forged.source.size_bytes, world->file.source.size_bytes);
	assert_memory_equal(&forged.build_id, &world->file.build_id, sizeof(forged.build_id));
	assert_int_equal(forged.symbols[ELF_SYMTAB].count, world->file.symbols[ELF_SYMTAB].count);
	assert_int_equal(symbol_table_read(files, 1, fd, &read), -ESTALE);
	forget(&forged);
	close(fd);
}

static void
notices_damage(void **state)
{
	World *world = *state;
	int fd = make_table_file(world);
	off_t size = lseek(fd, 0, SEEK_END);
	SymbolTable *read;
	uint8_t byte;

	for (off_t at = 0; at < size; at += at < 64 ? 1 : 997)
	{
		int err;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 0x40;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		err = symbol_table_read(world->files, 1, fd, &read);
		/* another version is not damage */
		assert_int_equal(err, at >= 12 && at < 16 ? -ESTALE : -EBADMSG);
		byte ^= 0x40;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	for (off_t length = size - 1; length >= 0; length -= length > 64 ? 997 : 1)
	{
		assert_int_equal(ftruncate(fd, length), 0);
		assert_int_equal(symbol_table_read(world->files, 1, fd, &read), -EBADMSG);
	}
	close(fd);
}

/* Even with a valid checksum, entries that point outside of the file's tables are refused. */
static void
checks_its_entries(void **state)
{
	static const SymbolEntry spoilt[] = {
		{ 0, 1U << (PLACE_INDEX_BITS + 1) }, /* an index of another file */
		{ 0, 3U << (PLACE_INDEX_BITS + 1) },
		{ 0, PLACE_INDEX_MAX },
		{ 0, 1U << PLACE_INDEX_BITS | 1000000 },
		{ UINT32_MAX, 1 }, /* the next entry does not follow it */
	};
	World *world = *state;

	for (size_t i = 0; i < sizeof(spoilt) / sizeof(spoilt[0]); i++)
	{
		int fd = make_table_file(world);
		size_t size = (size_t) lseek(fd, 0, SEEK_END);
		uint8_t *bytes = malloc(size);
		SymbolTable *read;
		uint32_t crc;

		assert_non_null(bytes);
		assert_int_equal(pread(fd, bytes, size, 0), (ssize_t) size);
		memcpy(bytes + 48, &spoilt[i], sizeof(spoilt[i]));
		crc = lzma_crc32(bytes + 12, size - 12, 0);
		memcpy(bytes + 8, &crc, sizeof(crc));
		assert_int_equal(pwrite(fd, bytes, size, 0), (ssize_t) size);
		assert_int_equal(symbol_table_read(world->files, 1, fd, &read), -ESTALE);
		free(bytes);
		close(fd);
	}
}

/* Opens the only file in the directory of tables for writing. */
static int
open_kept_file(const World *world)
{
	DIR *tables = opendir(world->tables);
	const struct dirent *entry;
	int fd = -1;

	assert_non_null(tables);
	while ((entry = readdir(tables)) != NULL)
	{
		if (entry->d_name[0] == '.')
			continue;
		assert_int_equal(fd, -1);
		fd = openat(dirfd(tables), entry->d_name, O_RDWR | O_CLOEXEC);
	}
	closedir(tables);
	assert_true(fd >= 0);
	return fd;
}

/* Looks the program's function up with a new symbolizer, and so with a new worker. */
static void
ask_anew(const World *world, SymbolizerStats *stats)
{
	const SymbolizerOptions options = { .cache_bytes = 1 << 20,
										.inlined_lines = true,
										.table_directory = world->tables };
	Symbolizer *symbolizer;
	SymbolLines lines;
	Binary *binary;

	assert_int_equal(symbolizer_create(&options, &symbolizer), 0);
	assert_int_equal(binary_open(symbolizer, world->program, "program", &binary), 0);
	assert_int_equal(binary_symbolize(binary, world->address + 3, &lines), 0);
	assert_int_equal(lines.count, 1);
	assert_string_equal(lines.lines[0].name, "f1234");
	binary_release(binary);
	symbolizer_stats(symbolizer, stats);
	assert_int_equal(stats->worker_failures, 0);
	symbolizer_free(symbolizer);
}

static void
serves_the_next_worker(void **state)
{
	World *world = *state;
	SymbolizerStats stats;
	int fd;

	ask_anew(world, &stats);
	assert_int_equal(stats.tables_loaded, 0);
	close(open_kept_file(world));
	ask_anew(world, &stats);
	assert_int_equal(stats.tables_loaded, 1);
	assert_int_equal(stats.tables_damaged, 0);
	fd = open_kept_file(world);
	assert_int_equal(ftruncate(fd, 1000), 0);
	close(fd);
	ask_anew(world, &stats);
	assert_int_equal(stats.tables_loaded, 0);
	assert_int_equal(stats.tables_damaged, 1);
	/* the damaged table was rewritten: the next worker reads it */
	ask_anew(world, &stats);
	assert_int_equal(stats.tables_loaded, 1);
}

static void
keep_bytes(CacheDirectory *cache, const char *name, size_t size_bytes)
{
	int fd = cache_directory_make(cache);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t) size_bytes), 0);
	close(fd);
	assert_int_equal(cache_directory_keep(cache, name, size_bytes), 0);
	usleep(20000); /* times of files have the resolution of the kernel's ticks */
}

static bool
is_kept(CacheDirectory *cache, const char *name)
{
	int fd = cache_directory_find(cache, name);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Files of the owner that has most are removed, although others were not used for longer. */
static void
takes_room_from_who_has_most(void **state)
{
	World *world = *state;
	CacheDirectory *cache;
	char name[64];

	assert_int_equal(cache_directory_open(world->tables, ".symbols", 100000, &cache), 0);
	keep_bytes(cache, "0.1-1.symbols", 20000);
	keep_bytes(cache, "0.1-2.symbols", 20000);
	for (int i = 0; i < 10; i++)
	{
		snprintf(name, sizeof(name), "1000.1-%d.symbols", i);
		keep_bytes(cache, name, 15000);
	}
	assert_true(is_kept(cache, "0.1-1.symbols"));
	assert_true(is_kept(cache, "0.1-2.symbols"));
	assert_false(is_kept(cache, "1000.1-0.symbols"));
	assert_true(is_kept(cache, "1000.1-9.symbols"));
	cache_directory_close(cache);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(comes_back_as_it_was, set_up, tear_down),
		cmocka_unit_test_setup_teardown(is_of_no_use_to_another_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(notices_damage, set_up, tear_down),
		cmocka_unit_test_setup_teardown(checks_its_entries, set_up, tear_down),
		cmocka_unit_test_setup_teardown(serves_the_next_worker, set_up, tear_down),
		cmocka_unit_test_setup_teardown(takes_room_from_who_has_most, set_up, tear_down),
	};

	symbolizer_worker_main(argc, argv);
	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
