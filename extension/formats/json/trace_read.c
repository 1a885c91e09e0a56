/*
 * trace_read.c
 *		Reads events of threads: spans with begin and end, and V8's samples.
 *
 * 1. Spans are listed: complete ones (X), and begins and ends (B, E), which are paired later.
 * 2. If there are samples of V8, only these become the profile: the spans are the browser's
 *    actions, not running code.
 * 3. Otherwise, per thread in order of time, a span is called by the span that contains it, and its
 *    own time excludes the spans inside.
 *
 * Other events (moments, counters, events of no thread) are left out.
 */
#include "formats/json/trace_read.h"

#include <stdlib.h>
#include <string.h>

#include "formats/json/v8_nodes.h"
#include "formats/lines.h"

#define US_SCALE 1000 /* microseconds, in nanoseconds */

typedef struct Span
{
	uint32_t thread;
	uint32_t order; /* position of the event in the file, from 1 */
	/* position of its end event in the file; 0 if the event has a duration instead */
	uint32_t end_order;
	uint32_t name; /* location of the span's name; PFS_NONE for an end event */
	bool is_begin; /* the span ends with another event */
	int64_t begin_ns;
	int64_t end_ns;
} Span;

/* An open span. */
typedef struct Open
{
	uint32_t node;
	uint32_t end_order;
	int64_t end_ns;
} Open;

/* A profile of V8, identified by process and id. */
typedef struct Sampled
{
	PfsV8Clock clock;
	uint32_t thread;
} Sampled;

typedef struct Reader
{
	PfsJson *json;
	PfsCallTree tree;
	PfsV8Nodes nodes;
	PfsTextIndex words;		/* texts of ids */
	PfsTextIndex processes; /* texts of processes' ids */
	PfsText *process_names; /* names of processes, or their ids if they have no name */
	PfsPairIndex threads;	/* threads by (process, thread's id) */
	PfsText *thread_names;
	PfsPairIndex profiles; /* profiles by (process, profile's id) */
	bool has_samples;	   /* samples of V8 */
	Sampled *sampled;
	Span *spans;
	uint32_t span_count;
	uint32_t *stack; /* begin events of spans whose end events are awaited */
	uint32_t stack_room;
	Open *open; /* spans that are open at the current time, outermost first */
	uint32_t open_room;
} Reader;

enum
{
	PHASE,
	NAME,
	PROCESS,
	THREAD,
	TIME,
	DURATION,
	ID,
	ARGS,
	FIELD_COUNT
};

typedef struct Event
{
	PfsJsonField fields[FIELD_COUNT];
	char phase;
	PfsText name;
	uint32_t process;
	uint32_t thread;
} Event;

/* --- one event --- */

static PfsReadStatus
trace_read_word(Reader *reader, const PfsJsonField *field, PfsText *word)
{
	*word = (PfsText){ "", 0 };
	/* SIZE_MAX marks a field that the event does not have. */
	if (field->at == SIZE_MAX)
		return PFS_READ_OK;
	reader->json->at = field->at;
	return pfs_json_word(reader->json, word);
}

static PfsReadStatus
trace_read_time(Reader *reader, const PfsJsonField *field, int64_t *ns)
{
	bool is_whole;

	*ns = 0;
	if (field->at == SIZE_MAX)
		return PFS_READ_OK;
	reader->json->at = field->at;
	return pfs_json_number(reader->json, US_SCALE, ns, &is_whole);
}

/* Sets the numbers of process and thread. A new process or thread is named by its id. */
static PfsReadStatus
find_thread(Reader *reader, Event *event, PfsText process, PfsText thread)
{
	PfsBudget *budget = reader->json->profile->budget;
	uint32_t processes = reader->processes.count;
	uint32_t threads = reader->threads.count;
	/* Ids are texts or numbers in JSON. Both become texts, and equal texts get equal numbers. */
	uint32_t id = pfs_text_number(&reader->words, thread);

	event->process = pfs_text_number(&reader->processes, process);
	/* A number equal to the count before is new, so its name needs a place in the array. */
	if (id == PFS_NONE || event->process == PFS_NONE ||
		(event->process == processes && !PFS_GROW(budget, reader->process_names, processes)))
		return pfs_json_refused(reader->json);
	if (event->process == processes)
		reader->process_names[processes] = process;
	/* Threads of different processes may have equal ids, so the pair identifies a thread. */
	event->thread = pfs_pair_number(&reader->threads, event->process, id);
	if (event->thread == PFS_NONE ||
		(event->thread == threads && !PFS_GROW(budget, reader->thread_names, threads)))
		return pfs_json_refused(reader->json);
	if (event->thread == threads)
		/* An event "thread_name" anywhere in the file replaces the id, see take_name(). */
		reader->thread_names[threads] = thread;
	return PFS_READ_OK;
}

