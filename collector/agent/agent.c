/*
 * agent.c
 *		Life of the agent: starts the parts, flushes every interval, stops in the order of the
 *		flow.
 *
 * 1. Writer and flusher start first, so that the connection to the database is made and the
 *    kernel's symbols are read while the BPF program is loaded. Then sampler and reader start.
 * 2. The main loop only keeps time and must never be late: it follows CPUs, applies self-restraint,
 *    writes the status file, draws progress and asks the flusher to flush after each window. Work
 *    that may have to wait for some process runs on another thread (tender.c).
 * 3. At the end each part is stopped after the part that feeds it: sampler, reader, flusher,
 *    writer.
 */
#include "agent/agent.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/agent_figures.h"
#include "agent/agent_report.h"
#include "agent/flusher/flusher.h"
#include "agent/flusher/minute.h"
#include "agent/gpu_meter.h"
#include "agent/reader/reader.h"
#include "agent/reload.h"
#include "agent/restraint.h"
#include "agent/start_priority.h"
#include "agent/tender.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/log.h"
#include "batch/losses.h"
#include "gpu/nvml.h"
#include "jit/jit_names.h"
#include "kernel/capabilities.h"
#include "kernel/sampler.h"
#include "labels/cgroup_table.h"
#include "metrics/metrics_page.h"
#include "process/mapped_file.h"
#include "process/proc_file.h"
#include "program/descriptors.h"
#include "program/health.h"
#include "program/progress.h"
#include "program/service_manager.h"
#include "program/stop_signals.h"
#include "symbols/symbolizer.h"
#include "writer/writer.h"

#define TICK_NS			(500 * NS_PER_MS)
#define PROGRESS_NS		(100 * NS_PER_MS)
/* Interval between flushes in the first second, so that users soon see that samples are stored. */
#define BEGIN_FLUSH_NS	(20 * NS_PER_MS)
/* Interval between flushes from READER_BEGIN_NS until the first batch is stored. */
#define FIRST_FLUSH_NS	(100 * NS_PER_MS)
/* Time to wait after a window's end for its records that are still in the ring. */
#define FLUSH_GRACE_NS	(200 * NS_PER_MS)
#define FOLLOW_CPUS_NS	NS_PER_S
#define FIGURES_NS		(5 * NS_PER_S)
#define TENDER_STUCK_MS 30000
#define GPU_STUCK_MS	30000
#define DEVICES_BYTES	((size_t) 256 * 1024) /* limit of the memory for names of GPUs */
#define DRAIN_MIN_MS	1000

#define START_NS (10 * NS_PER_S) /* all threads have the priority of the start for so long */

/*
 * Parts of --max-memory, as divisors. Names of generated code and addresses of generated code have
 * NAMES_SHARE each.
 */
#define PAST_SHARE	   16 /* past images of processes */
#define MAPPINGS_SHARE 8  /* mappings of processes */
#define FILES_SHARE	   16 /* names of mapped files */
#define NAMES_SHARE	   16
#define WORKER_SHARE   3 /* allocations of the symbol worker */
#define SIDEBAND_SHARE 8 /* buffers of the kernel's records about processes */

#define INTERVAL_BYTES	   ((size_t) 32 * 1024 * 1024)
#define SYMBOL_CACHE_BYTES ((size_t) 24 * 1024 * 1024)
#define TABLE_CACHE_BYTES  ((size_t) 64 * 1024 * 1024)
#define PROCESS_LIMIT	   4096

#define CGROUPS_LIMIT_BYTES 16384

typedef struct Agent
{
	AgentOptions own;
	const AgentOptions *options; /* points to own */
	AgentCall call;
	AgentConfig *config; /* "own" points into this; its rules apply until the first reload */
	/* configuration of the rules since the last reload; NULL: the rules of config */
	AgentConfig *rules;
	char *probes; /* the sampler's options point into it */
	PodTable *pods;
	PodClient *pod_client; /* NULL: pods are not watched */
	Losses losses;
	Report report;
	FILE *summary; /* NULL: not requested, or written already */
	Symbolizer *symbolizer;
	MappedFileTable *files;
	int64_t descriptors;	 /* limit of open descriptors */
	TableCache *table_cache; /* NULL: none */
	JitNames *jit_names;
	Runtimes *runtimes;
	Writer *writer;
	Sampler *sampler;
	Reader *reader;
	Flusher *flusher;
	Tender *tender; /* NULL: the sampler has no slow work */
	bool tender_stuck;
	GpuMeter *gpu_meter; /* NULL: not requested */
	CodeTable *devices;	 /* names of GPUs; NULL: not requested */
	bool gpu_stuck;
	FiguresSnapshot figures;
	MetricsPage *metrics_page; /* NULL: none */
	ServiceManager service;
	Restraint restraint;
	int64_t attached_ns; /* CLOCK_MONOTONIC, like all times below */
	int64_t started_ns;
	int64_t flush_ns;
	int64_t follow_cpus_ns;
	int64_t health_ns;
	int64_t figures_ns;
	StartPriority start_priority;
} Agent;

