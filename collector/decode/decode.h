/*
 * decode.h
 *		Converts files of other tools into a batch: does what import_pprof() and its relatives do
 *		in the server, except for assigning ids.
 *
 * The readers are the extension's (../../extension/formats), as is the treatment of labels, types
 * and rows, so a profile is the same whichever way it is imported. Knows no database.
 */
#ifndef COLLECTOR_DECODE_H
#define COLLECTOR_DECODE_H

#include "decode/request.h"

/* Larger profiles are not read here but by the server. */
#define DECODE_MAX_BYTES ((size_t) 64 * 1024 * 1024)

/*
 * Adds all of a profile to a batch, or no sample and no note of it. Functions, stacks and possibly
 * series of a profile that failed remain in the batch, which is harmless.
 */
DecodeEnd decode_profile(const DecodeRequest *request, const void *bytes, size_t length,
						 Batch *batch, DecodeResult *result);

/* Returns the format of a file, judged by its first bytes. */
ProfileFormat profile_format_of(const char *bytes, size_t length);

#endif