/* Reads the fields that all events have; moves past the event. */
static PfsReadStatus
begin_event(Reader *reader, Event *event)
{
	static const char *const names[FIELD_COUNT] = { "ph", "name", "pid", "tid",
													"ts", "dur",  "id",	 "args" };
	PfsText phase;
	PfsText process;
	PfsText thread;
	size_t end;
	PfsReadStatus status;

	*event = (Event){ .phase = '\0' };
	for (int i = 0; i < FIELD_COUNT; i++)
		event->fields[i].name = names[i];
	status = pfs_json_find(reader->json, event->fields, FIELD_COUNT);
	/*
	 * pfs_json_find() skips to the event's end; the values are read afterwards at their positions.
	 */
	end = reader->json->at;
	if (status == PFS_READ_OK)
		status = trace_read_word(reader, &event->fields[PHASE], &phase);
	if (status == PFS_READ_OK)
		status = trace_read_word(reader, &event->fields[NAME], &event->name);
	if (status == PFS_READ_OK)
		status = trace_read_word(reader, &event->fields[PROCESS], &process);
	if (status == PFS_READ_OK)
		status = trace_read_word(reader, &event->fields[THREAD], &thread);
	if (status == PFS_READ_OK)
		status = find_thread(reader, event, process, thread);
	if (status != PFS_READ_OK)
		return status;
	/* Phases are single letters; an event without one is of no known kind and is skipped. */
	event->phase = phase.length == 1 ? phase.data[0] : '\0';
	reader->json->at = end;
	return PFS_READ_OK;
}

/* Reads a time; an event without it is left out. */
static bool
try_time(Reader *reader, const PfsJsonField *field, int64_t *ns)
{
	bool is_whole;

	*ns = 0;
	if (field->at == SIZE_MAX)
		return true;
	reader->json->at = field->at;
	return pfs_json_try_number(reader->json, US_SCALE, ns, &is_whole) == PFS_READ_OK;
}

static void
count_skipped(Reader *reader, size_t at)
{
	PfsSkipped *skipped = &reader->json->profile->skipped;

	/* Only the first skipped event is located, because finding a line number scans the file. */
	if (skipped->count++ > 0)
		return;
	skipped->first_offset = at;
	skipped->first_line = pfs_line_number(reader->json->bytes, at);
}

/* Adds a span. An event without valid times is counted as skipped. */
static PfsReadStatus
trace_span_add(Reader *reader, const Event *event)
{
	static const PfsText no_file = { "", 0 };
	Span span = { .thread = event->thread,
				  .order = reader->span_count + 1,
				  .name = PFS_NONE,
				  .is_begin = event->phase == 'B' };
	int64_t duration = 0;

	/*
	 * Other events of a trace remain usable if one has a wrong time, so it is skipped rather than
	 * refused.
	 */
	if (!try_time(reader, &event->fields[TIME], &span.begin_ns) ||
		(event->phase == 'X' &&
		 (!try_time(reader, &event->fields[DURATION], &duration) || duration < 0)) ||
		/* A negative duration or an end beyond int64 would break the nesting of spans. */
		__builtin_add_overflow(span.begin_ns, duration, &span.end_ns))
	{
		count_skipped(reader, reader->json->at);
		return PFS_READ_OK;
	}
	/* An end event closes the innermost open span whatever its name is, as the format specifies. */
	if (event->phase != 'E')
		span.name = pfs_calls_frame(&reader->tree, event->name, no_file, 0);
	/* Indexes and orders of spans have 32 bits. */
	if ((event->phase != 'E' && span.name == PFS_NONE) || reader->span_count == PFS_NONE ||
		!PFS_GROW(reader->json->profile->budget, reader->spans, reader->span_count))
		return pfs_json_refused(reader->json);
	reader->spans[reader->span_count++] = span;
	return PFS_READ_OK;
}

/*
 * Reads the name of a thread or process from the args of an event "thread_name" or "process_name".
 */
