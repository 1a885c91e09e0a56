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

#include "base/unaligned.h"
#include "symbols/elf/go_module.h"
#include "symbols/elf/symbol_table.h"
#include "unwind/cfi/cfi_sections.h"

/* Parts of the table, in the order in which the header has their offsets. */
typedef enum GoPart
{
	PART_NAMES,
	PART_UNITS, /* numbers of files, by compilation unit */
	PART_FILES,
	PART_VALUES,
	PARTS
} GoPart;

#define MAGIC_1_16 0xfffffffaU

#define START_BYTES		 8
#define START_BYTES_1_16 16
#define NO_FILE			 UINT32_MAX

/* The layout of some versions: offsets within the header, an entry and an inlined call. */
typedef struct GoLayout
{
	uint32_t parts; /* offset in the header of the offsets of the parts, 8 bytes each */
	/* offsets in an entry, whose last byte is the number of its parts of the data */
	uint32_t name;
	uint32_t files;
	uint32_t lines;
	uint32_t data_count;
	uint32_t unit;
	uint32_t start_line; /* 0: there is none, also in an inlined call */
	uint32_t bytes;
	/* offsets in an inlined call */
	uint32_t call_name;
	uint32_t call_place;
	uint32_t call_start_line;
	uint32_t call_bytes;
	bool has_addresses; /* instead of offsets: starts of functions, parts of the data */
} GoLayout;

static const GoLayout layout_1_16 = { .parts = 24,
									  .name = 8,
									  .files = 24,
									  .lines = 28,
									  .data_count = 32,
									  .unit = 36,
									  .bytes = 44,
									  .call_name = 12,
									  .call_place = 16,
									  .call_bytes = 20,
									  .has_addresses = true };
static const GoLayout layout_1_18 = { .parts = 32,
									  .name = 4,
									  .files = 20,
									  .lines = 24,
									  .data_count = 28,
									  .unit = 32,
									  .bytes = 40,
									  .call_name = 12,
									  .call_place = 16,
									  .call_bytes = 20 };
static const GoLayout layout_1_20 = { .parts = 32,
									  .name = 4,
									  .files = 20,
									  .lines = 24,
									  .data_count = 28,
									  .unit = 32,
									  .start_line = 36,
									  .bytes = 44,
									  .call_name = 4,
									  .call_place = 8,
									  .call_start_line = 12,
									  .call_bytes = 16 };

#define ENTRY_BYTES_MAX 44
#define CALL_BYTES_MAX	20
#define FLAGS_1_20		41 /* in tables of Go 1.20 and later the flags are here, as in pclntab.h */

/*
 * Index of the table of inlined calls among the tables whose offsets follow an entry, and of the
 * calls themselves among the parts of the module's data, whose offsets follow those.
 */
#define DATA_INLINED 2
#define PART_INLINED 3

#define VALUES_CHUNK	 512		 /* number of bytes that are read at once */
#define VALUES_BYTES_MAX (256 << 10) /* limit of one function's table */
#define FILE_BYTES		 4096
#define TEXT_BYTES		 32768 /* limit of all strings of an answer */

struct GoTable
{
	ElfSource source;
	ElfExtent section;
	ElfExtent data; /* data of the module, which contains inlined calls; empty: not found */
	const GoLayout *layout;
	Pclntab header; /* the bytes to which it refers are freed */
	uint64_t parts[PARTS];
	uint32_t *starts; /* pairs: header.count of them, and one for the end */
	/* if the layout has addresses: those that the loader writes, and headers to read at one */
	GoAddresses addresses;
	ElfHeaders headers;
	char text[TEXT_BYTES];
	size_t text_used;
};

/* A function's entry. */
typedef struct Entry
{
	uint64_t offset; /* offset in the section */
	uint8_t bytes[ENTRY_BYTES_MAX];
} Entry;

