/*
 * callgrind_read.c
 *		Reads lines: names of files and functions, followed by costs of the current function by
 *		position.
 *
 *   events: Ir Dr
 *   fl=(1) srv.c
 *   fn=(1) main
 *   16 400 30
 *   cfn=(2) work
 *   calls=3 20
 *   17 900 80
 *
 * The line after "calls" has the inclusive costs of the calls. "(1)" refers to the name that was
 * defined with this number. Positions are skipped, because costs are summed by function.
 */
#include "formats/callgrind/callgrind_read.h"

#include <string.h>

#include "formats/callgrind/call_graph.h"
#include "formats/clean_text.h"
#include "formats/lines.h"

#define PROBE_LINES 64

/* Kinds of names, each with its own numbers. */
typedef enum NameKind
{
	NAME_FUNCTION,
	NAME_FILE,
	NAME_KINDS
} NameKind;

typedef struct Reader
{
	PfsProfile *profile;
	PfsLineReader lines;
	PfsCallTree tree;
	PfsCallGraph graph;
	PfsPairIndex ids; /* (kind, number) to index in names */
	PfsText *names;	  /* names by id */
	int64_t scales[PFS_PROFILE_MAX_SAMPLE_TYPES];
	int64_t position_count; /* number of positions before the costs of a line */
	PfsText file;
	PfsText callee_file;
	uint32_t function; /* PFS_NONE: no function yet */
	uint32_t callee;   /* callee of the call whose cost is next, or PFS_NONE */
	bool is_call;	   /* the next costs are those of a call */
	PfsText events;	   /* text of the line "events" */
} Reader;

/* Units that Xdebug writes into the names of events. */
static const struct
{
	const char *event;
	const char *type;
	const char *unit;
	int64_t scale;
} known_events[] = {
	{ "Time_(10ns)", "time", "nanoseconds", 10 },
	{ "Time_(\xC2\xB5s)", "time", "nanoseconds", 1000 },
	{ "Memory_(bytes)", "space", "bytes", 1 },
};

static PfsReadStatus
callgrind_malformed(const Reader *reader, const char *message)
{
	return pfs_line_fail(&reader->lines, PFS_READ_MALFORMED, message);
}

static PfsReadStatus
callgrind_refused(const Reader *reader)
{
	return pfs_line_refused(&reader->lines);
}

static bool
cut_prefix(PfsText *text, const char *prefix)
{
	uint32_t length = (uint32_t) strlen(prefix);

	if (text->length < length || memcmp(text->data, prefix, length) != 0)
		return false;
	*text = pfs_part(*text, length, text->length);
	return true;
}

/* Returns true for "key: value" with a key of letters. */
static bool
callgrind_is_header(PfsText line)
{
	uint32_t at = 0;

	/* The bit 0x20 makes a letter lower case. */
	while (at < line.length && ((line.data[at] | 0x20) >= 'a' && (line.data[at] | 0x20) <= 'z'))
		at++;
	return at > 0 && at < line.length && line.data[at] == ':';
}

bool
pfs_is_callgrind(const uint8_t *bytes, size_t length)
{
	static const PfsBudget no_budget = { .pause = NULL };
	PfsLineReader lines = { .bytes = (const char *) bytes, .length = length, .budget = &no_budget };
	PfsText line;

	/*
	 * A file may begin with any number of header lines; "events:" is the one that every file has.
	 */
	pfs_skip_byte_order_mark(&lines);
	for (int i = 0; i < PROBE_LINES && pfs_next_line(&lines, &line); i++)
	{
		if (cut_prefix(&line, "events:"))
			return true;
		if (line.length > 0 && line.data[0] != '#' && !callgrind_is_header(line))
			return false;
	}
	return false;
}

/* --- events --- */

/* Adds an event as a sample type; Xdebug's events get their units and scales. */
static PfsReadStatus
add_event(Reader *reader, PfsText event)
{
	static const PfsText count = { "count", 5 };
	PfsProfile *profile = reader->profile;
	PfsValueType type = { event, count };

	if (profile->type_count == PFS_PROFILE_MAX_SAMPLE_TYPES)
		return pfs_line_fail(&reader->lines, PFS_READ_TOO_LARGE, "too many events");
	/* A cost is multiplied by its event's scale, for example 10 for units of 10 ns. */
	reader->scales[profile->type_count] = 1;
	for (size_t i = 0; i < sizeof(known_events) / sizeof(known_events[0]); i++)
	{
		if (!pfs_text_equals(event, known_events[i].event))
			continue;
		type = (PfsValueType){ { known_events[i].type, (uint32_t) strlen(known_events[i].type) },
							   { known_events[i].unit, (uint32_t) strlen(known_events[i].unit) } };
		reader->scales[profile->type_count] = known_events[i].scale;
	}
	/* Names of known events are constants and clean; the others come from the file. */
	if (!pfs_text_clean(profile, &type.type) ||
		!PFS_GROW(profile->budget, profile->types, profile->type_count))
		return callgrind_refused(reader);
	profile->types[profile->type_count++] = type;
	return PFS_READ_OK;
}