static PfsReadStatus
take_name(Reader *reader, const Event *event)
{
	PfsJsonField name = { "name", SIZE_MAX };
	bool is_process = pfs_text_equals(event->name, "process_name");
	PfsText text;
	PfsReadStatus status;

	/* Other metadata, such as "thread_sort_index", does not matter here. */
	if ((!is_process && !pfs_text_equals(event->name, "thread_name")) ||
		event->fields[ARGS].at == SIZE_MAX)
		return PFS_READ_OK;
	reader->json->at = event->fields[ARGS].at;
	status = pfs_json_find(reader->json, &name, 1);
	if (status == PFS_READ_OK)
		status = trace_read_word(reader, &name, &text);
	if (status != PFS_READ_OK || text.length == 0)
		return status;
	if (is_process)
		reader->process_names[event->process] = text;
	else
		reader->thread_names[event->thread] = text;
	return PFS_READ_OK;
}

/* --- V8's samples --- */

/* Returns the profile of an event; a new one belongs to the event's thread. */
static PfsReadStatus
find_profile(Reader *reader, const Event *event, uint32_t *profile)
{
	uint32_t before = reader->profiles.count;
	uint32_t id_number;
	PfsText id;
	PfsReadStatus status = trace_read_word(reader, &event->fields[ID], &id);

	if (status != PFS_READ_OK)
		return status;
	/* Several processes may use one id, so profiles are identified by pairs. */
	id_number = pfs_text_number(&reader->words, id);
	*profile = id_number == PFS_NONE
				   ? PFS_NONE
				   : pfs_pair_number(&reader->profiles, event->process, id_number);
	if (*profile == PFS_NONE ||
		(*profile == before && !PFS_GROW(reader->json->profile->budget, reader->sampled, before)))
		return pfs_json_refused(reader->json);
	/*
	 * A known profile keeps the thread of its first event; later chunks may come from another
	 * thread.
	 */
	if (*profile < before)
		return PFS_READ_OK;
	/* A profile is a root of its own, so that its samples carry the labels of its thread. */
	reader->sampled[before] =
		(Sampled){ { .root = pfs_calls_root(&reader->tree), .call = PFS_NONE }, event->thread };
	return reader->sampled[before].clock.root == PFS_NONE ? pfs_json_refused(reader->json)
														  : PFS_READ_OK;
}

/* Reads an event of V8: "Profile" has the start time, each "ProfileChunk" nodes and samples. */
static PfsReadStatus
trace_read_chunk(Reader *reader, const Event *event)
{
	PfsJsonField data = { "data", SIZE_MAX };
	PfsJsonField fields[] = { { "cpuProfile", SIZE_MAX },
							  { "timeDeltas", SIZE_MAX },
							  { "startTime", SIZE_MAX } };
	PfsJsonField parts[] = { { "nodes", SIZE_MAX }, { "samples", SIZE_MAX } };
	PfsJson *json = reader->json;
	uint32_t profile = 0;
	PfsV8Clock *clock;
	bool has_samples;
	PfsReadStatus status = PFS_READ_OK;

	if ((!pfs_text_equals(event->name, "Profile") &&
		 !pfs_text_equals(event->name, "ProfileChunk")) ||
		event->fields[ARGS].at == SIZE_MAX)
		return PFS_READ_OK;
	status = find_profile(reader, event, &profile);
	json->at = event->fields[ARGS].at;
	if (status == PFS_READ_OK)
		status = pfs_json_find(json, &data, 1);
	if (status != PFS_READ_OK || data.at == SIZE_MAX)
		return status;
	json->at = data.at;
	status = pfs_json_find(json, fields, 3);
	clock = &reader->sampled[profile].clock;
	if (status == PFS_READ_OK && fields[2].at != SIZE_MAX)
	{
		/* Only the event "Profile" has a start time. Deltas of the chunks count from it. */
		status = trace_read_time(reader, &fields[2], &clock->now_ns);
		clock->reached_ns = clock->now_ns;
	}
	if (status != PFS_READ_OK || fields[0].at == SIZE_MAX)
		return status;
	json->at = fields[0].at;
	/* Nodes precede samples: a sample may refer to a node of its own chunk. */
	status = pfs_json_find(json, parts, 2);
	json->at = parts[0].at;
	if (status == PFS_READ_OK && parts[0].at != SIZE_MAX)
		status = pfs_v8_read_nodes(&reader->nodes, json, profile);
	if (status != PFS_READ_OK || parts[1].at == SIZE_MAX)
		return status;
	json->at = parts[1].at;
	status = pfs_json_begin(json, '[', &has_samples);
	/* An empty array of samples leaves the decision to other chunks: the flag is never reset. */
	reader->has_samples = reader->has_samples || has_samples;
	if (status == PFS_READ_OK)
		status =
			pfs_v8_read_samples(&reader->nodes, json, profile, parts[1].at, fields[1].at, clock);
	return status;
}

