/*
 * compaction_plan.c
 *		Sorts segments into buckets of time, and chooses the inputs of the next merge.
 */
#include "store/compact/compaction_plan.h"

#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "utils/timestamp.h"

#include "base/arrays.h"

#define BUCKET_ROWS		1048576
#define FIRST_BUCKET_US (10 * USECS_PER_MINUTE)
#define WIDTH_GROWTH	8

/*
 * A bucket is closed this long after its end, because agents that were cut off send their samples
 * late.
 */
#define CLOSED_AFTER_US (10 * USECS_PER_MINUTE)

/* Bucket of the segments that have no time, in a table that has buckets. */
#define NO_BUCKET PG_INT64_MIN

/* The narrowest buckets of timestamps. Each further width is eight times the one before. */
static const int64 timestamp_widths[] = { FIRST_BUCKET_US, USECS_PER_HOUR, 6 * USECS_PER_HOUR,
										  USECS_PER_DAY };

static bool
is_timestamp(Oid time_type)
{
	return time_type == TIMESTAMPTZOID || time_type == TIMESTAMPOID;
}

/* Returns the least width that puts BUCKET_ROWS rows in a bucket, or 0 if one bucket is enough. */
static int64
choose_width(const PfsPlanSegment *segments, uint32 count, Oid time_type)
{
	int64 width = is_timestamp(time_type) ? timestamp_widths[0] : 1;
	double span;
	double rows = 0;
	double min = 0;
	double max = 0;
	bool found = false;
	uint32 step = 0;

	for (uint32 i = 0; i < count; i++)
	{
		if (!segments[i].time.known)
			continue;
		/* double cannot overflow, as the difference of two int64 times could. */
		min = found ? Min(min, (double) segments[i].time.min) : (double) segments[i].time.min;
		max = found ? Max(max, (double) segments[i].time.max) : (double) segments[i].time.max;
		rows += segments[i].row_count;
		found = true;
	}
	/* A table without time is one bucket. */
	if (!OidIsValid(time_type) || !found)
		return 0;

	span = Max(max - min, (double) width);
	/*
	 * rows * width / span estimates the rows of a bucket, as if they were spread evenly. If a time
	 * is infinite, the span exceeds every width.
	 */
	while (rows * ((double) width / span) < BUCKET_ROWS && width <= PG_INT64_MAX / WIDTH_GROWTH)
	{
		/*
		 * Integers and dates have no calendar: if one bucket holds everything, the table needs
		 * none.
		 */
		if ((double) width > span && !is_timestamp(time_type))
			return 0;
		if (is_timestamp(time_type) && ++step < lengthof(timestamp_widths))
			width = timestamp_widths[step];
		else if ((double) width > span)
			/* a bucket as wide as the range of all rows is wide enough */
			break;
		else
			width *= WIDTH_GROWTH;
	}
	return width;
}

static void
set_buckets(PfsPlanSegment *segments, uint32 count, int64 width)
{
	for (uint32 i = 0; i < count; i++)
	{
		PfsPlanSegment *segment = &segments[i];

		segment->bucket = NO_BUCKET;
		segment->is_wide = false;
		if (width == 0 || !segment->time.known)
			continue;
		/*
		 * A wide segment counts for its last bucket, so it is split before that bucket is merged.
		 */
		segment->bucket = pfs_time_bucket(segment->time.max, width);
		segment->is_wide = segment->bucket != pfs_time_bucket(segment->time.min, width);
	}
}

/*
 * Orders segments by bucket, the latest first: after a large load the latest ones lie at the end of
 * the directory's file, which VACUUM can then cut off. Within a bucket wide segments come first, so
 * that they are split before the bucket is merged; the others follow by size.
 */
