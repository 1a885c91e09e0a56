/*
 * sample_columns.c
 *		Finds the columns of samples by name. Labels are columns "labels.NAME" in the first version,
 *		fields of the struct "labels" in the second.
 */
#include "arrow/samples.h"

#define LABELS		  "labels"
#define LABELS_PREFIX "labels."

/*
 * Adds a label column, unless the rule drops it. Returns false if decoding has ended with an error.
 */
static bool
columns_add_label(SampleColumns *columns, ArrowWork *work, const AttributeRule *rule, Span name,
				  ArrowArray *array)
{
	PfsText key = { (const char *) name.bytes, (uint32_t) name.length };
	LabelColumn *label = &columns->labels[columns->label_count];

	if (!attribute_rule_keeps(rule, key))
		return true;
	label->array = array;
	label->key = key;
	label->name = label_name(work->arena, key);
	if (label->name == NULL)
		return work_too_large(work);
	/* labels has ARROW_FIELDS_MAX entries, and each label is a field of the schema */
	columns->label_count++;
	return work_check_type(work, array, arrow_is_text);
}

/* Finds the columns of labels, of both versions. */
static bool
columns_find_labels(SampleColumns *columns, ArrowWork *work, const ArrowStream *stream,
					const AttributeRule *rule)
{
	const size_t prefix = strlen(LABELS_PREFIX);
	ArrowArray *all = arrow_column(stream, LABELS);

	columns->labels = work_alloc(work, ARROW_FIELDS_MAX, sizeof(LabelColumn));
	if (columns->labels == NULL)
		return false;
	/* The struct must be plain, so that a row's item is its item in each field. */
	if (all != NULL && (all->is_indexes || all->field->type != ARROW_STRUCT))
		return work_fail(work, "labels are not a struct");
	/* second version: fields of the struct */
	for (uint32_t i = 0; all != NULL && i < all->field->child_count; i++)
		if (!columns_add_label(columns, work, rule, all->field->children[i].name,
							   &all->children[i]))
			return false;
	/* first version: columns labels.NAME */
	for (uint32_t i = 0; i < stream->schema.column_count; i++)
	{
		Span name = stream->schema.columns[i].name;

		if (name.length > prefix && memcmp(name.bytes, LABELS_PREFIX, prefix) == 0 &&
			!columns_add_label(columns, work, rule,
							   (Span){ name.bytes + prefix, name.length - prefix },
							   &stream->columns[i]))
			return false;
	}
	return true;
}

/*
 * Checks the types of the columns. Values must be plain integers, one for each row, so that a few
 * bytes cannot stand for many rows.
 */
static bool
check_columns(const SampleColumns *columns, ArrowWork *work)
{
	const ArrowArray *value = columns->value;

	if (value == NULL || columns->time == NULL)
		return work_fail(work, "samples lack the column of values or of times");
	/*
	 * arrow_stream_next() has checked that each column has as many items as the batch has rows, so
	 * the buffer of values bounds the rows.
	 */
	if (value->is_indexes || value->field->type != ARROW_INT)
		return work_fail(work, "values are not numbers");
	if (columns->stacks == NULL && columns->ids == NULL)
		return work_fail(work, "samples have neither stacks nor ids of stacks");
	for (unsigned i = 0; i < ARROW_TYPE_PARTS; i++)
		if (!work_check_type(work, columns->type_parts[i], arrow_is_text))
			return false;
	return work_check_type(work, columns->ids, arrow_is_text) &&
		   work_check_type(work, columns->time, arrow_is_integer) &&
		   work_check_type(work, columns->period, arrow_is_integer) &&
		   work_check_type(work, columns->duration, arrow_is_integer) &&
		   work_check_type(work, columns->temporality, arrow_is_text);
}

bool
sample_columns_open(SampleColumns *columns, ArrowWork *work, const ArrowStream *stream,
					const AttributeRule *rule)
{
	static const char *const type_parts[ARROW_TYPE_PARTS] = { "producer", "sample_type",
															  "sample_unit", "period_type",
															  "period_unit" };

	*columns = (SampleColumns){ .stacks = arrow_column(stream, "stacktrace"),
								.ids = arrow_column(stream, "stacktrace_id"),
								.value = arrow_column(stream, "value"),
								.time = arrow_column(stream, "timestamp"),
								.period = arrow_column(stream, "period"),
								.duration = arrow_column(stream, "duration"),
								.temporality = arrow_column(stream, "temporality"),
								.time_unit_ns = 1 };
	for (unsigned i = 0; i < ARROW_TYPE_PARTS; i++)
		columns->type_parts[i] = arrow_column(stream, type_parts[i]);
	if (!check_columns(columns, work))
		return false;
	/* plain integers are nanoseconds */
	if (arrow_value_field(columns->time)->type == ARROW_TIMESTAMP)
		columns->time_unit_ns = arrow_value_field(columns->time)->unit_ns;
	return columns_find_labels(columns, work, stream, rule);
}
