/*
 * request.h
 *		Input and result of decoding a request of a Pyroscope client, and the step that all such
 *		requests need. Does not use the network.
 */
#ifndef COLLECTOR_PYROSCOPE_REQUEST_H
#define COLLECTOR_PYROSCOPE_REQUEST_H

#include "pyroscope/pyroscope_dialect.h"

/*
 * SHA-256 of each part of a request: sender, name, labels, numbers, profile, types of the profile,
 * labels of a recording.
 */
#define PYROSCOPE_DIGEST_BYTES	 32
#define PYROSCOPE_IDENTITY_BYTES (7 * PYROSCOPE_DIGEST_BYTES)

typedef struct PyroscopeRequest
{
	Span body;				  /* unpacked */
	PfsText query;			  /* /ingest: the query string */
	const char *content_type; /* /ingest: the content type */
	const char *tenant;		  /* value of the label tenant */
	/* /ingest: id of the client if it is of a kind that repeats requests, otherwise "" */
	const char *sender;
	const char *scope;		   /* tenant that the client claims to be; "": none */
	const AttributeRule *rule; /* which labels are dropped */
	/* true: a row for each sample's time; false: one row for the profile's window */
	bool keep_times;
	DecodeLimits limits;
} PyroscopeRequest;

typedef struct PyroscopeResult
{
	uint64_t profiles; /* number of profiles in the batch */
	uint64_t rejected_profiles;
	uint64_t samples;		 /* number of rows */
	uint64_t skipped_labels; /* labels that were left out or cut because of a limit */
	bool has_times;			 /* every profile has a time other than that of its arrival */
	bool has_identity;		 /* /ingest: equal requests are repetitions */
	uint8_t identity[PYROSCOPE_IDENTITY_BYTES];
	char message[256]; /* reason of the refusal, or of the first rejected profile */
} PyroscopeResult;

/* Sets the reason of a refusal unless there is one, and returns DECODE_INVALID. */
DecodeEnd pyroscope_refuse(PyroscopeResult *result, const char *text);

/*
 * Decodes a profile. With DECODE_OK all of it is added to the batch, otherwise nothing.
 * DECODE_INVALID comes with a message.
 */
DecodeEnd pyroscope_decode_profile(const PyroscopeRequest *request, PyroscopeDialect *dialect,
								   ProfileFormat format, Span bytes, Batch *batch,
								   PyroscopeResult *result);

#endif