static int
plan_compare_segments(const void *a, const void *b)
{
	const PfsPlanSegment *left = a;
	const PfsPlanSegment *right = b;

	if (left->bucket != right->bucket)
		return left->bucket > right->bucket ? -1 : 1;
	if (left->is_wide != right->is_wide)
		return left->is_wide ? -1 : 1;
	if (left->row_count != right->row_count)
		return left->row_count < right->row_count ? -1 : 1;
	return left->segment_no < right->segment_no ? -1 : left->segment_no > right->segment_no;
}

static bool
is_closed(const PfsPlanSegment *segment, int64 width, Oid time_type)
{
	if (segment->bucket == NO_BUCKET || !is_timestamp(time_type))
		return true;
	/* double, because the end of the last bucket may exceed int64. */
	return (double) (segment->bucket + 1) * (double) width + CLOSED_AFTER_US <
		   (double) GetCurrentTimestamp();
}

/* The inputs chosen so far. */
typedef struct Choice
{
	const PfsPlanLimits *limits;
	PfsPlan *plan;
	uint64 rows;
	Size bytes;
} Choice;

static void
choice_begin(Choice *choice, const PfsPlanLimits *limits, PfsPlan *plan)
{
	memset(choice, 0, sizeof(*choice));
	choice->limits = limits;
	choice->plan = plan;
	plan->count = 0;
}

/*
 * Adds a segment to the inputs if the limits allow. Two segments are always accepted, because a
 * merge of fewer makes no progress.
 */
static bool
choice_add(Choice *choice, const PfsPlanSegment *segment)
{
	const PfsPlanLimits *limits = choice->limits;
	PfsPlan *plan = choice->plan;

	/* max_inputs holds even for the first two. */
	if (plan->count >= limits->max_inputs ||
		(plan->count >= 2 && choice->bytes + segment->input_bytes > limits->input_bytes))
		return false;
	plan->inputs[plan->count++] = segment;
	choice->rows += (uint64) segment->row_count;
	choice->bytes += segment->input_bytes;
	return true;
}

/* Returns true for a segment of level 2 that is large enough never to be rewritten. */
static bool
is_full(const PfsPlanSegment *segment, const PfsPlanLimits *limits)
{
	return (uint32) segment->row_count >= limits->output_rows / 2;
}

/*
 * Merges all of a closed bucket into level 2. If rows have arrived late, a segment of level 2 is
 * rewritten only if it is no larger than the rest, and the limits allow.
 */
static bool
plan_closed(const PfsPlanSegment *segments, uint32 count, const PfsPlanLimits *limits,
			PfsPlan *plan)
{
	Choice choice;

	choice_begin(&choice, limits, plan);
	plan->level = 2;
	for (uint32 i = 0; i < count; i++)
		/*
		 * All segments of levels 0 and 1 become level 2 in one step. If they are too many for one
		 * merge, plan_open() and plan_crowded() take a part of them.
		 */
		if (segments[i].level < 2 && !choice_add(&choice, &segments[i]))
			return false;
	for (uint32 i = 0; i < count && plan->count > 0; i++)
	{
		const PfsPlanSegment *segment = &segments[i];

		if (segment->level >= 2 && !is_full(segment, limits) &&
			/* Segments are sorted by size, so the first that is too large ends the search. */
			((uint64) segment->row_count > choice.rows || !choice_add(&choice, segment)))
			break;
	}
	return plan->count > 0;
}

/*
 * Merges the smallest segments into one of level 1. A segment larger than all smaller ones together
 * waits until these have grown, so a row is rewritten only after the number of rows in its segment
 * has doubled.
 */
static bool
plan_open(const PfsPlanSegment *segments, uint32 count, uint32 least_inputs,
		  const PfsPlanLimits *limits, PfsPlan *plan)
{
	Choice choice;

	choice_begin(&choice, limits, plan);
	for (uint32 i = 0; i < count; i++)
	{
		const PfsPlanSegment *segment = &segments[i];

		if (segment->level >= 2 || is_full(segment, limits))
			continue;
		/*
		 * Segments of level 0 are always taken: reading many small ones costs queries more than
		 * merging them.
		 */
		if (segment->level > 0 && plan->count > 0 && (uint64) segment->row_count > choice.rows)
			break;
		/* The result must be one segment. */
		if (choice.rows + (uint64) segment->row_count > limits->output_rows ||
			!choice_add(&choice, segment))
			break;
	}
	plan->level = 1;
	return plan->count >= least_inputs;
}

