/*
 * request.h
 *		Input and result of decoding a request of a Pyroscope client, and the step that all of
 *		them share. Knows no network.
 */
#ifndef COLLECTOR_PYROSCOPE_REQUEST_H
#define COLLECTOR_PYROSCOPE_REQUEST_H

#include "pyroscope/dialect.h"

/*
 * SHA-256 of each part of a request: sender, name, its labels, numbers, profile, its types, labels
 * of a recording.
 */
#define PYROSCOPE_DIGEST_BYTES	 32
#define PYROSCOPE_IDENTITY_BYTES (7 * PYROSCOPE_DIGEST_BYTES)

typedef struct PyroscopeRequest
{
	Span body;				   /* unpacked */
	PfsText query;			   /* of /ingest: the query string */
	const char *content_type;  /* of /ingest */
	const char *tenant;		   /* the label tenant */
	const char *sender;		   /* of /ingest: id of a client that repeats requests; "": another */
	const char *scope;		   /* a tenant that the client claims; "": none */
	const AttributeRule *rule; /* which labels are dropped */
	bool keep_times;		   /* a row for each sample's time, not one for the profile's window */
	DecodeLimits limits;
} PyroscopeRequest;

typedef struct PyroscopeResult
{
	uint64_t profiles; /* number of profiles in the batch */
	uint64_t rejected_profiles;
	uint64_t samples;		 /* number of rows */
	uint64_t skipped_labels; /* labels that were left out or cut because of a limit */
	bool has_times;			 /* no profile was stored at the time of its arrival */
	bool has_identity;		 /* of /ingest: equal requests are repetitions */
	uint8_t identity[PYROSCOPE_IDENTITY_BYTES];
	char message[256]; /* reason of the refusal, or of the first rejected profile */
} PyroscopeResult;

/* Sets the reason of a refusal unless there is one, and returns DECODE_INVALID. */
DecodeEnd pyroscope_refuse(PyroscopeResult *result, const char *text);

/*
 * Decodes a profile into the batch: all of it or, except for DECODE_OK, nothing. DECODE_INVALID
 * comes with a message.
 */
DecodeEnd pyroscope_decode_profile(const PyroscopeRequest *request, PyroscopeDialect *dialect,
								   ProfileFormat format, Span bytes, Batch *batch,
								   PyroscopeResult *result);

#endif
