/*
 * select_request.h
 *		The fields of the querier's requests. Each message has some of them, under numbers of its
 *		own.
 */
#ifndef COLLECTOR_SERVE_SELECT_REQUEST_H
#define COLLECTOR_SERVE_SELECT_REQUEST_H

#include "otlp/message.h"

#define SELECT_TEXTS_MAX  64  /* matchers, labels */
#define SELECT_FIELDS_MAX 12  /* numbers of a message, with 0 */
#define SELECT_CALLS_MAX  512 /* frames of a call site */

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
	SELECT_UNSUPPORTED /* an error if it is there */
} SelectField;

/* The meaning of each number of a message. */
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

/* All texts are parts of the message. */
typedef struct SelectRequest
{
	Span type;
	Span selector;
	int64_t start_ms;
	int64_t end_ms;
	int64_t max_nodes;			  /* 0: default */
	uint64_t format;			  /* SelectFormat, or unknown */
	Span calls[SELECT_CALLS_MAX]; /* functions of a call site, root first */
	size_t call_count;
	SelectTexts traces;
	SelectTexts spans;
	SelectTexts labels; /* group_by, label_names */
	SelectTexts matchers;
	Span name;
	double step_s;
	bool is_average;
	int64_t limit; /* 0: none */
} SelectRequest;

/*
 * Reads a message. Returns NULL, or the reason of a refusal, a static text; *is_unsupported says
 * whether the request is valid but not implemented here.
 */
const char *select_request_read(SelectRequest *request, Span message, const SelectFields fields,
								bool *is_unsupported);

#endif
