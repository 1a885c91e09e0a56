/*
 * test_table_cache.c
 *		Unwind tables on disk: a table that is read equals the one that was stored, or nothing is
 *		read.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <lzma.h>

#include "unwind/cfi/cfi_sections.h"
#include "unwind/table_cache.h"

#define BUILD_ID  "0123456789abcdef0123456789abcdef01234567"
#define FILE_NAME BUILD_ID ".unwind"
#define NO_LIMIT  ((size_t) 1 << 30)

typedef struct World
{
	char directory[64];
	CfiSections image; /* sections of this program */
	RuleSet rules;
	PackedTable packed;
	CfiStats stats;
	TableCache *cache;
} World;

static int
set_up(void **state)
{
	World *world = calloc(1, sizeof(*world));
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	UnwindTable table;

	assert_non_null(world);
	snprintf(world->directory, sizeof(world->directory), "/tmp/table_cache_XXXXXX");
	assert_non_null(mkdtemp(world->directory));
	assert_int_equal(cfi_sections_init(&world->image, fd), 0);
	assert_int_equal(rule_set_init(&world->rules), 0);
	assert_int_equal(cfi_compile(&world->image.input, &world->rules, &table), 0);
	assert_int_equal(packed_table_build(&table, &world->packed), 0);
	assert_true(world->packed.line_count > 10);
	world->stats = table.stats;
	unwind_table_free(&table);
	assert_int_equal(table_cache_open(world->directory, NO_LIMIT, &world->cache), 0);
	*state = world;
	close(fd);
	return 0;
}

static void
empty_directory(const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *entry;

	assert_non_null(directory);
	while ((entry = readdir(directory)) != NULL)
	{
		if (entry->d_name[0] != '.')
			assert_int_equal(unlinkat(dirfd(directory), entry->d_name, 0), 0);
	}
	closedir(directory);
}

static int
tear_down(void **state)
{
	World *world = *state;

	table_cache_close(world->cache);
	empty_directory(world->directory);
	assert_int_equal(rmdir(world->directory), 0);
	packed_table_free(&world->packed);
	rule_set_fini(&world->rules);
	cfi_sections_fini(&world->image);
	free(world);
	return 0;
}

static void
keep(World *world, const char *build_id)
{
	TableFileIndex index;

	assert_int_equal(table_cache_store(world->cache, build_id, &world->image.input, &world->rules,
									   &world->packed, &world->stats, &index),
					 0);
	table_file_index_fini(&index);
}

static int
load(World *world, const char *build_id)
{
	RuleSet rules;
	TableFileIndex index;
	PackedTable packed;
	CfiStats stats;
	int err;

	assert_int_equal(rule_set_init(&rules), 0);
	err = table_cache_load(world->cache, build_id, &world->image.input, NULL, &rules, &packed,
						   &stats, &index);
	if (err == 0)
	{
		packed_table_free(&packed);
		table_file_index_fini(&index);
	}
	rule_set_fini(&rules);
	return err;
}

static void
file_path(const World *world, const char *name, char path[512])
{
	snprintf(path, 512, "%s/%s", world->directory, name);
}

/* A later run numbers its rules differently; each row still refers to its own rule. */
static void
test_round_trip(void **state)
{
	static const struct pfs_unwind_rule other = { .kind = PFS_UNWIND_CFI, .cfa_offset = 123456 };
	World *world = *state;
	RuleSet rules;
	TableFileIndex index;
	PackedTable packed;
	CfiStats stats = { 0 };

	keep(world, BUILD_ID);
	assert_int_equal(rule_set_init(&rules), 0);
	for (int i = 0; i < 10; i++)
	{
		struct pfs_unwind_rule rule = other;

		rule.cfa_offset += i;
		assert_int_not_equal(rule_set_add(&rules, &rule), 0);
	}
	assert_int_equal(table_cache_load(world->cache, BUILD_ID, &world->image.input, NULL, &rules,
									  &packed, &stats, &index),
					 0);
	assert_int_equal(packed.page_count, world->packed.page_count);
	assert_int_equal(packed.line_count, world->packed.line_count);
	assert_memory_equal(packed.pages, world->packed.pages,
						packed.page_count * sizeof(*packed.pages));
	for (size_t i = 0; i < packed.line_count * PFS_UNWIND_LINE_ROWS; i++)
	{
		const struct pfs_unwind_row *row = &packed.lines[0].rows[0] + i;
		const struct pfs_unwind_row *kept = &world->packed.lines[0].rows[0] + i;

		assert_int_equal(row->offset, kept->offset);
		assert_memory_equal(rule_set_get(&rules, row->rule),
							rule_set_get(&world->rules, kept->rule),
							sizeof(struct pfs_unwind_rule));
	}
	assert_int_equal(stats.rows_unsupported, world->stats.rows_unsupported);
	packed_table_free(&packed);
	table_file_index_fini(&index);
	rule_set_fini(&rules);
}

