/*
 * stacks.c
 *		Adds each location to the batch once, and each stack as a list of their indexes.
 *
 * Native frames have a build ID and an address in the file, and are symbolized in the collector.
 * Other frames contain their line. Their address is dropped, because it is a line number, or valid
 * only until the kernel is booted again.
 */
#include "arrow/stacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/param.h>

#include "base/grow.h"
#include "formats/profile.h"

#define KERNEL_FILE		 "[kernel.kallsyms]"
#define KERNEL_TYPE		 "kernel"
#define NATIVE_TYPE		 "native"
#define KERNEL_PARTITION "kernel"
#define OTHER_PARTITION	 "parca"
#define PARTITION_MAX	 255
#define TYPE_MAX		 60
#define LOCATION_STEPS	 64
#define STACK_STEPS		 64

/* --- columns --- */

static bool
is_struct(const ArrowArray *array)
{
	return arrow_value_field(array)->type == ARROW_STRUCT;
}

/* Finds the struct array of a column of structs, which may be the values of a dictionary. */
static bool
find_struct(ArrowWork *work, ArrowArray *array, ArrowArray **items)
{
	/* Runs are refused, so that the fields of an item have the item's number. */
	*items = array->is_indexes ? array->dictionary->values : array;
	if (*items == NULL)
		return work_fail(work, "a dictionary is missing");
	return (*items)->field->type == ARROW_STRUCT ||
		   work_fail(work, "locations, lines or functions are not structs");
}

static bool
open_functions(ArrowWork *work, const ArrowArray *items, const char *const names[4],
			   FunctionColumns *columns)
{
	columns->name = arrow_child(items, names[0]);
	columns->system_name = arrow_child(items, names[1]);
	columns->filename = arrow_child(items, names[2]);
	columns->start_line = arrow_child(items, names[3]);
	return work_check_type(work, columns->name, arrow_is_text) &&
		   work_check_type(work, columns->system_name, arrow_is_text) &&
		   work_check_type(work, columns->filename, arrow_is_text) &&
		   work_check_type(work, columns->start_line, arrow_is_integer);
}

/* Finds the columns of lines and functions, of both versions. */
static bool
open_lines(ArrowWork *work, LocationColumns *columns)
{
	static const char *const beside_line[] = { "function_name", "function_system_name",
											   "function_filename", "function_start_line" };
	static const char *const of_function[] = { "name", "system_name", "filename", "start_line" };
	FunctionColumns *functions = &columns->functions;
	ArrowArray *lines = columns->lines;
	ArrowArray *items;

	if (lines == NULL)
		return true;
	if (lines->is_indexes || lines->field->type == ARROW_RUN_END || !arrow_is_list(lines))
		return work_fail(work, "lines are not a list");
	/* lines are not in a dictionary: their list gives the range of items directly */
	if (!find_struct(work, &lines->children[0], &items) || items != &lines->children[0])
		return work_fail(work, "lines, locations or functions are not structs");
	columns->line = arrow_child(items, "line");
	columns->function = arrow_child(items, "function");
	if (!work_check_type(work, columns->line, arrow_is_integer) ||
		!work_check_type(work, columns->function, is_struct))
		return false;
	functions->items = items;
	/* first version: the function's fields stand in the line */
	if (columns->function == NULL)
		return open_functions(work, items, beside_line, functions);
	return find_struct(work, columns->function, &functions->items) &&
		   open_functions(work, functions->items, of_function, functions);
}

/* Finds the columns of locations and checks their types. */
static bool
open_locations(ArrowWork *work, LocationColumns *columns)
{
	const ArrowArray *items = columns->items;

	columns->address = arrow_child(items, "address");
	columns->frame_type = arrow_child(items, "frame_type");
	columns->file = arrow_child(items, "mapping_file");
	columns->build_id = arrow_child(items, "mapping_build_id");
	columns->start = arrow_child(items, "mapping_start");
	columns->limit = arrow_child(items, "mapping_limit");
	columns->offset = arrow_child(items, "mapping_offset");
	columns->lines = arrow_child(items, "lines");
	if (columns->address == NULL)
		return work_fail(work, "locations have no address");
	return work_check_type(work, columns->address, arrow_is_integer) &&
		   work_check_type(work, columns->frame_type, arrow_is_text) &&
		   work_check_type(work, columns->file, arrow_is_text) &&
		   work_check_type(work, columns->build_id, arrow_is_text) &&
		   work_check_type(work, columns->start, arrow_is_integer) &&
		   work_check_type(work, columns->limit, arrow_is_integer) &&
		   work_check_type(work, columns->offset, arrow_is_integer) && open_lines(work, columns);
}

