/*
 * dwarf_lines.c
 *		Keeps decoded line tables; each table is decoded once.
 */
#include "symbols/dwarf/dwarf_lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/table.h"
#include "symbols/dwarf/dwarf_line_program.h"

/* Identifies a line table. */
typedef struct TableKey
{
	const DwarfFile *file;
	uint64_t offset; /* offset in .debug_line */
} TableKey;

typedef struct KeptTable
{
	TableKey key;
	LineTable table;
	LineRows rows;
	bool rows_read;
	const char **paths; /* indexed by file number; a path is made when it is first needed */
	size_t path_count;
} KeptTable;

struct DwarfLines
{
	Budget budget;	 /* only counts memory */
	Arena arena;	 /* memory of paths */
	Table paths;	 /* table of const char *, each once */
	Table tables;	 /* table of KeptTable *, by key */
	KeptTable *last; /* table that was found last; NULL: none */
	bool exhausted;	 /* memory was exhausted since dwarf_lines_exhausted() was called */
};

int
dwarf_lines_create(DwarfLines **lines)
{
	DwarfLines *made = calloc(1, sizeof(*made));

	if (made == NULL)
		return -ENOMEM;
	made->budget.limit_bytes = SIZE_MAX;
	arena_init(&made->arena, &made->budget);
	table_init(&made->paths, &made->budget, sizeof(const char *));
	table_init(&made->tables, &made->budget, sizeof(KeptTable *));
	*lines = made;
	return 0;
}

void
dwarf_lines_free(DwarfLines *lines)
{
	if (lines == NULL)
		return;
	for (uint32_t i = 0; i < lines->tables.count; i++)
	{
		KeptTable *kept = *(KeptTable **) table_item(&lines->tables, i);

		line_table_fini(&kept->table);
		free(kept->rows.places);
		free(kept->rows.line_nums);
		free(kept->paths);
		free(kept);
	}
	table_fini(&lines->tables);
	table_fini(&lines->paths);
	arena_fini(&lines->arena);
	free(lines);
}

static bool
path_equal(const void *item, const void *key)
{
	return strcmp(*(const char *const *) item, key) == 0;
}

/* Returns the only copy of a path; NULL if out of memory, which is noted. */
static const char *
intern_path(DwarfLines *lines, const char *path)
{
	size_t size_bytes = strlen(path) + 1;
	uint64_t hash = hash_bytes(lines->paths.seed, path, size_bytes);
	uint32_t position;
	char *copy;

	if (table_find(&lines->paths, hash, path_equal, path, &position))
		return *(const char **) table_item(&lines->paths, position);
	copy = table_reserve(&lines->paths) == 0 ? arena_alloc(&lines->arena, size_bytes) : NULL;
	if (copy == NULL)
	{
		lines->exhausted = true;
		return NULL;
	}
	memcpy(copy, path, size_bytes);
	*(const char **) table_append(&lines->paths, hash) = copy;
	return copy;
}

/* Makes the path of a file of a table: its directory, unless it is absolute, and its name. */
static const char *
make_path(DwarfLines *lines, const LineTable *table, const LineFile *file)
{
	const char *directory =
		file->directory < table->directory_count ? table->directories[file->directory] : NULL;
	const char *interned;
	size_t room;
	char *path;

	if (file->name == NULL)
		return NULL;
	/* an absolute name has no directory, whatever its number is */
	if (file->name[0] == '/' || directory == NULL)
		return intern_path(lines, file->name);
	room = strlen(directory) + 1 + strlen(file->name) + 1;
	path = malloc(room);
	if (path == NULL)
	{
		lines->exhausted = true;
		return NULL;
	}
	(void) snprintf(path, room, "%s/%s", directory, file->name);
	interned = intern_path(lines, path);
	free(path);
	return interned;
}

static const char *
kept_path(DwarfLines *lines, KeptTable *kept, uint64_t number)
{
	if (kept->paths == NULL)
	{
		kept->paths = calloc(kept->table.file_count, sizeof(*kept->paths));
		kept->path_count = kept->paths != NULL ? kept->table.file_count : 0;
		lines->exhausted |= kept->paths == NULL;
	}
	if (number >= kept->path_count)
		return NULL;
	if (kept->paths[number] == NULL)
		kept->paths[number] = make_path(lines, &kept->table, &kept->table.files[number]);
	return kept->paths[number];
}

static bool
key_equal(const void *item, const void *key)
{
	const KeptTable *kept = *(KeptTable *const *) item;

	return memcmp(&kept->key, key, sizeof(kept->key)) == 0;
}

/* Returns the table of a unit, whose header has been read; NULL if out of memory. */
static KeptTable *
find_table(DwarfLines *lines, const DwarfUnit *unit)
{
	const TableKey key = { unit->file, unit->line_table };
	KeptTable *kept = lines->last;
	uint32_t position;
	uint64_t hash;

	/* the address and all call sites of its chain are usually in one table */
	if (kept != NULL && key_equal(&kept, &key))
		return kept;
	hash = hash_bytes(lines->tables.seed, &key, sizeof(key));
	if (table_find(&lines->tables, hash, key_equal, &key, &position))
		return lines->last = *(KeptTable **) table_item(&lines->tables, position);
	if (table_reserve(&lines->tables) != 0)
		return NULL;
	kept = calloc(1, sizeof(*kept));
	if (kept == NULL)
		return NULL;
	kept->key = key;
	/* a damaged header has no program, so that there is nothing to run later */
	kept->rows_read = !line_table_read(&kept->table, unit);
	*(KeptTable **) table_append(&lines->tables, hash) = kept;
	return lines->last = kept;
}

/* Like find_table(), but notes whether memory was exhausted, now or when the table was read. */
static KeptTable *
use_table(DwarfLines *lines, const DwarfUnit *unit)
{
	KeptTable *kept = find_table(lines, unit);

	lines->exhausted |= kept == NULL || kept->table.exhausted;
	return kept;
}

/* Finds the last row at or before an address. Returns false if there is none. */
static bool
search_rows(const LineRows *rows, uint64_t address, size_t *row)
{
	size_t low = 0;
	size_t high = rows->count;

	while (low < high)
	{
		size_t middle = low + (high - low) / 2;

		if (rows->places[middle] >> 16 <= address)
			low = middle + 1;
		else
			high = middle;
	}
	*row = low - 1;
	return low > 0;
}

bool
dwarf_lines_find(DwarfLines *lines, const DwarfUnit *unit, uint64_t address, const char **path,
				 int32_t *line)
{
	KeptTable *kept = use_table(lines, unit);
	uint16_t number;
	size_t row;

	if (kept == NULL)
		return false;
	if (!kept->rows_read)
		line_table_run(&kept->table, &kept->rows);
	kept->rows_read = true;
	lines->exhausted |= kept->table.exhausted;
	if (!search_rows(&kept->rows, address, &row))
		return false;
	number = (uint16_t) kept->rows.places[row];
	/* the address is after the end of a sequence, and before the next one */
	if (number == LINE_END)
		return false;
	*path = kept_path(lines, kept, number);
	if (*path == NULL)
		*path = "";
	*line = kept->rows.line_nums[row];
	return true;
}

bool
dwarf_lines_exhausted(DwarfLines *lines)
{
	bool exhausted = lines->exhausted;

	lines->exhausted = false;
	return exhausted;
}

const char *
dwarf_lines_path(DwarfLines *lines, const DwarfUnit *unit, uint64_t number)
{
	KeptTable *kept = use_table(lines, unit);

	return kept != NULL ? kept_path(lines, kept, number) : NULL;
}