/* A program may claim another's build ID: their CFI differs. */
static void
test_other_file(void **state)
{
	World *world = *state;
	CfiSection eh_frame = world->image.input.eh_frame;
	uint8_t *changed = malloc(eh_frame.length);

	keep(world, BUILD_ID);
	assert_int_equal(load(world, BUILD_ID), 0);
	assert_non_null(changed);
	memcpy(changed, eh_frame.data, eh_frame.length);
	changed[eh_frame.length / 2] ^= 1;
	world->image.input.eh_frame.data = changed;
	assert_int_equal(load(world, BUILD_ID), -EBADMSG);
	world->image.input.eh_frame = eh_frame;
	assert_int_equal(load(world, BUILD_ID), 0);
	world->image.input.start_code[1].address++;
	assert_int_equal(load(world, BUILD_ID), -EBADMSG);
	world->image.input.start_code[1].address--;
	world->image.input.code_end++;
	assert_int_equal(load(world, BUILD_ID), -EBADMSG);
	free(changed);
}

static void
test_names(void **state)
{
	World *world = *state;
	char long_id[300];

	memset(long_id, 'a', sizeof(long_id));
	long_id[sizeof(long_id) - 1] = '\0';
	assert_int_equal(load(world, BUILD_ID), -ENOENT);
	assert_int_equal(load(world, ""), -EINVAL);
	assert_int_equal(load(world, "../../etc/passwd"), -EINVAL);
	assert_int_equal(load(world, long_id), -EINVAL);
}

/* Reads the bytes of the stored file. */
static uint8_t *
read_file(const World *world, size_t *length)
{
	char path[512];
	struct stat status;
	uint8_t *bytes;
	int fd;

	file_path(world, FILE_NAME, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(fd, &status), 0);
	*length = (size_t) status.st_size;
	bytes = malloc(*length);
	assert_non_null(bytes);
	assert_int_equal(read(fd, bytes, *length), *length);
	close(fd);
	return bytes;
}

/* Every damage is detected, and the next store repairs it. */
static void
test_damaged_file(void **state)
{
	World *world = *state;
	char path[512];
	size_t length;
	uint8_t *bytes;

	keep(world, BUILD_ID);
	bytes = read_file(world, &length);
	file_path(world, FILE_NAME, path);
	for (size_t at = 0; at < length; at = at < 256 ? at + 1 : at + length / 50)
	{
		int fd = open(path, O_WRONLY | O_CLOEXEC);
		uint8_t flipped = bytes[at] ^ 0x10;

		assert_int_equal(pwrite(fd, &flipped, 1, (off_t) at), 1);
		assert_int_equal(load(world, BUILD_ID), -EBADMSG);
		assert_int_equal(pwrite(fd, &bytes[at], 1, (off_t) at), 1);
		close(fd);
	}
	assert_int_equal(load(world, BUILD_ID), 0);
	for (size_t cut = 0; cut < length; cut += length / 20)
	{
		assert_int_equal(truncate(path, (off_t) cut), 0);
		assert_int_not_equal(load(world, BUILD_ID), 0);
	}
	keep(world, BUILD_ID);
	assert_int_equal(load(world, BUILD_ID), 0);
	free(bytes);
}

static uint64_t
number_at(const uint8_t *bytes, size_t width)
{
	uint64_t number = 0;

	memcpy(&number, bytes, width);
	return number;
}