static PfsReadStatus
callgrind_read_events(Reader *reader, PfsText names)
{
	PfsReadStatus status = PFS_READ_OK;

	names = pfs_trim(names);
	/* Each part of a concatenated file has a line of its own, which must name the same events. */
	if (reader->profile->type_count > 0)
		return names.length == reader->events.length &&
					   memcmp(names.data, reader->events.data, names.length) == 0
				   ? PFS_READ_OK
				   : callgrind_malformed(reader, "events are named twice");
	reader->events = names;
	for (PfsText name = pfs_cut_word(&names); status == PFS_READ_OK && name.length > 0;
		 name = pfs_cut_word(&names))
		status = add_event(reader, name);
	return status;
}

static PfsReadStatus
callgrind_read_header(Reader *reader, PfsText line)
{
	if (cut_prefix(&line, "events:"))
		return callgrind_read_events(reader, line);
	if (!cut_prefix(&line, "positions:"))
		return PFS_READ_OK;
	/* The number of positions is the number of words, for example 2 for "positions: instr line". */
	for (reader->position_count = 0; pfs_cut_word(&line).length > 0;)
		reader->position_count++;
	return PFS_READ_OK;
}

/* --- names --- */

/*
 * Reads a name: "(7) name" defines number 7, "(7)" refers to it, any other text is the name itself.
 */
static PfsReadStatus
callgrind_read_name(Reader *reader, NameKind kind, PfsText text, PfsText *name)
{
	uint32_t before = reader->ids.count;
	uint32_t end = 1;
	uint32_t id;
	int64_t number;

	/*
	 * A number in parentheses has at least one digit and a closing parenthesis; everything else is
	 * a name.
	 */
	*name = pfs_trim(text);
	while (end < name->length && pfs_is_digit(name->data[end]))
		end++;
	if (name->length < 3 || name->data[0] != '(' || end == name->length || name->data[end] != ')' ||
		pfs_parse_int64(pfs_part(*name, 1, end), &number) != PFS_READ_OK || number >= UINT32_MAX)
		return pfs_text_clean(reader->profile, name) ? PFS_READ_OK : callgrind_refused(reader);
	/* Only one of both remains: "(7) name" gives "name", "(7)" gives "". */
	*name = pfs_trim(pfs_part(*name, end + 1, name->length));
	id = pfs_pair_number(&reader->ids, kind, (uint32_t) number);
	if (id == PFS_NONE ||
		(id == before && !PFS_GROW(reader->profile->budget, reader->names, before)) ||
		!pfs_text_clean(reader->profile, name))
		return callgrind_refused(reader);
	/*
	 * A reference to a number that was never defined gets an empty name, which a later definition
	 * replaces.
	 */
	if (name->length > 0 || id == before)
		reader->names[id] = *name;
	*name = reader->names[id];
	return PFS_READ_OK;
}

static PfsReadStatus
callgrind_read_function(Reader *reader, PfsText text, PfsText file, uint32_t *function)
{
	PfsText name;
	PfsReadStatus status = callgrind_read_name(reader, NAME_FUNCTION, text, &name);

	if (status != PFS_READ_OK)
		return status;
	/* The costs of a function are arrays with one value per event, so the events must be known. */
	if (reader->profile->type_count == 0)
		return callgrind_malformed(reader, "no events are named");
	/*
	 * A function is identified by name and file: static functions of two files may have equal
	 * names.
	 */
	*function = pfs_calls_frame(&reader->tree, name, file, 0);
	return *function == PFS_NONE || pfs_graph_own(&reader->graph, *function) == NULL
			   ? callgrind_refused(reader)
			   : PFS_READ_OK;
}

/* Reads an assignment such as "fn=(1) main". */
static PfsReadStatus
read_assignment(Reader *reader, PfsText line)
{
	PfsText ignored;
	PfsReadStatus status;

	/*
	 * fl= sets the file of the following functions, and of their callees unless cfi= names another.
	 */
	if (cut_prefix(&line, "fl="))
	{
		status = callgrind_read_name(reader, NAME_FILE, line, &reader->file);
		reader->callee_file = reader->file;
		return status;
	}
	/* fi= and fe= set the file of inlined lines, whose costs count for the function itself. */
	if (cut_prefix(&line, "fi=") || cut_prefix(&line, "fe="))
		return callgrind_read_name(reader, NAME_FILE, line, &ignored);
	/* cfi= and cfl= are two spellings, and apply to the next cfn= only. */
	if (cut_prefix(&line, "cfi=") || cut_prefix(&line, "cfl="))
		return callgrind_read_name(reader, NAME_FILE, line, &reader->callee_file);
	if (cut_prefix(&line, "fn="))
	{
		reader->callee = PFS_NONE;
		return callgrind_read_function(reader, line, reader->file, &reader->function);
	}
	if (cut_prefix(&line, "cfn="))
	{
		status = callgrind_read_function(reader, line, reader->callee_file, &reader->callee);
		reader->callee_file = reader->file;
		return status;
	}
	/* The line after calls= has the cost of the call instead of own costs. */
	if (cut_prefix(&line, "calls="))
		reader->is_call = true;
	else if (!cut_prefix(&line, "ob=") && !cut_prefix(&line, "cob=") &&
			 !cut_prefix(&line, "jump=") && !cut_prefix(&line, "jcnd="))
		/* Objects and jumps do not matter here; unknown assignments are counted as skipped. */
		pfs_line_skip(&reader->lines, &reader->profile->skipped);
	return PFS_READ_OK;
}

