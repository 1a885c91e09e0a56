/*
 * allocations.c
 *		Probes of functions that allocate memory.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "files/open_file.h"
#include "kernel/call_probe.h"
#include "kernel/probe_list.h"
#include "kernel/source.h"
#include "profiler.skel.h"
#include "symbols/elf/elf_file.h"

#define ALLOCATION_PERIOD	  (UINT64_C(512) << 10)
#define ALLOCATION_PERIOD_MAX (UINT64_C(2) << 30) /* limit of the BPF program's 32-bit counters */

typedef struct ProbedFunction
{
	const char *name;
	enum pfs_call call;
} ProbedFunction;

/* Functions to probe; some names may belong to one function. */
static const ProbedFunction functions[] = {
	{ "malloc", PFS_CALL_FIRST },	 { "calloc", PFS_CALL_PRODUCT },
	{ "realloc", PFS_CALL_RESIZE },	 { "aligned_alloc", PFS_CALL_SECOND },
	{ "memalign", PFS_CALL_SECOND }, { "posix_memalign", PFS_CALL_THIRD },
};

#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

typedef struct Allocations
{
	CallProbe calls;
	ProbedFile files[PROBE_FILES_MAX];
} Allocations;

static const CallProbeKind allocations_kind = {
	.name = "allocations",
	.calls = PFS_COUNTER_CALLS,
	.kept = PFS_COUNTER_ALLOCATIONS,
	.period = ALLOCATION_PERIOD,
	.period_min = ALLOCATION_PERIOD,
	.period_max = ALLOCATION_PERIOD_MAX,
};

static const char *
allocations_missing(const char **how)
{
	*how = "";
	return call_probe_missing();
}

static ExitCode
refuse_file(Failure *failure, const ProbedFile *file, const char *detail)
{
	failure_set(failure, EXIT_CONFIG, "value for --probe cannot be used");
	failure_detail(failure, "\"%s\": %s.", file->name, detail);
	failure_hint(failure, "Name the C library that the programs use, or a statically linked "
						  "program, by a path that this process can open.");
	return failure->code;
}

/*
 * Converts an address of code to an offset in the file. Returns false if the address is in no
 * segment.
 */
static bool
allocations_offset_of(const ElfFile *elf, uint64_t address, uint64_t *offset)
{
	for (uint32_t i = 0; i < elf->segment_count; i++)
	{
		const ElfRange *segment = &elf->segments[i];

		if (address >= segment->address && address - segment->address < segment->size_bytes)
		{
			*offset = segment->offset + (address - segment->address);
			return true;
		}
	}
	return false;
}

/* Adds the offset of a function unless another name has added it. */
static void
allocations_add_function(ProbedFile *file, uint64_t offset, enum pfs_call call)
{
	for (uint32_t i = 0; i < file->count; i++)
	{
		if (file->offsets[i] == offset)
			return;
	}
	file->offsets[file->count] = offset;
	file->cookies[file->count++] = call;
}

static void
find_functions(const ElfFile *elf, ProbedFile *file)
{
	/* A library need not have all of them: those that it has are probed. */
	for (size_t i = 0; i < FUNCTIONS; i++)
	{
		ElfSymbol symbol;
		uint64_t offset;

		if (elf_file_find_any_symbol(elf, functions[i].name, 1U << STT_FUNC, &symbol) &&
			allocations_offset_of(elf, symbol.address, &offset))
			allocations_add_function(file, offset, functions[i].call);
	}
}

/* Opens a file to probe and finds its allocation functions. */
static ExitCode
allocations_open_file(ProbedFile *file, const char *name, Failure *failure)
{
	struct stat status;
	ElfSource source = { 0 };
	ElfFile elf;
	int result;

	file->name = name;
	/*
	 * name leads through the root directory of a container's process, so links are resolved within
	 * the container
	 */
	file->fd = open_file_of_process(name, &status);
	if (file->fd == -ENOEXEC)
		return refuse_file(failure, file, "not a regular file");
	if (file->fd < 0)
		return refuse_file(failure, file, strerror(-file->fd));
	source.fd = file->fd;
	source.size_bytes = (uint64_t) status.st_size;
	/* The file is closed with the source, also after a refusal. */
	result = elf_file_init(&elf, &source);
	if (result == -ENOMEM)
		return failure_out_of_memory(failure);
	if (result != 0)
		return refuse_file(failure, file, "not an ELF file");
	find_functions(&elf, file);
	elf_file_fini(&elf);
	return file->count > 0
			   ? EXIT_OK
			   : refuse_file(failure, file, "no allocation function such as \"malloc\" found");
}

