/*
 * dwarf_line_program.c
 *		Reads .debug_line of DWARF 2 to 5.
 *
 * If several rows have one address, the last one counts. A row at the end of its sequence covers no
 * code, so the end replaces it. Between the end of a sequence and the start of the next one no line
 * is known.
 */
#include "symbols/dwarf/dwarf_line_program.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/grow.h"

#define ADDRESS_BITS 48
#define FORMATS_MAX	 16 /* limit of the fields of a directory or file; DWARF 5 defines five */

/* The fields of an entry in a table of DWARF 5. */
typedef struct EntryFormat
{
	uint64_t content; /* DW_LNCT_… */
	unsigned form;
} EntryFormat;

static bool
line_program_add_directory(LineTable *table, size_t *room, const char *path)
{
	if (grow_array(&table->directories, room, table->directory_count, sizeof(path)) != 0)
	{
		table->exhausted = true;
		return false;
	}
	table->directories[table->directory_count++] = path;
	return true;
}

static bool
line_program_add_file(LineTable *table, size_t *room, const LineFile *file)
{
	if (grow_array(&table->files, room, table->file_count, sizeof(*file)) != 0)
	{
		table->exhausted = true;
		return false;
	}
	table->files[table->file_count++] = *file;
	return true;
}

/* Returns the string that a value of a line table refers to; NULL if there is none. */
static const char *
value_string(const DwarfFile *file, const DwarfValue *value)
{
	switch (value->form)
	{
		case DW_FORM_string:
			return (const char *) file->sections[DWARF_LINE].bytes + value->number;
		case DW_FORM_line_strp:
			return dwarf_span_string(&file->sections[DWARF_LINE_STR], value->number);
		case DW_FORM_strp:
			return dwarf_span_string(&file->sections[DWARF_STR], value->number);
		case DW_FORM_strp_sup:
		case DW_FORM_GNU_strp_alt:
			return file->supplement != NULL
					   ? dwarf_span_string(&file->supplement->sections[DWARF_STR], value->number)
					   : NULL;
		default:
			return NULL;
	}
}

/*
 * Reads the formats of a table of DWARF 5. Returns their number; the cursor has failed if too many.
 */
static unsigned
read_formats(DwarfCursor *cursor, EntryFormat formats[FORMATS_MAX])
{
	unsigned count = (unsigned) dwarf_cursor_number(cursor, 1);

	if (count > FORMATS_MAX)
		dwarf_cursor_fail(cursor);
	for (unsigned i = 0; i < count && !cursor->failed; i++)
	{
		uint64_t content = dwarf_cursor_uleb(cursor);

		formats[i] = (EntryFormat){ content, (unsigned) dwarf_cursor_uleb(cursor) };
	}
	return cursor->failed ? 0 : count;
}

/* Reads a directory or file of DWARF 5. */
static LineFile
line_program_read_entry(LineTable *table, const DwarfFile *file, DwarfCursor *cursor,
						const EntryFormat *formats, unsigned count)
{
	LineFile entry = { 0 };

	for (unsigned i = 0; i < count && !cursor->failed; i++)
	{
		DwarfValue value;

		if (!dwarf_value_read(cursor, file->sections[DWARF_LINE].bytes, formats[i].form,
							  &table->sizes, &value))
			dwarf_cursor_fail(cursor);
		else if (formats[i].content == DW_LNCT_path)
			entry.name = value_string(file, &value);
		else if (formats[i].content == DW_LNCT_directory_index)
			entry.directory = value.number;
	}
	return entry;
}

/* Reads directories and files of DWARF 5. */
static void
line_program_read_entries(LineTable *table, const DwarfFile *file, DwarfCursor *cursor)
{
	EntryFormat formats[FORMATS_MAX];
	unsigned format_count = read_formats(cursor, formats);
	uint64_t count = dwarf_cursor_uleb(cursor);
	size_t room = 0;

	/* an entry without fields takes no bytes, so the loop would not be bounded by the section */
	for (uint64_t i = 0; i < count && format_count > 0 && !cursor->failed; i++)
	{
		const uint8_t *before = cursor->at;
		LineFile entry = line_program_read_entry(table, file, cursor, formats, format_count);

		if (cursor->at == before || !line_program_add_directory(table, &room, entry.name))
			dwarf_cursor_fail(cursor);
	}
	format_count = read_formats(cursor, formats);
	count = dwarf_cursor_uleb(cursor);
	room = 0;
	for (uint64_t i = 0; i < count && format_count > 0 && !cursor->failed; i++)
	{
		const uint8_t *before = cursor->at;
		LineFile entry = line_program_read_entry(table, file, cursor, formats, format_count);

		if (cursor->at == before || !line_program_add_file(table, &room, &entry))
			dwarf_cursor_fail(cursor);
	}
}