/* --- spans --- */

static int
compare_spans(const void *a, const void *b)
{
	const Span *left = a;
	const Span *right = b;

	if (left->thread != right->thread)
		return left->thread < right->thread ? -1 : 1;
	if (left->begin_ns != right->begin_ns)
		return left->begin_ns < right->begin_ns ? -1 : 1;
	/*
	 * Sorts longer spans first, because they contain shorter ones. Events of equal time keep their
	 * order in the file.
	 */
	if (left->end_ns != right->end_ns)
		return left->end_ns > right->end_ns ? -1 : 1;
	return left->order < right->order ? -1 : 1;
}

static void
sort_spans(Reader *reader)
{
	if (reader->span_count > 1)
		qsort(reader->spans, reader->span_count, sizeof(Span), compare_spans);
}

static bool
push(Reader *reader, uint32_t *depth, uint32_t span)
{
	if (*depth == reader->stack_room)
	{
		/*
		 * PFS_GROW() doubles the memory when the count reaches a power of two, so it is called for
		 * each entry.
		 */
		if (!PFS_GROW(reader->json->profile->budget, reader->stack, reader->stack_room))
			return false;
		reader->stack_room++;
	}
	reader->stack[(*depth)++] = span;
	return true;
}

static void
end_span(Span *span, int64_t end_ns, uint32_t end_order)
{
	span->end_ns = end_ns;
	span->end_order = end_order;
}

/*
 * Sets the ends of spans that begin with an event of their own: the end of the innermost open one,
 * otherwise the thread's last event. Ends without a begin are counted as skipped.
 */
static PfsReadStatus
pair_spans(Reader *reader)
{
	Span *spans = reader->spans;
	uint32_t depth = 0;

	for (uint32_t i = 0; i < reader->span_count; i++)
	{
		/*
		 * The spans are sorted by thread, so the last span of a thread precedes another thread's or
		 * the end.
		 */
		bool is_last = i + 1 == reader->span_count || spans[i + 1].thread != spans[i].thread;

		pfs_pause(reader->json->profile->budget->pause);
		/*
		 * A begin event is pushed with no end yet; its end_ns equals begin_ns until its end event
		 * is met.
		 */
		if (spans[i].is_begin && !push(reader, &depth, i))
			return pfs_json_refused(reader->json);
		/* An end event is a span without a name. */
		if (spans[i].name == PFS_NONE && depth > 0)
			end_span(&spans[reader->stack[--depth]], spans[i].begin_ns, spans[i].order);
		else if (spans[i].name == PFS_NONE)
			/* An end whose begin is missing, for example because it preceded the recording. */
			reader->json->profile->skipped.count++;
		/*
		 * A begin without an end lasts until the end of the thread's last event. UINT32_MAX sorts
		 * its end after those of all events.
		 */
		while (is_last && depth > 0)
			end_span(&spans[reader->stack[--depth]], spans[i].end_ns, UINT32_MAX);
	}
	return PFS_READ_OK;
}

/* Removes the end events from the list of spans. */
static void
drop_ends(Reader *reader)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < reader->span_count; i++)
		if (reader->spans[i].name != PFS_NONE)
			reader->spans[count++] = reader->spans[i];
	reader->span_count = count;
}

/*
 * Adds the time from since_ns to the given end to the innermost open spans, and closes those that
 * end in it. Spans that end exactly then are closed if their end event precedes the current event
 * in the file.
 */
static PfsReadStatus
close_spans(Reader *reader, uint32_t *depth, int64_t since_ns, int64_t until_ns, uint32_t order)
{
	PfsReadStatus status = PFS_READ_OK;

	/* From the innermost span outwards: each gets the time from the end of the span inside it. */
	while (status == PFS_READ_OK && *depth > 0)
	{
		/*
		 * A span may outlast until_ns; then only the time up to it counts here, and the span stays
		 * open.
		 */
		const Open *innermost = &reader->open[*depth - 1];
		int64_t end_ns = innermost->end_ns < until_ns ? innermost->end_ns : until_ns;
		int64_t *value = &pfs_calls_values(&reader->tree, innermost->node)[PFS_V8_TIME];
		int64_t own_ns;

		/* Nothing passed if several spans end or begin at one time. */
		if (end_ns > since_ns)
		{
			if (__builtin_sub_overflow(end_ns, since_ns, &own_ns) ||
				__builtin_add_overflow(*value, own_ns, value))
				status = pfs_json_fail(reader->json, PFS_READ_OUT_OF_RANGE, "time is out of range");
			since_ns = end_ns;
		}
		/*
		 * At equal times the order in the file decides: "A ends, B begins" makes B a sibling of A,
		 * the reverse order a child.
		 */
		if (innermost->end_ns > until_ns ||
			(innermost->end_ns == until_ns && innermost->end_order >= order))
			break;
		--*depth;
	}
	return status;
}

