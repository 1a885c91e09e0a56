/*
 * gpu_launches.c
 *		Probes of the functions of NVIDIA's driver library that launch kernels and graphs.
 *
 * The library, libcuda.so.1, is one file for all processes that map it; containers may have files
 * of their own. It is found among the files that sampled processes map: a process that launches
 * work runs on a CPU. libcudart is not probed: programs contain copies of it, and its functions
 * call each other.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/log.h"
#include "files/exported_symbol.h"
#include "kernel/call_probe.h"
#include "kernel/source.h"
#include "process/mapped_file.h"
#include "profiler.skel.h"

#define LAUNCH_LIBRARY	  "libcuda.so"
#define LAUNCH_PERIOD	  97
#define LAUNCH_PERIOD_MIN 19 /* so that launches that begin suddenly do not fill the ring */
#define LAUNCH_PERIOD_MAX (UINT64_C(1) << 30)

#define LOOK_NS	  (2 * NS_PER_S)
/* time after which a library that no sampled process maps is given up */
#define UNUSED_NS (600 * NS_PER_S)

/* Each launch calls one of these; several names may belong to one function. */
static const char *const launch_functions[] = {
	"cuLaunchKernel",
	"cuLaunchKernel_ptsz",
	"cuLaunchKernelEx",
	"cuLaunchKernelEx_ptsz",
	"cuLaunchCooperativeKernel",
	"cuLaunchCooperativeKernel_ptsz",
	"cuLaunchCooperativeKernelMultiDevice",
	"cuLaunchGrid",
	"cuLaunchGridAsync",
	"cuLaunch",
	"cuGraphLaunch",
	"cuGraphLaunch_ptsz",
};

#define LAUNCH_FUNCTIONS (sizeof(launch_functions) / sizeof(launch_functions[0]))

_Static_assert(LAUNCH_FUNCTIONS <= PROBED_FUNCTIONS_MAX, "room for all functions");

/* A library that is probed, unless its file is useless. */
typedef struct LaunchLibrary
{
	uint64_t device;
	uint64_t inode;
	char *name;
	uint64_t seen_ns;
	uint64_t cookie; /* its remainder is its place among the program's cookies */
} LaunchLibrary;

typedef struct GpuLaunches
{
	CallProbe calls;
	ProbedFile files[PFS_LAUNCH_LIBRARIES];
	LaunchLibrary libraries[PFS_LAUNCH_LIBRARIES]; /* by the index of their file */
	uint64_t numbers;							   /* of libraries, so far */
	uint64_t now_ns;							   /* of the current look */
	uint64_t looked_ns;
	bool is_full; /* a library was refused, which is counted once until there is room */
} GpuLaunches;

/* Converts an address of code to an offset in the file. Returns false if it is in no segment. */
static bool
launch_offset_of(ElfHeaders *headers, uint64_t address, uint64_t *offset)
{
	for (uint32_t i = 0; i < headers->segment_count; i++)
	{
		Elf64_Phdr segment;

		if (elf_headers_segment(headers, i, &segment) && segment.p_type == PT_LOAD &&
			(segment.p_flags & PF_X) && address >= segment.p_vaddr &&
			address - segment.p_vaddr < segment.p_filesz)
		{
			*offset = segment.p_offset + (address - segment.p_vaddr);
			return true;
		}
	}
	return false;
}

/* Adds the offset of a function unless it was added under another name. */
static void
launch_add_function(ProbedFile *file, uint64_t offset)
{
	for (uint32_t i = 0; i < file->count; i++)
	{
		if (file->offsets[i] == offset)
			return;
	}
	file->offsets[file->count] = offset;
	file->cookies[file->count] = file->cookies[0];
	file->count++;
}

/* Reads a file that any process may have named so; cookies[0] is the library's. */
static int
launch_find_functions(ProbedFile *file)
{
	ElfHeaders *headers = malloc(sizeof(*headers));
	ElfSource source = { .fd = file->fd };
	struct stat status;
	int result = headers == NULL ? -ENOMEM : fstat(file->fd, &status) != 0 ? -errno : 0;

	if (result == 0)
	{
		source.size_bytes = (uint64_t) status.st_size;
		result = elf_headers_read(headers, &source);
	}
	for (size_t i = 0; result == 0 && i < LAUNCH_FUNCTIONS; i++)
	{
		ExportedSymbol symbol;
		uint64_t offset;

		if (exported_symbol_find(headers, launch_functions[i], 1U << STT_FUNC, &symbol) &&
			launch_offset_of(headers, symbol.address, &offset))
			launch_add_function(file, offset);
	}
	free(headers);
	return result == 0 && file->count == 0 ? -ENOENT : result;
}