/* Corrects the checksums of changed bytes; those of parts stay as in the original. */
static void
make_right(uint8_t *bytes, const uint8_t *original)
{
	size_t pages = 64 + 16 * number_at(original + 32, 4);
	size_t checks = pages + 16 * number_at(original + 36, 4);
	size_t lines = checks + 4 * number_at(original + 44, 4);
	size_t head = lines;
	size_t check = checks;
	uint32_t crc;

	for (size_t page = pages; page < checks;)
	{
		uint64_t part = number_at(original + page, 8) >> PACKED_PART_PAGE_BITS;
		size_t length = 0;

		for (; page < checks && number_at(original + page, 8) >> PACKED_PART_PAGE_BITS == part;
			 page += 16)
			length += 64 * number_at(original + page + 12, 4);
		crc = lzma_crc32(bytes + lines, length, 0);
		memcpy(bytes + check, &crc, sizeof(crc));
		lines += length;
		check += 4;
	}
	crc = lzma_crc32(bytes + 12, head - 12, 0);
	memcpy(bytes + 8, &crc, sizeof(crc));
}

/* Damage that has correct checksums does not lead beyond bounds. */
static void
test_hostile_image(void **state)
{
	World *world = *state;
	int fd = memfd_create("table", MFD_CLOEXEC);
	RuleSet rules;
	size_t length;
	uint8_t *original;
	uint8_t *bytes;
	uint32_t random = 1;
	int accepted = 0;

	keep(world, BUILD_ID);
	original = read_file(world, &length);
	bytes = malloc(length);
	assert_non_null(bytes);
	assert_int_equal(rule_set_init(&rules), 0);
	for (int i = 0; i < 2000; i++)
	{
		size_t span = i % 2 == 0 ? 1024 : length;
		TableFileIndex index;
		PackedTable packed;
		CfiStats stats;

		random = random * 1664525 + 1013904223;
		memcpy(bytes, original, length);
		bytes[32 + random % (span - 32)] = (uint8_t) (random >> 24);
		make_right(bytes, original);
		assert_int_equal(pwrite(fd, bytes, length, 0), length);
		if (table_file_read(fd, &world->image.input, NULL, &rules, &packed, &stats, &index) != 0)
			continue;
		accepted++;
		for (size_t page = 0; page < packed.page_count; page++)
			assert_true(packed.pages[page].first_line + packed.pages[page].line_count <=
						packed.line_count);
		for (size_t row = 0; row < packed.line_count * PFS_UNWIND_LINE_ROWS; row++)
			assert_true((&packed.lines[0].rows[0])[row].rule < rule_set_count(&rules));
		packed_table_free(&packed);
		table_file_index_fini(&index);
	}
	assert_true(accepted > 0 && accepted < 2000);
	rule_set_fini(&rules);
	free(original);
	free(bytes);
	close(fd);
}

