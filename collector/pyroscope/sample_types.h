/*
 * sample_types.h
 *		Names of profile types as Pyroscope forms them, and which types are levels, not deltas.
 */
#ifndef COLLECTOR_PYROSCOPE_SAMPLE_TYPES_H
#define COLLECTOR_PYROSCOPE_SAMPLE_TYPES_H

#include "formats/series_names.h"
#include "otlp/message.h"

#define SAMPLE_TYPES_MAX 64

/*
 * The names under which a client displays sample types: the part sample_type_config of a request.
 */
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
 * empty span contains no names. Returns NULL; on failure, the reason. Call sample_types_free() in
 * either case.
 */
const char *sample_types_read(SampleTypes *types, Span json, PfsAllocator allocator);
void sample_types_free(SampleTypes *types);

/* Returns the first part of the type's name, for a pprof profile that is sent without __name__. */
PfsText pprof_type_name(const PfsProfile *profile, const SampleTypes *types);

/* Returns the first part of the name of a type in a viewer's file (speedscope). */
PfsText viewer_type_name(PfsText type);

/*
 * Converts the name of a type in a pushed flight recording: the recording's reader has named it;
 * afterwards it has Pyroscope's name.
 */
void recording_name_type(PfsTypeParts *parts);

/*
 * Converts the name of a type of Datadog's tracers to the name that Pyroscope's clients use. Other
 * types keep their names: gpu-time is gpu:gpu-time.
 */
void datadog_name_type(PfsTypeParts *parts);

/* Returns true for a type whose values are states at one time, so they must not be added up. */
bool is_level_type(PfsText type);

/* The profile type of a text format, by the suffix of the application's name. */
typedef struct TextType
{
	const char *suffix; /* the text after the last dot */
	const char *name;
	const char *type;
	const char *unit;
	bool is_time; /* values count samples of time */
} TextType;

/*
 * Returns the type for the suffix of *app, and removes the suffix. Without a dot, the type is that
 * of CPU time. NULL: the suffix is not known.
 */
const TextType *text_type_of(PfsText *app);

#endif