static const CallProbeKind launches_kind = {
	.name = "gpu-launches",
	.calls = PFS_COUNTER_LAUNCH_CALLS,
	.kept = PFS_COUNTER_LAUNCHES,
	.period = LAUNCH_PERIOD,
	.period_min = LAUNCH_PERIOD_MIN,
	.period_max = LAUNCH_PERIOD_MAX,
	.find = launch_find_functions,
};

static bool
gpu_launches_wanted(const SourceSettings *settings)
{
	return settings->probes.gpu_launches;
}

static uint32_t
gpu_launches_slots(int possible_cpus)
{
	return (uint32_t) possible_cpus;
}

static void
gpu_launches_choose(struct profiler *skeleton, bool wanted)
{
	(void) bpf_program__set_autoload(skeleton->progs.pfs_launch, wanted);
	if (!wanted)
		(void) bpf_map__set_max_entries(skeleton->maps.pfs_launchers, 1); /* saves memory */
}

static ExitCode
gpu_launches_prepare(const SourceHost *host, uint32_t slot, Source **source, Failure *failure)
{
	struct profiler *skeleton = host->skeleton;
	const char *missing = call_probe_missing();
	GpuLaunches *launches;

	if (missing != NULL)
	{
		failure_set(failure, EXIT_PRIVILEGE, "cannot sample launches of GPUs on this host");
		failure_detail(failure, "%s", missing);
		failure_hint(failure, "Remove gpu-launches from --probe.");
		return failure->code;
	}
	launches = calloc(1, sizeof(*launches));
	if (launches != NULL)
	{
		launches->calls.shared_period = &skeleton->bss->pfs_launch_period;
		launches->calls.shared_one_in = &skeleton->bss->pfs_launches_one_in;
		launches->calls.files = launches->files;
	}
	if (launches == NULL ||
		call_probe_init(&launches->calls, host, &launches_kind, skeleton->progs.pfs_launch) != 0)
	{
		free(launches);
		return failure_set(failure, EXIT_INTERNAL, "out of memory");
	}
	skeleton->rodata->pfs_launch_slot = slot;
	skeleton->rodata->pfs_launch_slots = gpu_launches_slots(host->possible_cpus);
	*source = &launches->calls.source;
	return EXIT_OK;
}

static void
gpu_launches_free(Source *source)
{
	GpuLaunches *launches = (GpuLaunches *) source;

	call_probe_fini(&launches->calls);
	for (size_t i = 0; i < launches->calls.file_count; i++)
		free(launches->libraries[i].name);
	free(launches);
}

static void
gpu_launches_detach(Source *source)
{
	call_probe_look_away((CallProbe *) source);
}

static void
gpu_launches_restrain(Source *source, uint32_t part, uint32_t whole)
{
	call_probe_restrain((CallProbe *) source, part, whole);
}

/* Returns a cookie whose place among the program's cookies is free. There are as many as files. */
static uint64_t
free_cookie(GpuLaunches *launches)
{
	const struct profiler__bss *shared = launches->calls.source.host->skeleton->bss;
	uint64_t place = 0;

	while (place + 1 < PFS_LAUNCH_LIBRARIES && shared->pfs_launch_cookies[place] != 0)
		place++;
	return ++launches->numbers * PFS_LAUNCH_LIBRARIES + place;
}

