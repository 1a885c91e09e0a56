/*
 * jit_names.c
 *		Which maps are read when, and what their lines become.
 */
#include "jit/jit_names.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/allowance.h"
#include "base/clock.h"
#include "jit/code_map.h"
#include "jit/map_probe.h"
#include "jit/perf_map.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S  UINT64_C(1000000000)

#define ANSWER_NS	   (50 * NS_PER_MS) /* that a file system may take */
#define LOOK_PAUSE_NS  (10 * NS_PER_MS) /* between two readings of one map */
#define ANOTHER_NS	   NS_PER_S			/* between two looks whether it is another file */
#define ABSENT_MIN_NS  (250 * NS_PER_MS)
#define ABSENT_MAX_NS  (30 * NS_PER_S) /* where there is no map */
#define LOOKS_A_SECOND 200
#define LOOKS_AT_ONCE  64
#define TIME_SHARE	   4		 /* of CPU time one part in so many, at most */
#define LOOK_BYTES_MAX (4 << 20) /* read at once; the rest at the next look */
#define UNUSED_NS	   (120 * NS_PER_S)
#define LINE_BYTES	   8192 /* a longer one is none */

typedef struct JitProcess
{
	ExecImage image;
	MapProbe *probe; /* NULL: the last one did not come back */
	CodeMap map;
	uint64_t asked_ns;
	uint64_t looked_ns;	 /* when the last look began; 0: never */
	uint64_t another_ns; /* when the name was last followed */
	uint64_t again_ns;	 /* not looked at before */
	uint64_t absent_ns;	 /* how long is waited where there is no map */
	size_t line_length;	 /* of a line whose end has not come */
	bool line_is_long;
	bool is_behind; /* there is more in the map, which may say otherwise */
	char line[LINE_BYTES];
} JitProcess;

struct JitNames
{
	CodeTable *table;
	Budget budget;
	Prober *prober;
	JitProcess *processes[JIT_PROCESSES_MAX];
	size_t count;
	Allowance looks;
	char *bytes; /* NULL: the last ones did not come back */
	_Atomic uint64_t maps;
	_Atomic uint64_t lines;
	_Atomic uint64_t bad_lines;
	_Atomic uint64_t refused;
	_Atomic uint64_t timeouts;
	_Atomic uint64_t unnamed;
};

