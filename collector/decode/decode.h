/*
 * decode.h
 *		Converts files of other tools to a batch, like import_pprof() and its relatives in the
 *		server, but without assigning ids.
 *
 * The readers are those of the extension (../../extension/formats), as are the conversions of
 * labels, types and rows, so both ways of importing give equal profiles. Does not use the database.
 */
#ifndef COLLECTOR_DECODE_H
#define COLLECTOR_DECODE_H

#include "decode/request.h"

/* Larger profiles are read by the server. */
#define DECODE_MAX_BYTES ((size_t) 64 * 1024 * 1024)

/*
 * Adds all of a profile to a batch; on failure no sample and no note of it. Functions, stacks and
 * possibly series of a failed profile stay in the batch, which is harmless.
 */
DecodeEnd decode_profile(const DecodeRequest *request, const void *bytes, size_t length,
						 Batch *batch, DecodeResult *result);

/* Returns the format of a file, determined from its first bytes. */
ProfileFormat profile_format_of(const char *bytes, size_t length);

#endif
