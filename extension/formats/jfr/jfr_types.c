/*
 * jfr_types.c
 *		Reads the metadata, which are a tree of elements: classes, which contain fields. Other
 *		elements are skipped.
 */
#include "formats/jfr/jfr_types.h"

#include <string.h>

#include "formats/lines.h"

/* Limit of the depth of nested elements, and of nested values. */
#define DEPTH_MAX 16

/* The attributes of an element that are used. */
typedef struct Attributes
{
	PfsText name;
	PfsText id;
	PfsText class_id;
	bool in_pool;
	bool is_array;
} Attributes;

static PfsReadStatus
types_read_string(PfsJfrBytes *in, const PfsJfrTypes *types, PfsText *text)
{
	uint64_t index;
	PfsReadStatus status = pfs_jfr_number(in, &index);

	if (status != PFS_READ_OK)
		return status;
	if (index >= types->string_count)
		return pfs_jfr_fail(in, "string index is beyond the table");
	*text = types->strings[index];
	return PFS_READ_OK;
}

static PfsReadStatus
read_strings(PfsJfrBytes *in, PfsJfrTypes *types)
{
	uint64_t count;
	PfsReadStatus status = pfs_jfr_number(in, &count);

	/* Each text takes at least one byte and one step, so a hostile count ends with an error. */
	for (uint64_t i = 0; status == PFS_READ_OK && i < count; i++)
	{
		PfsJfrText text;

		status = pfs_jfr_text(in, &text);
		if (status != PFS_READ_OK)
			return status;
		if (!PFS_GROW(in->profile->budget, types->strings, types->string_count))
			return pfs_jfr_refused(in);
		/* Texts that refer to a pool are empty here: pools are read by these types. */
		types->strings[types->string_count++] = text.text;
	}
	return status;
}

/* Reads the attributes of an element; those that are not used are skipped. */
static PfsReadStatus
read_attributes(PfsJfrBytes *in, const PfsJfrTypes *types, Attributes *attributes)
{
	uint64_t count;
	PfsReadStatus status = pfs_jfr_number(in, &count);

	/* Attributes come as pairs of strings, in any order. */
	*attributes = (Attributes){ .name = { "", 0 } };
	for (uint64_t i = 0; status == PFS_READ_OK && i < count; i++)
	{
		PfsText key;
		PfsText value;

		status = types_read_string(in, types, &key);
		if (status == PFS_READ_OK)
			status = types_read_string(in, types, &value);
		if (status != PFS_READ_OK)
			return status;
		if (pfs_text_equals(key, "name"))
			attributes->name = value;
		else if (pfs_text_equals(key, "id"))
			attributes->id = value;
		else if (pfs_text_equals(key, "class"))
			attributes->class_id = value;
		else if (pfs_text_equals(key, "constantPool"))
			attributes->in_pool = pfs_text_equals(value, "true");
		else if (pfs_text_equals(key, "dimension"))
			attributes->is_array = !pfs_text_equals(value, "0");
	}
	return status;
}

static PfsReadStatus
get_id(const PfsJfrBytes *in, PfsText text, uint64_t *id)
{
	int64_t number;

	if (pfs_parse_int64(text, &number) != PFS_READ_OK || number < 0)
		return pfs_jfr_fail(in, "invalid id of a class");
	*id = (uint64_t) number;
	return PFS_READ_OK;
}

static PfsJfrForm
form_of(PfsText name)
{
	static const struct
	{
		const char *name;
		/* The form determines how many bytes a value takes in the file. */
		PfsJfrForm form;
	} forms[] = { { "boolean", PFS_JFR_BYTE },		   { "byte", PFS_JFR_BYTE },
				  { "char", PFS_JFR_NUMBER },		   { "short", PFS_JFR_NUMBER },
				  { "int", PFS_JFR_NUMBER },		   { "long", PFS_JFR_NUMBER },
				  { "float", PFS_JFR_4_BYTES },		   { "double", PFS_JFR_8_BYTES },
				  { "java.lang.String", PFS_JFR_TEXT } };

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (pfs_text_equals(name, forms[i].name))
			return forms[i].form;
	return PFS_JFR_FIELDS;
}

static PfsReadStatus
add_class(PfsJfrBytes *in, PfsJfrTypes *types, const Attributes *attributes)
{
	uint64_t id = 0;
	PfsReadStatus status = get_id(in, attributes->id, &id);

	if (status != PFS_READ_OK)
		return status;
	/* Classes and ids are parallel arrays, so the index of an id is the index of its class. */
	if (!PFS_GROW(in->profile->budget, types->classes, types->class_count) ||
		!pfs_id_add(&types->ids, in->profile->budget, id))
		return pfs_jfr_refused(in);
	types->classes[types->class_count++] = (PfsJfrClass){ .name = attributes->name,
														  .form = form_of(attributes->name),
														  .first_field = types->field_count };
	return PFS_READ_OK;
}

/* Adds a field to the last class. */
static PfsReadStatus
add_field(PfsJfrBytes *in, PfsJfrTypes *types, const Attributes *attributes)
{
	PfsJfrField field = { .name = attributes->name,
						  .in_pool = attributes->in_pool,
						  .is_array = attributes->is_array };

	/* Fields are children of their class, so they follow it before the next class. */
	if (types->class_count == 0)
		return pfs_jfr_fail(in, "field belongs to no class");
	/* The class of a field may be defined later, so it is looked up when all classes are known. */
	if (get_id(in, attributes->class_id, &field.class_id) != PFS_READ_OK)
		return PFS_READ_MALFORMED;
	if (!PFS_GROW(in->profile->budget, types->fields, types->field_count))
		return pfs_jfr_refused(in);
	types->fields[types->field_count++] = field;
	types->classes[types->class_count - 1].field_count++;
	return PFS_READ_OK;
}

