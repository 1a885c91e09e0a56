/*
 * dwarf_lines.c
 *		Reads line tables of units with libdw.
 *
 * A row is kept where file or line changes. An address between two rows has the file and line of
 * the first; of several rows at one address the last counts, as in libdw's search. After the end of
 * a sequence nothing is known until the next one begins.
 */
#include "symbols/worker/dwarf_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/table.h"

#define ADDRESS_BITS 48
#define FILE_MAX	 UINT16_MAX
#define NO_FILE		 (FILE_MAX - 1) /* stands for numbers that do not fit and rows without a file */
#define END			 FILE_MAX		/* file number of the row at the end of a sequence */

typedef struct Unit
{
	Dwarf_Off offset;	/* of its DIE */
	uint64_t *places;	/* address << 16 | number of the file, in order */
	int32_t *line_nums; /* of the row of the same index */
	size_t row_count;
	bool rows_read;
	const char **paths; /* by file number */
	size_t path_count;
} Unit;

struct DwarfLines
{
	Elf *elf;
	Budget budget; /* counts only */
	Arena arena;   /* of paths */
	Table paths;   /* of const char *, each once */
	Table units;   /* by offset */
};

int
dwarf_lines_create(Elf *elf, DwarfLines **lines)
{
	DwarfLines *made = calloc(1, sizeof(*made));

	if (made == NULL)
		return -ENOMEM;
	made->elf = elf;
	made->budget.limit_bytes = SIZE_MAX;
	arena_init(&made->arena, &made->budget);
	table_init(&made->paths, &made->budget, sizeof(const char *));
	table_init(&made->units, &made->budget, sizeof(Unit));
	*lines = made;
	return 0;
}

void
dwarf_lines_free(DwarfLines *lines)
{
	if (lines == NULL)
		return;
	for (uint32_t i = 0; i < lines->units.count; i++)
	{
		Unit *unit = table_item(&lines->units, i);

		free(unit->places);
		free(unit->line_nums);
		free(unit->paths);
	}
	table_fini(&lines->units);
	table_fini(&lines->paths);
	arena_fini(&lines->arena);
	free(lines);
}

static bool
path_equal(const void *item, const void *key)
{
	return strcmp(*(const char *const *) item, key) == 0;
}

/* Returns the only copy of a path; NULL if out of memory. */
static const char *
intern_path(DwarfLines *lines, const char *path)
{
	size_t size_bytes = strlen(path) + 1;
	uint64_t hash = hash_bytes(lines->paths.seed, path, size_bytes);
	uint32_t position;
	char *copy;

	if (table_find(&lines->paths, hash, path_equal, path, &position))
		return *(const char **) table_item(&lines->paths, position);
	if (table_reserve(&lines->paths) != 0)
		return NULL;
	copy = arena_alloc(&lines->arena, size_bytes);
	if (copy == NULL)
		return NULL;
	memcpy(copy, path, size_bytes);
	*(const char **) table_append(&lines->paths, hash) = copy;
	return copy;
}

static void
keep_paths(DwarfLines *lines, Unit *unit, Dwarf_Files *files, size_t count)
{
	unit->paths = calloc(count, sizeof(*unit->paths));
	for (size_t i = 0; unit->paths != NULL && i < count; i++)
	{
		const char *path = dwarf_filesrc(files, i, NULL, NULL);

		unit->paths[i] = path != NULL ? intern_path(lines, path) : NULL;
	}
	unit->path_count = unit->paths != NULL ? count : 0;
}

/* Converts a row of libdw to our form. Returns false if the row cannot be kept. */
static bool
read_row(Dwarf_Line *row, uint64_t *place, int32_t *line_num)
{
	Dwarf_Files *files;
	Dwarf_Addr address;
	bool ends = true;
	size_t number;
	int line;

	if (row == NULL || dwarf_lineaddr(row, &address) != 0 || address >> ADDRESS_BITS != 0 ||
		dwarf_lineendsequence(row, &ends) != 0)
		return false;
	if (dwarf_line_file(row, &files, &number) != 0 || number >= NO_FILE)
		number = NO_FILE;
	*place = address << 16 | (ends ? END : number);
	*line_num = !ends && dwarf_lineno(row, &line) == 0 ? line : 0;
	return true;
}