/* Opens a span below the innermost open one and counts it. */
static PfsReadStatus
open_span(Reader *reader, uint32_t *depth, uint32_t root, const Span *span)
{
	const Open *caller = *depth > 0 ? &reader->open[*depth - 1] : NULL;
	Open opened = { .end_ns = span->end_ns, .end_order = span->end_order };

	/*
	 * The depth is limited before a node is made, so a hostile file cannot make an endless stack.
	 */
	if (*depth == PFS_PROFILE_MAX_DEPTH)
		return pfs_json_fail(reader->json, PFS_READ_TOO_LARGE, "stack has too many frames");
	opened.node = caller == NULL ? pfs_calls_top(&reader->tree, root, span->name)
								 : pfs_calls_child(&reader->tree, caller->node, span->name);
	if (opened.node == PFS_NONE)
		return pfs_json_refused(reader->json);
	/* a span that is longer than its caller is cut */
	if (caller != NULL && opened.end_ns > caller->end_ns)
	{
		opened.end_ns = caller->end_ns;
		opened.end_order = caller->end_order;
	}
	if (*depth == reader->open_room)
	{
		if (!PFS_GROW(reader->json->profile->budget, reader->open, reader->open_room))
			return pfs_json_refused(reader->json);
		reader->open_room++;
	}
	reader->open[(*depth)++] = opened;
	pfs_calls_values(&reader->tree, opened.node)[PFS_V8_SAMPLES]++;
	return PFS_READ_OK;
}

static void
name_root(Reader *reader, uint32_t root, uint32_t thread)
{
	/* The upper half of the pair is the process, see find_thread(). */
	uint32_t process = (uint32_t) (reader->threads.pairs[thread] >> 32);

	reader->tree.roots[root] =
		(PfsCallRoot){ 2,
					   { { .key = { "process", 7 }, .text = reader->process_names[process] },
						 { .key = { "thread", 6 }, .text = reader->thread_names[thread] } } };
}

/* Reads the spans of a thread from first on; *end: the span after its last. */
static PfsReadStatus
read_thread(Reader *reader, uint32_t first, uint32_t *end)
{
	uint32_t thread = reader->spans[first].thread;
	uint32_t root = pfs_calls_root(&reader->tree);
	uint32_t depth = 0;
	/* The first span's begin is the origin: the time before it belongs to no span. */
	int64_t since_ns = reader->spans[first].begin_ns;
	PfsReadStatus status = PFS_READ_OK;

	if (root == PFS_NONE)
		return pfs_json_refused(reader->json);
	name_root(reader, root, thread);
	for (*end = first;
		 status == PFS_READ_OK && *end < reader->span_count && reader->spans[*end].thread == thread;
		 ++*end)
	{
		const Span *span = &reader->spans[*end];

		pfs_pause(reader->json->profile->budget->pause);
		/*
		 * First the time since the previous event is distributed, then the span opens at its own
		 * begin.
		 */
		status = close_spans(reader, &depth, since_ns, span->begin_ns, span->order);
		since_ns = span->begin_ns;
		if (status == PFS_READ_OK)
			status = open_span(reader, &depth, root, span);
	}
	/* A time after all spans closes those that are still open. */
	return status == PFS_READ_OK ? close_spans(reader, &depth, since_ns, INT64_MAX, UINT32_MAX)
								 : status;
}

/* Makes stacks of the spans: pairs begins with ends, then reads each thread. */
static PfsReadStatus
read_spans(Reader *reader)
{
	static const PfsText calls = { "calls", 5 };
	PfsReadStatus status;

	/* Without samples of V8, the column counts calls of spans. */
	reader->json->profile->types[PFS_V8_SAMPLES].type = calls;
	/*
	 * Sorted once by time for the pairing of begins and ends, and again below because pairing sets
	 * the ends, by which longer spans come first.
	 */
	sort_spans(reader);
	status = pair_spans(reader);
	drop_ends(reader);
	if (status == PFS_READ_OK && reader->span_count == 0)
		return pfs_json_fail(reader->json, PFS_READ_MALFORMED,
							 "trace has no events with a duration");
	sort_spans(reader);
	for (uint32_t i = 0; status == PFS_READ_OK && i < reader->span_count;)
		status = read_thread(reader, i, &i);
	return status;
}