static bool
go_table_read_bytes(const GoTable *table, uint64_t offset, void *bytes, size_t length)
{
	return offset <= table->section.size_bytes && length <= table->section.size_bytes - offset &&
		   elf_source_read(&table->source, table->section.offset + offset, bytes, length);
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

/* Makes a table without its starts. */
static GoTable *
go_table_alloc(const ElfSource *source, const ElfExtent *section, const GoLayout *layout,
			   const Pclntab *header)
{
	GoTable *table = calloc(1, sizeof(*table));

	if (table == NULL)
		return NULL;
	table->source = *source;
	table->section = *section;
	table->layout = layout;
	table->header = *header;
	table->header.data = NULL;
	table->starts = malloc(START_BYTES * (size_t) header->count + sizeof(uint32_t));
	if (table->starts == NULL)
	{
		free(table);
		return NULL;
	}
	return table;
}

int
go_table_make(const ElfSource *source, const ElfExtent *section, const ElfExtent *data,
			  const Pclntab *header, GoTable **result)
{
	size_t bytes = START_BYTES * (size_t) header->count + sizeof(uint32_t);
	const GoLayout *layout = header->id_offset == FLAGS_1_20 ? &layout_1_20 : &layout_1_18;
	GoTable *table = go_table_alloc(source, section, layout, header);

	if (table == NULL)
		return -ENOMEM;
	table->data = *data;
	if (!go_table_read_bytes(table, layout->parts, table->parts, sizeof(table->parts)) ||
		!go_table_read_bytes(table, header->functions, table->starts, bytes))
	{
		go_table_close(table);
		return -ENOENT;
	}
	*result = table;
	return 0;
}

/* Reads the header of a table of Go 1.16 or 1.17. Returns false if it is another one. */
static bool
read_header_1_16(const ElfSource *source, const ElfExtent *section, Pclntab *header)
{
	struct
	{
		uint32_t magic;
		uint16_t zero;
		uint8_t quantum;
		uint8_t address_bytes;
		uint64_t count;
		uint64_t files;
		uint64_t parts[PARTS];
		uint64_t functions;
	} bytes;

	if (section->size_bytes < sizeof(bytes) ||
		!elf_source_read(source, section->offset, &bytes, sizeof(bytes)) ||
		bytes.magic != MAGIC_1_16 || bytes.address_bytes != sizeof(uint64_t) ||
		bytes.quantum == 0 || bytes.functions >= section->size_bytes ||
		bytes.count >= (section->size_bytes - bytes.functions) / START_BYTES_1_16)
		return false;
	*header = (Pclntab){ .count = (uint32_t) bytes.count,
						 .quantum = bytes.quantum,
						 .functions = bytes.functions };
	return bytes.count > 0;
}

/*
 * Converts starts with addresses to those of later versions, which are relative to the first.
 * Returns false if they are not in 4 GiB.
 */
static bool
convert_starts(GoTable *table, const uint64_t *pairs)
{
	table->header.text = pairs[0];
	for (uint32_t i = 0; i <= table->header.count; i++)
	{
		uint64_t offset = pairs[2 * i] - pairs[0];

		if (offset > UINT32_MAX)
			return false;
		table->starts[2 * i] = (uint32_t) offset;
		if (i < table->header.count)
			table->starts[2 * i + 1] = (uint32_t) pairs[2 * i + 1];
	}
	return true;
}

int
go_table_make_1_16(const ElfSource *source, const ElfExtent *section, GoAddresses *addresses,
				   GoTable **result)
{
	Pclntab header;
	GoTable *table;
	uint64_t *pairs;
	size_t bytes;
	bool is_good;

	if (!read_header_1_16(source, section, &header))
		return -ENOENT;
	bytes = START_BYTES_1_16 * (size_t) header.count + sizeof(uint64_t);
	pairs = malloc(bytes);
	table = pairs != NULL ? go_table_alloc(source, section, &layout_1_16, &header) : NULL;
	if (table == NULL)
	{
		free(pairs);
		return -ENOMEM;
	}
	table->addresses = *addresses;
	*addresses = (GoAddresses){ NULL, 0 };
	(void) elf_headers_read(&table->headers, source); /* without it no inlined calls are found */
	is_good = go_table_read_bytes(table, layout_1_16.parts, table->parts, sizeof(table->parts)) &&
			  go_table_read_bytes(table, header.functions, pairs, bytes);
	if (is_good)
	{
		go_addresses_apply(&table->addresses, header.functions, pairs, bytes);
		is_good = convert_starts(table, pairs);
	}
	free(pairs);
	if (!is_good)
	{
		go_table_close(table);
		return -ENOENT;
	}
	*result = table;
	return 0;
}

static int
open_1_16(const ElfSource *source, const Elf64_Shdr *section, GoTable **result)
{
	const ElfExtent extent = { section->sh_offset, section->sh_size };
	GoAddresses addresses = { NULL, 0 };
	Pclntab header;
	int err = -ENOENT;

	if (!read_header_1_16(source, &extent, &header))
		return -ENOENT;
	err = go_addresses_read(&addresses, source, section);
	if (err == 0)
		err = go_table_make_1_16(source, &extent, &addresses, result);
	go_addresses_fini(&addresses);
	return err;
}

int
go_table_open(const ElfSource *source, GoTable **result)
{
	CfiSections sections;
	Elf64_Shdr section;
	Pclntab header;
	ElfExtent data = { 0, 0 };
	int err;

	if (source->fd < 0 || !find_section(source, &section))
		return -ENOENT;
	err = open_1_16(source, &section, result);
	if (err != -ENOENT)
		return err;
	err = cfi_sections_init(&sections, source->fd);
	if (err != 0)
		return err;
	if (pclntab_open(&sections.input, &header))
	{
		const GoModule module = { .table = section.sh_addr,
								  .names = section.sh_addr + header.names,
								  .text = header.text,
								  .is_1_18 = header.id_offset != FLAGS_1_20 };

		(void) go_module_find_data(source, &module, &data);
		err = go_table_make(source, &(ElfExtent){ section.sh_offset, section.sh_size }, &data,
							&header, result);
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
	go_addresses_fini(&table->addresses);
	free(table);
}

/* Iterates over a table of values. */
typedef struct Values
{
	const GoTable *table;
	uint64_t offset; /* offset of the next byte to read */
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
	Values values = { .table = table, .offset = table->parts[PART_VALUES] + offset };
	uint32_t value = UINT32_MAX; /* initial value of every table */
	uint64_t covered = 0;

	if (offset == 0 || table->parts[PART_VALUES] > table->section.size_bytes ||
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
		covered += (uint64_t) length * table->header.quantum;
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

static const char *
function_name(GoTable *table, uint32_t at)
{
	return go_table_read_string(table, table->parts[PART_NAMES], at, SYMBOL_NAME_MAX_BYTES);
}

/*
 * Returns the path of a file by its number. Numbers are relative to the compilation unit's first
 * entry, which contains the offset of the path.
 */
static const char *
file_name(GoTable *table, const Entry *entry, int32_t file)
{
	uint64_t place =
		table->parts[PART_UNITS] +
		sizeof(uint32_t) *
			((uint64_t) bytes_u32_at(entry->bytes, table->layout->unit) + (uint32_t) file);
	uint32_t name;

	if (file < 0 || !go_table_read_bytes(table, place, &name, sizeof(name)) || name == NO_FILE)
		return "";
	return go_table_read_string(table, table->parts[PART_FILES], name, FILE_BYTES);
}

/*
 * Returns the number of the inlined call to which code belongs, by its distance from the function's
 * start; -1 if none.
 */
static int32_t
inlined_call(const GoTable *table, const Entry *entry, uint64_t distance)
{
	uint64_t place = entry->offset + table->layout->bytes + sizeof(uint32_t) * DATA_INLINED;
	uint32_t offset;

	if (bytes_u32_at(entry->bytes, table->layout->data_count) <= DATA_INLINED ||
		!go_table_read_bytes(table, place, &offset, sizeof(offset)))
		return -1;
	return value_at(table, offset, distance);
}

/* Returns the offset after the tables of an entry, where its parts of the data are. */
static uint64_t
entry_data(const GoTable *table, const Entry *entry)
{
	return entry->offset + table->layout->bytes +
		   sizeof(uint32_t) * (uint64_t) bytes_u32_at(entry->bytes, table->layout->data_count);
}

/* Reads an inlined call whose offset in the module's data the entry has. */
static bool
read_call_in_data(const GoTable *table, const Entry *entry, int32_t number, uint8_t *call)
{
	const size_t size_bytes = table->layout->call_bytes;
	uint64_t place = entry_data(table, entry) + sizeof(uint32_t) * PART_INLINED;
	uint32_t offset;
	uint64_t at;

	if (!go_table_read_bytes(table, place, &offset, sizeof(offset)) || offset == UINT32_MAX)
		return false;
	at = offset + (uint64_t) number * size_bytes;
	return at <= table->data.size_bytes && table->data.size_bytes - at >= size_bytes &&
		   elf_source_read(&table->source, table->data.offset + at, call, size_bytes);
}

/* Reads an inlined call whose address the entry has. Addresses are aligned in the table. */
static bool
read_call_at_address(GoTable *table, const Entry *entry, int32_t number, uint8_t *call)
{
	uint64_t place = entry_data(table, entry);
	uint64_t address;

	place = (place + sizeof(address) - 1) / sizeof(address) * sizeof(address) +
			sizeof(address) * PART_INLINED;
	if (!go_table_read_bytes(table, place, &address, sizeof(address)))
		return false;
	go_addresses_apply(&table->addresses, place, &address, sizeof(address));
	return address != 0 &&
		   elf_headers_read_at(&table->headers,
							   address + (uint64_t) number * table->layout->call_bytes, call,
							   table->layout->call_bytes);
}

/*
 * Reads an inlined call of a function: its name and start line, and the distance of an instruction
 * that has the line of the call. Returns false if it cannot be read.
 */
static bool
read_call(GoTable *table, const Entry *entry, int32_t number, GoFunction *function,
		  uint64_t *distance)
{
	const GoLayout *layout = table->layout;
	uint8_t call[CALL_BYTES_MAX];

	if (entry->bytes[layout->bytes - 1] <= PART_INLINED ||
		!(layout->has_addresses ? read_call_at_address(table, entry, number, call)
								: read_call_in_data(table, entry, number, call)))
		return false;
	*function = (GoFunction){ .name = function_name(table, bytes_u32_at(call, layout->call_name)),
							  .file = "" };
	if (layout->start_line > 0 && bytes_u32_at(call, layout->call_start_line) <= INT32_MAX)
		function->start_line = (int32_t) bytes_u32_at(call, layout->call_start_line);
	*distance = bytes_u32_at(call, layout->call_place);
	return function->name[0] != '\0';
}

/* Sets file and line of the code at a distance from the start of the function. */
static void
set_place(GoTable *table, const Entry *entry, uint64_t distance, GoFunction *function)
{
	function->line = value_at(table, bytes_u32_at(entry->bytes, table->layout->lines), distance);
	if (function->line < 0)
		function->line = 0;
	function->file =
		file_name(table, entry,
				  value_at(table, bytes_u32_at(entry->bytes, table->layout->files), distance));
}

/* Finds the function whose code contains an offset. Returns false if there is none. */
static bool
find_start(const GoTable *table, uint64_t offset, uint32_t *number)
{
	uint32_t low = 0;
	uint32_t high = table->header.count;

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

	if (address < table->header.text || !find_start(table, address - table->header.text, &number))
		return false;
	*distance = address - table->header.text - table->starts[2 * number];
	entry->offset = table->header.functions + table->starts[2 * number + 1];
	return go_table_read_bytes(table, entry->offset, entry->bytes, table->layout->bytes);
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
	function.name = function_name(table, bytes_u32_at(entry.bytes, table->layout->name));
	if (function.name[0] == '\0')
		return 0;
	if (table->layout->start_line > 0 &&
		bytes_u32_at(entry.bytes, table->layout->start_line) <= INT32_MAX)
		function.start_line = (int32_t) bytes_u32_at(entry.bytes, table->layout->start_line);

	/*
	 * The place of each call's caller is that of the instruction with the call's line. The number
	 * of steps is bounded, in case a call leads back to itself.
	 */
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
	/* if an inlined call cannot be read, the line is not the function's, but the file may be */
	if (call < 0)
		set_place(table, &entry, distance, &function);
	else
		function.file =
			file_name(table, &entry,
					  value_at(table, bytes_u32_at(entry.bytes, table->layout->files), 0));
	functions[count++] = function;
	return count;
}
