/*
 * jit_names.c
 *		The processes whose files are read, and the lookup of names in them.
 */
#include "jit/jit_names.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "jit/jit_source.h"

#define UNUSED_NS UINT64_C(120000000000)

typedef struct JitProcess
{
	ExecImage image;
	uint64_t asked_ns;
	JitSource sources[JIT_SOURCE_KINDS];
} JitProcess;

struct JitNames
{
	JitReading reading;
	JitProcess *processes[JIT_PROCESSES_MAX];
	size_t count;
	_Atomic uint64_t unnamed;
};

int
jit_names_create(size_t limit_bytes, JitNames **result)
{
	JitNames *names = calloc(1, sizeof(*names));

	if (names == NULL)
		return -ENOMEM;
	names->reading.budget.limit_bytes = limit_bytes;
	if (code_table_create(limit_bytes, &names->reading.table) != 0 ||
		prober_create(&names->reading.prober) != 0)
	{
		jit_names_free(names);
		return -ENOMEM;
	}
	*result = names;
	return 0;
}

static void
jit_free_process(JitProcess *process)
{
	for (size_t i = 0; i < JIT_SOURCE_KINDS; i++)
		jit_source_fini(&process->sources[i]);
	free(process);
}

void
jit_names_free(JitNames *names)
{
	if (names == NULL)
		return;
	for (size_t i = 0; i < names->count; i++)
		jit_free_process(names->processes[i]);
	prober_free(names->reading.prober);
	code_table_free(names->reading.table);
	free(names->reading.bytes);
	free(names);
}

static JitProcess *
jit_find_process(const JitNames *names, const ExecImage *image)
{
	for (size_t i = 0; i < names->count; i++)
	{
		if (exec_image_equal(&names->processes[i]->image, image))
			return names->processes[i];
	}
	return NULL;
}

static void
forget_at(JitNames *names, size_t at)
{
	jit_free_process(names->processes[at]);
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

/* Adds a process, dropping the least recently used one if needed. NULL on out of memory. */
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
	for (size_t i = 0; i < JIT_SOURCE_KINDS; i++)
		jit_source_init(&process->sources[i], (JitSourceKind) i, &names->reading, image->pid);
	names->processes[names->count++] = process;
	return process;
}

/* CodeNamerPrepare: reads the code that was reported since the sample. */
static void
jit_prepare(void *context, const ExecImage *image, const CodeWalk *walk)
{
	JitNames *names = context;
	JitProcess *process = jit_find_process(names, image);
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);

	if (process == NULL)
		process = add_process(names, image);
	if (process == NULL)
		return;
	process->asked_ns = now_ns;
	for (size_t i = 0; i < JIT_SOURCE_KINDS; i++)
		jit_source_read(&process->sources[i], &names->reading, walk->time_ns, now_ns);
}

/* CodeNamerName. Looks in the dump first, because it has exact times. */
static size_t
jit_name_frame(void *context, const ExecImage *image, const UserFrame *frame, uint64_t time_ns,
			   CodeObject *objects[CODE_INLINED_MAX])
{
	JitNames *names = context;
	const JitProcess *process = jit_find_process(names, image);
	CodeObject *code = NULL;

	/* Frames that an interpreter's walker found already have names. */
	if (process != NULL && frame->more_count == 0)
	{
		for (size_t i = 0; i < JIT_SOURCE_KINDS && code == NULL; i++)
			code = jit_source_find(&process->sources[i], frame->code, time_ns);
	}
	if (code == NULL)
	{
		code_tally_one(&names->unnamed);
		return 0;
	}
	objects[0] = code;
	return 1;
}

/* CodeNamerSweep: drops processes that were not used for UNUSED_NS. */
static void
jit_sweep(void *context, uint64_t now_ns)
{
	JitNames *names = context;

	/* From the end, because forget_at() moves the last process into the gap. */
	for (size_t i = names->count; i > 0; i--)
	{
		if (names->processes[i - 1]->asked_ns + UNUSED_NS < now_ns)
			forget_at(names, i - 1);
	}
}

CodeNamer
jit_names_namer(JitNames *names)
{
	return (CodeNamer){ .name = jit_name_frame,
						.prepare = jit_prepare,
						.sweep = jit_sweep,
						.context = names,
						.table = names->reading.table };
}

static JitFileStats
file_stats(const CodeTally *tally)
{
	return (JitFileStats){
		.files = atomic_load(&tally->files),
		.pieces = atomic_load(&tally->pieces),
		.bad = atomic_load(&tally->bad),
		.refused = atomic_load(&tally->refused),
		.timeouts = atomic_load(&tally->timeouts),
	};
}

void
jit_names_stats(const JitNames *names, JitNamesStats *stats)
{
	*stats = (JitNamesStats){ .maps = file_stats(&names->reading.tallies[JIT_SOURCE_MAP]),
							  .dumps = file_stats(&names->reading.tallies[JIT_SOURCE_DUMP]),
							  .unnamed = atomic_load(&names->unnamed) };
}
