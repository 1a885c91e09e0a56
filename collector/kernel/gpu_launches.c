/*
 * gpu_launches.c
 *		Probes the functions of NVIDIA's driver library that launch kernels and graphs.
 *
 * The library, libcuda.so.1, is one file for all processes that map it; containers may have other
 * files. It is searched for among the files that sampled processes map: a process that launches
 * work runs on a CPU, so it is sampled. libcudart is not probed, because programs contain copies of
 * it and its functions call each other.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "kernel/probed_libraries.h"
#include "kernel/source.h"
#include "profiler.skel.h"

#define LAUNCH_LIBRARY	  "libcuda.so"
#define LAUNCH_PERIOD	  97
#define LAUNCH_PERIOD_MIN 19 /* prevents that launches that begin suddenly fill the ring */
#define LAUNCH_PERIOD_MAX (UINT64_C(1) << 30)

/* Each launch calls exactly one of these functions; some names may belong to one function. */
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

/* Adds the offset of a function unless another name has added it. */
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

/*
 * Finds the launch functions of a file. Any process may have given a file this name, so the content
 * is untrusted. cookies[0] is the library's cookie.
 */
static int
launch_find_functions(ProbedFile *file)
{
	ElfHeaders *headers;
	int result = probed_library_headers(file, &headers);

	if (result != 0)
		return result;
	for (size_t i = 0; i < LAUNCH_FUNCTIONS; i++)
	{
		uint64_t offset;

		if (probed_library_symbol(headers, launch_functions[i], false, &offset))
			launch_add_function(file, offset);
	}
	free(headers);
	return file->count == 0 ? -ENOENT : 0;
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

static void
gpu_launches_choose(struct profiler *skeleton, bool wanted)
{
	(void) bpf_program__set_autoload(skeleton->progs.pfs_launch, wanted);
	if (!wanted)
		/* without the source its map needs no entries */
		(void) bpf_map__set_max_entries(skeleton->maps.pfs_launchers, 1);
}

/*
 * Checks that the kernel can probe, and sets the constants of the BPF program. Libraries are found
 * later, by probed_libraries_look().
 */
static ExitCode
gpu_launches_prepare(const SourceHost *host, uint32_t slot, Source **source, Failure *failure)
{
	struct profiler *skeleton = host->skeleton;
	ProbedLibraries *launches;
	ExitCode code;

	code = call_probe_require("cannot sample GPU launches on this host", "gpu-launches", failure);
	if (code != EXIT_OK)
		return code;
	launches = calloc(1, sizeof(*launches));
	if (launches != NULL)
	{
		launches->calls.shared_period = &skeleton->bss->pfs_launch_period;
		launches->calls.shared_one_in = &skeleton->bss->pfs_launches_one_in;
		launches->calls.files = launches->files;
		launches->prefix = LAUNCH_LIBRARY;
		/* The BPF program reads the cookies, to decide which library of a process counts. */
		launches->cookies = skeleton->bss->pfs_launch_cookies;
	}
	if (launches == NULL ||
		call_probe_init(&launches->calls, host, &launches_kind, skeleton->progs.pfs_launch) != 0)
	{
		free(launches);
		return failure_out_of_memory(failure);
	}
	skeleton->rodata->pfs_launch_slot = slot;
	skeleton->rodata->pfs_launch_slots = call_probe_slots(host->possible_cpus);
	*source = &launches->calls.source;
	return EXIT_OK;
}

static void
gpu_launches_free(Source *source)
{
	probed_libraries_fini((ProbedLibraries *) source);
	free(source);
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

static void
gpu_launches_pace(Source *source, const uint64_t counters[PFS_COUNTER_COUNT], int64_t now_ns)
{
	probed_libraries_look((ProbedLibraries *) source, now_ns);
	call_probe_pace((CallProbe *) source, counters, now_ns);
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
	.slots = call_probe_slots,
	.choose = gpu_launches_choose,
	.prepare = gpu_launches_prepare,
	.free = gpu_launches_free,
	.detach = gpu_launches_detach,
	.pace = gpu_launches_pace,
	.restrain = gpu_launches_restrain,
	.looking_ns = gpu_launches_looking_ns,
	.figures = gpu_launches_figures,
};