/* Reads a file's entry before DWARF 5, without its name. */
static LineFile
read_old_file(DwarfCursor *cursor, const char *name)
{
	LineFile file = { name, dwarf_cursor_uleb(cursor) };

	(void) dwarf_cursor_uleb(cursor); /* time of change */
	(void) dwarf_cursor_uleb(cursor); /* size */
	return file;
}

/*
 * Reads directories and files before DWARF 5. Directory 0 is that of the unit; there is no file 0.
 */
static void
read_old_entries(LineTable *table, const DwarfUnit *unit, DwarfCursor *cursor)
{
	const LineFile none = { 0 };
	const char *string;
	size_t room = 0;

	if (!line_program_add_directory(table, &room, unit->directory))
		dwarf_cursor_fail(cursor);
	while ((string = dwarf_cursor_string(cursor)) != NULL && string[0] != '\0')
	{
		if (!line_program_add_directory(table, &room, string))
			dwarf_cursor_fail(cursor);
	}
	room = 0;
	if (!line_program_add_file(table, &room, &none))
		dwarf_cursor_fail(cursor);
	while ((string = dwarf_cursor_string(cursor)) != NULL && string[0] != '\0')
	{
		LineFile file = read_old_file(cursor, string);

		if (!line_program_add_file(table, &room, &file))
			dwarf_cursor_fail(cursor);
	}
}

/* Reads the numbers at the start of the header. Returns false if they are damaged. */
static bool
line_read_numbers(LineTable *table, const DwarfUnit *unit, DwarfCursor *cursor)
{
	uint64_t header_bytes;

	dwarf_cursor_enter(cursor, &table->sizes.offset_bytes);
	table->sizes.version = (uint8_t) dwarf_cursor_number(cursor, 2);
	table->sizes.address_bytes = unit->sizes.address_bytes;
	if (table->sizes.version < 2 || table->sizes.version > 5)
		return false;
	if (table->sizes.version == 5)
	{
		table->sizes.address_bytes = (uint8_t) dwarf_cursor_number(cursor, 1);
		dwarf_cursor_skip(cursor, 1); /* skip the size of segment selectors */
	}
	header_bytes = dwarf_cursor_number(cursor, table->sizes.offset_bytes);
	table->program = *cursor;
	dwarf_cursor_skip(&table->program, header_bytes);
	table->instruction_bytes = (uint8_t) dwarf_cursor_number(cursor, 1);
	if (table->sizes.version >= 4)
		/* skip the operations of an instruction, which is 1 on these machines */
		dwarf_cursor_skip(cursor, 1);
	dwarf_cursor_skip(cursor, 1); /* skip whether rows begin statements at first */
	table->line_base = (int8_t) dwarf_cursor_number(cursor, 1);
	table->line_range = (uint8_t) dwarf_cursor_number(cursor, 1);
	table->opcode_base = (uint8_t) dwarf_cursor_number(cursor, 1);
	table->opcode_lengths = cursor->at;
	if (table->line_range == 0 || table->opcode_base == 0)
		return false;
	dwarf_cursor_skip(cursor, table->opcode_base - 1U);
	return !cursor->failed && !table->program.failed;
}

bool
line_table_read(LineTable *table, const DwarfUnit *unit)
{
	DwarfCursor cursor;

	*table = (LineTable){ 0 };
	if (unit->line_table == DWARF_NOWHERE)
		return false;
	cursor = dwarf_cursor(&unit->file->sections[DWARF_LINE], unit->line_table);
	if (cursor.failed || !line_read_numbers(table, unit, &cursor))
		return false;
	if (table->sizes.version == 5)
		line_program_read_entries(table, unit->file, &cursor);
	else
		read_old_entries(table, unit, &cursor);
	return true;
}

void
line_table_fini(LineTable *table)
{
	free(table->directories);
	free(table->files);
	*table = (LineTable){ 0 };
}

/* The state of a program, and the rows so far. */
typedef struct LineRun
{
	LineRows *rows;
	size_t room;	 /* of each of the arrays */
	size_t sequence; /* index of the sequence's first row */
	bool is_unordered;
	uint64_t begin; /* address of the sequence's first row */
	uint64_t address;
	uint64_t file;
	uint64_t line;
} LineRun;

static void
begin_sequence(LineRun *run)
{
	run->sequence = run->rows->count;
	run->begin = DWARF_NOWHERE;
	run->address = 0;
	run->file = 1;
	run->line = 1;
}

/* Makes room for another row. Returns false if memory is exhausted. */
static bool
line_run_grow(LineRun *run)
{
	LineRows *rows = run->rows;
	size_t line_room = run->room;

	/* both arrays have the same room, so that a row needs one comparison */
	return grow_array(&rows->line_nums, &line_room, rows->count, sizeof(*rows->line_nums)) == 0 &&
		   grow_array(&rows->places, &run->room, rows->count, sizeof(*rows->places)) == 0;
}