/*
 * Compiling the unwind table of a large library takes tens of megabytes for a moment. A fixed
 * threshold makes the C library return large blocks to the kernel on every free, not only on the
 * first one, and a limit of arenas makes threads share their heaps.
 */
static void
keep_memory_small(void)
{
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	mallopt(M_ARENA_MAX, 2);
}

/*
 * Starts the writer's thread. A database that does not answer is no error: the writer tries again.
 */
static ExitCode
agent_start_writer(Agent *agent, Failure *failure)
{
	WriterOptions options = {
		.conninfo = agent->options->database,
		.node = agent->options->node,
		.queue_bytes = agent->options->queue_bytes,
		.spool = agent->options->spool,
		.report = { .name = agent->options->node,
					.program = "agent",
					.fill = figures_fill_published,
					.context = &agent->figures },
	};
	ExitCode code = writer_create(&options, &agent->writer, failure);

	if (code == EXIT_OK && writer_start(agent->writer) != 0)
		code = failure_set(failure, EXIT_INTERNAL, "could not start the writer's thread");
	return code;
}

static ExitCode
start_flusher(Agent *agent, Failure *failure)
{
	FlusherParts parts = {
		.files = agent->files,
		.symbolizer = agent->symbolizer,
		.reader = agent->reader,
		.losses = &agent->losses,
		.writer = agent->writer,
	};

	if (flusher_create(&parts, &agent->flusher) != 0)
		return failure_out_of_memory(failure);
	if (flusher_start(agent->flusher) != 0)
		return failure_set(failure, EXIT_INTERNAL, "could not start the flusher's thread");
	return EXIT_OK;
}

static ExitCode
start_tender(Agent *agent, Failure *failure)
{
	int64_t interval_ns = agent->options->interval_ms * NS_PER_MS;

	if (sampler_has_tending(agent->sampler) &&
		tender_start(agent->sampler, interval_ns, &agent->tender) != 0)
		return failure_set(failure, EXIT_INTERNAL, "could not start the tender's thread");
	return EXIT_OK;
}

/*
 * Starts the thread that reads GPUs, if --gpu is given. A host without a driver is no error: the
 * thread looks for one again and again.
 */
static ExitCode
start_gpu_meter(Agent *agent, Failure *failure)
{
	GpuMeterOptions options = {
		.library = NVML_LIBRARY,
		.interval_ns = agent->options->interval_ms * NS_PER_MS,
		.open_ns = GPU_METER_OPEN_NS,
		.reader = agent->reader,
		.losses = &agent->losses,
	};

	if (!agent->options->gpu)
		return EXIT_OK;
	if (code_table_create(DEVICES_BYTES, &agent->devices) != 0)
		return failure_out_of_memory(failure);
	options.names = agent->devices;
	if (gpu_meter_start(&options, &agent->gpu_meter) != 0)
		return failure_set(failure, EXIT_INTERNAL, "could not start the thread that reads GPUs");
	return EXIT_OK;
}

/*
 * Opens the summary file before the run, so that an error is reported at once and not after the
 * run.
 */
static ExitCode
open_summary(Agent *agent, Failure *failure)
{
	const char *path = agent->options->summary_file;

	if (path == NULL)
		return EXIT_OK;
	agent->summary = fopen(path, "we");
	if (agent->summary != NULL)
		return EXIT_OK;
	return failure_of_file(failure, "could not open the summary", path, strerror(errno));
}

/* Publishes the figures for the page /metrics and the writer's reports. */
static void
publish_figures(Agent *agent, int64_t now_ns)
{
	const AgentFigureSources sources = {
		.sampler = agent->sampler,
		.reader = agent->reader,
		.flusher = agent->flusher,
		.losses = &agent->losses,
		.writer = agent->writer,
	};
	Figures figures = { .count = 0 };

	agent_figures_add(&sources, &figures);
	figures_publish(&agent->figures, &figures);
	agent->figures_ns = now_ns + FIGURES_NS;
}

static ExitCode
open_metrics_page(Agent *agent, Failure *failure)
{
	const MetricsPageOptions options = {
		.listen = agent->options->metrics_listen,
		.part = "agent",
		.fill = figures_fill_published,
		.context = &agent->figures,
	};

	if (options.listen == NULL)
		return EXIT_OK;
	publish_figures(agent, clock_ns(CLOCK_MONOTONIC));
	return metrics_page_start(&options, &agent->metrics_page, failure);
}