static void
count_one(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

int
jit_names_create(size_t limit_bytes, JitNames **result)
{
	JitNames *names = calloc(1, sizeof(*names));

	if (names == NULL)
		return -ENOMEM;
	names->budget.limit_bytes = limit_bytes;
	if (code_table_create(limit_bytes, &names->table) != 0 || prober_create(&names->prober) != 0)
	{
		jit_names_free(names);
		return -ENOMEM;
	}
	*result = names;
	return 0;
}

static void
free_process(JitProcess *process)
{
	map_probe_free(process->probe);
	code_map_fini(&process->map);
	free(process);
}

void
jit_names_free(JitNames *names)
{
	if (names == NULL)
		return;
	for (size_t i = 0; i < names->count; i++)
		free_process(names->processes[i]);
	prober_free(names->prober);
	code_table_free(names->table);
	free(names->bytes);
	free(names);
}

static JitProcess *
find_process(const JitNames *names, const ExecImage *image)
{
	for (size_t i = 0; i < names->count; i++)
	{
		const ExecImage *known = &names->processes[i]->image;

		if (known->pid == image->pid && known->start_time_ns == image->start_time_ns &&
			known->exec_id == image->exec_id)
			return names->processes[i];
	}
	return NULL;
}

static void
forget_at(JitNames *names, size_t at)
{
	free_process(names->processes[at]);
	names->processes[at] = names->processes[--names->count];
}

static void
forget_eldest(JitNames *names)
{
	size_t eldest = 0;

	for (size_t i = 1; i < names->count; i++)
	{
		if (names->processes[i]->asked_ns < names->processes[eldest]->asked_ns)
			eldest = i;
	}
	forget_at(names, eldest);
}

/* NULL without memory. */
static JitProcess *
add_process(JitNames *names, const ExecImage *image)
{
	JitProcess *process;

	if (names->count == JIT_PROCESSES_MAX)
		forget_eldest(names);
	process = calloc(1, sizeof(*process));
	if (process == NULL)
		return NULL;
	process->image = *image;
	process->absent_ns = ABSENT_MIN_NS;
	code_map_init(&process->map, &names->budget);
	names->processes[names->count++] = process;
	return process;
}

/* A line is whole. */
static void
take_line(JitNames *names, JitProcess *process)
{
	PerfMapLine line;
	CodeName name;
	CodeObject *code = NULL;

	count_one(&names->lines);
	process->line[process->line_length] = '\0';
	if (!process->line_is_long && perf_map_parse_line(process->line, &line))
	{
		name = perf_map_name(line.name);
		code = code_table_add(names->table, &name);
	}
	if (code == NULL || code_map_add(&process->map, line.start, line.end, code) != 0)
		count_one(&names->bad_lines);
	process->line_length = 0;
	process->line_is_long = false;
}

/* An unfinished line at the end waits for its newline. */
static void
take_text(JitNames *names, JitProcess *process, const char *bytes, size_t length)
{
	while (length > 0)
	{
		const char *newline = memchr(bytes, '\n', length);
		size_t part = newline != NULL ? (size_t) (newline - bytes) : length;
		size_t room = sizeof(process->line) - 1 - process->line_length;

		process->line_is_long |= part > room;
		memcpy(process->line + process->line_length, bytes, part < room ? part : room);
		process->line_length += part < room ? part : room;
		if (newline == NULL)
			return;
		take_line(names, process);
		bytes += part + 1;
		length -= part + 1;
	}
}

/* What follows begins a map. */
static void
begin_anew(JitProcess *process)
{
	code_map_void(&process->map);
	process->line_length = 0;
	process->line_is_long = false;
}

/* A reading of the map: false where it tells nothing more now. */
static bool
read_on(JitNames *names, JitProcess *process)
{
	char *bytes = names->bytes != NULL ? names->bytes : malloc(MAP_PROBE_BYTES);

	names->bytes = NULL;
	if (bytes == NULL)
		return false;
	if (map_probe_read(names->prober, process->probe, bytes, ANSWER_NS) != 0)
	{
		process->probe = NULL;
		begin_anew(process); /* as the next probe does */
		count_one(&names->timeouts);
		return false;
	}
	names->bytes = bytes;
	if (process->probe->rewritten)
		begin_anew(process);
	take_text(names, process, bytes, process->probe->length);
	process->is_behind = process->probe->error == 0 && process->probe->more;
	return process->is_behind;
}

/* Without a map it is looked for less and less often. */
static void
note_absence(JitNames *names, JitProcess *process, uint64_t now_ns)
{
	if (process->probe != NULL && process->probe->error == -EPERM)
		count_one(&names->refused);
	process->again_ns = now_ns + process->absent_ns;
	process->absent_ns *= 2;
	if (process->absent_ns > ABSENT_MAX_NS)
		process->absent_ns = ABSENT_MAX_NS;
}

static void
look(JitNames *names, JitProcess *process, uint64_t now_ns)
{
	bool known;
	size_t bytes = 0;
	uint64_t begun_ns = (uint64_t) clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t pause_ns;

	if (process->probe == NULL)
		process->probe = map_probe_create(process->image.pid);
	if (process->probe == NULL)
		return;
	known = process->probe->fd >= 0;
	process->probe->look_for_another = now_ns - process->another_ns >= ANOTHER_NS;
	if (process->probe->look_for_another)
		process->another_ns = now_ns;
	code_map_look(&process->map, now_ns);
	process->looked_ns = now_ns;
	while (read_on(names, process) && (bytes += MAP_PROBE_BYTES) < LOOK_BYTES_MAX)
		process->probe->look_for_another = false;
	pause_ns = TIME_SHARE * ((uint64_t) clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns);
	names->looks.paid_ns += pause_ns;
	if (process->probe == NULL || process->probe->error != 0)
	{
		note_absence(names, process, now_ns);
		return;
	}
	process->again_ns = now_ns + (pause_ns > LOOK_PAUSE_NS ? pause_ns : LOOK_PAUSE_NS);
	process->absent_ns = ABSENT_MIN_NS;
	if (!known)
		count_one(&names->maps);
}

/*
 * Reads the map where it was not read since the sample. Where that was a moment ago, or so many
 * others are read, the sample is named by what is known.
 */
static void
prepare(void *context, const ExecImage *image, uint64_t time_ns)
{
	JitNames *names = context;
	JitProcess *process = find_process(names, image);
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);

	if (process == NULL)
		process = add_process(names, image);
	if (process == NULL)
		return;
	process->asked_ns = now_ns;
	if (process->looked_ns >= time_ns || now_ns < process->again_ns)
		return;
	if (allowance_take(&names->looks, now_ns, NS_PER_S / LOOKS_A_SECOND,
					   LOOKS_AT_ONCE * (NS_PER_S / LOOKS_A_SECOND)))
		look(names, process, now_ns);
}

static CodeObject *
name_frame(void *context, const ExecImage *image, const UserFrame *frame, uint64_t time_ns)
{
	JitNames *names = context;
	const JitProcess *process = find_process(names, image);
	CodeObject *code = process == NULL || process->is_behind || frame->more_count > 0
						   ? NULL
						   : code_map_find(&process->map, frame->code, time_ns);

	if (code == NULL)
		count_one(&names->unnamed);
	return code;
}

/* Forgets who was not asked about for long. */
static void
sweep(void *context, uint64_t now_ns)
{
	JitNames *names = context;

	for (size_t i = names->count; i > 0; i--)
	{
		if (names->processes[i - 1]->asked_ns + UNUSED_NS < now_ns)
			forget_at(names, i - 1);
	}
}

CodeNamer
jit_names_namer(JitNames *names)
{
	return (CodeNamer){ .name = name_frame,
						.prepare = prepare,
						.sweep = sweep,
						.context = names,
						.table = names->table };
}

void
jit_names_stats(const JitNames *names, JitNamesStats *stats)
{
	*stats = (JitNamesStats){
		.maps = atomic_load(&names->maps),
		.lines = atomic_load(&names->lines),
		.bad_lines = atomic_load(&names->bad_lines),
		.refused = atomic_load(&names->refused),
		.timeouts = atomic_load(&names->timeouts),
		.unnamed = atomic_load(&names->unnamed),
	};
}