/* Called with each library that is mapped; adds it if it is new. */
static void
visit_library(void *context, const VisitedFile *visited)
{
	GpuLaunches *launches = context;
	CallProbe *calls = &launches->calls;
	LaunchLibrary *library = &launches->libraries[calls->file_count];
	ProbedFile *file = &launches->files[calls->file_count];

	for (size_t i = 0; i < calls->file_count; i++)
	{
		LaunchLibrary *known = &launches->libraries[i];

		if (known->device == visited->device && known->inode == visited->inode)
		{
			known->seen_ns = launches->now_ns;
			return;
		}
	}
	if (calls->file_count == PFS_LAUNCH_LIBRARIES)
	{
		if (!launches->is_full)
			losses_add(calls->source.host->losses, LOSS_PROBES_REFUSED, 1);
		launches->is_full = true;
		return;
	}
	*library = (LaunchLibrary){ .device = visited->device,
								.inode = visited->inode,
								.name = strdup(visited->name),
								.seen_ns = launches->now_ns,
								.cookie = free_cookie(launches) };
	*file = (ProbedFile){ .name = library->name,
						  .fd = fcntl(visited->fd, F_DUPFD_CLOEXEC, 0),
						  .link = -1,
						  .cookies = { library->cookie } };
	if (library->name == NULL || file->fd < 0)
	{
		free(library->name);
		if (file->fd >= 0)
			close(file->fd);
		return;
	}
	calls->source.host->skeleton->bss->pfs_launch_cookies[library->cookie % PFS_LAUNCH_LIBRARIES] =
		library->cookie;
	calls->file_count++;
}

/* Gives up a library. Returns false if its link cannot be closed at the moment. */
static bool
drop_library(GpuLaunches *launches, size_t index)
{
	CallProbe *calls = &launches->calls;
	LaunchLibrary *library = &launches->libraries[index];

	if (!call_probe_unlink(calls, &launches->files[index]))
		return false;
	calls->source.host->skeleton->bss->pfs_launch_cookies[library->cookie % PFS_LAUNCH_LIBRARIES] =
		0;
	close(launches->files[index].fd);
	free(library->name);
	calls->file_count--;
	launches->files[index] = launches->files[calls->file_count];
	*library = launches->libraries[calls->file_count];
	launches->is_full = false;
	return true;
}

/* Adds libraries that were mapped, and gives up those that are no longer. */
static void
look_for_libraries(GpuLaunches *launches)
{
	CallProbe *calls = &launches->calls;

	mapped_file_table_visit(calls->source.host->settings.files, LAUNCH_LIBRARY, visit_library,
							launches);
	for (size_t i = calls->file_count; i-- > 0;)
	{
		if (launches->now_ns - launches->libraries[i].seen_ns > UNUSED_NS)
			(void) drop_library(launches, i);
		else
			call_probe_follow(calls, &launches->files[i]);
	}
}

static void
gpu_launches_pace(Source *source, const uint64_t counters[PFS_COUNTER_COUNT], int64_t now_ns)
{
	GpuLaunches *launches = (GpuLaunches *) source;

	launches->now_ns = (uint64_t) now_ns;
	if (launches->now_ns - launches->looked_ns >= (uint64_t) LOOK_NS)
	{
		look_for_libraries(launches);
		launches->looked_ns = launches->now_ns;
	}
	call_probe_pace(&launches->calls, counters, now_ns);
}

static uint64_t
gpu_launches_looking_ns(const uint64_t counters[PFS_COUNTER_COUNT])
{
	return counters[PFS_COUNTER_LAUNCH_CALLS] * CALL_PROBE_NS;
}

static size_t
gpu_launches_figures(const Source *source, const uint64_t counters[PFS_COUNTER_COUNT],
					 SourceFigure figures[SOURCE_FIGURES_MAX])
{
	const CallProbe *calls = (const CallProbe *) source;

	figures[0] = (SourceFigure){ "gpu_launches", counters[PFS_COUNTER_LAUNCHES] };
	figures[1] = (SourceFigure){ "gpu_launch_period", calls != NULL ? calls->longest_period : 0 };
	figures[2] = (SourceFigure){ "gpu_launch_calls", counters[PFS_COUNTER_LAUNCH_CALLS] };
	figures[3] = (SourceFigure){ "gpu_launches_one_in", calls != NULL ? calls->fewest_calls : 0 };
	return 4;
}

const SampleSource gpu_launches_source = {
	.events = PFS_COUNTER_LAUNCHES,
	.is_tended = true,
	.wanted = gpu_launches_wanted,
	.slots = gpu_launches_slots,
	.choose = gpu_launches_choose,
	.prepare = gpu_launches_prepare,
	.free = gpu_launches_free,
	.detach = gpu_launches_detach,
	.pace = gpu_launches_pace,
	.restrain = gpu_launches_restrain,
	.looking_ns = gpu_launches_looking_ns,
	.figures = gpu_launches_figures,
};