/* Collects the values that `profstore health` and the watchdog judge. */
static Health
take_health(const Agent *agent)
{
	Health health = { .time_ns = clock_ns(CLOCK_MONOTONIC) };
	WriterStats writer;

	reader_busy_ms(agent->reader, &health.ring_busy_ms, &health.walker_busy_ms);
	health.flusher_busy_ms = flusher_busy_ms(agent->flusher);
	health.tender_busy_ms = tender_busy_ms(agent->tender);
	health.held_ms = flusher_held_ms(agent->flusher);
	health.interval_ms = agent->options->interval_ms;
	writer_stats(agent->writer, &writer);
	/* Before anything is stored, the age counts from the start. */
	health.newest_stored_ms =
		writer.newest_sample_us != 0
			? (clock_ns(CLOCK_REALTIME) / 1000 - writer.newest_sample_us) / 1000
			: (health.time_ns - agent->attached_ns) / NS_PER_MS;
	/* The newest sample lies in the future if the clock was set back after it was taken. */
	if (health.newest_stored_ms < 0)
		health.newest_stored_ms = 0;
	if (writer.waiting_since_ns != 0)
		health.unstored_ms = (health.time_ns - writer.waiting_since_ns) / NS_PER_MS;
	health.rows_stored = writer.samples_written;
	health.rows_dropped = writer.samples_dropped + writer.samples_refused;
	health.queued_bytes = writer.queued_bytes;
	health.spooled_bytes = writer.spooled_bytes;
	return health;
}

/*
 * Writes the status file if one is requested, and sets the time of the next write. Returns 0 or
 * -errno.
 */
static int
write_health(Agent *agent)
{
	Health health;

	if (agent->options->status_file == NULL)
		return 0;
	health = take_health(agent);
	agent->health_ns = health.time_ns + HEALTH_WRITE_NS;
	return health_write(agent->options->status_file, &health);
}

/* Sends the service manager a sign of life if one is due and no thread is stuck. */
static void
show_life(Agent *agent, int64_t now_ns)
{
	const HealthOptions limits = { .max_silence_ms = agent->service.watchdog_ns / NS_PER_MS };
	Failure failure;
	Health health;

	if (!service_manager_waits(&agent->service, now_ns))
		return;
	health = take_health(agent);
	if (health_judge(&health, &limits, health.time_ns, &failure) == EXIT_OK)
		service_manager_lives(&agent->service, now_ns);
	else
		failure_log(&failure, "agent");
}

/* Logs if the tender is stuck. No thread waits for it, but samples are missing meanwhile. */
static void
watch_tender(Agent *agent)
{
	bool stuck = tender_busy_ms(agent->tender) > TENDER_STUCK_MS;

	if (stuck && !agent->tender_stuck)
		log_event(LOG_WARNING, "agent",
				  "thread \"tender\" has been busy with one task for too long",
				  log_text("detail",
						   "Ongoing waits and allocations are not sampled in the meantime."));
	agent->tender_stuck = stuck;
}

/* Logs once that the GPU's driver does not answer. */
static void
watch_gpu_meter(Agent *agent)
{
	bool stuck = gpu_meter_busy_ms(agent->gpu_meter) > GPU_STUCK_MS;

	if (stuck && !agent->gpu_stuck)
	{
		losses_add(&agent->losses, LOSS_GPU_UNREAD, 1);
		log_event(LOG_WARNING, "agent", "the driver of the GPUs has not answered for 30 s");
	}
	agent->gpu_stuck = stuck;
}

/*
 * Writes the first status, which shows that all parts run. It must succeed, because a readiness
 * probe of Kubernetes would wait for the file forever.
 */
static ExitCode
open_health(Agent *agent, Failure *failure)
{
	int result = write_health(agent);

	if (result == 0)
		return EXIT_OK;
	return failure_of_file(failure, "could not write the status", agent->options->status_file,
						   strerror(-result));
}

/*
 * Opens the cache of unwind tables. Without the cache the agent works, but its first walks take
 * longer.
 */
static void
open_table_cache(Agent *agent)
{
	const char *directory = agent->options->cache_directory;
	int result;

	if (directory[0] == '\0')
		return;
	result = table_cache_open(directory, TABLE_CACHE_BYTES, &agent->table_cache);
	if (result != 0)
		log_event(LOG_INFO, "agent", "tables of binaries are not cached on disk",
				  log_text("directory", directory),
				  log_text("detail", result == -EPERM ? "Other users may write to the directory."
													  : strerror(-result)));
}

static void
start_restraint(Agent *agent)
{
	const AgentOptions *options = agent->options;
	GovernorLimits limits = {
		.frequency_hz = options->frequency_hz,
		.cpu_percent = agent_max_cpu_percent(options, sampler_cpu_count(agent->sampler)),
		.memory_bytes = options->max_memory_bytes,
	};
	RestraintParts parts = {
		.sampler = agent->sampler,
		.reader = agent->reader,
		.flusher = agent->flusher,
		.symbolizer = agent->symbolizer,
	};

	restraint_init(&agent->restraint, &limits, &parts);
}

