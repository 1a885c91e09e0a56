/*
 * decode.h
 *		Files of other tools into a batch: what import_pprof and its relatives do in the server, up
 *		to the ids.
 *
 * The readers are the extension's (../../extension/formats), and so is what becomes of labels,
 * types and rows: a profile is the same whichever way it came. Knows no database.
 */
#ifndef COLLECTOR_DECODE_H
#define COLLECTOR_DECODE_H

#include "decode/request.h"

/* A profile is larger when unpacked than what is read here. */
#define DECODE_MAX_BYTES ((size_t) 64 * 1024 * 1024)

/*
 * Adds all of a profile to a batch, or no sample and no note of it. What is left behind by one that
 * was not added (functions, stacks, where there was no room series, too) is harmless.
 */
DecodeEnd decode_profile(const DecodeRequest *request, const void *bytes, size_t length,
						 Batch *batch, DecodeResult *result);

/* What a file is, judged by its first bytes. */
ProfileFormat profile_format_of(const char *bytes, size_t length);

#endif
