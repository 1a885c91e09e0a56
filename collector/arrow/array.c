/*
 * array.c
 *		Loads arrays and finds items in them.
 *
 * A type's buffers, in order (Arrow's columnar format):
 *   integers, times, fixed binary, indexes  validity, items
 *   booleans                                validity, bits
 *   texts, binary                           validity, offsets (one more than items), bytes
 *   views of texts, binary                  validity, views of 16 bytes, buffers
 *   lists                                   validity, offsets (one more than items)
 *   list views                              validity, offsets, sizes
 *   structs                                 validity
 *   run ends                                none; children: ends of runs, values
 */
#include "arrow/array.h"

#define NODE_BYTES	16
#define VIEW_BYTES	16
#define VIEW_INLINE 12 /* length of the longest text that a view contains itself */
#define VIEWS_MAX	4096

static bool
batch_fail(ArrowBatch *batch, const char *error)
{
	batch->error = error;
	return false;
}

/* --- numbers --- */

static int64_t
array_number_at(Span data, uint32_t width, bool is_signed, uint32_t item)
{
	uint64_t value = little_endian(data.bytes + (size_t) width * item, width);
	unsigned spare = 64 - 8 * width;

	/* moves the number's sign to bit 63 and back, which copies it to all bits above */
	return is_signed ? (int64_t) (value << spare) >> spare : (int64_t) value;
}

static int64_t
run_end(const ArrowArray *ends, uint32_t run)
{
	return array_number_at(ends->data, ends->field->width, true, run);
}

/* --- loading --- */

/* Reads the length of the next array. */
static bool
next_node(ArrowBatch *batch, uint32_t *length)
{
	uint64_t items;

	if (batch->node >= batch->nodes.count)
		return batch_fail(batch, "a record batch has fewer arrays than its columns need");
	/*
	 * A node has the array's length and its number of nulls. Nulls are found by the bitmap instead.
	 */
	items = little_endian(batch->nodes.bytes.bytes + batch->nodes.at +
							  (size_t) NODE_BYTES * batch->node,
						  8);
	batch->node++;
	if (items > ARROW_LENGTH_MAX)
		return batch_fail(batch, "an array is too long");
	*length = (uint32_t) items;
	return true;
}

/* Loads a buffer of at least count items of width bytes. */
static bool
load_items(ArrowBatch *batch, uint32_t count, uint32_t width, Span *buffer)
{
	if (!arrow_buffer_next(batch, buffer))
		return false;
	/*
	 * Padding may make a buffer longer. Dividing cannot overflow, unlike a multiplication of
	 * numbers from the request.
	 */
	return buffer->length / width >= count ||
		   batch_fail(batch, "a buffer is shorter than its array needs");
}

static bool
load_bits(ArrowBatch *batch, uint32_t count, Span *buffer)
{
	return load_items(batch, (uint32_t) (((uint64_t) count + 7) / 8), 1, buffer);
}

static bool
load_validity(ArrowBatch *batch, ArrowArray *array)
{
	if (!arrow_buffer_next(batch, &array->validity))
		return false;
	/* Arrow's writers leave the bitmap out if no item is null. */
	return array->validity.length == 0 || array->validity.length >= (array->length + 7) / 8 ||
		   batch_fail(batch, "the validity bitmap is shorter than its array");
}

/* Loads offsets. An array without items may have no offsets. */
static bool
load_offsets(ArrowBatch *batch, ArrowArray *array)
{
	/* Arrow's specification allows both: no offsets at all, or the single offset 0. */
	return load_items(batch, array->length > 0 ? array->length + 1 : 0, sizeof(int32_t),
					  &array->offsets);
}