/*
 * Finds the cgroup v1 hierarchy in which the runtime names containers. Returns PFS_CONTROLLER_NONE
 * if the unified hierarchy (v2) names them.
 */
static enum pfs_controller
choose_controller(uint32_t *hierarchy)
{
	enum pfs_controller controller;
	char *text;

	*hierarchy = 0;
	if (proc_file_read("/proc/cgroups", CGROUPS_LIMIT_BYTES, &text, NULL) != 0)
		return PFS_CONTROLLER_NONE;
	controller = cgroup_controller_parse(text, hierarchy);
	free(text);
	return controller;
}

/*
 * Finds the kernel functions between the caller of a wait and the scheduler. They are left out of
 * stacks.
 */
static void
read_scheduler_code(const AgentOptions *options, SchedulerCode *code)
{
	int result = options->off_cpu_ms > 0 ? scheduler_code_read("/proc/kallsyms", code) : 0;

	if (result != 0)
		log_event(LOG_WARNING, "agent",
				  "could not find the scheduler's functions; stacks of waits include them",
				  log_text("detail", strerror(-result)));
}

static ExitCode
read_custom_labels(const AgentOptions *options, ReaderOptions *reader, Failure *failure)
{
	const char *problem;
	ExitCode code;

	if (options->custom_labels == NULL)
		return EXIT_OK;
	reader->labels.custom = true;
	if (custom_labels_parse(options->custom_labels, &reader->custom, &problem))
		return EXIT_OK;
	code = failure_set(failure, EXIT_CONFIG, "value for --custom-labels cannot be used");
	failure_detail(failure, "%s", problem);
	return code;
}

static ExitCode
read_probes(Agent *agent, ProbeList *probes, Failure *failure)
{
	if (agent->options->probe == NULL)
		return EXIT_OK;
	agent->probes = strdup(agent->options->probe);
	return agent->probes == NULL ? failure_out_of_memory(failure)
								 : probe_list_parse(agent->probes, probes, failure);
}

/*
 * Limits the descriptors for mapped files (one for each mapped file of sampled processes) to three
 * quarters of RLIMIT_NOFILE. The rest is for the database, logs, events of new CPUs and files that
 * are read.
 */
static void
limit_files(Agent *agent)
{
	mapped_file_table_limit(agent->files, (size_t) (agent->descriptors / 4 * 3),
							agent->options->max_memory_bytes / FILES_SHARE);
}

/*
 * Starts the parts. The symbolizer comes first because it may fork. Parts with slow work start
 * their threads before the BPF program is loaded; the writer keeps trying to connect if the
 * database is not available.
 */
