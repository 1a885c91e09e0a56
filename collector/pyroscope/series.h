/*
 * series.h
 *		Labels that a Pyroscope client sends for a series, as labels of ours.
 *
 * Names get "_" in place of other characters than letters, digits and "_". Names that begin with
 * "__" are the protocol's own and are left out, except __name__, the first part of the profile
 * type. Labels with an id of a span or a trace become ids of samples. If a label is sent twice, the
 * last value counts. If two keys become one name, their labels get name and name_2.
 */
#ifndef COLLECTOR_PYROSCOPE_SERIES_H
#define COLLECTOR_PYROSCOPE_SERIES_H

#include "otlp/labels.h"

#define PROFILE_ID "profile_id" /* the SDKs' name of a span's id */

/* The label tenant, which the receiver sets, comes first, even if its value is empty. */
#define SERIES_FIXED 1

typedef struct PyroscopeSeries
{
	AttributeLabels set;   /* used while labels are added */
	const char *type_name; /* NULL: not sent */
	const char *tenant;
	BatchLabel labels[SERIES_FIXED + BATCH_MAX_LABELS]; /* valid after series_end() */
	size_t label_count;
	PfsTraceIds ids;
	uint64_t skipped; /* labels that were left out or cut because of a limit */
} PyroscopeSeries;

/* Begins a set of labels. scope is a tenant that the client claims to be; "": none. */
void series_begin(PyroscopeSeries *series, Arena *arena, const char *tenant, const char *scope);

/* Adds a label, unless the rule drops it. Texts are copied into the arena. */
void series_put(PyroscopeSeries *series, Arena *arena, const AttributeRule *rule, PfsText key,
				PfsText value);

/* Adds a label unless the set has one of that name. */
void series_put_default(PyroscopeSeries *series, Arena *arena, const char *name, PfsText value);

/* Makes the labels, with unique names. Must be called once, after all labels were added. */
void series_end(PyroscopeSeries *series, Arena *arena);

/* Returns true for keys of the protocol itself, which are not stored as labels. */
bool is_protocol_key(PfsText key);

/* Returns true if the text is the id of a span: 16 hexadecimal digits, not all 0. */
bool is_span_id(PfsText text);

#endif