bool
stack_reader_open(StackReader *reader, ArrowWork *work, ArrowArray *stacks)
{
	*reader = (StackReader){ .work = work, .stacks = stacks };
	if (stacks->is_indexes || stacks->field->type == ARROW_RUN_END || !arrow_is_list(stacks))
		return work_fail(work, "stacks are not lists of locations");
	/* scratch space from the arena, once for each record batch */
	reader->frames = work_alloc(work, ARROW_STACK_DEPTH_MAX, sizeof(uint32_t));
	reader->lines = work_alloc(work, ARROW_LINES_MAX, sizeof(BatchLine));
	return reader->frames != NULL && reader->lines != NULL &&
		   find_struct(work, &stacks->children[0], &reader->columns.items) &&
		   open_locations(work, &reader->columns);
}

void
stack_reader_close(StackReader *reader)
{
	if (reader->origins != NULL)
		budget_release(reader->work->arena->budget, reader->origin_capacity * sizeof(FrameOrigin));
	free(reader->origins);
	reader->origins = NULL;
}

/* --- functions --- */

/*
 * Returns the memory for the result of an item: the batch's index plus 1, or 0 if the item was not
 * added yet.
 */
static uint32_t *
memo_of(ArrowWork *work, ArrowArray *items, uint32_t item)
{
	/*
	 * Zeroing the memo costs about as much as reading it, so a request with many record batches and
	 * one large dictionary is charged each time.
	 */
	if (items->memo == NULL && work_pay(work, items->length / sizeof(uint64_t)))
		items->memo = work_alloc(work, items->length, sizeof(uint32_t));
	return items->memo != NULL ? &items->memo[item] : NULL;
}

static int32_t
clamp_line(int64_t number)
{
	return (int32_t) (number < 0 ? 0 : MIN(number, INT32_MAX));
}

static BatchText
arrow_batch_text_of(Span text)
{
	return (BatchText){ (const char *) text.bytes, text.length };
}

/* Adds a function to the batch. Functions of the second version have system names only. */
static bool
make_function(StackReader *reader, uint32_t item, uint32_t *index)
{
	ArrowWork *work = reader->work;
	const FunctionColumns *columns = &reader->columns.functions;
	BatchFunctionTexts texts;
	Span name;
	Span system_name;
	Span filename;
	int64_t start_line;

	if (!work_text(work, columns->name, item, &name) ||
		!work_text(work, columns->system_name, item, &system_name) ||
		!work_text(work, columns->filename, item, &filename) ||
		!work_integer(work, columns->start_line, item, &start_line))
		return false;
	/*
	 * The database expects both names. A system name that is mangled stays so, because the kind of
	 * mangling is not known.
	 */
	texts.name = arrow_batch_text_of(name.length > 0 ? name : system_name);
	texts.system_name = arrow_batch_text_of(system_name.length > 0 ? system_name : name);
	texts.filename = arrow_batch_text_of(filename);
	texts.start_line = clamp_line(start_line);
	return work_outcome(work, batch_add_function_texts(work->batch, &texts, index));
}

/*
 * Adds the function of a line. In the second version a function is an item of its own, which is
 * added only once.
 */
static bool
arrow_add_function(StackReader *reader, uint32_t line, uint32_t *index)
{
	ArrowWork *work = reader->work;
	LocationColumns *columns = &reader->columns;
	ArrowPlace place;
	uint32_t *memo;

	/* in the first version each line has a copy of its function, and the batch finds equal ones */
	if (columns->function == NULL)
		return make_function(reader, line, index);
	if (!arrow_place(columns->function, line, &place) || place.is_null)
		return work_fail(work, "a line has no function");
	memo = memo_of(work, columns->functions.items, place.item);
	if (memo == NULL || (*memo == 0 && !make_function(reader, place.item, index)))
		return false;
	if (*memo == 0)
		*memo = *index + 1;
	/* the memo has the index plus 1, because 0 means that the function was not added yet */
	*index = *memo - 1;
	return true;
}

