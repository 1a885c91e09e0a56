/*
 * selection.h
 *		The subject of a query: the series that a selector picks, and a range of time.
 *
 * Series are read through SPI as the caller, so privileges and row policies on profstore.series
 * apply. Concurrent writers may have stored a series under several ids: PfsSeries.index is equal
 * for them.
 */
#ifndef PFS_SELECTION_H
#define PFS_SELECTION_H

#include "profstore.h"

#include "datatype/timestamp.h"
#include "fmgr.h"
#include "utils/jsonb.h"
#include "utils/uuid.h"

#include "select/selector.h"

typedef struct PfsSeries
{
	int64 id;
	int32 index; /* 0 .. distinct_count - 1; equal for equal labels and period */
	int64 period;
	Jsonb *labels;
} PfsSeries;

/* A restriction of the selection to a trace or a span; both are NULL if there is none. */
typedef struct PfsTrace
{
	const pg_uuid_t *id;
	const char *span; /* 16 hexadecimal digits */
} PfsTrace;

typedef struct PfsSelection
{
	const char *profile_type; /* in full; as the caller wrote it if no series has it */
	const char *unit;		  /* unit of the values; "" if there are no series */
	bool delta;				  /* values are summed over time */
	/* function over time of an instant type; PFS_OVER_TIME_UNSAID means the average */
	PfsOverTime over_time;
	TimestampTz from; /* inclusive, in the server's microseconds */
	TimestampTz to;	  /* exclusive */
	PfsTrace trace;	  /* restricts the selection to samples of a trace or a span */
	int series_count;
	int distinct_count;
	PfsSeries *series; /* by ascending id */
	int64 *series_ids; /* the ids of series */
} PfsSelection;

/*
 * Reads the arguments selector, from_ts, to_ts, trace and span, and finds the series. Unknown types
 * and labels give no series, the former with a NOTICE. Lives in CurrentMemoryContext.
 *
 * Raises NULL_VALUE_NOT_ALLOWED for NULL arguments, and the errors of pfs_selector_parse(). Raises
 * INVALID_PARAMETER_VALUE for a range that ends before it begins, for a selector without a profile
 * type or with an ambiguous one, and for a delta type with last_over_time() or max_over_time().
 */
PfsSelection *pfs_selection_get(FunctionCallInfo fcinfo);

/*
 * Like pfs_selection_get(), but reads a selector and a range from arguments of these names, without
 * a trace or a span and without the NOTICE.
 */
PfsSelection *pfs_selection_get_range(FunctionCallInfo fcinfo, const char *selector_name,
									  const char *from_name, const char *to_name);

/*
 * Restricts a selection to the trace and the span, or query id, in the arguments trace, span and
 * query_id with that prefix, if the function has them and they are not NULL. pfs_selection_get()
 * calls it. Raises INVALID_PARAMETER_VALUE for a text that is not a span id, and for both a span
 * and a query id.
 */
void pfs_selection_restrict(PfsSelection *selection, FunctionCallInfo fcinfo, const char *prefix);

static inline bool
pfs_selection_is_traced(const PfsSelection *selection)
{
	return selection->trace.id != NULL || selection->trace.span != NULL;
}

/*
 * Raises a NOTICE if no series that the caller sees has the profile type, which is probably
 * mistyped. pfs_selection_get() calls it.
 */
void pfs_selection_tell_unknown(const PfsSelection *selection);

/*
 * Returns true if a NOTICE about an empty answer should be raised. That is so if the client sees
 * notices, and this is the first such NOTICE of the client's statement, which may call a function
 * for each row of a table.
 */
bool pfs_selection_notes_first(void);

/* Raises a NOTICE that nothing of the selection is left. */
void pfs_selection_tell_empty(const PfsSelection *selection);

/* Returns true if the selection cannot have a sample. */
static inline bool
pfs_selection_is_empty(const PfsSelection *selection)
{
	return selection->series_count == 0 || selection->from >= selection->to;
}

/* Returns the series of an id; NULL if the selection lacks it. */
const PfsSeries *pfs_selection_series(const PfsSelection *selection, int64 id);

/*
 * Like pfs_selection_series(), for an id that the selection has. last is the series of the row
 * before, or NULL: it is usually the same one.
 */
static inline const PfsSeries *
pfs_selection_next_series(const PfsSelection *selection, const PfsSeries *last, int64 id)
{
	return last != NULL && last->id == id ? last : pfs_selection_series(selection, id);
}

#endif
