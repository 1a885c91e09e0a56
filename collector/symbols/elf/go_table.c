/*
 * go_table.c
 *		Looks up functions in Go's function table: starts of functions are in memory, the rest is
 *		read from the file.
 *
 *   header ─► starts: { offset of the code, of the entry }, one more for the end
 *   entry ─► name, start line, offset of the inlined calls in the module's data, and offsets of
 *            tables of values by address:
 *            file (a number of the compilation unit's), line, number of an inlined call
 *   table of values ─► varints { zigzag change of the value, instructions that it holds for }
 *   inlined call ─► name, start line, place of an instruction that has the line of the call
 */
#include "symbols/elf/go_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/elf/go_module.h"
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
#define ENTRY_BYTES_1_20 44 /* the last byte of an entry is the number of its parts of the data */
#define FLAGS_1_20		 41 /* where pclntab.h has them */

/*
 * Index of the table of inlined calls among the tables whose offsets follow an entry, and of the
 * calls themselves among the parts of the module's data, whose offsets follow those.
 */
#define DATA_INLINED 2
#define PART_INLINED 3

/* Offsets in an inlined call. */
#define CALL_NAME_1_18	12
#define CALL_PLACE_1_18 16
#define CALL_BYTES_1_18 20
#define CALL_NAME		4
#define CALL_PLACE		8
#define CALL_START_LINE 12
#define CALL_BYTES		16

#define VALUES_CHUNK	 512		 /* bytes read at once */
#define VALUES_BYTES_MAX (256 << 10) /* of one function's table */
#define FILE_BYTES		 4096
#define TEXT_BYTES		 32768 /* of all strings of an answer */

struct GoTable
{
	ElfSource source;
	ElfExtent section;
	ElfExtent data; /* of the module, with inlined calls; empty: not found */
	Pclntab layout; /* its bytes are freed */
	uint64_t parts[4];
	uint32_t *starts; /* pairs; layout.count of them, and one for the end */
	char text[TEXT_BYTES];
	size_t text_used;
};

/* A function's entry. */
typedef struct Entry
{
	uint64_t offset; /* in the section */
	uint8_t bytes[ENTRY_BYTES_1_20];
} Entry;

static bool
go_table_read_bytes(const GoTable *table, uint64_t offset, void *bytes, size_t length)
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

/* Returns true if entries and inlined calls have start lines. */
static bool
has_start_lines(const GoTable *table)
{
	return table->layout.id_offset == FLAGS_1_20;
}

static size_t
entry_bytes(const GoTable *table)
{
	return has_start_lines(table) ? ENTRY_BYTES_1_20 : ENTRY_BYTES_1_18;
}

int
go_table_make(const ElfSource *source, const ElfExtent *section, const ElfExtent *data,
			  const Pclntab *layout, GoTable **result)
{
	size_t bytes = START_BYTES * (size_t) layout->count + sizeof(uint32_t);
	GoTable *table = calloc(1, sizeof(*table));

	if (table == NULL)
		return -ENOMEM;
	*table = (GoTable){
		.source = *source,
		.section = *section,
		.data = *data,
		.layout = *layout,
		.starts = malloc(bytes),
	};
	table->layout.data = NULL;
	if (table->starts == NULL ||
		!go_table_read_bytes(table, HEADER_NAMES, table->parts, sizeof(table->parts)) ||
		!go_table_read_bytes(table, layout->functions, table->starts, bytes))
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
	ElfExtent data = { 0, 0 };
	int err;

	if (source->fd < 0 || !find_section(source, &section))
		return -ENOENT;
	err = cfi_sections_init(&sections, source->fd);
	if (err != 0)
		return err;
	if (pclntab_open(&sections.input, &layout))
	{
		const GoModule module = { .table = section.sh_addr,
								  .names = section.sh_addr + layout.names,
								  .text = layout.text,
								  .is_1_18 = layout.id_offset != FLAGS_1_20 };

		(void) go_module_find_data(source, &module, &data);
		err = go_table_make(source, &(ElfExtent){ section.sh_offset, section.sh_size }, &data,
							&layout, result);
	}
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
			!go_table_read_bytes(values->table, values->offset, values->chunk, values->length))
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

/*
 * Reads the string at an offset of a part of the section into the answer's text. Returns "" if
 * there is none, or no room for it.
 */
static const char *
go_table_read_string(GoTable *table, uint64_t offset, uint64_t at, size_t size_max)
{
	const ElfExtent strings = { table->section.offset + offset,
								table->section.size_bytes - offset };
	size_t room = sizeof(table->text) - table->text_used;
	char *text = table->text + table->text_used;

	if (room > size_max)
		room = size_max;
	if (room < 2 || offset >= table->section.size_bytes ||
		!elf_source_string(&table->source, &strings, at, text, room))
		return "";
	table->text_used += strlen(text) + 1;
	return text;
}

static uint32_t
u32_at(const uint8_t *bytes, size_t offset)
{
	uint32_t value;

	memcpy(&value, bytes + offset, sizeof(value));
	return value;
}

static const char *
function_name(GoTable *table, uint32_t at)
{
	return go_table_read_string(table, table_part(table, HEADER_NAMES), at, SYMBOL_NAME_MAX_BYTES);
}