/* Merges segments of a closed bucket until a limit is reached. */
static bool
plan_crowded(const PfsPlanSegment *segments, uint32 count, const PfsPlanLimits *limits,
			 PfsPlan *plan)
{
	Choice choice;

	choice_begin(&choice, limits, plan);
	for (uint32 i = 0; i < count; i++)
		/* Results of such merges are few and large, so the next step can take all that is left. */
		if (segments[i].level < 2 && !choice_add(&choice, &segments[i]))
			break;
	plan->level = 2;
	return plan->count >= 2;
}

static bool
plan_bucket(const PfsPlanSegment *segments, uint32 count, int64 width, Oid time_type,
			const PfsPlanLimits *limits, PfsPlan *plan)
{
	plan->split_width = 0;
	/* All segments of the slice are of one bucket, so one of them answers for all. */
	if (!is_closed(&segments[0], width, time_type))
		return plan_open(segments, count, limits->open_inputs, limits, plan);
	return plan_closed(segments, count, limits, plan) ||
		   plan_open(segments, count, 2, limits, plan) ||
		   plan_crowded(segments, count, limits, plan);
}

/* Splits wide segments by bucket, into level 1; the parts are merged in their buckets later. */
static bool
plan_wide(const PfsPlanSegment *segments, uint32 count, int64 width, Oid time_type,
		  const PfsPlanLimits *limits, PfsPlan *plan)
{
	Choice choice;
	bool any_closed = false;

	choice_begin(&choice, limits, plan);
	for (uint32 i = 0; i < count; i++)
	{
		/*
		 * A segment of level 2 is not rewritten. It became wide when rows came more densely and
		 * buckets narrower.
		 */
		if (segments[i].level >= 2)
			continue;
		if (!choice_add(&choice, &segments[i]))
			break;
		any_closed |= is_closed(&segments[i], width, time_type);
	}
	plan->level = 1;
	plan->split_width = width;
	/*
	 * Even one segment is worth splitting if one of its buckets is closed, because it keeps that
	 * bucket from being finished.
	 */
	return plan->count >= limits->open_inputs || (plan->count > 0 && any_closed);
}

static int
plan_compare_inputs(const void *a, const void *b)
{
	const PfsPlanSegment *const *first = a;
	const PfsPlanSegment *const *second = b;

	return pfs_compare_int64(&(*first)->segment_no, &(*second)->segment_no);
}

bool
pfs_plan_compaction(PfsPlanSegment *segments, uint32 count, Oid time_type,
					const PfsPlanLimits *limits, PfsPlan *plan)
{
	int64 width = choose_width(segments, count, time_type);
	uint32 first = 0;
	bool found = false;

	if (count == 0 || limits->max_inputs == 0)
		return false;
	set_buckets(segments, count, width);
	qsort(segments, count, sizeof(PfsPlanSegment), plan_compare_segments);
	plan->inputs = palloc(sizeof(PfsPlanSegment *) * (Size) count);
	while (!found && first < count)
	{
		uint32 end = first + 1;
		bool is_wide = segments[first].is_wide;

		while (end < count && segments[end].is_wide == is_wide &&
			   segments[end].bucket == segments[first].bucket)
			end++;
		found = (is_wide ? plan_wide : plan_bucket)(&segments[first], end - first, width, time_type,
													limits, plan);
		first = end;
	}
	if (found)
		/* In order of number, equal keys keep the order of insertion. */
		qsort(plan->inputs, plan->count, sizeof(PfsPlanSegment *), plan_compare_inputs);
	return found;
}