/* Appends a row. Returns false if memory is exhausted. */
static bool
line_program_append_row(LineRun *run, uint64_t place, int32_t line_num)
{
	LineRows *rows = run->rows;

	if (rows->count > 0 && rows->places[rows->count - 1] >> 16 > place >> 16)
		run->is_unordered = true;
	if (rows->count == run->room && !line_run_grow(run))
		return false;
	rows->places[rows->count] = place;
	rows->line_nums[rows->count++] = line_num;
	return true;
}

/*
 * Appends the row of the present state, unless file and line are those of the row before. Returns
 * false if memory is exhausted.
 */
static inline bool
note_row(LineRun *run, bool is_end)
{
	LineRows *rows = run->rows;
	uint64_t file = is_end ? LINE_END : run->file < LINE_FILE_NONE ? run->file : LINE_FILE_NONE;
	int32_t line_num = !is_end && run->line <= INT32_MAX ? (int32_t) run->line : 0;
	uint64_t place = run->address << 16 | file;
	uint64_t last;

	if (run->begin == DWARF_NOWHERE)
		run->begin = run->address;
	if (run->address >> ADDRESS_BITS != 0)
		return true;
	/* of several rows at one address the last one counts */
	if (rows->count > run->sequence && (rows->places[rows->count - 1] ^ place) >> 16 == 0)
		rows->count--;
	if (rows->count == run->sequence)
		return line_program_append_row(run, place, line_num);
	last = rows->count - 1;
	if ((uint16_t) rows->places[last] == file && rows->line_nums[last] == line_num)
		return true;
	return line_program_append_row(run, place, line_num);
}

/*
 * Ends a sequence. Drops its rows if it begins at address 0 or at 2^48 and above: linkers leave the
 * rows of discarded functions there, and those rows must not end the rows of real functions.
 */
static bool
end_sequence(LineRun *run)
{
	bool noted = note_row(run, true);

	if (run->begin == 0 || run->begin >> ADDRESS_BITS != 0)
		run->rows->count = run->sequence;
	begin_sequence(run);
	return noted;
}

/*
 * Runs an instruction whose code is 0 and whose length follows. Returns false if memory is
 * exhausted.
 */
static bool
run_extended(LineTable *table, LineRun *run)
{
	DwarfCursor inside = table->program;
	uint64_t length = dwarf_cursor_uleb(&inside);
	LineFile file;
	size_t room = table->file_count;

	table->program.at = inside.at;
	dwarf_cursor_skip(&table->program, length);
	if (table->program.failed || inside.failed || length == 0)
		return !table->program.failed;
	inside.end = inside.at + length;
	switch (dwarf_cursor_number(&inside, 1))
	{
		case DW_LNE_end_sequence:
			return end_sequence(run);
		case DW_LNE_set_address:
			if (length - 1 <= 8)
				run->address = dwarf_cursor_number(&inside, (unsigned) length - 1);
			return true;
		case DW_LNE_define_file:
			file.name = dwarf_cursor_string(&inside);
			file = read_old_file(&inside, file.name);
			return line_program_add_file(table, &room, &file);
		default:
			return true;
	}
}

/* Runs an instruction with a code below opcode_base. Returns false if memory is exhausted. */
static bool
run_standard(LineTable *table, LineRun *run, unsigned opcode)
{
	DwarfCursor *cursor = &table->program;

	switch (opcode)
	{
		case 0:
			return run_extended(table, run);
		case DW_LNS_copy:
			return note_row(run, false);
		case DW_LNS_advance_pc:
			run->address += dwarf_cursor_uleb(cursor) * table->instruction_bytes;
			return true;
		case DW_LNS_advance_line:
			run->line += (uint64_t) dwarf_cursor_sleb(cursor);
			return true;
		case DW_LNS_set_file:
			run->file = dwarf_cursor_uleb(cursor);
			return true;
		case DW_LNS_set_column:
			/* columns are in most programs, so their operands are skipped here and not below */
			(void) dwarf_cursor_uleb(cursor);
			return true;
		case DW_LNS_const_add_pc:
			run->address += (255U - table->opcode_base) / table->line_range *
							(uint64_t) table->instruction_bytes;
			return true;
		case DW_LNS_fixed_advance_pc:
			run->address += dwarf_cursor_number(cursor, 2);
			return true;
		default:
			/* skip the operands of columns, marks, and unknown instructions */
			for (unsigned i = 0; i < table->opcode_lengths[opcode - 1]; i++)
				(void) dwarf_cursor_uleb(cursor);
			return true;
	}
}

/* A sequence of rows, for sorting. */
typedef struct Sequence
{
	uint64_t begin; /* address at which the sequence begins */
	size_t first;
	size_t count;
} Sequence;