static ExitCode
agent_start_parts(Agent *agent, Failure *failure)
{
	const AgentOptions *options = agent->options;
	SymbolizerOptions symbolizer = {
		.cache_bytes = SYMBOL_CACHE_BYTES,
		.debug_directory = options->debug_directory,
		.inlined_lines = !options->no_inlined,
		.style = (NameStyle) options->demangle,
		.worker_bytes = options->max_memory_bytes / WORKER_SHARE,
		.table_directory = options->cache_directory,
	};
	ReaderOptions reader = {
		.labels = { .node = options->node,
					.pid = options->label_pid,
					.thread = options->label_thread },
		.keep_times = options->keep_times,
		.window_us = options->interval_ms * 1000,
		.start_us = clock_ns(CLOCK_REALTIME) / 1000,
		.interval_bytes = INTERVAL_BYTES,
		.memory_bytes = options->max_memory_bytes,
		/* No CPU is sampled yet, so the limit is that of all online CPUs. */
		.cpu_percent = (uint64_t) agent_max_cpu_percent(options, sysconf(_SC_NPROCESSORS_ONLN)),
		.process_limit = PROCESS_LIMIT,
		.mapping_bytes = options->max_memory_bytes / MAPPINGS_SHARE,
		.past_bytes = options->max_memory_bytes / PAST_SHARE,
		.sideband_bytes = options->max_memory_bytes / SIDEBAND_SHARE,
	};
	SamplerOptions sampler = {
		.frequency_hz = (uint32_t) options->frequency_hz,
		.exclude_self = options->exclude_self,
		.allow_unsafe_kernel = options->allow_unsafe_kernel,
		.memory_bytes = options->max_memory_bytes,
		.max_mappings = (uint64_t) options->max_mappings,
		.max_code_bytes = options->max_code_bytes,
		.controller = choose_controller(&reader.cgroup_hierarchy),
		.interval_ns = (uint64_t) (options->interval_ms * NS_PER_MS),
		.on_tended = reader_queue_wait,
		.sources = options->sources,
		.losses = &agent->losses,
	};
	CodeNamer generated;
	ExitCode code;

	sampler.sources.off_cpu_period_ns = (uint64_t) (options->off_cpu_ms * NS_PER_MS);
	code = read_custom_labels(options, &reader, failure);
	if (code == EXIT_OK)
		code = read_probes(agent, &sampler.sources.probes, failure);
	if (code != EXIT_OK)
		return code;
	read_scheduler_code(options, &reader.scheduler);
	open_table_cache(agent);
	reader.table_cache = agent->table_cache;
	if (jit_names_create(options->max_memory_bytes / NAMES_SHARE, &agent->jit_names) != 0)
		return failure_out_of_memory(failure);
	if (!options->no_interpreters &&
		runtimes_create(options->max_memory_bytes / NAMES_SHARE, &agent->runtimes) != 0)
		return failure_out_of_memory(failure);
	/*
	 * The namer of interpreters passes every frame that is not its own to the namer of generated
	 * code.
	 */
	generated = jit_names_namer(agent->jit_names);
	reader.namer =
		agent->runtimes != NULL ? runtimes_namer(agent->runtimes, &generated) : generated;
	reader.runtimes = agent->runtimes;
	reader.fold_native = options->interpreter_native == AGENT_NATIVE_FOLD;
	reader.gpu_label_stream = options->gpu_label_stream;
	reader.gpu_launches_probed = sampler.sources.probes.gpu_launches;
	if (symbolizer_create(&symbolizer, &agent->symbolizer) != 0 ||
		mapped_file_table_create(&agent->files) != 0 ||
		reader_create(&reader, agent->files, &agent->losses, &agent->reader) != 0 ||
		agent_use_rules(agent->reader, agent->config) != 0)
		return failure_out_of_memory(failure);
	limit_files(agent);
	sampler.sources.files = agent->files;
	code = open_summary(agent, failure);
	/*
	 * The dropped capabilities are not needed any more, because from here on only files of our own
	 * are opened for writing. The threads started below inherit the remaining capabilities.
	 */
	if (code == EXIT_OK && capabilities_drop() != 0)
		code = failure_set(failure, EXIT_PRIVILEGE, "could not drop capabilities");
	if (code == EXIT_OK)
		code = agent_watch_pods(agent->config, options->node, agent->reader, &agent->pod_client,
								failure);
	if (code == EXIT_OK)
		code = agent_start_writer(agent, failure);
	if (code == EXIT_OK)
		code = start_flusher(agent, failure);
	if (code == EXIT_OK)
		code =
			sampler_create(&sampler, reader_queue_record, agent->reader, &agent->sampler, failure);
	/* Read from the first sample on, because its process may end soon after it. */
	if (code == EXIT_OK && reader_start(agent->reader, agent->sampler) != 0)
		code = failure_set(failure, EXIT_INTERNAL, "could not start the reader's thread");
	if (code == EXIT_OK)
		code = sampler_attach(agent->sampler, failure);
	if (code == EXIT_OK)
		code = start_tender(agent, failure);
	if (code == EXIT_OK)
		code = start_gpu_meter(agent, failure);
	agent->attached_ns = clock_ns(CLOCK_MONOTONIC);
	if (code == EXIT_OK)
		code = open_health(agent, failure);
	if (code == EXIT_OK)
		code = open_metrics_page(agent, failure);
	if (code == EXIT_OK)
		start_restraint(agent);
	return code;
}

/* Frees the parts that samples pass between sampler and writer, and the symbol workers. */
static void
free_middle(Agent *agent)
{
	pod_client_stop(agent->pod_client);
	agent->pod_client = NULL;
	flusher_free(agent->flusher);
	reader_free(agent->reader);
	if (agent->runtimes != NULL)
		runtimes_stats(agent->runtimes, &agent->report.runtimes);
	runtimes_free(agent->runtimes);
	if (agent->jit_names != NULL)
		jit_names_stats(agent->jit_names, &agent->report.names);
	jit_names_free(agent->jit_names);
	code_table_free(agent->devices);
	/*
	 * All holders of files have been freed, so a file that still has a reference was leaked by one.
	 */
	if (agent->files != NULL)
		agent->report.binaries_leaked = mapped_file_table_referenced(agent->files);
	mapped_file_table_free(agent->files);
	symbolizer_free(agent->symbolizer);
	agent->flusher = NULL;
	agent->reader = NULL;
	agent->jit_names = NULL;
	agent->devices = NULL;
	agent->runtimes = NULL;
	agent->files = NULL;
	agent->symbolizer = NULL;
}

