/*
 * samples.h
 *		Rows of a record batch of samples into a batch.
 */
#ifndef COLLECTOR_ARROW_SAMPLES_H
#define COLLECTOR_ARROW_SAMPLES_H

#include "arrow/request.h"
#include "arrow/stack_ids.h"
#include "arrow/stacks.h"
#include "arrow/stream.h"

#define ARROW_TYPE_PARTS 5 /* of a profile type's name */
#define TIME_TOO_FAR	 "the time of a sample is too far from now"

/* A column of labels. */
typedef struct LabelColumn
{
	ArrowArray *array;
	PfsText key;
	const char *name; /* that the key becomes */
} LabelColumn;

/* Columns of the record batch; NULL: it has none of that name. */
typedef struct SampleColumns
{
	ArrowArray *stacks;
	ArrowArray *ids; /* of stacks */
	ArrowArray *value;
	ArrowArray *time;
	ArrowArray *period;
	ArrowArray *duration;
	ArrowArray *temporality;
	ArrowArray *type_parts[ARROW_TYPE_PARTS];
	int64_t time_unit_ns;
	LabelColumn *labels;
	uint32_t label_count;
} SampleColumns;

/* Finds and checks the columns; labels that the rule leaves out are none. */
bool sample_columns_open(SampleColumns *columns, ArrowWork *work, const ArrowStream *stream,
						 const AttributeRule *rule);

/* What all record batches of a request share. */
typedef struct SampleReader
{
	const ArrowRequest *request;
	ArrowResult *result;
	ArrowWork *work;
	const StackIds *ids; /* stacks of the first version */
	int64_t origin_us;	 /* of the windows: the oldest time, which is taken */
} SampleReader;

/* The oldest time of a record batch, where it is older than that. */
bool sample_times_look(ArrowWork *work, const SampleColumns *columns, uint32_t rows,
					   int64_t *oldest_us);

/* All rows of a record batch. */
bool sample_rows_read(SampleReader *reader, const ArrowStream *stream, SampleColumns *columns);

#endif