/* Reads an element of the metadata with its children, which must be of limited depth. */
static PfsReadStatus
read_element(PfsJfrBytes *in, PfsJfrTypes *types, int depth)
{
	PfsText kind;
	Attributes attributes;
	uint64_t children;
	PfsReadStatus status = pfs_jfr_step(in);

	if (status == PFS_READ_OK)
		status = types_read_string(in, types, &kind);
	if (status == PFS_READ_OK)
		status = read_attributes(in, types, &attributes);
	if (status == PFS_READ_OK && pfs_text_equals(kind, "class"))
		status = add_class(in, types, &attributes);
	else if (status == PFS_READ_OK && pfs_text_equals(kind, "field"))
		status = add_field(in, types, &attributes);
	if (status == PFS_READ_OK)
		status = pfs_jfr_number(in, &children);
	/* Recursion is limited because the file determines its depth. */
	if (status == PFS_READ_OK && children > 0 && depth == DEPTH_MAX)
		status = pfs_jfr_fail(in, "metadata is nested too deeply");
	for (uint64_t i = 0; status == PFS_READ_OK && i < children; i++)
		status = read_element(in, types, depth + 1);
	return status;
}

PfsReadStatus
pfs_jfr_types_read(PfsJfrBytes *in, PfsJfrTypes *types)
{
	uint64_t head[5]; /* size, type, start, duration, id */
	PfsReadStatus status = PFS_READ_OK;

	for (int i = 0; status == PFS_READ_OK && i < 5; i++)
		status = pfs_jfr_number(in, &head[i]);
	if (status == PFS_READ_OK)
		status = read_strings(in, types);
	if (status == PFS_READ_OK)
		status = read_element(in, types, 0);
	/* pfs_ids_finish() prepares the search by which fields find their classes. */
	if (status == PFS_READ_OK && !pfs_ids_finish(&types->ids))
		status = pfs_jfr_fail(in, "two classes have the same id");
	for (uint32_t i = 0; status == PFS_READ_OK && i < types->field_count; i++)
		types->fields[i].class_index = pfs_id_find(&types->ids, types->fields[i].class_id);
	return status;
}

void
pfs_jfr_types_free(PfsJfrTypes *types, PfsBudget *budget)
{
	void *arrays[] = { types->classes, types->fields, types->ids.entries, types->strings };

	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		if (arrays[i] != NULL)
			budget->allocator.realloc(budget->allocator.context, arrays[i], 0);
	*types = (PfsJfrTypes){ .classes = NULL };
}

uint32_t
pfs_jfr_class_named(const PfsJfrTypes *types, const char *name)
{
	for (uint32_t i = 0; i < types->class_count; i++)
		if (pfs_text_equals(types->classes[i].name, name))
			return i;
	return PFS_NONE;
}

static PfsReadStatus skip_field(PfsJfrBytes *in, const PfsJfrTypes *types, const PfsJfrField *field,
								int depth);

/*
 * Skips a value by the form of its class. Classes may refer to each other, so the depth is limited.
 */
static PfsReadStatus
skip_value(PfsJfrBytes *in, const PfsJfrTypes *types, uint32_t class_index, int depth)
{
	const PfsJfrClass *class;
	PfsReadStatus status = pfs_jfr_step(in);
	uint64_t number;

	if (status != PFS_READ_OK)
		return status;
	/*
	 * A class that the metadata lacks has an unknown length, so the position after the value is
	 * unknown, too.
	 */
	if (class_index == PFS_NONE)
		return pfs_jfr_fail(in, "value has an unknown class");
	if (depth == DEPTH_MAX)
		return pfs_jfr_fail(in, "value is nested too deeply");
	/* A number has a variable length; the other basic forms have a fixed one. */
	class = &types->classes[class_index];
	switch (class->form)
	{
		case PFS_JFR_NUMBER:
			return pfs_jfr_number(in, &number);
		case PFS_JFR_BYTE:
			return pfs_jfr_skip(in, 1);
		case PFS_JFR_4_BYTES:
			return pfs_jfr_skip(in, 4);
		case PFS_JFR_8_BYTES:
			return pfs_jfr_skip(in, 8);
		case PFS_JFR_TEXT:
			return pfs_jfr_skip_text(in);
		case PFS_JFR_FIELDS:
			break;
	}
	/* Other classes are structures: their fields follow each other. */
	for (uint32_t i = 0; status == PFS_READ_OK && i < class->field_count; i++)
		status = skip_field(in, types, &types->fields[class->first_field + i], depth + 1);
	return status;
}

static PfsReadStatus
skip_field(PfsJfrBytes *in, const PfsJfrTypes *types, const PfsJfrField *field, int depth)
{
	uint64_t count = 1;
	uint64_t key;
	PfsReadStatus status = field->is_array ? pfs_jfr_number(in, &count) : PFS_READ_OK;

	/* An array of structures is limited by the steps: even an empty structure takes one. */
	for (uint64_t i = 0; status == PFS_READ_OK && i < count; i++)
		status = field->in_pool ? pfs_jfr_number(in, &key)
								: skip_value(in, types, field->class_index, depth);
	return status;
}

PfsReadStatus
pfs_jfr_skip_field(PfsJfrBytes *in, const PfsJfrTypes *types, const PfsJfrField *field)
{
	return skip_field(in, types, field, 0);
}

PfsReadStatus
pfs_jfr_skip_value(PfsJfrBytes *in, const PfsJfrTypes *types, uint32_t class_index)
{
	return skip_value(in, types, class_index, 0);
}