static void
allocations_detach(Source *source)
{
	call_probe_look_away((CallProbe *) source);
}

static void
allocations_free(Source *source)
{
	Allocations *allocations = (Allocations *) source;

	call_probe_fini(&allocations->calls);
	free(allocations);
}

static bool
allocations_wanted(const SourceSettings *settings)
{
	return settings->probes.file_count > 0;
}

static void
allocations_choose(struct profiler *skeleton, bool wanted)
{
	(void) bpf_program__set_autoload(skeleton->progs.pfs_allocation, wanted);
}

static ExitCode
allocations_open_files(Allocations *allocations, const ProbeList *probes, Failure *failure)
{
	allocations->calls.files = allocations->files;
	for (size_t i = 0; i < probes->file_count; i++)
	{
		ProbedFile *file = &allocations->files[allocations->calls.file_count++];
		ExitCode code;

		/* Mark the file as not linked before anything can fail, because 0 is a descriptor. */
		file->link = -1;
		code = allocations_open_file(file, probes->files[i], failure);
		if (code != EXIT_OK)
			return code;
	}
	return EXIT_OK;
}

static void
allocations_restrain(Source *source, uint32_t part, uint32_t whole)
{
	call_probe_restrain((CallProbe *) source, part, whole);
}

/* Checks that the kernel can probe, opens the files, and sets the constants of the BPF program. */
static ExitCode
allocations_prepare(const SourceHost *host, uint32_t slot, Source **source, Failure *failure)
{
	struct profiler *skeleton = host->skeleton;
	Allocations *allocations;
	ExitCode code;

	code = call_probe_require("cannot sample allocations on this host", "allocations", failure);
	if (code != EXIT_OK)
		return code;
	allocations = calloc(1, sizeof(*allocations));
	if (allocations != NULL)
	{
		allocations->calls.shared_period = &skeleton->bss->pfs_allocation_period;
		allocations->calls.shared_one_in = &skeleton->bss->pfs_calls_one_in;
	}
	/* call_probe_init() sets the first period through the pointers, so they come before it. */
	if (allocations == NULL || call_probe_init(&allocations->calls, host, &allocations_kind,
											   skeleton->progs.pfs_allocation) != 0)
	{
		free(allocations);
		return failure_out_of_memory(failure);
	}
	code = allocations_open_files(allocations, &host->settings.probes, failure);
	if (code != EXIT_OK)
	{
		allocations_free(&allocations->calls.source);
		return code;
	}
	/* A probed call may be preempted, so it cannot use the scratch of a level of its CPU. */
	skeleton->rodata->pfs_call_slot = slot;
	skeleton->rodata->pfs_call_slots = call_probe_slots(host->possible_cpus);
	*source = &allocations->calls.source;
	return EXIT_OK;
}

static ExitCode
allocations_attach(Source *source, Failure *failure)
{
	return call_probe_attach((CallProbe *) source, failure);
}

static void
allocations_pace(Source *source, const uint64_t counters[PFS_COUNTER_COUNT], int64_t now_ns)
{
	call_probe_pace((CallProbe *) source, counters, now_ns);
}

static uint64_t
allocations_looking_ns(const uint64_t counters[PFS_COUNTER_COUNT])
{
	return counters[PFS_COUNTER_CALLS] * CALL_PROBE_NS;
}

static size_t
allocations_figures(const Source *source, const uint64_t counters[PFS_COUNTER_COUNT],
					SourceFigure figures[SOURCE_FIGURES_MAX])
{
	const CallProbe *calls = (const CallProbe *) source;

	figures[0] = (SourceFigure){ "allocations", counters[PFS_COUNTER_ALLOCATIONS] };
	figures[1] =
		(SourceFigure){ "allocation_period_bytes", calls != NULL ? calls->longest_period : 0 };
	figures[2] = (SourceFigure){ "calls", counters[PFS_COUNTER_CALLS] };
	figures[3] = (SourceFigure){ "calls_one_in", calls != NULL ? calls->fewest_calls : 0 };
	return 4;
}

const SampleSource allocations_source = {
	.name = "allocations",
	.events = PFS_COUNTER_ALLOCATIONS,
	.is_tended = true,
	.wanted = allocations_wanted,
	.slots = call_probe_slots,
	.choose = allocations_choose,
	.prepare = allocations_prepare,
	.free = allocations_free,
	.attach = allocations_attach,
	.detach = allocations_detach,
	.pace = allocations_pace,
	.restrain = allocations_restrain,
	.looking_ns = allocations_looking_ns,
	.figures = allocations_figures,
	.missing = allocations_missing,
};