static void
agent_free_parts(Agent *agent)
{
	if (agent->summary != NULL)
		fclose(agent->summary);
	metrics_page_stop(agent->metrics_page);
	/*
	 * Reader and flusher use the cache, the tables and the writer, so these are freed after them.
	 */
	free_middle(agent);
	table_cache_close(agent->table_cache);
	sampler_free(agent->sampler);
	writer_free(agent->writer);
}

/* Returns the time of the next flush, a little after the end of the current window. */
static int64_t
next_flush(const Agent *agent)
{
	int64_t interval_ns = agent->options->interval_ms * NS_PER_MS;
	int64_t into_ns = (clock_ns(CLOCK_REALTIME) - FLUSH_GRACE_NS) % interval_ns;

	return clock_ns(CLOCK_MONOTONIC) + interval_ns - into_ns;
}

/*
 * Returns the time between flushes while nothing is stored yet; running_ns is the time since the
 * start.
 */
static int64_t
first_flush_ns(int64_t running_ns)
{
	return running_ns < (int64_t) READER_BEGIN_NS ? BEGIN_FLUSH_NS : FIRST_FLUSH_NS;
}

/* Returns the threads to the priority with which the agent was started. */
static void
agent_end_start(Agent *agent)
{
	int result = start_priority_end(&agent->start_priority);

	if (result != 0)
		log_event(LOG_WARNING, "agent",
				  "could not list the agent's threads; they keep the priority of the start",
				  log_text("detail", strerror(-result)));
}

/* Does the periodic work that is due. */
static void
agent_tick(Agent *agent, int64_t now_ns)
{
	if (now_ns >= agent->follow_cpus_ns)
	{
		(void) sampler_follow_cpus(agent->sampler);
		agent->follow_cpus_ns = now_ns + FOLLOW_CPUS_NS;
	}
	if (agent->start_priority.is_raised && now_ns - agent->started_ns > START_NS)
		agent_end_start(agent);
	restraint_tick(&agent->restraint, now_ns);
	sampler_pace(agent->sampler, now_ns);
	show_life(agent, now_ns);
	watch_tender(agent);
	watch_gpu_meter(agent);
	if (now_ns >= agent->health_ns)
	{
		int result = write_health(agent);

		if (result != 0)
			log_event(LOG_WARNING, "agent", "could not write the status",
					  log_text("file", agent->options->status_file),
					  log_text("detail", strerror(-result)));
	}
	if (now_ns >= agent->figures_ns)
		publish_figures(agent, now_ns);
	if (now_ns >= agent->flush_ns)
	{
		/*
		 * Count the kernel's losses before the flush, so that they reach the batch of their window.
		 */
		sampler_count_losses(agent->sampler);
		flusher_request(agent->flusher);
		agent->flush_ns = flusher_has_stored(agent->flusher)
							  ? next_flush(agent)
							  : now_ns + first_flush_ns(now_ns - agent->started_ns);
	}
	if (agent->options->progress)
	{
		uint64_t counters[PFS_COUNTER_COUNT] = { 0 };

		if (sampler_counters(agent->sampler, counters) == 0)
			report_progress((now_ns - agent->started_ns) / NS_PER_MS, agent->options->duration_ms,
							counters[PFS_COUNTER_SAMPLES]);
	}
}

