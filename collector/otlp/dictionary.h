/*
 * dictionary.h
 *		The tables of a request, indexed once, and the items of the batch to which they were
 *		converted.
 *
 * Indexes into the tables are untrusted. The functions below check each index that they use. They
 * return an OtlpFault; the dictionary's error then describes it.
 */
#ifndef COLLECTOR_OTLP_DICTIONARY_H
#define COLLECTOR_OTLP_DICTIONARY_H

#include "base/arena.h"
#include "base/work_limit.h"
#include "batch/batch.h"
#include "formats/trace_ids.h"
#include "otlp/labels.h"
#include "otlp/message.h"

/* Limits of the locations of a stack and the lines of a location. */
#define OTLP_DEPTH_MAX 8192
#define OTLP_LINES_MAX 1024

/* Marks an item that is not in the batch yet. */
#define NOT_ADDED (UINT32_MAX - 1)

typedef struct OtlpItem
{
	Span span;
	uint32_t added; /* index in the batch, or NOT_ADDED */
} OtlpItem;

typedef struct OtlpMapping
{
	Span span;
	uint64_t start; /* start address of the mapping in the process */
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
	/*
	 * Partition under which the stack was last added, a text of the batch; NULL: it was not added.
	 */
	const char *partition;
	uint32_t added;
} OtlpStack;

typedef struct OtlpAttribute
{
	Span span;
	bool is_read;
	bool is_kept;  /* the attribute becomes a label */
	bool is_unfit; /* the attribute's value was dropped or cut */
	PfsText key;
	const char *name; /* name of the label */
	const char *value;
	NoteKind note; /* the kind of note that the attribute is, if it is no label */
	uint32_t text_count;
	const char *const *texts;
} OtlpAttribute;

typedef struct OtlpDictionary
{
	Batch *batch;
	Arena *arena;
	const AttributeRule *rule;
	int64_t work_left; /* remaining steps of work for the request; one step is roughly one byte */
	WorkLimit *limit;  /* not owned; NULL: none */
	bool is_late;	   /* the limit of CPU time stopped the request */

	uint32_t string_count;
	PfsText *strings;
	const char **texts; /* copies in the batch; NULL: not made yet */
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
	uint32_t *frames; /* scratch space for the locations of a stack */
	BatchLine *lines; /* scratch space */
} OtlpDictionary;

/* Result of an operation: 0, or the kind of fault. */
typedef enum OtlpFault
{
	FAULT_NONE,
	FAULT_PROFILE, /* the item is invalid; the dictionary's error describes it */
	FAULT_ROOM,	   /* the batch or the memory has no room */
	FAULT_WORK	   /* the request exceeds its limit of work */
} OtlpFault;

/* Notes the number and positions of the items of all dictionaries of a request. */
OtlpFault dictionary_open(OtlpDictionary *dictionary, Span request, const char **error);

/* Charges steps of work. */
OtlpFault dictionary_work(OtlpDictionary *dictionary, size_t steps);

/* Returns the text with this index; index 0 is the empty text. */
OtlpFault dictionary_string(const OtlpDictionary *dictionary, uint64_t index, PfsText *text,
							const char **error);

/* Returns the batch's copy of a text, without zero bytes. */
OtlpFault dictionary_own(OtlpDictionary *dictionary, PfsText text, const char **own);

/* Determines which label or note an attribute of the table becomes. */
OtlpFault dictionary_attribute(OtlpDictionary *dictionary, uint64_t index,
							   const OtlpAttribute **attribute, const char **error);

/* Reads an attribute of a resource or scope, which is not in the dictionary's table. */
OtlpFault dictionary_key_value(OtlpDictionary *dictionary, Span span, OtlpAttribute *attribute,
							   const char **error);

/* Appends comments by their indexes, of which a field contains one or many. */
OtlpFault dictionary_add_comments(OtlpDictionary *dictionary, const PfsWireField *indexes,
								  BatchNote *note, const char **error);

/* Returns the ids of a link; index 0 means no link. */
OtlpFault dictionary_link(OtlpDictionary *dictionary, uint64_t index, PfsTraceIds *ids,
						  const char **error);

/* Returns the batch's index of a stack in the given partition; index 0 is the empty stack. */
OtlpFault dictionary_stack(OtlpDictionary *dictionary, uint64_t index, const char *partition,
						   uint32_t *added, const char **error);

/* Returns the build ID of the mapping whose file has this name; "" if it has no build ID. */
OtlpFault dictionary_build_id(OtlpDictionary *dictionary, const char *file, PfsText *build_id,
							  const char **error);

#endif
