/*
 * trace_ids.h
 *		Ids of traces and spans in the labels of samples. Includes no server header.
 *
 * The ids are W3C's (Trace Context, level 1): 16 and 8 bytes, not all 0. A trace id of 8 bytes, as
 * in B3, gets 8 zero bytes before it.
 */
#ifndef PFS_TRACE_IDS_H
#define PFS_TRACE_IDS_H

#include "formats/profile.h"

#define PFS_TRACE_BYTES 16
#define PFS_SPAN_BYTES	8

/* Ids of a trace and a span; each is all zero if unknown. */
typedef struct PfsTraceIds
{
	uint8_t trace[PFS_TRACE_BYTES];
	uint8_t span[PFS_SPAN_BYTES];
} PfsTraceIds;

bool pfs_trace_is_known(const PfsTraceIds *ids);
bool pfs_span_is_known(const PfsTraceIds *ids);

/*
 * Takes the id in a label. The key is trace_id or span_id in any case, with a blank, a dot, a dash
 * or nothing in place of "_", optionally after "otel"; the text is 32 or 16 hexadecimal digits (16
 * for a span), or a UUID. Returns false, with ids unchanged, for any other label, and if ids has a
 * different id already.
 */
bool pfs_trace_label(const PfsProfileLabel *label, PfsTraceIds *ids);

/* Returns the ids in the labels of a sample; false if there are none. */
bool pfs_trace_of_sample(const PfsProfile *profile, const PfsProfileSample *sample,
						 PfsTraceIds *ids);

#endif