/* Compares addresses; sequences at one address stay in the order of the program. */
static int
compare_sequences(const void *a, const void *b)
{
	const Sequence *left = a;
	const Sequence *right = b;

	if (left->begin != right->begin)
		return left->begin < right->begin ? -1 : 1;
	return (left->first > right->first) - (left->first < right->first);
}

/* Lists the sequences of the rows. Returns false if memory is exhausted. */
static bool
list_sequences(const LineRows *rows, Sequence **sequences, size_t *count)
{
	size_t first = 0;
	size_t room = 0;

	*sequences = NULL;
	*count = 0;
	for (size_t i = 0; i < rows->count; i++)
	{
		if ((uint16_t) rows->places[i] != LINE_END)
			continue;
		if (grow_array(sequences, &room, *count, sizeof(**sequences)) != 0)
			return false;
		(*sequences)[(*count)++] = (Sequence){ rows->places[first] >> 16, first, i + 1 - first };
		first = i + 1;
	}
	return true;
}

/*
 * Appends a sequence to sorted rows, except rows at addresses that another sequence covers already.
 */
static void
append_sequence(LineRows *sorted, const LineRows *rows, const Sequence *sequence)
{
	for (size_t i = sequence->first; i < sequence->first + sequence->count; i++)
	{
		uint64_t address = rows->places[i] >> 16;
		uint64_t reached = sorted->count > 0 ? sorted->places[sorted->count - 1] >> 16 : 0;

		if (address < reached)
			continue;
		if (sorted->count > 0 && address == reached)
			sorted->count--;
		sorted->places[sorted->count] = rows->places[i];
		sorted->line_nums[sorted->count++] = rows->line_nums[i];
	}
}

/*
 * Sorts sequences that are not in the order of their addresses. Returns false, without rows, if
 * memory is exhausted.
 */
static bool
sort_rows(LineRows *rows)
{
	LineRows sorted = { malloc(rows->count * sizeof(*sorted.places)),
						malloc(rows->count * sizeof(*sorted.line_nums)), 0 };
	Sequence *sequences;
	size_t count;
	bool sorts = list_sequences(rows, &sequences, &count) && sorted.places != NULL &&
				 sorted.line_nums != NULL;

	if (!sorts)
		count = 0;
	if (count > 0)
		qsort(sequences, count, sizeof(*sequences), compare_sequences);
	for (size_t i = 0; i < count; i++)
		append_sequence(&sorted, rows, &sequences[i]);
	free(sequences);
	free(rows->places);
	free(rows->line_nums);
	*rows = sorted;
	return sorts;
}

/* Gives back the memory that the arrays do not use. */
static void
shrink_rows(LineRows *rows)
{
	uint64_t *places = realloc(rows->places, (rows->count + 1) * sizeof(*places));
	int32_t *line_nums = realloc(rows->line_nums, (rows->count + 1) * sizeof(*line_nums));

	if (places != NULL)
		rows->places = places;
	if (line_nums != NULL)
		rows->line_nums = line_nums;
}

/* The advances of a special instruction. */
typedef struct SpecialAdvance
{
	uint16_t address;
	int16_t line;
} SpecialAdvance;

/* Computes the advances of all special instructions, because dividing at each of them is slow. */
static void
list_advances(const LineTable *table, SpecialAdvance advances[256])
{
	for (unsigned opcode = table->opcode_base; opcode < 256; opcode++)
	{
		unsigned adjusted = opcode - table->opcode_base;

		advances[opcode] =
			(SpecialAdvance){ (uint16_t) (adjusted / table->line_range * table->instruction_bytes),
							  (int16_t) (table->line_base + (int) (adjusted % table->line_range)) };
	}
}

void
line_table_run(LineTable *table, LineRows *rows)
{
	LineRun run = { .rows = rows };
	SpecialAdvance advances[256];
	bool going = true;

	*rows = (LineRows){ 0 };
	begin_sequence(&run);
	list_advances(table, advances);
	while (going && !table->program.failed && table->program.at < table->program.end)
	{
		unsigned opcode = *table->program.at++;

		if (opcode < table->opcode_base)
			going = run_standard(table, &run, opcode);
		else
		{
			run.address += advances[opcode].address;
			run.line += (uint64_t) (int64_t) advances[opcode].line;
			going = note_row(&run, false);
		}
	}
	/* the program of a damaged table ends; otherwise an instruction stops it for want of memory */
	if (!going && !table->program.failed)
	{
		table->exhausted = true;
		run.sequence = 0;
	}
	/* drop the rows of a sequence without end, because it is not known what they cover */
	rows->count = run.sequence;
	if (run.is_unordered && rows->count > 0 && !sort_rows(rows))
		table->exhausted = true;
	shrink_rows(rows);
}
