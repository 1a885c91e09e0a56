/*
 * gpu_kernels.c
 *		Probes libprofstore-gpu.so in programs that have loaded it (gpu_library/).
 *
 * The library measures kernels as long as it is probed: the kernel counts up its semaphore. It
 * keeps to a budget of its own, so its calls are not watched in turns. Other processes may have
 * files of that name; the BPF program limits what each process and owner sends.
 */
#include <errno.h>
#include <stdlib.h>

#include <bpf/libbpf.h>

#include "kernel/probed_libraries.h"
#include "kernel/source.h"
#include "profiler.skel.h"

#define GPU_LIBRARY "libprofstore-gpu.so"

typedef struct GpuKernels
{
	ProbedLibraries libraries;
	/* period and one_in of the BPF programs, which are constant for this source */
	__u64 period;
	__u32 one_in;
	volatile unsigned long long cookies[PFS_LAUNCH_LIBRARIES];
} GpuKernels;

/* Finds the library's two functions and its semaphore. cookies[0] is the library's cookie. */
static int
gpu_kernels_find_functions(ProbedFile *file)
{
	ElfHeaders *headers;
	uint64_t semaphore;
	int result = probed_library_headers(file, &headers);

	if (result != 0)
		return result;
	if (!probed_library_symbol(headers, "pfs_gpu_rows", false, &file->offsets[0]) ||
		!probed_library_symbol(headers, "pfs_gpu_launch", false, &file->offsets[1]) ||
		!probed_library_symbol(headers, "pfs_gpu_semaphore", true, &semaphore))
		result = -ENOENT;
	else
	{
		/* One program serves both functions, and recognizes by the cookie which one was called. */
		file->cookies[1] = file->cookies[0] | PFS_GPU_KEEPS;
		file->counters[0] = semaphore;
		file->counters[1] = semaphore;
		file->count = 2;
	}
	free(headers);
	return result;
}

static const CallProbeKind gpu_kernels_kind = {
	.name = "gpu-kernels",
	.calls = PFS_COUNTER_GPU_KEPT,
	.kept = PFS_COUNTER_GPU_KEPT,
	.period = 1,
	.period_min = 1,
	.period_max = 1,
	.find = gpu_kernels_find_functions,
};

static bool
gpu_kernels_wanted(const SourceSettings *settings)
{
	return settings->probes.gpu_kernels;
}

static void
gpu_kernels_choose(struct profiler *skeleton, bool wanted)
{
	(void) bpf_program__set_autoload(skeleton->progs.pfs_gpu_call, wanted);
	if (!wanted)
		/* without the source its map needs no entries */
		(void) bpf_map__set_max_entries(skeleton->maps.pfs_gpu_accounts, 1);
}

/* The library goes on keeping launches, of which fewer are sampled. The sums stay as they are. */
static void
gpu_kernels_restrain(Source *source, uint32_t part, uint32_t whole)
{
	uint64_t limit = (uint64_t) PFS_GPU_KEPT_LIMIT * part / whole;

	source->host->skeleton->bss->pfs_gpu_kept_limit = limit > 0 ? limit : 1;
}

/* Checks that the kernel can probe, and sets the constants of the BPF program. */
static ExitCode
gpu_kernels_prepare(const SourceHost *host, uint32_t slot, Source **source, Failure *failure)
{
	struct profiler *skeleton = host->skeleton;
	GpuKernels *kernels;
	CallProbe *calls;
	ExitCode code;

	code = call_probe_require("cannot measure GPU kernels on this host", "gpu-kernels", failure);
	if (code != EXIT_OK)
		return code;
	kernels = calloc(1, sizeof(*kernels));
	if (kernels == NULL)
		return failure_out_of_memory(failure);
	calls = &kernels->libraries.calls;
	calls->shared_period = &kernels->period;
	calls->shared_one_in = &kernels->one_in;
	calls->files = kernels->libraries.files;
	kernels->libraries.prefix = GPU_LIBRARY;
	kernels->libraries.cookies = kernels->cookies;
	if (call_probe_init(calls, host, &gpu_kernels_kind, skeleton->progs.pfs_gpu_call) != 0)
	{
		free(kernels);
		return failure_out_of_memory(failure);
	}
	skeleton->rodata->pfs_gpu_slot = slot;
	skeleton->rodata->pfs_gpu_slots = call_probe_slots(host->possible_cpus);
	gpu_kernels_restrain(&calls->source, 1, 1);
	*source = &calls->source;
	return EXIT_OK;
}

static void
gpu_kernels_free(Source *source)
{
	probed_libraries_fini((ProbedLibraries *) source);
	free(source);
}

static void
gpu_kernels_detach(Source *source)
{
	call_probe_look_away((CallProbe *) source);
}

static void
gpu_kernels_pace(Source *source, const uint64_t counters[PFS_COUNTER_COUNT], int64_t now_ns)
{
	CallProbe *calls = (CallProbe *) source;
	Failure failure;

	/*
	 * A process that holds its memory lock makes all files be unlinked. After the delay they are
	 * linked again with fresh accounts of waiting time; this cannot fail, because files that cannot
	 * be probed are marked.
	 */
	if (!calls->watching && calls->stall.until_ns != 0)
		(void) call_probe_attach(calls, &failure);
	probed_libraries_look((ProbedLibraries *) source, now_ns);
}

static uint64_t
gpu_kernels_looking_ns(const uint64_t counters[PFS_COUNTER_COUNT])
{
	return counters[PFS_COUNTER_GPU_ROWS] * CALL_PROBE_NS;
}

static size_t
gpu_kernels_figures(const Source *source, const uint64_t counters[PFS_COUNTER_COUNT],
					SourceFigure figures[SOURCE_FIGURES_MAX])
{
	figures[0] = (SourceFigure){ "gpu_launches_kept", counters[PFS_COUNTER_GPU_KEPT] };
	figures[1] = (SourceFigure){ "gpu_rows", counters[PFS_COUNTER_GPU_ROWS] };
	return 2;
}

const SampleSource gpu_kernels_source = {
	.events = PFS_COUNTER_GPU_KEPT,
	.is_tended = true,
	.wanted = gpu_kernels_wanted,
	.slots = call_probe_slots,
	.choose = gpu_kernels_choose,
	.prepare = gpu_kernels_prepare,
	.free = gpu_kernels_free,
	.detach = gpu_kernels_detach,
	.pace = gpu_kernels_pace,
	.restrain = gpu_kernels_restrain,
	.looking_ns = gpu_kernels_looking_ns,
	.figures = gpu_kernels_figures,
};
