/*
 * pyroscope_dialect.h
 *		Conventions of Pyroscope's clients for the profiles that they send: a DecodeDialect.
 *
 * Labels of samples become labels of the series, except numbers and labels that the series has; ids
 * of spans and traces become ids of samples. Levels (memory in use, goroutines) are never deltas,
 * whatever the profile's duration and period.
 */
#ifndef COLLECTOR_PYROSCOPE_DIALECT_H
#define COLLECTOR_PYROSCOPE_DIALECT_H

#include "decode/request.h"
#include "pyroscope/jfr_labels.h"
#include "pyroscope/sample_types.h"
#include "pyroscope/series.h"

typedef enum DialectKind
{
	DIALECT_PPROF,
	DIALECT_TEXT,	   /* folded stacks, whose type is in the application's name */
	DIALECT_VIEWER,	   /* speedscope */
	DIALECT_RECORDING, /* Java's flight recordings */
	DIALECT_DATADOG	   /* pprof of Datadog's tracers */
} DialectKind;

typedef struct PyroscopeDialect
{
	DialectKind kind;
	const PyroscopeSeries *series;
	const AttributeRule *rule; /* which labels of samples are dropped */
	const SampleTypes *types;  /* names for profiles without __name__ */
	const TextType *text_type; /* type of the text, for DIALECT_TEXT only */
	const JfrLabels *contexts; /* labels by context, for DIALECT_RECORDING only */
	int64_t sample_rate; /* samples per second, for DIALECT_TEXT only; 0: values are not scaled */
	bool has_from;
	int64_t from_us;  /* time for profiles that have none */
	bool keeps_times; /* samples keep their own times */
	bool has_time;	  /* result: the profile or the request contains the time */
	uint64_t skipped; /* result: labels of samples that were left out because of a limit */
	char ids[2][PFS_TRACE_BYTES * 2 + 1]; /* the series' ids as texts: trace, span */
} PyroscopeDialect;

/* Returns the functions for a request of decode. */
DecodeDialect dialect_functions(PyroscopeDialect *dialect);

#endif