/* Opens the file of a library that this process has loaded. */
static int
open_library(const char *name)
{
	void *library = dlopen(name, RTLD_NOW);
	struct link_map *map;
	int fd;

	assert_non_null(library);
	assert_int_equal(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
	fd = open(map->l_name, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	dlclose(library);
	return fd;
}

/* Lists the pages of the part at a page of a whole table, in the form in which they are read. */
static PackedTable
list_part(const PackedTable *whole, size_t page)
{
	uint64_t part = packed_page_part(whole->pages[page].page);
	PackedTable listed = { .pages = calloc(PACKED_PART_PAGES, sizeof(*listed.pages)) };

	assert_non_null(listed.pages);
	for (; page < whole->page_count && packed_page_part(whole->pages[page].page) == part; page++)
	{
		const PackedPage *each = &whole->pages[page];

		listed.pages[listed.page_count++] =
			(PackedPage){ each->page, (uint32_t) listed.line_count, each->line_count };
		listed.line_count += each->line_count;
	}
	listed.lines = calloc(listed.line_count, sizeof(*listed.lines));
	assert_non_null(listed.lines);
	return listed;
}

/* Compiles the table of the image and stores it in the cache. */
static void
keep_whole(World *world, const CfiSections *image, PackedTable *whole, TableFileIndex *index)
{
	CfiStats stats;

	rule_set_next_file(&world->rules, RULE_SET_SHARE);
	assert_int_equal(packed_table_compile(&image->input, &world->rules, whole, &stats), 0);
	assert_int_equal(table_cache_store(world->cache, BUILD_ID, &image->input, &world->rules, whole,
									   &stats, index),
					 0);
}

/* Each part, read alone, has the lines of the table as it was compiled. */
static void
assert_same_parts(World *world, const PackedTable *whole, const TableFileIndex *index)
{
	for (size_t page = 0; page < whole->page_count;)
	{
		PackedTable packed = list_part(whole, page);

		assert_int_equal(table_cache_load_parts(world->cache, BUILD_ID, index, &packed), 0);
		assert_memory_equal(packed.lines, &whole->lines[whole->pages[page].first_line],
							packed.line_count * sizeof(*packed.lines));
		page += packed.page_count;
		packed_table_free(&packed);
	}
}

/*
 * Checks the parts of a table that is read in parts: by the index that the writer of the file
 * returned, and by the index that is read from the file.
 */
static void
check_parts(World *world, const CfiSections *image, const PackedTable *whole,
			const TableFileIndex *index)
{
	PackedParts parts = { { 0 }, 0 };
	TableFileIndex other;
	PackedTable packed;
	CfiStats stats;

	assert_same_parts(world, whole, index);
	assert_int_equal(table_cache_load(world->cache, BUILD_ID, &image->input, &parts, &world->rules,
									  &packed, &stats, &other),
					 0);
	assert_int_equal(packed.line_count, 0);
	assert_int_equal(packed.page_count, whole->page_count);
	for (size_t page = 0; page < whole->page_count; page++)
		assert_int_equal(packed_page_lines(&packed.pages[page]), whole->pages[page].line_count);
	packed_table_free(&packed);
	assert_same_parts(world, whole, &other);

	/* a part of another file */
	packed = list_part(whole, 0);
	other.seed++;
	assert_int_equal(table_cache_load_parts(world->cache, BUILD_ID, &other, &packed), -EBADMSG);
	/* other pages than those of the part */
	packed.pages[0].page += 1 << 20;
	assert_int_equal(table_cache_load_parts(world->cache, BUILD_ID, index, &packed), -EBADMSG);
	packed_table_free(&packed);
	table_file_index_fini(&other);
}

/* Checks that the table of a small file is read at once, although the caller could read parts. */
static void
check_read_at_once(World *world, const CfiSections *image, const PackedTable *whole)
{
	PackedParts parts = { { 0 }, 0 };
	TableFileIndex index;
	PackedTable packed;
	CfiStats stats;

	assert_int_equal(table_cache_load(world->cache, BUILD_ID, &image->input, &parts, &world->rules,
									  &packed, &stats, &index),
					 0);
	assert_int_equal(packed.line_count, whole->line_count);
	packed_table_free(&packed);
	table_file_index_fini(&index);
}

/* Returns true if the table of the library is large enough to be read in parts. */
static bool
check_library(World *world, const char *library)
{
	int fd = open_library(library);
	TableFileIndex index;
	CfiSections image;
	PackedTable whole;
	bool in_parts;

	assert_int_equal(cfi_sections_init(&image, fd), 0);
	keep_whole(world, &image, &whole, &index);
	in_parts = whole.line_count >= PACKED_WHOLE_LINES;
	if (in_parts)
		check_parts(world, &image, &whole, &index);
	else
		check_read_at_once(world, &image, &whole);
	packed_table_free(&whole);
	table_file_index_fini(&index);
	cfi_sections_fini(&image);
	close(fd);
	return in_parts;
}

/* The tables of libc and libstdc++ are small on arm64 and large on x86-64. */
static void
test_parts(void **state)
{
	assert_true(check_library(*state, "libcrypto.so.3"));
	check_library(*state, "libc.so.6");
	check_library(*state, "libstdc++.so.6");
}

/* Damage is found in a part that is read, and does not affect others. */
static void
test_damaged_part(void **state)
{
	World *world = *state;
	int library = open_library("libcrypto.so.3");
	uint8_t changed = 0xff;
	TableFileIndex index;
	CfiSections image;
	PackedTable whole;
	PackedTable first;
	PackedTable last;
	size_t last_page;
	char path[512];
	struct stat status;
	int fd;

	assert_int_equal(cfi_sections_init(&image, library), 0);
	keep_whole(world, &image, &whole, &index);
	first = list_part(&whole, 0);
	last_page = whole.page_count - 1;
	while (last_page > 0 && packed_page_part(whole.pages[last_page - 1].page) ==
								packed_page_part(whole.pages[last_page].page))
		last_page--;
	last = list_part(&whole, last_page);
	file_path(world, FILE_NAME, path);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(table_cache_load_parts(world->cache, BUILD_ID, &index, &last), 0);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, &changed, 1, status.st_size - 64), 1);
	close(fd);
	assert_int_equal(table_cache_load_parts(world->cache, BUILD_ID, &index, &first), 0);
	assert_int_equal(table_cache_load_parts(world->cache, BUILD_ID, &index, &last), -EBADMSG);
	packed_table_free(&first);
	packed_table_free(&last);
	packed_table_free(&whole);
	table_file_index_fini(&index);
	cfi_sections_fini(&image);
	close(library);
}

