/*
 * samples.h
 *		Adds the rows of a record batch of samples to a batch.
 */
#ifndef COLLECTOR_ARROW_SAMPLES_H
#define COLLECTOR_ARROW_SAMPLES_H

#include "arrow/request.h"
#include "arrow/stack_ids.h"
#include "arrow/stacks.h"
#include "arrow/stream.h"

#define ARROW_TYPE_PARTS 5 /* components of a profile type's name */
#define TIME_TOO_FAR	 "the time of a sample is too far from now"

/* A column of labels. */
typedef struct LabelColumn
{
	ArrowArray *array;
	PfsText key;
	const char *name; /* name of the label made from the key */
} LabelColumn;

/* Columns of the record batch; NULL: it has no column with this name. */
typedef struct SampleColumns
{
	ArrowArray *stacks;
	ArrowArray *ids; /* ids of stacks */
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

/* Finds the columns and checks their types. Label columns that the rule drops are left out. */
bool sample_columns_open(SampleColumns *columns, ArrowWork *work, const ArrowStream *stream,
						 const AttributeRule *rule);

/* State that all record batches of a request share. */
typedef struct SampleReader
{
	const ArrowRequest *request;
	ArrowResult *result;
	ArrowWork *work;
	const StackIds *ids; /* stacks of the first version */
	int64_t origin_us;	 /* start of the first window: the oldest time of the request */
} SampleReader;

/* Lowers *oldest_us to the oldest time of a record batch. */
bool sample_times_look(ArrowWork *work, const SampleColumns *columns, uint32_t rows,
					   int64_t *oldest_us);

/* Adds all rows of a record batch. */
bool sample_rows_read(SampleReader *reader, const ArrowStream *stream, SampleColumns *columns);

#endif
