/*
 * dictionary.h
 *		The tables of a request, taken apart once, and what they have become in the batch.
 *
 * Indexes into them come from outside: each is checked where it is used, by the functions below,
 * which return a static text that says what is wrong, or NULL.
 */
#ifndef COLLECTOR_OTLP_DICTIONARY_H
#define COLLECTOR_OTLP_DICTIONARY_H

#include "base/arena.h"
#include "base/work_limit.h"
#include "batch/batch.h"
#include "formats/trace_ids.h"
#include "otlp/labels.h"
#include "otlp/message.h"

/* Locations of a stack, and lines of a location, that are taken. */
#define OTLP_DEPTH_MAX 8192
#define OTLP_LINES_MAX 1024

/* An item that is not in the batch yet. */
#define NOT_ADDED (UINT32_MAX - 1)

typedef struct OtlpItem
{
	Span span;
	uint32_t added; /* index in the batch, or NOT_ADDED */
} OtlpItem;

typedef struct OtlpMapping
{
	Span span;
	uint64_t start; /* where the process had it */
	uint64_t limit;
	uint64_t offset;
	PfsText file;
	PfsText build_id;
	bool is_read;
	uint32_t added;
} OtlpMapping;

typedef struct OtlpStack
{
	Span span;
	const char *partition; /* where it was added last, a text of the batch; NULL: nowhere */
	uint32_t added;
} OtlpStack;

typedef struct OtlpAttribute
{
	Span span;
	bool is_read;
	bool is_kept;  /* it becomes a label */
	bool is_unfit; /* its value is not kept, or not all of it */
	PfsText key;
	const char *name; /* of the label */
	const char *value;
	NoteKind note; /* it is no label, but this */
	uint32_t text_count;
	const char *const *texts;
} OtlpAttribute;

typedef struct OtlpDictionary
{
	Batch *batch;
	Arena *arena;
	const AttributeRule *rule;
	int64_t work_left; /* steps, roughly bytes looked at, that the request may still cost */
	WorkLimit *limit;  /* not owned; NULL: none */
	bool is_late;	   /* the limit has ended the work */

	uint32_t string_count;
	PfsText *strings;
	const char **texts; /* the batch's copies, NULL: not made yet */
	uint32_t function_count;
	OtlpItem *functions;
	uint32_t location_count;
	OtlpItem *locations;
	uint32_t mapping_count;
	OtlpMapping *mappings;
	uint32_t stack_count;
	OtlpStack *stacks;
	uint32_t attribute_count;
	OtlpAttribute *attributes;
	uint32_t link_count;
	Span *links;
	uint32_t *frames; /* scratch: a stack's locations */
	BatchLine *lines; /* scratch */
} OtlpDictionary;

/* What an operation ended with: 0, or why not. */
typedef enum OtlpFault
{
	FAULT_NONE,
	FAULT_PROFILE, /* what was asked for is at fault: dictionary's error says how */
	FAULT_ROOM,	   /* the batch or the memory is full */
	FAULT_WORK	   /* it would take too long */
} OtlpFault;

/* Counts and places the items of all dictionaries of a request. */
OtlpFault dictionary_open(OtlpDictionary *dictionary, Span request, const char **error);

/* Pays for work. */
OtlpFault dictionary_work(OtlpDictionary *dictionary, size_t steps);

/* The text of an index; 0 is the empty one. */
OtlpFault dictionary_string(const OtlpDictionary *dictionary, uint64_t index, PfsText *text,
							const char **error);

/* The batch's copy of a text, without zero bytes. */
OtlpFault dictionary_own(OtlpDictionary *dictionary, PfsText text, const char **own);

/* What an attribute of the table becomes. */
OtlpFault dictionary_attribute(OtlpDictionary *dictionary, uint64_t index,
							   const OtlpAttribute **attribute, const char **error);

/* Reads an attribute of a resource or scope, which is not in the dictionary's table. */
OtlpFault dictionary_key_value(OtlpDictionary *dictionary, Span span, OtlpAttribute *attribute,
							   const char **error);

/* Comments by their indexes, one or many in a field, behind those that are there. */
OtlpFault dictionary_add_comments(OtlpDictionary *dictionary, const PfsWireField *indexes,
								  BatchNote *note, const char **error);

/* The ids of a link; 0 is none. */
OtlpFault dictionary_link(OtlpDictionary *dictionary, uint64_t index, PfsTraceIds *ids,
						  const char **error);

/* The batch's index of a stack in that partition. 0 is the empty one. */
OtlpFault dictionary_stack(OtlpDictionary *dictionary, uint64_t index, const char *partition,
						   uint32_t *added, const char **error);

/* The build ID of the mapping whose file has that name, "" where none has. */
OtlpFault dictionary_build_id(OtlpDictionary *dictionary, const char *file, PfsText *build_id,
							  const char **error);

#endif