/* Waits until periodic work is due or a signal comes. */
static void
wait_for_tick(const Agent *agent, int64_t end_ns)
{
	bool shows = agent->options->progress && agent->options->duration_ms > 0;
	int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	int64_t until_ns = now_ns + (shows ? PROGRESS_NS : TICK_NS);
	struct pollfd stopped = { .fd = stop_signals_fd(), .events = POLLIN };

	if (until_ns > agent->flush_ns)
		until_ns = agent->flush_ns;
	if (until_ns > end_ns)
		until_ns = end_ns;
	/*
	 * Round up to milliseconds: rounded down, the last wait would be 0, and this thread would spin.
	 */
	if (until_ns > now_ns &&
		poll(&stopped, 1, (int) ((until_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS)) > 0)
		stop_signals_seen();
}

/*
 * Reloads the configuration after SIGHUP. A SIGHUP that arrives during the reload causes another
 * one.
 */
static void
reload(Agent *agent)
{
	const ReloadParts parts = {
		.options = &agent->own,
		.rules = &agent->rules,
		.pods = agent->pods,
		.pod_client = &agent->pod_client,
		.writer = agent->writer,
		.reader = agent->reader,
	};

	agent_reload(&agent->call, &parts);
	/* The interval may have changed, and windows end at its multiples. */
	agent->flush_ns = next_flush(agent);
	tender_set_interval(agent->tender, agent->options->interval_ms * NS_PER_MS);
	gpu_meter_set_interval(agent->gpu_meter, agent->options->interval_ms * NS_PER_MS);
}

/* Samples until a signal, the end of the duration, or a permanent error of the writer. */
static ExitCode
agent_loop(Agent *agent)
{
	int64_t duration_ns = agent->options->duration_ms * NS_PER_MS;
	int64_t end_ns;

	agent->started_ns = clock_ns(CLOCK_MONOTONIC);
	end_ns = duration_ns > 0 ? agent->started_ns + duration_ns : INT64_MAX;
	agent->flush_ns = agent->started_ns + first_flush_ns(0);
	agent->follow_cpus_ns = agent->started_ns + FOLLOW_CPUS_NS;
	while (!stop_asked())
	{
		int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
		Failure failure;
		ExitCode code = writer_failure(agent->writer, &failure);

		if (code != EXIT_OK)
		{
			/*
			 * The writer ends by itself only if the database denies access, so no sample can be
			 * stored.
			 */
			failure_log(&failure, "writer");
			return code;
		}
		if (now_ns >= end_ns)
			break;
		if (reload_asked())
			reload(agent);
		agent_tick(agent, now_ns);
		wait_for_tick(agent, end_ns);
	}
	return EXIT_OK;
}

/*
 * Returns the time at which symbolization must end. The sender of the signal may kill us later
 * (Kubernetes after 30 s, systemd after 90 s), so symbolization may take six tenths of
 * --stop-timeout. A run that ends by itself has no limit.
 */
static int64_t
symbols_deadline(const Agent *agent, int64_t stopped_ns)
{
	if (!stop_asked())
		return INT64_MAX;
	return stopped_ns + agent->options->stop_timeout_ms * NS_PER_MS / 10 * 6;
}

/* Returns the rest of --stop-timeout, in which the writer may store its queue. */
static int
drain_ms(const Agent *agent, int64_t stopped_ns)
{
	int64_t spent_ms = (clock_ns(CLOCK_MONOTONIC) - stopped_ns) / NS_PER_MS;
	int64_t left_ms = agent->options->stop_timeout_ms;

	if (stop_asked())
		left_ms -= spent_ms;
	return (int) (left_ms > DRAIN_MIN_MS ? left_ms : DRAIN_MIN_MS);
}

/* Returns the kernel memory that the agent causes, which counts towards --max-memory. */
static size_t
kernel_bytes(const Agent *agent)
{
	return sampler_kernel_bytes(agent->sampler) + reader_kernel_bytes(agent->reader);
}

/* Logs why the queue was not empty at the end. */
static ExitCode
tell_unstored(Agent *agent)
{
	Failure failure;
	ExitCode code = writer_failure(agent->writer, &failure);

	if (code == EXIT_OK)
	{
		code = failure_set(&failure, EXIT_IO, "could not store all samples before the end");
		failure_hint(&failure, "The database did not answer in time; queued samples are lost.");
	}
	failure_log(&failure, "agent");
	return code;
}

/*
 * Stops the parts in the order in which samples pass them, so that no sample remains between two
 * parts.
 */
static ExitCode
agent_stop(Agent *agent, ExitCode code)
{
	int64_t stopped_ns = clock_ns(CLOCK_MONOTONIC);
	SymbolizerStats symbols;
	int result;

	/* The command "health" must not find the last status of an agent that has ended. */
	if (agent->options->status_file != NULL)
		(void) unlink(agent->options->status_file);
	publish_figures(agent, stopped_ns);
	agent->report.cpus = sampler_cpu_count(agent->sampler);
	agent->report.kernel_bytes = kernel_bytes(agent);
	gpu_meter_stop(agent->gpu_meter, &agent->report.gpu);
	agent->gpu_meter = NULL;
	tender_stop(agent->tender);
	agent->tender = NULL;
	/* The tender has ended, so this thread may store the ongoing waits for the last time. */
	sampler_end_tending(agent->sampler);
	sampler_stop(agent->sampler);
	reader_stop(agent->reader);
	/*
	 * The ring is empty, and no record follows: count the last losses before the last batch is
	 * made.
	 */
	sampler_count_losses(agent->sampler);
	(void) sampler_counters(agent->sampler, agent->report.counters);
	agent->report.figure_count =
		sampler_figures(agent->sampler, agent->report.counters, agent->report.figures);
	flusher_stop(agent->flusher, symbols_deadline(agent, stopped_ns));
	flusher_stats(agent->flusher, &agent->report.resolved);
	if (agent->options->progress)
		progress_end();
	if (!writer_drain(agent->writer, drain_ms(agent, stopped_ns)) && code == EXIT_OK)
		code = tell_unstored(agent);
	writer_stats(agent->writer, &agent->report.writer);
	agent->report.duration_ms = (stopped_ns - agent->attached_ns) / NS_PER_MS;
	agent->report.frequency_hz = agent->options->frequency_hz;
	agent->report.restraint = agent->restraint.stats;
	agent->report.dropped =
		reader_dropped(agent->reader) + agent->report.counters[PFS_COUNTER_DROPPED];
	reader_process_stats(agent->reader, &agent->report.processes);
	reader_gpu_stats(agent->reader, &agent->report.gpu_windows);
	reader_unwind_stats(agent->reader, &agent->report.unwinder);
	mapped_file_table_stats(agent->files, &agent->report.files);
	symbolizer_stats(agent->symbolizer, &symbols);
	agent->report.symbol_timeouts = symbols.timeouts;
	sampler_cost(agent->sampler, &agent->report.bpf);
	/*
	 * The CPU time of symbol workers counts once they have ended, which freeing the symbolizer
	 * causes.
	 */
	free_middle(agent);
	report_own_cost(&agent->report);
	log_event(LOG_INFO, "agent", "stopped",
			  log_number("ticks", (int64_t) source_ticks(agent->report.counters)),
			  log_number("idle", (int64_t) agent->report.counters[PFS_COUNTER_IDLE]),
			  log_number("samples", (int64_t) agent->report.resolved.samples),
			  log_number("rows_stored", (int64_t) agent->report.writer.samples_written),
			  log_real("whole_stacks_percent", share_percent(agent->report.resolved.complete,
															 agent->report.resolved.user_samples)));
	if (agent->summary == NULL)
		return code;
	result = report_write(agent->summary, &agent->report, &agent->losses);
	agent->summary = NULL;
	if (result != 0)
	{
		log_event(LOG_ERROR, "agent", "could not write the summary",
				  log_text("file", agent->options->summary_file),
				  log_text("detail", strerror(-result)));
		code = code == EXIT_OK ? EXIT_IO : code;
	}
	return code;
}

/* Refuses a flag that has no effect because another flag is missing. */
static bool
fits_together(const AgentOptions *options, Failure *failure)
{
	if (!options->progress || options->duration_ms > 0)
		return true;
	(void) failure_set(failure, EXIT_USAGE, "--progress requires --duration");
	failure_hint(failure, "Add --duration, or omit --progress.");
	return false;
}

/* Reads the options: the configuration file, if there is one, and then the command line. */
static ExitCode
agent_read_options(Agent *agent, Failure *failure)
{
	agent->options = &agent->own;
	if (pod_table_create(&agent->pods) != 0)
		return failure_out_of_memory(failure);
	agent->config = agent_config_read(&agent->own, agent->call.count, agent->call.arguments,
									  agent->pods, failure);
	if (agent->config == NULL || !fits_together(agent->options, failure))
		return failure->code;
	log_apply(&agent->options->log);
	return EXIT_OK;
}

static void
agent_free(Agent *agent)
{
	if (agent != NULL)
	{
		free(agent->probes);
		agent_config_free(agent->rules);
		agent_config_free(agent->config);
		pod_table_free(agent->pods);
	}
	free(agent);
}

ExitCode
agent_run(char **arguments, int count)
{
	Agent *agent = calloc(1, sizeof(*agent));
	Failure failure;
	ExitCode code;

	if (agent == NULL)
		code = failure_out_of_memory(&failure);
	else
	{
		agent->call = (AgentCall){ count, arguments };
		figures_snapshot_init(&agent->figures);
		code = agent_read_options(agent, &failure);
	}
	if (code != EXIT_OK)
	{
		failure_log(&failure, "agent");
		agent_free(agent);
		return code;
	}
	agent->descriptors = descriptors_raise_limit();
	(void) child_reserve(); /* If this fails, the first start of a child tries again. */
	stop_signals_catch(agent->options->config_file != NULL);
	service_manager_open(&agent->service);
	keep_memory_small();
	/* Threads inherit the priority, so raise it before the first of them starts. */
	start_priority_raise(&agent->start_priority);
	code = agent_start_parts(agent, &failure);
	if (code == EXIT_OK)
	{
		log_event(LOG_INFO, "agent", "sampling",
				  log_number("cpus", sampler_cpu_count(agent->sampler)),
				  log_number("frequency_hz", agent->options->frequency_hz),
				  log_number("kernel_memory_bytes", (int64_t) kernel_bytes(agent)));
		service_manager_ready(&agent->service);
		code = agent_loop(agent);
		service_manager_stopping(&agent->service);
		code = agent_stop(agent, code);
	}
	else
	{
		failure_log(&failure, "agent");
		/* Any part may be missing here, because the start has stopped at the first failure. */
		gpu_meter_stop(agent->gpu_meter, &agent->report.gpu);
		tender_stop(agent->tender);
		if (agent->sampler != NULL)
			sampler_stop(agent->sampler);
		if (agent->reader != NULL)
			reader_stop(agent->reader);
		if (agent->flusher != NULL)
			flusher_stop(agent->flusher, 0);
	}
	agent_free_parts(agent);
	service_manager_close(&agent->service);
	agent_free(agent);
	return code;
}
