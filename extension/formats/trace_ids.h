/*
 * trace_ids.h
 *		Ids of traces and spans, as labels of samples have them. Knows no server header.
 *
 * Both are W3C's (Trace Context, level 1): 16 and 8 bytes, not all of them 0. A trace id of 8
 * bytes, as of B3, is one whose first 8 are 0.
 */
#ifndef PFS_TRACE_IDS_H
#define PFS_TRACE_IDS_H

#include "formats/profile.h"

#define PFS_TRACE_BYTES 16
#define PFS_SPAN_BYTES	8

/* All zero where one is not known. */
typedef struct PfsTraceIds
{
	uint8_t trace[PFS_TRACE_BYTES];
	uint8_t span[PFS_SPAN_BYTES];
} PfsTraceIds;

bool pfs_trace_is_known(const PfsTraceIds *ids);
bool pfs_span_is_known(const PfsTraceIds *ids);

/*
 * Takes the id that a label tells: its key is trace_id or span_id, in whatever case, with a blank,
 * a dot, a dash or nothing for "_", and perhaps "otel" before it; its text 32 or 16 hexadecimal
 * digits (16 for a span), or a UUID. False, with ids as they were, for any other label, and where
 * ids have another one already.
 */
bool pfs_trace_label(const PfsProfileLabel *label, PfsTraceIds *ids);

/* The ids that the labels of a sample tell; false where there are none. */
bool pfs_trace_of_sample(const PfsProfile *profile, const PfsProfileSample *sample,
						 PfsTraceIds *ids);

#endif
