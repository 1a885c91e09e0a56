/*
 * selection.h
 *		What a query is about: the series that a selector picks, and a time range.
 *
 * Series are read through SPI as the caller, so privileges and row policies on profstore.series
 * hold. Concurrent writers may have stored one series under several ids: PfsSeries.index is the
 * same for equal ones.
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

/* What a selection is restricted to; both NULL: to nothing. */
typedef struct PfsTrace
{
	const pg_uuid_t *id;
	const char *span; /* 16 hexadecimal digits */
} PfsTrace;

typedef struct PfsSelection
{
	const char *profile_type; /* in full; as it was said where no series has it */
	const char *unit;		  /* of the values, "" where no series is there to tell */
	bool delta;				  /* values add up over time */
	PfsOverTime over_time;	  /* of an instant type; UNSAID and AVERAGE are the same */
	TimestampTz from;		  /* inclusive, in the microseconds that the server stores */
	TimestampTz to;			  /* exclusive */
	PfsTrace trace;			  /* only samples of it count */
	int series_count;
	int distinct_count;
	PfsSeries *series; /* by ascending id */
	int64 *series_ids; /* the same ids alone */
} PfsSelection;

/*
 * Reads the arguments selector, from_ts and to_ts, which every view has at first_argument and
 * after, and finds the series. Unknown types and labels give no series, the former with a NOTICE.
 * Lives in CurrentMemoryContext.
 *
 * Raises NULL_VALUE_NOT_ALLOWED for NULL arguments, and what pfs_selector_parse raises. Raises
 * INVALID_PARAMETER_VALUE for a range that ends before it begins, for a selector without a profile
 * type or with the beginning of several, and for a delta type that is asked for one scrape.
 */
PfsSelection *pfs_selection_get(FunctionCallInfo fcinfo, int first_argument);

/*
 * The same from a selector and a range that may stand apart; the end follows the beginning, and all
 * have names for errors.
 */
PfsSelection *pfs_selection_get_range(FunctionCallInfo fcinfo, int selector,
									  const char *selector_name, int from, const char *from_name,
									  const char *to_name);

/*
 * Restricts a selection to the trace and the span that arguments of these names say; where they are
 * NULL, or the function has none of the name, to nothing. pfs_selection_get does it by itself.
 * Raises INVALID_PARAMETER_VALUE for a text that is no span id.
 */
void pfs_selection_restrict(PfsSelection *selection, FunctionCallInfo fcinfo,
							const char *trace_name, const char *span_name);

static inline bool
pfs_selection_is_traced(const PfsSelection *selection)
{
	return selection->trace.id != NULL || selection->trace.span != NULL;
}

/*
 * A NOTICE where no series that the caller sees has the profile type, which is likely mistyped;
 * pfs_selection_get gives it by itself.
 */
void pfs_selection_tell_unknown(const PfsSelection *selection);

/*
 * Returns true if a NOTICE about an empty answer is to be raised: the client sees it, and it is the
 * first of the client's statement, which may call a function for each row of a table.
 */
bool pfs_selection_notes_first(void);

/* A NOTICE that nothing of the selection is left. */
void pfs_selection_tell_empty(const PfsSelection *selection);

/* Whether it can have no sample. */
static inline bool
pfs_selection_is_empty(const PfsSelection *selection)
{
	return selection->series_count == 0 || selection->from >= selection->to;
}

/* The series of an id; NULL where the selection has no such series. */
const PfsSeries *pfs_selection_series(const PfsSelection *selection, int64 id);

/*
 * The same of an id that the selection has; last, or NULL, is that of the row before, which mostly
 * is of the same series.
 */
static inline const PfsSeries *
pfs_selection_next_series(const PfsSelection *selection, const PfsSeries *last, int64 id)
{
	return last != NULL && last->id == id ? last : pfs_selection_series(selection, id);
}

#endif