/* Reads the lines of a location into reader->lines. */
static bool
arrow_read_lines(StackReader *reader, uint32_t location, uint32_t *count)
{
	ArrowWork *work = reader->work;
	LocationColumns *columns = &reader->columns;
	ArrowPlace place;
	uint32_t first;

	*count = 0;
	if (columns->lines == NULL)
		return true;
	if (!arrow_place(columns->lines, location, &place) || !arrow_list(&place, &first, count))
		return work_fail(work, "lines lie outside of their column");
	if (*count > ARROW_LINES_MAX)
		return work_fail(work, "a location has too many lines");
	for (uint32_t i = 0; i < *count; i++)
	{
		int64_t line;

		if (!work_pay(work, 16) || !work_integer(work, columns->line, first + i, &line) ||
			!arrow_add_function(reader, first + i, &reader->lines[i].function))
			return false;
		reader->lines[i].line = clamp_line(line);
	}
	return true;
}

/* --- locations --- */

typedef struct LocationTexts
{
	Span type;
	Span file;
	Span build_id;
} LocationTexts;

static bool
span_is(Span span, const char *text)
{
	return span.length == strlen(text) && memcmp(span.bytes, text, span.length) == 0;
}

static bool
arrow_own_text(ArrowWork *work, Span text, const char **own)
{
	*own = batch_text(work->batch, (const char *) text.bytes, text.length);
	return *own != NULL || work_too_large(work);
}

/*
 * Adds the mapping of a location. A frame without a file gets a mapping named after its type, such
 * as [python].
 */
static bool
arrow_add_mapping(ArrowWork *work, const LocationTexts *texts, BatchMapping *mapping,
				  uint32_t *index)
{
	char type[TYPE_MAX + 3];
	Span file = texts->file;

	*index = BATCH_NO_MAPPING;
	*mapping = (BatchMapping){ "", "" };
	if (file.length == 0 && texts->type.length > 0 && !span_is(texts->type, NATIVE_TYPE))
	{
		int length = span_is(texts->type, KERNEL_TYPE)
						 ? snprintf(type, sizeof(type), "%s", KERNEL_FILE)
						 : snprintf(type, sizeof(type), "[%.*s]",
									(int) MIN(texts->type.length, TYPE_MAX), texts->type.bytes);

		file = (Span){ (const uint8_t *) type, (size_t) length };
	}
	/* a native frame of which only the address is known */
	if (file.length == 0 && texts->build_id.length == 0)
		return true;
	return arrow_own_text(work, file, &mapping->file) &&
		   arrow_own_text(work, texts->build_id, &mapping->build_id) &&
		   work_outcome(work, batch_add_mapping(work->batch, mapping, index));
}

/*
 * Returns the address of a location in its file. Agents of the first version send the address in
 * the process and the mapping.
 */
static bool
file_address(StackReader *reader, uint32_t item, uint64_t *address)
{
	const LocationColumns *columns = &reader->columns;
	int64_t in_process;
	int64_t start;
	int64_t limit;
	int64_t offset;

	if (!work_integer(reader->work, columns->address, item, &in_process) ||
		!work_integer(reader->work, columns->start, item, &start) ||
		!work_integer(reader->work, columns->limit, item, &limit) ||
		!work_integer(reader->work, columns->offset, item, &offset))
		return false;
	*address = (uint64_t) in_process;
	/* the second version has no such columns, which read as 0, and sends addresses in the file */
	if (start != 0 || limit != 0 || offset != 0)
		*address =
			pfs_file_address(*address, (uint64_t) start, (uint64_t) limit, (uint64_t) offset);
	return true;
}

/*
 * Decides from a location to which partition its stacks belong. A library is never the executable
 * of a process, but may be the outermost file of a thread's stack.
 */
static void
judge_origin(const LocationTexts *texts, const BatchMapping *mapping, FrameOrigin *origin)
{
	bool is_native = texts->type.length == 0 || span_is(texts->type, NATIVE_TYPE);

	origin->is_user = !span_is(texts->type, KERNEL_TYPE);
	origin->program = NULL;
	/*
	 * The build ID becomes the name of a partition, which has a limit. ".so" also matches versioned
	 * names such as libc.so.6.
	 */
	if (is_native && mapping->build_id[0] != '\0' && strlen(mapping->build_id) <= PARTITION_MAX &&
		strstr(mapping->file, ".so") == NULL)
		origin->program = mapping->build_id;
}