/*
 * Returns the path of a file by its number. Numbers count from the compilation unit's first entry,
 * which holds the offset of the path.
 */
static const char *
file_name(GoTable *table, const Entry *entry, int32_t file)
{
	uint64_t place =
		table_part(table, HEADER_UNITS) +
		sizeof(uint32_t) * ((uint64_t) u32_at(entry->bytes, ENTRY_UNIT) + (uint32_t) file);
	uint32_t name;

	if (file < 0 || !go_table_read_bytes(table, place, &name, sizeof(name)) || name == NO_FILE)
		return "";
	return go_table_read_string(table, table_part(table, HEADER_FILES), name, FILE_BYTES);
}

/* Returns the number of the inlined call that code at a distance belongs to; -1 if none. */
static int32_t
inlined_call(const GoTable *table, const Entry *entry, uint64_t distance)
{
	uint64_t place = entry->offset + entry_bytes(table) + sizeof(uint32_t) * DATA_INLINED;
	uint32_t offset;

	if (u32_at(entry->bytes, ENTRY_DATA_COUNT) <= DATA_INLINED ||
		!go_table_read_bytes(table, place, &offset, sizeof(offset)))
		return -1;
	return value_at(table, offset, distance);
}

/*
 * Reads an inlined call of a function: its name and start line, and the distance of an instruction
 * that has the line of the call. Returns false if it cannot be read.
 */
static bool
read_call(GoTable *table, const Entry *entry, int32_t number, GoFunction *function,
		  uint64_t *distance)
{
	bool has_lines = has_start_lines(table);
	size_t size_bytes = has_lines ? CALL_BYTES : CALL_BYTES_1_18;
	uint64_t place =
		entry->offset + entry_bytes(table) +
		sizeof(uint32_t) * ((uint64_t) u32_at(entry->bytes, ENTRY_DATA_COUNT) + PART_INLINED);
	uint8_t call[CALL_BYTES_1_18];
	uint32_t offset;
	uint64_t at;

	if (entry->bytes[entry_bytes(table) - 1] <= PART_INLINED ||
		!go_table_read_bytes(table, place, &offset, sizeof(offset)) || offset == UINT32_MAX)
		return false;
	at = offset + (uint64_t) number * size_bytes;
	if (at > table->data.size_bytes || table->data.size_bytes - at < size_bytes ||
		!elf_source_read(&table->source, table->data.offset + at, call, size_bytes))
		return false;
	*function = (GoFunction){
		.name = function_name(table, u32_at(call, has_lines ? CALL_NAME : CALL_NAME_1_18)),
		.file = "",
	};
	if (has_lines && u32_at(call, CALL_START_LINE) <= INT32_MAX)
		function->start_line = (int32_t) u32_at(call, CALL_START_LINE);
	*distance = u32_at(call, has_lines ? CALL_PLACE : CALL_PLACE_1_18);
	return function->name[0] != '\0';
}

/* Sets file and line of the code at a distance from the start of the function. */
static void
set_place(GoTable *table, const Entry *entry, uint64_t distance, GoFunction *function)
{
	function->line = value_at(table, u32_at(entry->bytes, ENTRY_LINES), distance);
	if (function->line < 0)
		function->line = 0;
	function->file =
		file_name(table, entry, value_at(table, u32_at(entry->bytes, ENTRY_FILES), distance));
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

/* Reads the entry of the function whose code contains an address. */
static bool
go_table_find_entry(GoTable *table, uint64_t address, Entry *entry, uint64_t *distance)
{
	uint32_t number;

	if (address < table->layout.text || !find_start(table, address - table->layout.text, &number))
		return false;
	*distance = address - table->layout.text - table->starts[2 * number];
	entry->offset = table->layout.functions + table->starts[2 * number + 1];
	return go_table_read_bytes(table, entry->offset, entry->bytes, entry_bytes(table));
}

int
go_table_find(GoTable *table, uint64_t address, GoFunction *functions, int max)
{
	GoFunction function = { 0 };
	uint64_t distance;
	int32_t call;
	int count = 0;
	Entry entry;

	table->text_used = 0;
	if (!go_table_find_entry(table, address, &entry, &distance))
		return 0;
	function.name = function_name(table, u32_at(entry.bytes, ENTRY_NAME));
	if (function.name[0] == '\0')
		return 0;
	if (has_start_lines(table) && u32_at(entry.bytes, ENTRY_START_LINE) <= INT32_MAX)
		function.start_line = (int32_t) u32_at(entry.bytes, ENTRY_START_LINE);

	/* each call has the place of its own caller's line; a call that leads back has a bound */
	call = inlined_call(table, &entry, distance);
	while (call >= 0 && count < max - 1)
	{
		uint64_t caller;

		if (!read_call(table, &entry, call, &functions[count], &caller))
			break;
		set_place(table, &entry, distance, &functions[count++]);
		distance = caller;
		call = inlined_call(table, &entry, distance);
	}
	/* if a call is not known, its line is not the function's, but the file may be */
	if (call < 0)
		set_place(table, &entry, distance, &function);
	else
		function.file =
			file_name(table, &entry, value_at(table, u32_at(entry.bytes, ENTRY_FILES), 0));
	functions[count++] = function;
	return count;
}
