/*
 * sample_types.h
 *		Names of profile types as Pyroscope forms them, and which types are levels instead of
 *		deltas.
 */
#ifndef COLLECTOR_PYROSCOPE_SAMPLE_TYPES_H
#define COLLECTOR_PYROSCOPE_SAMPLE_TYPES_H

#include "formats/series_names.h"
#include "otlp/message.h"

#define SAMPLE_TYPES_MAX 64

/* Names that a client displays for sample types: the part sample_type_config of a request. */
typedef struct SampleTypes
{
	uint32_t count;
	struct
	{
		PfsText type;
		PfsText display_name;
	} items[SAMPLE_TYPES_MAX];
	PfsBudget budget;
	PfsProfile texts; /* owns the texts that contain escapes */
} SampleTypes;

/*
 * Reads JSON like {"samples": {"display-name": "cpu"}}, whose texts must outlive the result; an
 * empty span has no names. Returns NULL, or the reason of a failure. Call sample_types_free() in
 * either case.
 */
const char *sample_types_read(SampleTypes *types, Span json, PfsAllocator allocator);
void sample_types_free(SampleTypes *types);

/* Returns the first part of the types of a pprof profile that is sent without __name__. */
PfsText pprof_type_name(const PfsProfile *profile, const SampleTypes *types);

/* Returns the first part of a type of a viewer's file (speedscope). */
PfsText viewer_type_name(PfsText type);

/*
 * Changes the parts of the name of a type of a flight recording that was pushed, which have the
 * names of the recording's reader, to Pyroscope's.
 */
void recording_name_type(PfsTypeParts *parts);

/*
 * Changes the parts of the name of a type of Datadog's tracers to those that Pyroscope's clients
 * have for it. Other types keep theirs: gpu-time is gpu:gpu-time.
 */
void datadog_name_type(PfsTypeParts *parts);

/* Returns true for a type whose values are a state at a time, which do not add up. */
bool is_level_type(PfsText type);

/* The profile type of a text format, by the suffix of the application's name. */
typedef struct TextType
{
	const char *suffix; /* behind the last dot */
	const char *name;
	const char *type;
	const char *unit;
	bool is_time; /* values are numbers of samples in time */
} TextType;

/*
 * Returns the type by the suffix of *app, which is removed; without a dot it is that of CPU time.
 * NULL: the suffix is not known.
 */
const TextType *text_type_of(PfsText *app);

#endif