static void
shrink_rows(Unit *unit)
{
	uint64_t *places = realloc(unit->places, (unit->row_count + 1) * sizeof(*places));
	int32_t *line_nums;

	if (places != NULL)
		unit->places = places;
	line_nums = realloc(unit->line_nums, (unit->row_count + 1) * sizeof(*line_nums));
	if (line_nums != NULL)
		unit->line_nums = line_nums;
}

/* Keeps the rows of a unit at which file or line changes. */
static void
keep_rows(Unit *unit, Dwarf_Lines *rows, size_t count)
{
	size_t kept = 0;

	unit->places = malloc((count + 1) * sizeof(*unit->places));
	unit->line_nums = malloc((count + 1) * sizeof(*unit->line_nums));
	if (unit->places == NULL || unit->line_nums == NULL)
		return;
	for (size_t i = 0; i < count; i++)
	{
		uint64_t place;
		int32_t line_num;

		if (!read_row(dwarf_onesrcline(rows, i), &place, &line_num))
			continue;
		if (kept > 0 && unit->places[kept - 1] >> 16 == place >> 16)
			kept--;
		if (kept > 0 && (uint16_t) unit->places[kept - 1] == (uint16_t) place &&
			unit->line_nums[kept - 1] == line_num)
			continue;
		unit->places[kept] = place;
		unit->line_nums[kept++] = line_num;
	}
	unit->row_count = kept;
	shrink_rows(unit);
}

/* Reads the files of a unit's table, and its rows if they are wanted. */
static void
read_unit(DwarfLines *lines, Unit *unit, bool with_rows)
{
	Dwarf *dwarf = dwarf_begin_elf(lines->elf, DWARF_C_READ, NULL);
	Dwarf_Files *files;
	Dwarf_Lines *rows;
	Dwarf_Die die;
	size_t count;

	if (dwarf != NULL && dwarf_offdie(dwarf, unit->offset, &die) != NULL)
	{
		if (with_rows && dwarf_getsrclines(&die, &rows, &count) == 0)
			keep_rows(unit, rows, count);
		if (unit->paths == NULL && dwarf_getsrcfiles(&die, &files, &count) == 0)
			keep_paths(lines, unit, files, count);
	}
	unit->rows_read = unit->rows_read || with_rows;
	dwarf_end(dwarf);
}

static bool
unit_equal(const void *item, const void *key)
{
	return ((const Unit *) item)->offset == *(const Dwarf_Off *) key;
}

/* Returns the unit, and reads as much of it as is wanted; NULL if out of memory. */
static Unit *
find_unit(DwarfLines *lines, Dwarf_Off offset, bool with_rows)
{
	uint64_t hash = hash_bytes(lines->units.seed, &offset, sizeof(offset));
	uint32_t position;
	Unit *unit;

	if (table_find(&lines->units, hash, unit_equal, &offset, &position))
	{
		unit = table_item(&lines->units, position);
		if (with_rows && !unit->rows_read)
			read_unit(lines, unit, true);
		return unit;
	}
	if (table_reserve(&lines->units) != 0)
		return NULL;
	unit = table_append(&lines->units, hash);
	*unit = (Unit){ .offset = offset };
	read_unit(lines, unit, with_rows);
	return unit;
}

/* Finds the last row at or before an address. Returns false if there is none. */
static bool
unit_search(const Unit *unit, Dwarf_Addr address, size_t *row)
{
	size_t low = 0;
	size_t high = unit->row_count;

	while (low < high)
	{
		size_t middle = low + (high - low) / 2;

		if (unit->places[middle] >> 16 <= address)
			low = middle + 1;
		else
			high = middle;
	}
	*row = low - 1;
	return low > 0;
}

bool
dwarf_lines_find(DwarfLines *lines, Dwarf_Off offset, Dwarf_Addr address, const char **path,
				 int *line)
{
	Unit *unit = find_unit(lines, offset, true);
	uint16_t number;
	size_t row;

	if (unit == NULL || !unit_search(unit, address, &row))
		return false;
	number = (uint16_t) unit->places[row];
	if (number == END)
		return false;
	*path = number < unit->path_count && unit->paths[number] != NULL ? unit->paths[number] : "";
	*line = unit->line_nums[row];
	return true;
}

const char *
dwarf_lines_path(DwarfLines *lines, Dwarf_Off offset, Dwarf_Word number)
{
	Unit *unit = find_unit(lines, offset, false);

	return unit != NULL && number < unit->path_count ? unit->paths[number] : NULL;
}