static void
set_used(const World *world, const char *name, time_t when)
{
	const struct timespec times[2] = { { when, 0 }, { when, 0 } };
	char path[512];

	file_path(world, name, path);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Above the limit the table that was not used for longest is removed; files of others stay. */
static void
test_eviction(void **state)
{
	World *world = *state;
	char path[512];
	struct stat status;
	FILE *other;

	file_path(world, "notes", path);
	other = fopen(path, "we");
	assert_non_null(other);
	fclose(other);
	keep(world, "aa");
	file_path(world, "aa.unwind", path);
	assert_int_equal(stat(path, &status), 0);
	table_cache_close(world->cache);
	assert_int_equal(table_cache_open(world->directory, (size_t) status.st_size * 5 / 2,
									  &world->cache),
					 0);
	keep(world, "bb");
	set_used(world, "aa.unwind", 1000);
	set_used(world, "bb.unwind", 2000);
	assert_int_equal(load(world, "aa"), 0); /* from here on it was used last */
	keep(world, "cc");
	assert_int_equal(load(world, "bb"), -ENOENT);
	assert_int_equal(load(world, "cc"), 0);
	file_path(world, "notes", path);
	assert_int_equal(access(path, F_OK), 0);
}

static time_t
used_at(const World *world, const char *name)
{
	char path[512];
	struct stat status;

	file_path(world, name, path);
	assert_int_equal(stat(path, &status), 0);
	return status.st_mtim.tv_sec;
}

/* A file's use is recorded once an hour, because each time is a write to the disk. */
static void
test_use_is_noted_seldom(void **state)
{
	World *world = *state;
	time_t now = time(NULL);

	keep(world, BUILD_ID);
	set_used(world, FILE_NAME, now - 600);
	assert_int_equal(load(world, BUILD_ID), 0);
	assert_int_equal(used_at(world, FILE_NAME), now - 600);
	set_used(world, FILE_NAME, now - 7200);
	assert_int_equal(load(world, BUILD_ID), 0);
	assert_true(used_at(world, FILE_NAME) >= now - 1);
	/* the clock was set back */
	set_used(world, FILE_NAME, now + 7200);
	assert_int_equal(load(world, BUILD_ID), 0);
	assert_in_range(used_at(world, FILE_NAME), now - 1, now + 3600);
}

/* No other user may put tables into the directory, and links are not followed. */
static void
test_directory_rights(void **state)
{
	World *world = *state;
	TableCache *cache = NULL;
	char path[512];
	char target[512];

	assert_int_equal(chmod(world->directory, 0777), 0);
	assert_int_equal(table_cache_open(world->directory, NO_LIMIT, &cache), -EPERM);
	assert_int_equal(chmod(world->directory, 0700), 0);
	keep(world, BUILD_ID);
	file_path(world, FILE_NAME, path);
	file_path(world, "moved", target);
	assert_int_equal(rename(path, target), 0);
	assert_int_equal(symlink(target, path), 0);
	assert_int_equal(load(world, BUILD_ID), -ELOOP);
	keep(world, BUILD_ID); /* replaces the link */
	assert_int_equal(load(world, BUILD_ID), 0);
	file_path(world, "no/such/place", path);
	assert_int_equal(table_cache_open(path, NO_LIMIT, &cache), -ENOENT);
	file_path(world, FILE_NAME, path);
	assert_int_equal(table_cache_open(path, NO_LIMIT, &cache), -ENOTDIR);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_damaged_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_hostile_image, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_parts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_damaged_part, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_eviction, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_use_is_noted_seldom, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_directory_rights, set_up, tear_down),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
