/*
 * go_table.c
 *		Looks up functions in Go's function table: starts of functions are in memory, the rest is
 *		read from the file.
 *
 *   header ─► starts: { offset of the code, of the entry }, one more for the end
 *   entry ─► name, start line, and offsets of tables of values by address:
 *            file (a number of the compilation unit's), line, number of an inlined call
 *   table of values ─► varints { zigzag change of the value, instructions that it holds for }
 */
#include "symbols/elf/go_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/elf/symbol_table.h"
#include "unwind/cfi/cfi_sections.h"

/* Offsets in the header of the offsets of parts. */
#define HEADER_NAMES  32
#define HEADER_UNITS  40 /* numbers of files, by compilation unit */
#define HEADER_FILES  48
#define HEADER_VALUES 56

#define START_BYTES 8
#define NO_FILE		UINT32_MAX

/* Offsets in an entry. */
#define ENTRY_NAME		 4
#define ENTRY_FILES		 20
#define ENTRY_LINES		 24
#define ENTRY_DATA_COUNT 28
#define ENTRY_UNIT		 32
#define ENTRY_START_LINE 36 /* since Go 1.20; older tables have the flags here */
#define ENTRY_BYTES_1_18 40
#define ENTRY_BYTES_1_20 44
#define FLAGS_1_20		 41 /* where pclntab.h has them */

/* Index of the table of inlined calls among the tables that follow an entry. */
#define DATA_INLINED 2

#define VALUES_CHUNK	 512		 /* bytes read at once */
#define VALUES_BYTES_MAX (256 << 10) /* of one function's table */
#define FILE_BYTES		 4096

struct GoTable
{
	ElfSource source;
	ElfExtent section;
	Pclntab layout; /* its bytes are freed */
	uint64_t parts[4];
	uint32_t *starts; /* pairs; layout.count of them, and one for the end */
	char name[SYMBOL_NAME_MAX_BYTES];
	char file[FILE_BYTES];
};

static bool
read_bytes(const GoTable *table, uint64_t offset, void *bytes, size_t length)
{
	return offset <= table->section.size_bytes && length <= table->section.size_bytes - offset &&
		   elf_source_read(&table->source, table->section.offset + offset, bytes, length);
}

static uint64_t
table_part(const GoTable *table, uint32_t header_offset)
{
	return table->parts[(header_offset - HEADER_NAMES) / sizeof(uint64_t)];
}

/* Finds the section of the table. Returns false if there is none. */
static bool
find_section(const ElfSource *source, Elf64_Shdr *section)
{
	ElfHeaders headers;

	if (elf_headers_read(&headers, source) != 0)
		return false;
	for (uint32_t i = 0; i < headers.section_count; i++)
	{
		char name[ELF_NAME_BYTES];

		if (elf_headers_section(&headers, i, section) &&
			elf_headers_name(&headers, section, name) && section->sh_type == SHT_PROGBITS &&
			(strcmp(name, ".gopclntab") == 0 || strcmp(name, ".data.rel.ro.gopclntab") == 0))
			return true;
	}
	return false;
}

int
go_table_make(const ElfSource *source, const ElfExtent *section, const Pclntab *layout,
			  GoTable **result)
{
	size_t bytes = START_BYTES * (size_t) layout->count + sizeof(uint32_t);
	GoTable *table = calloc(1, sizeof(*table));

	if (table == NULL)
		return -ENOMEM;
	*table = (GoTable){
		.source = *source, .section = *section, .layout = *layout, .starts = malloc(bytes)
	};
	table->layout.data = NULL;
	if (table->starts == NULL ||
		!read_bytes(table, HEADER_NAMES, table->parts, sizeof(table->parts)) ||
		!read_bytes(table, layout->functions, table->starts, bytes))
	{
		int err = table->starts == NULL ? -ENOMEM : -ENOENT;

		go_table_close(table);
		return err;
	}
	*result = table;
	return 0;
}

int
go_table_open(const ElfSource *source, GoTable **result)
{
	CfiSections sections;
	Elf64_Shdr section;
	Pclntab layout;
	int err;

	if (source->fd < 0 || !find_section(source, &section))
		return -ENOENT;
	err = cfi_sections_init(&sections, source->fd);
	if (err != 0)
		return err;
	if (pclntab_open(&sections.input, &layout))
		err = go_table_make(source, &(ElfExtent){ section.sh_offset, section.sh_size }, &layout,
							result);
	else
		err = -ENOENT;
	cfi_sections_fini(&sections);
	return err;
}

void
go_table_close(GoTable *table)
{
	if (table == NULL)
		return;
	free(table->starts);
	free(table);
}

/* Iterates over a table of values. */
typedef struct Values
{
	const GoTable *table;
	uint64_t offset; /* of the next byte to read */
	uint64_t end;
	uint8_t chunk[VALUES_CHUNK];
	size_t at;
	size_t length;
} Values;

static bool
next_byte(Values *values, uint8_t *byte)
{
	if (values->at == values->length)
	{
		uint64_t left = values->end - values->offset;

		values->at = 0;
		values->length = left < VALUES_CHUNK ? (size_t) left : VALUES_CHUNK;
		if (values->length == 0 ||
			!read_bytes(values->table, values->offset, values->chunk, values->length))
			return false;
		values->offset += values->length;
	}
	*byte = values->chunk[values->at++];
	return true;
}