/* --- costs --- */

/* Adds a line's costs to a function's own, or the cost of the first event to a call. */
static PfsReadStatus
read_costs(Reader *reader, PfsText line)
{
	bool is_call = reader->is_call;
	int64_t *own = NULL;
	int64_t first = 0;

	reader->is_call = false;
	/* A file may have costs before the first fn=, or calls= without cfn=. */
	if (reader->function == PFS_NONE || (is_call && reader->callee == PFS_NONE))
		return callgrind_malformed(reader, "costs without a function");
	if (!is_call)
		own = pfs_graph_own(&reader->graph, reader->function);
	/* Positions precede the costs: line numbers, or addresses, in absolute or relative form. */
	for (int64_t i = 0; i < reader->position_count; i++)
		pfs_cut_word(&line);
	for (uint32_t i = 0; i < reader->profile->type_count; i++)
	{
		PfsText word = pfs_cut_word(&line);
		int64_t cost = 0;
		/* Trailing costs that are 0 may be left out. */
		PfsReadStatus status = word.length == 0 ? PFS_READ_OK : pfs_parse_int64(word, &cost);

		if (status == PFS_READ_MALFORMED)
			return callgrind_malformed(reader, "cost is not a whole number");
		if (status != PFS_READ_OK || __builtin_mul_overflow(cost, reader->scales[i], &cost) ||
			(own != NULL && __builtin_add_overflow(own[i], cost, &own[i])))
			return pfs_line_fail(&reader->lines, PFS_READ_OUT_OF_RANGE, "cost is out of range");
		/* The graph weighs calls by the first event only. */
		first = i == 0 ? cost : first;
	}
	/* A cost below 0 would break the proportions between callers, so it counts as 0. */
	return !is_call || pfs_graph_add_call(&reader->graph, reader->function, reader->callee,
										  first > 0 ? first : 0)
			   ? PFS_READ_OK
			   : callgrind_refused(reader);
}

static PfsReadStatus
callgrind_read_line(Reader *reader, PfsText line)
{
	char first;

	line = pfs_trim(line);
	first = line.length > 0 ? line.data[0] : '#';
	if (first == '#')
		return PFS_READ_OK;
	/* Relative positions begin with +, - or *. */
	if (pfs_is_digit(first) || first == '+' || first == '-' || first == '*')
		return read_costs(reader, line);
	return callgrind_is_header(line) ? callgrind_read_header(reader, line)
									 : read_assignment(reader, line);
}

static PfsReadStatus
callgrind_read_lines(Reader *reader)
{
	PfsReadStatus status = PFS_READ_OK;
	PfsText line;

	pfs_skip_byte_order_mark(&reader->lines);
	while (status == PFS_READ_OK && pfs_next_line(&reader->lines, &line))
		status = callgrind_read_line(reader, line);
	if (status == PFS_READ_OK && reader->graph.function_count == 0)
		return callgrind_malformed(reader, "there is no function");
	if (status != PFS_READ_OK)
		return status;
	return pfs_graph_to_tree(&reader->graph) ? pfs_calls_samples(&reader->tree, reader->lines.error)
											 : callgrind_refused(reader);
}

PfsReadStatus
pfs_callgrind_read(const uint8_t *bytes, size_t length, PfsProfile *profile, PfsReadError *error)
{
	Reader reader = { .profile = profile,
					  .lines = { .bytes = (const char *) bytes,
								 .length = length,
								 .budget = profile->budget,
								 .error = error },
					  .position_count = 1,
					  .events = { "", 0 },
					  .file = { "", 0 },
					  .callee_file = { "", 0 },
					  .function = PFS_NONE,
					  .callee = PFS_NONE };
	PfsAllocator allocator = profile->budget->allocator;
	PfsReadStatus status;

	profile->name = "callgrind";
	profile->duration_ns = 1; /* a duration marks the values as sums over time */
	pfs_calls_init(&reader.tree, profile);
	pfs_graph_init(&reader.graph, &reader.tree);
	pfs_pairs_init(&reader.ids, profile->budget);
	status = callgrind_read_lines(&reader);
	if (reader.names != NULL)
		allocator.realloc(allocator.context, reader.names, 0);
	pfs_pairs_fini(&reader.ids);
	pfs_graph_fini(&reader.graph);
	pfs_calls_fini(&reader.tree);
	return status;
}