/* --- the file --- */

/* Returns true if a killed program left its last event incomplete. */
static bool
is_cut(PfsJson *json, size_t begin)
{
	PfsReadError error = *json->error;
	PfsJson event = *json;

	/* Only the array form of a trace may lack its end; in the object form it would be an error. */
	if (!json->may_be_cut)
		return false;
	/* The event is skipped with strict rules: if it has no end, the text ended within it. */
	event.at = begin;
	event.may_be_cut = false;
	if (pfs_json_skip(&event) == PFS_READ_OK)
	{
		/* A complete event that is malformed keeps its own message. */
		*json->error = error;
		return false;
	}
	return true;
}

/* Handles an event by its phase; other phases are skipped. */
static PfsReadStatus
trace_read_event(Reader *reader)
{
	Event event;
	PfsReadStatus status = begin_event(reader, &event);
	size_t end = reader->json->at;

	if (status != PFS_READ_OK)
		return status;
	/* X: complete event, B and E: begin and end, M: metadata, P: V8's profile. */
	if (event.phase == 'X' || event.phase == 'B' || event.phase == 'E')
		status = trace_span_add(reader, &event);
	else if (event.phase == 'M')
		status = take_name(reader, &event);
	else if (event.phase == 'P')
		status = trace_read_chunk(reader, &event);
	if (status == PFS_READ_OK)
		reader->json->at = end;
	return status;
}

/* Reads all events, then builds stacks from spans unless there are samples of V8. */
static PfsReadStatus
trace_read_file(Reader *reader)
{
	bool more;
	PfsReadStatus status = pfs_json_begin(reader->json, '[', &more);

	while (status == PFS_READ_OK && more)
	{
		size_t begin = reader->json->at;

		status = trace_read_event(reader);
		/* Only the last event can be cut, so the loop ends with it. */
		if (status == PFS_READ_MALFORMED && is_cut(reader->json, begin))
		{
			count_skipped(reader, begin);
			status = PFS_READ_OK;
			break;
		}
		if (status == PFS_READ_OK)
			status = pfs_json_next(reader->json, '[', &more);
	}
	if (status != PFS_READ_OK)
		return status;
	/* Names are set at the end, because events with names may come last. */
	for (uint32_t i = 0; i < reader->profiles.count; i++)
		name_root(reader, reader->sampled[i].clock.root, reader->sampled[i].thread);
	if (!reader->has_samples)
		status = read_spans(reader);
	return status == PFS_READ_OK ? pfs_calls_samples(&reader->tree, reader->json->error) : status;
}

static void
free_reader(Reader *reader)
{
	PfsAllocator allocator = reader->json->profile->budget->allocator;
	void *arrays[] = { reader->process_names, reader->thread_names, reader->sampled,
					   reader->spans,		  reader->stack,		reader->open };

	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		if (arrays[i] != NULL)
			allocator.realloc(allocator.context, arrays[i], 0);
	pfs_text_index_fini(&reader->words);
	pfs_text_index_fini(&reader->processes);
	pfs_pairs_fini(&reader->threads);
	pfs_pairs_fini(&reader->profiles);
	pfs_v8_fini(&reader->nodes);
	pfs_calls_fini(&reader->tree);
}

PfsReadStatus
pfs_trace_read(PfsJson *json)
{
	Reader reader = { .json = json };
	PfsBudget *budget = json->profile->budget;
	PfsReadStatus status;

	json->profile->name = "trace";
	json->profile->duration_ns = 1; /* a duration marks the values as sums over time */
	if (!pfs_v8_add_types(json->profile))
		return pfs_json_refused(json);
	pfs_calls_init(&reader.tree, json->profile);
	pfs_v8_init(&reader.nodes, &reader.tree);
	pfs_text_index_init(&reader.words, budget);
	pfs_text_index_init(&reader.processes, budget);
	pfs_pairs_init(&reader.threads, budget);
	pfs_pairs_init(&reader.profiles, budget);
	status = trace_read_file(&reader);
	free_reader(&reader);
	return status;
}