static bool
reserve_origin(StackReader *reader, uint32_t index)
{
	/*
	 * the batch's locations have consecutive numbers, but those of earlier record batches are
	 * skipped here
	 */
	while (reader->origin_capacity <= index)
		if (grow_array_within(reader->work->arena->budget, &reader->origins,
							  &reader->origin_capacity, reader->origin_capacity,
							  sizeof(FrameOrigin)) != 0)
			return work_too_large(reader->work);
	return true;
}

/* Adds a location to the batch, and notes to which partition it points. */
static bool
make_location(StackReader *reader, uint32_t item, uint32_t *index)
{
	ArrowWork *work = reader->work;
	const LocationColumns *columns = &reader->columns;
	BatchLocation location = { .lines = reader->lines };
	BatchMapping mapping;
	LocationTexts texts;

	if (!work_pay(work, LOCATION_STEPS) ||
		!work_text(work, columns->frame_type, item, &texts.type) ||
		!work_text(work, columns->file, item, &texts.file) ||
		!work_text(work, columns->build_id, item, &texts.build_id) ||
		!arrow_read_lines(reader, item, &location.line_count) ||
		!arrow_add_mapping(work, &texts, &mapping, &location.mapping) ||
		!file_address(reader, item, &location.address))
		return false;
	/* an interpreter's address is a line number, a kernel's is valid until the next boot only */
	if (location.line_count > 0 && texts.type.length > 0 && !span_is(texts.type, NATIVE_TYPE))
		location.address = 0;
	/* room for the origin before the memo is set: a location with a memo has an origin */
	if (!work_outcome(work, batch_add_location(work->batch, &location, index)) ||
		!reserve_origin(reader, *index))
		return false;
	judge_origin(&texts, &mapping, &reader->origins[*index]);
	return true;
}

/* Returns the batch's index of a location, which is added if it is new. */
static bool
find_location(StackReader *reader, uint32_t item, uint32_t *index)
{
	uint32_t *memo = memo_of(reader->work, reader->columns.items, item);

	if (memo == NULL || (*memo == 0 && !make_location(reader, item, index)))
		return false;
	if (*memo == 0)
		*memo = *index + 1;
	*index = *memo - 1;
	return true;
}

/* --- stacks --- */

bool
stack_reader_range(StackReader *reader, uint32_t row, uint32_t *first, uint32_t *count)
{
	ArrowPlace place;

	if (!arrow_place(reader->stacks, row, &place) || !arrow_list(&place, first, count))
		return work_fail(reader->work, "a stack lies outside of its column");
	return *count <= ARROW_STACK_DEPTH_MAX || work_fail(reader->work, "a stack is too deep");
}

/*
 * Adds a stack. Its partition follows from the frames, because records do not name the executable:
 * it is the build ID of the outermost native frame outside of libraries. Stacks of kernel threads
 * have the partition "kernel".
 */
bool
stack_reader_add(StackReader *reader, uint32_t first, uint32_t count, uint32_t *index)
{
	ArrowWork *work = reader->work;
	ArrowArray *items = &reader->stacks->children[0];
	BatchStack stack = { .partition = KERNEL_PARTITION, .locations = reader->frames };

	if (!work_pay(work, STACK_STEPS + (size_t) 4 * count))
		return false;
	/* From the leaf outwards, so the last program found is the outermost one. */
	for (uint32_t i = 0; i < count; i++)
	{
		const FrameOrigin *origin;
		ArrowPlace place;
		uint32_t location;

		if (!arrow_place(items, first + i, &place))
			return work_fail(work, "a stack's location index is out of range");
		/* a frame that the agent could not express */
		if (place.is_null)
			continue;
		if (!find_location(reader, place.item, &location))
			return false;
		origin = &reader->origins[location];
		/*
		 * OTHER_PARTITION only replaces "kernel": a program that was found stays, even if frames of
		 * libraries follow
		 */
		if (origin->program != NULL)
			stack.partition = origin->program;
		else if (origin->is_user && strcmp(stack.partition, KERNEL_PARTITION) == 0)
			stack.partition = OTHER_PARTITION;
		reader->frames[stack.depth++] = location;
	}
	/* an empty stack belongs to no program, and not to the kernel */
	if (count == 0)
		stack.partition = OTHER_PARTITION;
	return work_outcome(work, batch_add_stack(work->batch, &stack, index));
}