static bool
next_varint(Values *values, uint32_t *value)
{
	uint8_t byte;

	*value = 0;
	for (unsigned shift = 0; shift < 35; shift += 7)
	{
		if (!next_byte(values, &byte))
			return false;
		*value |= (uint32_t) (byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

/*
 * Returns the value of a table at an offset in bytes from the function's start; -1 if it has none
 * there.
 */
static int32_t
value_at(const GoTable *table, uint32_t offset, uint64_t distance)
{
	Values values = { .table = table, .offset = table_part(table, HEADER_VALUES) + offset };
	uint32_t value = UINT32_MAX; /* initial value of every table */
	uint64_t covered = 0;

	if (offset == 0 || table_part(table, HEADER_VALUES) > table->section.size_bytes ||
		values.offset > table->section.size_bytes)
		return -1;
	values.end = table->section.size_bytes - values.offset > VALUES_BYTES_MAX
					 ? values.offset + VALUES_BYTES_MAX
					 : table->section.size_bytes;
	while (covered <= distance)
	{
		uint32_t change;
		uint32_t length;

		if (!next_varint(&values, &change) || (change == 0 && covered > 0) ||
			!next_varint(&values, &length) || length == 0)
			return -1;
		value += change >> 1 ^ -(change & 1);
		covered += (uint64_t) length * table->layout.quantum;
	}
	return (int32_t) value;
}

/* Reads the string at an offset of a part of the section. */
static bool
read_string(const GoTable *table, uint64_t offset, uint64_t at, char *text, size_t size_bytes)
{
	const ElfExtent strings = { table->section.offset + offset,
								table->section.size_bytes - offset };

	return offset < table->section.size_bytes &&
		   elf_source_string(&table->source, &strings, at, text, size_bytes);
}

static uint32_t
u32_at(const uint8_t *bytes, size_t offset)
{
	uint32_t value;

	memcpy(&value, bytes + offset, sizeof(value));
	return value;
}

/*
 * Returns the path of a file by its number. Numbers count from the compilation unit's first entry,
 * which holds the offset of the path.
 */
static const char *
file_name(GoTable *table, const uint8_t *entry, int32_t file)
{
	uint64_t place = table_part(table, HEADER_UNITS) +
					 sizeof(uint32_t) * ((uint64_t) u32_at(entry, ENTRY_UNIT) + (uint32_t) file);
	uint32_t name;

	if (file < 0 || !read_bytes(table, place, &name, sizeof(name)) || name == NO_FILE ||
		!read_string(table, table_part(table, HEADER_FILES), name, table->file,
					 sizeof(table->file)))
		return "";
	return table->file;
}

/*
 * Returns true if the code belongs to an inlined call: its lines are then those of another
 * function.
 */
static bool
is_inlined(const GoTable *table, uint64_t entry_offset, const uint8_t *entry, uint64_t distance)
{
	size_t bytes = table->layout.id_offset == FLAGS_1_20 ? ENTRY_BYTES_1_20 : ENTRY_BYTES_1_18;
	uint64_t place = entry_offset + bytes + sizeof(uint32_t) * DATA_INLINED;
	uint32_t offset;

	return u32_at(entry, ENTRY_DATA_COUNT) > DATA_INLINED &&
		   read_bytes(table, place, &offset, sizeof(offset)) &&
		   value_at(table, offset, distance) >= 0;
}

/* Finds the function whose code contains an offset. Returns false if there is none. */
static bool
find_start(const GoTable *table, uint64_t offset, uint32_t *number)
{
	uint32_t low = 0;
	uint32_t high = table->layout.count;

	if (high == 0 || offset < table->starts[0] || offset >= table->starts[2 * high])
		return false;
	while (high - low > 1)
	{
		uint32_t middle = low + (high - low) / 2;

		if (table->starts[2 * middle] <= offset)
			low = middle;
		else
			high = middle;
	}
	*number = low;
	return true;
}

bool
go_table_find(GoTable *table, uint64_t address, GoFunction *function)
{
	uint8_t entry[ENTRY_BYTES_1_18];
	uint64_t entry_offset;
	uint64_t distance;
	uint32_t number;

	if (address < table->layout.text || !find_start(table, address - table->layout.text, &number))
		return false;
	distance = address - table->layout.text - table->starts[2 * number];
	entry_offset = table->layout.functions + table->starts[2 * number + 1];
	if (!read_bytes(table, entry_offset, entry, sizeof(entry)) ||
		!read_string(table, table_part(table, HEADER_NAMES), u32_at(entry, ENTRY_NAME), table->name,
					 sizeof(table->name)) ||
		table->name[0] == '\0')
		return false;
	*function = (GoFunction){ .name = table->name, .file = "" };
	if (table->layout.id_offset == FLAGS_1_20 && u32_at(entry, ENTRY_START_LINE) <= INT32_MAX)
		function->start_line = (int32_t) u32_at(entry, ENTRY_START_LINE);
	if (!is_inlined(table, entry_offset, entry, distance))
		function->line = value_at(table, u32_at(entry, ENTRY_LINES), distance);
	if (function->line < 0)
		function->line = 0;
	function->file =
		file_name(table, entry,
				  value_at(table, u32_at(entry, ENTRY_FILES), function->line > 0 ? distance : 0));
	return true;
}
