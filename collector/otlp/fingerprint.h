/*
 * fingerprint.h
 *		Digest of all profiles of a request, by which a repeated request is recognized. It is equal
 *		for equal profiles in any layout, with any order of tables and of profiles.
 *
 * A request is not stored if another one has its digest. Therefore the digest covers everything
 * that is stored, including the names and lines of all frames, and uses SHA-256 at all levels:
 * nobody can construct other content with the digest of a known request.
 */
#ifndef COLLECTOR_OTLP_FINGERPRINT_H
#define COLLECTOR_OTLP_FINGERPRINT_H

#include <openssl/evp.h>

#include "otlp/dictionary.h"

#define FINGERPRINT_BYTES 32

/* Digests of a batch's items of one kind, by index. */
typedef struct ItemDigests
{
	struct ItemDigest *items;
	size_t count;
	size_t capacity;
} ItemDigests;

typedef struct Fingerprint
{
	OtlpDictionary *dictionary; /* not owned; charged for the work */
	Budget *budget;				/* not owned */
	EVP_MD_CTX *of_item;		/* scratch space */
	EVP_MD_CTX *of_profile;		/* digest of the current profile so far */
	bool has_failed;			/* OpenSSL returned out of memory */
	ItemDigests functions;
	ItemDigests mappings;
	ItemDigests locations;
	ItemDigests stacks;
	ItemDigests series;
	struct ProfileDigest *profiles;
	size_t profile_count;
	size_t profile_capacity;
} Fingerprint;

/* One sample. Its times were passed to fingerprint_times() before. */
typedef struct FingerprintSample
{
	uint32_t series; /* index in the batch */
	uint32_t stack;
	uint64_t value_count;
	uint64_t sum;
	uint64_t time_count;
	const PfsTraceIds *ids;
} FingerprintSample;

/* Starts a fingerprint. Returns false if out of memory. Call fingerprint_fini() in either case. */
bool fingerprint_init(Fingerprint *fingerprint, OtlpDictionary *dictionary, Budget *budget);
void fingerprint_fini(Fingerprint *fingerprint);

/* Data that the samples of a profile share. */
typedef struct FingerprintProfile
{
	Span id;
	const char *type;
	int64_t time_us;
	int64_t period;
	const BatchNote *note; /* its series is ignored */
} FingerprintProfile;

/* Begins a profile. A profile that is not ended is not part of the request's digest. */
OtlpFault fingerprint_begin(Fingerprint *fingerprint, const FingerprintProfile *profile);
void fingerprint_times(Fingerprint *fingerprint, const void *times, size_t bytes);
OtlpFault fingerprint_sample(Fingerprint *fingerprint, const FingerprintSample *sample);
OtlpFault fingerprint_end(Fingerprint *fingerprint);

/* Computes the digest of all profiles that were ended. Returns false if out of memory. */
bool fingerprint_of_request(Fingerprint *fingerprint, uint8_t result[FINGERPRINT_BYTES]);

#endif
