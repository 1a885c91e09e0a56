/*
 * dwarf_package.c
 *		Reads .debug_cu_index: version 2 of GNU, for DWARF 4, and version 5.
 *
 *   header   version, number of columns, rows, slots
 *   slots    IDs of units, 8 bytes each: a hash table
 *   rows     of the slots, 4 bytes each, from 1
 *   columns  sections, 4 bytes each
 *   offsets  of each row, then sizes of each row: 4 bytes for each column
 */
#include "symbols/dwarf/dwarf_package.h"

#include <dwarf.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define COLUMNS_MAX 16

/*
 * Maps a section number of an index to a section. Where DWARF 5 defines no number, GNU's extension
 * has numbers of its own.
 */
static DwarfSection
section_of_column(uint64_t version, uint64_t column)
{
	switch (column)
	{
		case DW_SECT_INFO:
			return DWARF_INFO;
		case DW_SECT_ABBREV:
			return DWARF_ABBREV;
		case DW_SECT_LINE:
			return DWARF_LINE;
		case DW_SECT_STR_OFFSETS:
			return DWARF_STR_OFFSETS;
		case DW_SECT_RNGLISTS: /* this number means macros in GNU's extension */
			return version == 5 ? DWARF_RNGLISTS : DWARF_SECTIONS;
		default:
			return DWARF_SECTIONS;
	}
}

/* An index, and where its tables begin. */
typedef struct Index
{
	const DwarfSpan *span;
	uint64_t version;
	uint64_t columns;
	uint64_t rows;
	uint64_t slots;
	uint64_t row_numbers; /* offset of the table; the next three fields are offsets, too */
	uint64_t sections;
	uint64_t offsets;
	uint64_t sizes;
} Index;

static bool
package_read_index(const DwarfSpan *span, Index *index)
{
	DwarfCursor cursor = dwarf_cursor(span, 0);
	uint64_t end;

	*index = (Index){ .span = span };
	/* in DWARF 5 the version has 2 bytes, followed by padding */
	index->version = dwarf_cursor_number(&cursor, 4) & UINT16_MAX;
	index->columns = dwarf_cursor_number(&cursor, 4);
	index->rows = dwarf_cursor_number(&cursor, 4);
	index->slots = dwarf_cursor_number(&cursor, 4);
	if (cursor.failed || (index->version != 2 && index->version != 5) ||
		index->columns > COLUMNS_MAX || index->slots == 0 ||
		(index->slots & (index->slots - 1)) != 0)
		return false;
	/* none of these sums overflows: slots and rows have 32 bits, columns are at most 16 */
	index->row_numbers = 16 + 8 * index->slots;
	index->sections = index->row_numbers + 4 * index->slots;
	index->offsets = index->sections + 4 * index->columns;
	index->sizes = index->offsets + 4 * index->columns * index->rows;
	end = index->sizes + 4 * index->columns * index->rows;
	return end <= span->size_bytes;
}

/* Returns a number of the index; its tables are within bounds. */
static uint64_t
index_number(const Index *index, uint64_t offset, unsigned size_bytes)
{
	DwarfCursor cursor = dwarf_cursor(index->span, offset);

	return dwarf_cursor_number(&cursor, size_bytes);
}

/* Finds the row of a unit, counted from 0. Returns false if there is none. */
static bool
find_row(const Index *index, uint64_t id, uint64_t *row)
{
	uint64_t mask = index->slots - 1;
	uint64_t slot = id & mask;
	/* an odd step visits all slots of a table whose size is a power of two */
	uint64_t step = (id >> 32 & mask) | 1;

	for (uint64_t i = 0; i < index->slots; i++)
	{
		uint64_t number = index_number(index, index->row_numbers + 4 * slot, 4);

		if (number == 0)
			return false;
		if (index_number(index, 16 + 8 * slot, 8) == id)
		{
			*row = number - 1;
			return number <= index->rows;
		}
		slot = (slot + step) & mask;
	}
	return false;
}

/* Cuts a unit's parts out of the sections. Returns false if one is outside of its section. */
static bool
cut_parts(const Index *index, uint64_t row, DwarfFile *part)
{
	for (uint64_t i = 0; i < index->columns; i++)
	{
		uint64_t column = index_number(index, index->sections + 4 * i, 4);
		uint64_t place = 4 * (row * index->columns + i);
		uint64_t offset = index_number(index, index->offsets + place, 4);
		uint64_t size_bytes = index_number(index, index->sizes + place, 4);
		DwarfSection section = section_of_column(index->version, column);

		/* the index may list sections that nobody reads, or that the file lacks */
		if (section == DWARF_SECTIONS || part->sections[section].bytes == NULL)
			continue;
		if (offset > part->sections[section].size_bytes ||
			size_bytes > part->sections[section].size_bytes - offset)
			return false;
		part->sections[section].bytes += offset;
		part->sections[section].size_bytes = size_bytes;
	}
	return true;
}

int
dwarf_package_open(DwarfPackage *package, int fd, uint64_t *room_bytes)
{
	struct stat status;
	int err;

	*package = (DwarfPackage){ 0 };
	if (fstat(fd, &status) != 0 || status.st_size <= 0)
		return -ENODATA;
	package->size_bytes = (size_t) status.st_size;
	package->bytes = mmap(NULL, package->size_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (package->bytes == MAP_FAILED)
	{
		package->bytes = NULL;
		return -ENOMEM;
	}
	package->elf = elf_memory(package->bytes, package->size_bytes);
	err = package->elf == NULL								? -ENODATA
		  : !dwarf_elf_fits(package->elf, true, room_bytes) ? -EFBIG
															: 0;
	if (err == 0)
		err = dwarf_file_init(&package->file, package->elf, true);
	if (err != 0)
		dwarf_package_close(package);
	return err;
}

void
dwarf_package_close(DwarfPackage *package)
{
	dwarf_file_fini(&package->file);
	elf_end(package->elf);
	if (package->bytes != NULL)
		munmap(package->bytes, package->size_bytes);
	*package = (DwarfPackage){ 0 };
}

void
dwarf_package_give_back(DwarfPackage *package)
{
	if (package->bytes != NULL)
		(void) madvise(package->bytes, package->size_bytes, MADV_DONTNEED);
}

/* Returns the unit of code with an ID. */
static DwarfUnit *
find_unit(DwarfFile *part, const DwarfUnit *skeleton)
{
	for (uint32_t i = 0; i < part->unit_count; i++)
	{
		DwarfUnit *unit = &part->units[i];

		if ((unit->type == 0 || unit->type == DW_UT_split_compile) &&
			unit->sizes.address_bytes == skeleton->sizes.address_bytes &&
			dwarf_unit_read_root(unit, skeleton) && unit->split_id == skeleton->split_id)
			return unit;
	}
	return NULL;
}

DwarfUnit *
dwarf_package_find(const DwarfPackage *package, const DwarfUnit *skeleton, DwarfFile *part)
{
	const DwarfSpan *span = &package->file.sections[DWARF_CU_INDEX];
	DwarfUnit *unit = NULL;
	uint64_t row;
	Index index;

	dwarf_file_init_part(part, &package->file);
	/* without an index the file has one unit, and its sections are used whole */
	if (span->bytes == NULL ||
		(package_read_index(span, &index) && find_row(&index, skeleton->split_id, &row) &&
		 cut_parts(&index, row, part)))
	{
		if (dwarf_units_read(part) == 0)
			unit = find_unit(part, skeleton);
	}
	if (unit == NULL)
		dwarf_file_fini(part);
	return unit;
}