/* Loads the buffers to which the views of a column refer. */
static bool
load_views(ArrowBatch *batch, ArrowArray *array)
{
	const FlatVector *variadic = &batch->variadic;
	Span *views;
	uint64_t count = 0;

	/*
	 * The message lists the number of buffers for each view column, in the order of columns. A
	 * message without the list has no such buffers.
	 */
	if (batch->views < variadic->count)
		count =
			little_endian(variadic->bytes.bytes + variadic->at + sizeof(int64_t) * batch->views++,
						  8);
	if (count > VIEWS_MAX)
		return batch_fail(batch, "a column has too many buffers");
	/* room for at least one, so that NULL means out of memory */
	views = arena_alloc(batch->arena, ((size_t) count + 1) * sizeof(Span));
	if (views == NULL)
		return batch_fail(batch, NULL);
	array->views = views;
	array->view_count = (uint32_t) count;
	for (uint64_t i = 0; i < count; i++)
		if (!arrow_buffer_next(batch, &views[i]))
			return false;
	return true;
}

/* Checks that the ends of runs ascend, and that the last one covers the array. */
static bool
check_runs(ArrowBatch *batch, const ArrowArray *array)
{
	const ArrowArray *ends = &array->children[0];
	int64_t before = 0;

	/*
	 * find_run() relies on each check here: it returns the number of a run, which is an index into
	 * the values.
	 */
	if (ends->length > array->children[1].length)
		return batch_fail(batch, "a column has more runs than values");
	for (uint32_t i = 0; i < ends->length; i++)
	{
		int64_t end = run_end(ends, i);

		if (end <= before || end > ARROW_LENGTH_MAX)
			return batch_fail(batch, "the ends of a column's runs do not ascend");
		before = end;
	}
	return before >= array->length ||
		   batch_fail(batch, "the runs of a column end before the column");
}

/* Loads the children of an array, which follow it in the batch. */
static bool
load_children(ArrowBatch *batch, ArrowArray *array)
{
	const ArrowField *field = array->field;

	/* room for at least one, so that NULL means out of memory */
	array->children = arena_alloc(batch->arena, (field->child_count + 1) * sizeof(ArrowArray));
	if (array->children == NULL)
		return batch_fail(batch, NULL);
	for (uint32_t i = 0; i < field->child_count; i++)
	{
		if (!arrow_array_load(batch, &field->children[i], false, &array->children[i]))
			return false;
		/*
		 * Item i of a struct is item i of each field. The children of lists are of any length,
		 * because arrow_list() checks each range.
		 */
		if (field->type == ARROW_STRUCT && array->children[i].length < array->length)
			return batch_fail(batch, "a field of a struct is shorter than the struct");
	}
	return field->type != ARROW_RUN_END || check_runs(batch, array);
}

/* Loads the buffers and children that the type of an array has. */
static bool
load_values(ArrowBatch *batch, ArrowArray *array)
{
	switch (array->field->type)
	{
		case ARROW_INT:
		case ARROW_TIMESTAMP:
		case ARROW_FIXED_BINARY:
			return load_items(batch, array->length, array->field->width, &array->data);
		case ARROW_BOOL:
			return load_bits(batch, array->length, &array->data);
		case ARROW_BINARY:
		case ARROW_UTF8:
			return load_offsets(batch, array) && arrow_buffer_next(batch, &array->data);
		case ARROW_BINARY_VIEW:
		case ARROW_UTF8_VIEW:
			return load_items(batch, array->length, VIEW_BYTES, &array->data) &&
				   load_views(batch, array);
		case ARROW_LIST:
			return load_offsets(batch, array) && load_children(batch, array);
		case ARROW_LIST_VIEW:
			return load_items(batch, array->length, sizeof(int32_t), &array->offsets) &&
				   load_items(batch, array->length, sizeof(int32_t), &array->sizes) &&
				   load_children(batch, array);
		case ARROW_STRUCT:
		case ARROW_RUN_END:
			break;
	}
	return load_children(batch, array);
}

