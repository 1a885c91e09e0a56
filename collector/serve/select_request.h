/*
 * select_request.h
 *		The fields of the querier's requests. Each message has some of these fields, with its own
 *		field numbers.
 */
#ifndef COLLECTOR_SERVE_SELECT_REQUEST_H
#define COLLECTOR_SERVE_SELECT_REQUEST_H

#include "otlp/message.h"

#define SELECT_TEXTS_MAX  64  /* limit of matchers, and of labels */
#define SELECT_FIELDS_MAX 12  /* size of a table indexed by field numbers of a message */
#define SELECT_CALLS_MAX  512 /* limit of the frames of a call site */

typedef enum SelectField
{
	SELECT_NONE, /* unknown fields are skipped */
	SELECT_TYPE,
	SELECT_SELECTOR,
	SELECT_START,
	SELECT_END,
	SELECT_MAX_NODES,
	SELECT_FORMAT,
	SELECT_STACKS,
	SELECT_TRACE,
	SELECT_SPAN,
	SELECT_GROUP_BY,
	SELECT_STEP,
	SELECT_AGGREGATION,
	SELECT_LIMIT,
	SELECT_MATCHER,
	SELECT_NAME,
	SELECT_EXEMPLARS,
	SELECT_UNSUPPORTED /* an error if the request has this field */
} SelectField;

/* The meaning of each field number of a message. */
typedef SelectField SelectFields[SELECT_FIELDS_MAX];

typedef enum SelectFormat
{
	FORMAT_DEFAULT,
	FORMAT_FLAMEGRAPH,
	FORMAT_TREE,
	FORMAT_DOT,
	FORMAT_PPROF
} SelectFormat;

typedef struct SelectTexts
{
	Span items[SELECT_TEXTS_MAX];
	size_t count;
} SelectTexts;

/* The fields of a request. All texts are parts of the message. */
typedef struct SelectRequest
{
	Span type;
	Span selector;
	int64_t start_ms;
	int64_t end_ms;
	int64_t max_nodes;			  /* 0: the default */
	uint64_t format;			  /* a SelectFormat, or an unknown number */
	Span calls[SELECT_CALLS_MAX]; /* functions of a call site, root first */
	size_t call_count;
	SelectTexts traces;
	SelectTexts spans;
	SelectTexts labels; /* group_by, label_names */
	SelectTexts matchers;
	Span name;
	double step_s;
	bool is_average;
	int64_t limit; /* 0: no limit */
} SelectRequest;

/*
 * Reads a message. Returns NULL; on failure a literal, the reason of the refusal. *is_unsupported
 * then tells apart a valid request that is not implemented here.
 */
const char *select_request_read(SelectRequest *request, Span message, const SelectFields fields,
								bool *is_unsupported);

#endif