/* The recursion is at most ARROW_DEPTH_MAX deep, because fields are. */
bool
arrow_array_load(ArrowBatch *batch, const ArrowField *field, bool is_values, ArrowArray *array)
{
	*array = (ArrowArray){ .field = field, .is_indexes = field->is_encoded && !is_values };
	/*
	 * Arrays whose type is run ends have no validity bitmap; indexes into a dictionary have one,
	 * whatever the type of the dictionary's values.
	 */
	if (!next_node(batch, &array->length) ||
		((array->is_indexes || field->type != ARROW_RUN_END) && !load_validity(batch, array)))
		return false;
	if (!array->is_indexes)
		return load_values(batch, array);
	/*
	 * Its values may come in a later message or be replaced, so the array refers to the dictionary,
	 * not to the values.
	 */
	array->dictionary = &batch->schema->dictionaries[field->dictionary];
	return load_items(batch, array->length, field->index_width, &array->data);
}

/* --- items --- */

static bool
is_valid(const ArrowArray *array, uint32_t item)
{
	return array->validity.length == 0 || (array->validity.bytes[item / 8] >> item % 8 & 1) != 0;
}

/*
 * Finds the first run that ends after an item. Tries the run found last and the next one first,
 * because items are mostly read in order.
 */
static uint32_t
find_run(ArrowArray *array, uint32_t item)
{
	const ArrowArray *ends = &array->children[0];
	uint32_t low = 0;
	uint32_t high = ends->length;

	/* The run found last is usable if it does not begin after the item. */
	if (array->run < high && (array->run == 0 || run_end(ends, array->run - 1) <= item))
	{
		low = array->run;
		if (run_end(ends, low) > item)
			return low;
		if (low + 1 < high && run_end(ends, low + 1) > item)
			return low + 1;
	}
	/* otherwise binary search, at most from the run found last on */
	while (low < high)
	{
		uint32_t middle = low + (high - low) / 2;

		if (run_end(ends, middle) > item)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

bool
arrow_place(ArrowArray *array, uint32_t item, ArrowPlace *place)
{
	/*
	 * Ends after a few steps: fields are nested at most ARROW_DEPTH_MAX deep, and the values of a
	 * dictionary are neither runs nor indexes (has_children_of_type()).
	 */
	for (;;)
	{
		int64_t index;

		if (item >= array->length)
			return false;
		*place = (ArrowPlace){ array, item, !is_valid(array, item) };
		if (place->is_null)
			return true;
		if (array->is_indexes)
		{
			index = array_number_at(array->data, array->field->index_width,
									array->field->index_signed, item);
			array = array->dictionary->values;
			/* an index of 64 bits without a sign may be negative here, and is out of range, too */
			if (array == NULL || index < 0 || index >= array->length)
				return false;
			item = (uint32_t) index;
		}
		else if (array->field->type == ARROW_RUN_END)
		{
			array->run = find_run(array, item);
			item = array->run;
			array = &array->children[1];
		}
		else
			return true;
	}
}

int64_t
arrow_integer(const ArrowPlace *place)
{
	const ArrowArray *array = place->array;

	if (place->is_null)
		return 0;
	if (array->field->type == ARROW_BOOL)
		return array->data.bytes[place->item / 8] >> place->item % 8 & 1;
	if (array->field->type != ARROW_INT && array->field->type != ARROW_TIMESTAMP)
		return 0;
	return array_number_at(array->data, array->field->width, array->field->is_signed, place->item);
}

static bool
part_of(Span bytes, int64_t at, int64_t length, Span *part)
{
	/*
	 * at and length come from the request; the subtraction cannot wrap, because at is within the
	 * bytes
	 */
	if (at < 0 || length < 0 || (uint64_t) at > bytes.length ||
		(uint64_t) length > bytes.length - (uint64_t) at)
		return false;
	*part = (Span){ bytes.bytes + at, (size_t) length };
	return true;
}

/* Reads a view: it contains a short text, and refers to a long one by buffer and offset. */
static bool
view_text(const ArrowPlace *place, Span *text)
{
	const ArrowArray *array = place->array;
	const uint8_t *view = array->data.bytes + (size_t) VIEW_BYTES * place->item;
	/*
	 * A view of a long text: length, first 4 bytes of the text, buffer, offset; 4 bytes each. A
	 * short text follows its length.
	 */
	uint32_t length = (uint32_t) little_endian(view, 4);
	uint32_t buffer = (uint32_t) little_endian(view + 8, 4);

	if (length <= VIEW_INLINE)
	{
		*text = (Span){ view + 4, length };
		return true;
	}
	return buffer < array->view_count &&
		   part_of(array->views[buffer], (int64_t) little_endian(view + 12, 4), length, text);
}

bool
arrow_text(const ArrowPlace *place, Span *text)
{
	const ArrowArray *array = place->array;
	uint32_t width = array->field->width;
	int64_t first;

	*text = (Span){ (const uint8_t *) "", 0 };
	if (place->is_null)
		return true;
	switch (array->field->type)
	{
		case ARROW_BINARY:
		case ARROW_UTF8:
			/* load_offsets() has checked that item + 1 has an offset */
			first = array_number_at(array->offsets, sizeof(int32_t), true, place->item);
			return part_of(array->data, first,
						   array_number_at(array->offsets, sizeof(int32_t), true, place->item + 1) -
							   first,
						   text);
		case ARROW_BINARY_VIEW:
		case ARROW_UTF8_VIEW:
			return view_text(place, text);
		case ARROW_FIXED_BINARY:
			return part_of(array->data, (int64_t) width * place->item, width, text);
		default:
			return false;
	}
}

bool
arrow_list(const ArrowPlace *place, uint32_t *first, uint32_t *count)
{
	const ArrowArray *array = place->array;
	int64_t at;
	int64_t items;

	*first = *count = 0;
	if (place->is_null)
		return true;
	if (!arrow_is_list(array))
		return false;
	at = array_number_at(array->offsets, sizeof(int32_t), true, place->item);
	/*
	 * A list has the offset of the next list as its end. A list view has its size, so that ranges
	 * may overlap.
	 */
	items = array->field->type == ARROW_LIST_VIEW
				? array_number_at(array->sizes, sizeof(int32_t), true, place->item)
				: array_number_at(array->offsets, sizeof(int32_t), true, place->item + 1) - at;
	if (at < 0 || items < 0 || at + items > array->children[0].length)
		return false;
	*first = (uint32_t) at;
	*count = (uint32_t) items;
	return true;
}

/* --- types --- */

ArrowArray *
arrow_child(const ArrowArray *array, const char *name)
{
	/* the fields of a dictionary's structs are those of its values, not of the indexes */
	if (array->is_indexes || array->field->type != ARROW_STRUCT)
		return NULL;
	for (uint32_t i = 0; i < array->field->child_count; i++)
		if (arrow_field_is(&array->field->children[i], name))
			return &array->children[i];
	return NULL;
}

const ArrowField *
arrow_value_field(const ArrowArray *array)
{
	const ArrowField *field = array->field;

	while (field->type == ARROW_RUN_END)
		field = &field->children[1];
	return field;
}

bool
arrow_is_text(const ArrowArray *array)
{
	switch (arrow_value_field(array)->type)
	{
		case ARROW_BINARY:
		case ARROW_UTF8:
		case ARROW_BINARY_VIEW:
		case ARROW_UTF8_VIEW:
		case ARROW_FIXED_BINARY:
			return true;
		default:
			return false;
	}
}

bool
arrow_is_integer(const ArrowArray *array)
{
	ArrowType type = arrow_value_field(array)->type;

	return type == ARROW_INT || type == ARROW_TIMESTAMP || type == ARROW_BOOL;
}

bool
arrow_is_list(const ArrowArray *array)
{
	ArrowType type = arrow_value_field(array)->type;

	return type == ARROW_LIST || type == ARROW_LIST_VIEW;
}
