/*
 * tracer.c
 *		Observes the program in windows while a collector is attached.
 *
 * CUDA's driver loads this library at cuInit() if CUDA_INJECTION64_PATH names it, and calls
 * InitializeInjection(). A thread looks 20 times a second whether a collector is attached. As long
 * as none is, nothing else happens: CUPTI is not even loaded.
 *
 *   PAUSED -> OBSERVING: callbacks and activity are on -> DRAINING: the kernels that were launched
 *   are awaited -> the rows are handed over -> PAUSED
 *
 * The library never harms the program: it takes no lock in a callback, uses no signals, changes no
 * variable of the environment, opens no file or socket, and never calls cuptiFinalize(). A call of
 * CUPTI that fails ends it for this process.
 */
#include "gpu_library/old_glibc.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gpu_library/budget.h"
#include "gpu_library/cupti.h"
#include "gpu_library/names.h"
#include "gpu_library/outbox.h"
#include "gpu_library/probes.h"
#include "gpu_library/settings.h"
#include "gpu_library/window.h"

#define NS_PER_S  UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)

#define LOOK_NS		  (50 * NS_PER_MS)
#define RETRY_NS	  (10 * NS_PER_S)	/* after another profiler was found */
#define DRAIN_NS	  (5 * NS_PER_S)	/* longest wait for kernels that were launched */
#define QUIET_NS	  NS_PER_S			/* longest wait for the next of them */
#define GRAPH_NS	  (250 * NS_PER_MS) /* longest wait for the next kernel of a graph */
#define EXIT_NS		  NS_PER_S
#define WINDOW_MIN_NS (10 * NS_PER_MS)
#define STREAMS_MAX	  128 /* kernels that a device runs at a time */
/* Kernels of a stream that may run at a time: a kernel may be launched before its predecessor's end
 * (programmatic dependent launch). */
#define OVERLAP_MAX	  2

/* Launches of which stacks are sampled, a second while a window is open. */
#define KEPT_A_SECOND	1000
#define GRAPHS_A_SECOND 200
#define FIRST_PERIOD	16

#define BUFFER_BYTES (256 * 1024)
#define BUFFERS		 8
#define STACK_BYTES	 (512 * 1024)

typedef enum TracerPhase
{
	PHASE_PAUSED,
	PHASE_OBSERVING,
	PHASE_DRAINING,
	PHASE_DEAD /* nothing is ever done again in this process */
} TracerPhase;

static uint8_t buffers[BUFFERS][BUFFER_BYTES] __attribute__((aligned(64)));
static atomic_bool buffers_taken[BUFFERS];

static struct
{
	atomic_bool is_disarmed; /* in a child of fork, and at the end */
	atomic_flag is_working;	 /* held by the thread that uses the fields below */

	GpuSettings settings;
	Cupti cupti;
	bool is_loaded;
	bool has_own_clock; /* CUPTI reports times of CLOCK_MONOTONIC */
	bool is_attached;
	TracerPhase phase;
	void *subscriber;
	KeptPeriods periods;
	uint64_t random;
	uint64_t window_ns; /* length of the next window */
	uint64_t next_ns;	/* CLOCK_MONOTONIC of the next change of the phase */
	uint64_t began_ns;
	uint64_t ended_ns;
	uint64_t stood_until_ns; /* end of the time that the reported windows cover */
	uint32_t exits_registered;
} tracer = { .is_working = ATOMIC_FLAG_INIT };

static const uint32_t launch_callbacks[] = CUPTI_LAUNCHES;
static const int32_t activities[] = { CUPTI_CONCURRENT_KERNEL, CUPTI_MEMCPY, CUPTI_MEMSET };

#define LAUNCH_CALLBACKS (sizeof(launch_callbacks) / sizeof(launch_callbacks[0]))
#define ACTIVITIES		 (sizeof(activities) / sizeof(activities[0]))

static uint64_t
monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * NS_PER_S + (uint64_t) now.tv_nsec;
}

/* Returns the time of CUPTI's clock, which its records use if it cannot use ours; 0 on an error. */
static uint64_t
cupti_ns(void)
{
	uint64_t ns = 0;

	return tracer.cupti.timestamp(&ns) == CUPTI_DONE ? ns : 0;
}

static uint64_t
tracer_draw(void)
{
	tracer.random ^= tracer.random << 13;
	tracer.random ^= tracer.random >> 7;
	tracer.random ^= tracer.random << 17;
	return tracer.random;
}

/* Gives CUPTI a buffer that is free, or none: then CUPTI counts the records that it loses. */
static void
give_buffer(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = NULL;
	*size = 0;
	*max_records = 0;
	if (atomic_load(&tracer.is_disarmed))
		return;
	for (size_t i = 0; i < BUFFERS; i++)
	{
		if (!atomic_exchange(&buffers_taken[i], true))
		{
			*buffer = buffers[i];
			*size = BUFFER_BYTES;
			return;
		}
	}
}

static void
take_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	size_t dropped = 0;

	(void) size;
	if (atomic_load(&tracer.is_disarmed))
		return;
	if (buffer != NULL && valid > 0)
		window_take_records(&tracer.cupti, buffer, valid);
	for (size_t i = 0; i < BUFFERS; i++)
	{
		if (buffer == buffers[i])
			atomic_store(&buffers_taken[i], false);
	}
	if (tracer.cupti.dropped(context, stream, &dropped) == CUPTI_DONE && dropped > 0)
		window_note_dropped(dropped);
}

/* Called at each launch, in the program's thread. */
static void
note_launch(void *user, int32_t domain, uint32_t callback, const void *argument)
{
	const CuptiCall *call = argument;
	bool is_graph = callback == CUPTI_GRAPH_LAUNCH || callback == CUPTI_GRAPH_LAUNCH_PTSZ;
	uint32_t period;

	(void) user;
	if (domain != CUPTI_DRIVER || call->site != CUPTI_ENTER || atomic_load(&tracer.is_disarmed))
		return;
	if (window_note_launch(call->correlation, is_graph, &period))
		pfs_gpu_launch(call->correlation, period);
}

/* Ends all work in this process, and says why. */
static void
tracer_die(const char *reason, int code)
{
	if (tracer.phase != PHASE_DEAD)
		fprintf(stderr, "profstore: GPU kernels of process %d are not measured: %s (%d)\n",
				(int) getpid(), reason, code);
	tracer.phase = PHASE_DEAD;
	window_close();
}

/* Returns whether a call of CUPTI succeeded. */
static bool
tracer_try(int code, const char *function)
{
	char reason[64];

	if (code == CUPTI_DONE)
		return true;
	snprintf(reason, sizeof(reason), "%s failed", function);
	tracer_die(reason, code);
	return false;
}

static void
tracer_load(void)
{
	if (!cupti_load(tracer.settings.cupti, &tracer.cupti))
	{
		tracer_die("CUPTI was not found; name its file in PROFSTORE_GPU_CUPTI", 0);
		return;
	}
	tracer.is_loaded = true;
}

/*
 * Makes CUPTI use our clock, unless it never could: another profiler may have set its own since the
 * last window. Returns false if CUPTI keeps that one, whose unit is not known.
 */
static bool
set_clock(void)
{
	if (tracer.cupti.register_clock == NULL)
		return true;
	if (tracer.cupti.register_clock(monotonic_ns) != CUPTI_DONE)
		return !tracer.has_own_clock;
	tracer.has_own_clock = true;
	return true;
}

/* Switches callbacks and activity on. Callbacks come last, so that each launch has its records. */
static bool
switch_on(void)
{
	if (!tracer_try(tracer.cupti.register_buffers(give_buffer, take_buffer),
					"cuptiActivityRegisterCallbacks"))
		return false;
	for (size_t i = 0; i < ACTIVITIES; i++)
	{
		if (!tracer_try(tracer.cupti.enable(activities[i]), "cuptiActivityEnable"))
			return false;
	}
	/* old versions report copies between devices as ordinary ones, and lack the kind */
	(void) tracer.cupti.enable(CUPTI_MEMCPY_PEER);
	for (size_t i = 0; i < LAUNCH_CALLBACKS; i++)
	{
		if (!tracer_try(tracer.cupti.enable_callback(1, tracer.subscriber, CUPTI_DRIVER,
													 launch_callbacks[i]),
						"cuptiEnableCallback"))
			return false;
	}
	return true;
}

/*
 * Switches all off, and lets other profilers subscribe. Callbacks end last, so that each record has
 * a launch that was called back.
 */
static void
switch_off(void)
{
	for (size_t i = 0; i < ACTIVITIES; i++)
		(void) tracer.cupti.disable(activities[i]);
	(void) tracer.cupti.disable(CUPTI_MEMCPY_PEER);
	for (size_t i = 0; i < LAUNCH_CALLBACKS; i++)
		(void) tracer.cupti.enable_callback(0, tracer.subscriber, CUPTI_DRIVER,
											launch_callbacks[i]);
	(void) tracer_try(tracer.cupti.unsubscribe(tracer.subscriber), "cuptiUnsubscribe");
	tracer.subscriber = NULL;
}

/* Reports that there is no window: another profiler was found, or the window is thrown away. */
static void
report_no_window(bool is_busy, uint64_t now_ns)
{
	struct pfs_gpu_row head = { .kind = PFS_GPU_ROW_WINDOW,
								.version = PFS_GPU_ROW_VERSION,
								.name = is_busy,
								.correlation = !is_busy };
	WindowTotals nothing = { 0 };

	outbox_hand_over(&head, &nothing, now_ns);
}

/* Reports that another profiler is in the way, and puts off the next window. */
static void
give_way(uint64_t now_ns)
{
	report_no_window(true, now_ns);
	/* a window stands for no time in which another profiler was there */
	tracer.stood_until_ns = now_ns;
	tracer.next_ns = now_ns + RETRY_NS;
}

static void tracer_exit(void);

/*
 * Registers tracer_exit() for the program's end, unless it was registered count times. Functions
 * run there in reverse order, and CUPTI must still work. CUPTI's own are registered when it is
 * loaded and first used, so ours is registered again in the first window, and after it.
 */
static void
register_exit(uint32_t count)
{
	if (tracer.exits_registered >= count)
		return;
	tracer.exits_registered++;
	if (atexit(tracer_exit) != 0)
		tracer_die("atexit failed", 0);
}

/*
 * Opens a window: subscribes to CUPTI and switches its records on. Gives way to another profiler
 * that has subscribed.
 */
static void
begin_window(uint64_t now_ns)
{
	int code;

	if (!tracer.is_loaded)
		tracer_load();
	if (tracer.phase == PHASE_DEAD)
		return;
	code = tracer.cupti.subscribe(&tracer.subscriber, note_launch, NULL);
	if (code == CUPTI_TWO_SUBSCRIBERS)
	{
		give_way(now_ns);
		return;
	}
	if (!tracer_try(code, "cuptiSubscribe"))
		return;
	if (!set_clock())
	{
		(void) tracer_try(tracer.cupti.unsubscribe(tracer.subscriber), "cuptiUnsubscribe");
		give_way(now_ns);
		return;
	}
	window_open(tracer.has_own_clock ? monotonic_ns : cupti_ns, tracer_draw(), &tracer.periods);
	if (!switch_on())
	{
		window_close();
		switch_off();
		return;
	}
	register_exit(2);
	if (tracer.phase == PHASE_DEAD)
	{
		switch_off();
		return;
	}
	tracer.phase = PHASE_OBSERVING;
	tracer.began_ns = monotonic_ns();
	tracer.next_ns = tracer.began_ns + tracer.window_ns;
}

static void
end_observing(void)
{
	tracer.ended_ns = monotonic_ns();
	window_close();
	switch_off();
	if (tracer.phase == PHASE_DEAD)
		return;
	tracer.phase = PHASE_DRAINING;
	(void) tracer_try(tracer.cupti.flush(0), "cuptiActivityFlushAll");
}

static uint32_t
period_for(uint64_t launches, uint64_t observed_ns, uint64_t a_second)
{
	uint64_t rate = launches * NS_PER_S / (observed_ns + 1);
	uint64_t period = rate / a_second;

	return period < 1 ? 1 : period > UINT32_MAX ? UINT32_MAX : (uint32_t) period;
}

static int
compare_streams(const void *a, const void *b)
{
	const struct pfs_gpu_row *left = a;
	const struct pfs_gpu_row *right = b;

	if (left->device != right->device)
		return left->device < right->device ? -1 : 1;
	return (left->stream > right->stream) - (left->stream < right->stream);
}

/*
 * Returns false if the sums contradict the time that has passed: kernels outside of graphs run one
 * after the other in their stream, if they do not overlap a little, and a device runs a limited
 * number of kernels at a time. The sums are reordered.
 */
static bool
sums_are_possible(RowTable *sums, uint64_t length_ns)
{
	uint64_t total_ns = 0;
	uint64_t stream_ns = 0;

	if (sums->count > 1)
		qsort(sums->rows, sums->count, sizeof(*sums->rows), compare_streams);
	for (uint32_t i = 0; i < sums->count; i++)
	{
		const struct pfs_gpu_row *row = &sums->rows[i];

		total_ns += row->ns;
		if (i > 0 && compare_streams(row - 1, row) != 0)
			stream_ns = 0;
		if (row->kind == PFS_GPU_ROW_KERNELS && !row->graph && row->name != PFS_GPU_OTHER_NAME)
			stream_ns += row->ns;
		if (stream_ns > length_ns * OVERLAP_MAX)
			return false;
	}
	return total_ns / STREAMS_MAX <= length_ns;
}

/* Ends the window: hands its rows over, or throws it away, and sets the time of the next one. */
static void
end_window(uint64_t now_ns)
{
	uint64_t observed_ns = tracer.ended_ns - tracer.began_ns;
	WindowTotals totals;
	BudgetedWindow cost;
	struct pfs_gpu_row head = { .kind = PFS_GPU_ROW_WINDOW, .version = PFS_GPU_ROW_VERSION };

	window_finish(&totals);
	if (totals.dropped > 0 || !sums_are_possible(&totals.sums, now_ns - tracer.began_ns))
	{
		report_no_window(false, now_ns);
		/* the records of a shorter window fit into the buffers */
		if (totals.dropped > 0 && tracer.window_ns > WINDOW_MIN_NS)
			tracer.window_ns /= 2;
	}
	else
	{
		head.window.observed_ns = observed_ns;
		head.window.since_ns = tracer.ended_ns - tracer.stood_until_ns;
		if (head.window.since_ns > PFS_GPU_SINCE_MAX_NS)
			head.window.since_ns = PFS_GPU_SINCE_MAX_NS;
		head.window.length_ns = now_ns - tracer.began_ns;
		head.window.launches = totals.launches;
		head.window.kept = (uint32_t) totals.kept;
		head.window.refused = (uint32_t) totals.refused;
		head.window.unmatched =
			totals.launches > totals.matched ? (uint32_t) (totals.launches - totals.matched) : 0;
		outbox_hand_over(&head, &totals, now_ns);
		tracer.stood_until_ns = tracer.ended_ns;
		tracer.window_ns = tracer.window_ns * 2 < tracer.settings.window_ns
							   ? tracer.window_ns * 2
							   : tracer.settings.window_ns;
	}
	tracer.periods.launches =
		period_for(totals.launches - totals.graphs, observed_ns, KEPT_A_SECOND);
	tracer.periods.graphs = period_for(totals.graphs, observed_ns, GRAPHS_A_SECOND);
	cost = (BudgetedWindow){ observed_ns, totals.launches + totals.copies, totals.graph_kernels,
							 totals.kept };
	tracer.phase = PHASE_PAUSED;
	register_exit(3);
	tracer.next_ns =
		tracer.ended_ns + budget_pause_ns(&cost, tracer.settings.share, (uint32_t) tracer_draw());
}

/*
 * Waits for kernels that were launched in the window; not for launches that were only captured. How
 * many kernels a graph has is not known, so its next kernel is awaited.
 */
static void
drain(uint64_t now_ns)
{
	bool has_graphs;
	uint64_t last_ns;
	uint64_t outstanding;

	if (!tracer_try(tracer.cupti.flush(0), "cuptiActivityFlushAll"))
		return;
	outstanding = window_outstanding(&last_ns, &has_graphs);
	if ((outstanding == 0 && !has_graphs) || now_ns - tracer.ended_ns > DRAIN_NS)
		end_window(now_ns);
	else
	{
		uint64_t clock_ns = tracer.has_own_clock ? monotonic_ns() : cupti_ns();
		uint64_t quiet_ns = outstanding > 0 ? QUIET_NS : GRAPH_NS;

		if (clock_ns - last_ns > quiet_ns && now_ns - tracer.ended_ns > quiet_ns)
			end_window(now_ns);
	}
}

/* Notes that a collector is attached or has gone. The first window begins at a random moment. */
static void
note_attached(bool is_attached, uint64_t now_ns)
{
	WindowTotals ignored;

	if (is_attached == tracer.is_attached)
		return;
	tracer.is_attached = is_attached;
	if (tracer.phase == PHASE_OBSERVING)
		end_observing();
	if (tracer.phase == PHASE_DRAINING)
	{
		window_finish(&ignored);
		tracer.phase = PHASE_PAUSED;
	}
	tracer.stood_until_ns = now_ns;
	tracer.next_ns = now_ns + tracer_draw() % (2 * tracer.settings.window_ns);
	tracer.window_ns = tracer.settings.window_ns;
	tracer.periods = (KeptPeriods){ FIRST_PERIOD, FIRST_PERIOD };
	names_forget_sent();
}

/* Does the work that is due. Returns the time of the next call. */
static uint64_t
tracer_turn(uint64_t now_ns)
{
	uint64_t look_ns = now_ns + LOOK_NS;

	note_attached(__atomic_load_n(&pfs_gpu_semaphore, __ATOMIC_RELAXED) > 0, now_ns);
	if (!tracer.is_attached || tracer.phase == PHASE_DEAD)
		return look_ns;
	if (tracer.phase == PHASE_PAUSED && now_ns >= tracer.next_ns)
		begin_window(now_ns);
	else if (tracer.phase == PHASE_OBSERVING && now_ns >= tracer.next_ns)
		end_observing();
	else if (tracer.phase == PHASE_OBSERVING)
	{
		/* otherwise callbacks and activity would stay on as long as the program runs */
		if (!tracer_try(tracer.cupti.flush(0), "cuptiActivityFlushAll"))
			switch_off();
	}
	else if (tracer.phase == PHASE_DRAINING)
		drain(now_ns);
	/* of short windows the end is not delayed by the next look */
	if (tracer.phase == PHASE_DRAINING && tracer.window_ns < LOOK_NS)
		look_ns = now_ns + tracer.window_ns;
	else if ((tracer.phase == PHASE_OBSERVING || tracer.phase == PHASE_PAUSED) &&
			 tracer.next_ns < look_ns)
		look_ns = tracer.next_ns;
	return look_ns;
}

static void
sleep_until(uint64_t until_ns)
{
	uint64_t now_ns = monotonic_ns();
	struct timespec pause = { 0, 0 };

	if (until_ns > now_ns)
		pause.tv_nsec = (long) ((until_ns - now_ns) % NS_PER_S);
	(void) nanosleep(&pause, NULL);
}

static void *
run_tracer(void *unused)
{
	(void) unused;
	while (!atomic_load(&tracer.is_disarmed))
	{
		uint64_t until_ns = monotonic_ns() + LOOK_NS;

		if (!atomic_flag_test_and_set(&tracer.is_working))
		{
			if (!atomic_load(&tracer.is_disarmed))
				until_ns = tracer_turn(monotonic_ns());
			atomic_flag_clear(&tracer.is_working);
		}
		sleep_until(until_ns);
	}
	return NULL;
}

/* Called when the program ends. Hands over the current window. */
static void
tracer_exit(void)
{
	uint64_t until_ns = monotonic_ns() + EXIT_NS;

	if (atomic_load(&tracer.is_disarmed))
		return;
	while (atomic_flag_test_and_set(&tracer.is_working))
	{
		if (monotonic_ns() > until_ns)
		{
			/* the thread is held up in CUPTI, whose callbacks may still come at the end */
			atomic_store(&tracer.is_disarmed, true);
			return;
		}
		sleep_until(monotonic_ns() + NS_PER_MS);
	}
	if (tracer.phase == PHASE_OBSERVING)
		end_observing();
	if (tracer.phase == PHASE_DRAINING &&
		tracer_try(tracer.cupti.flush(1), "cuptiActivityFlushAll"))
		end_window(monotonic_ns());
	tracer.phase = PHASE_DEAD;
	atomic_store(&tracer.is_disarmed, true);
	atomic_flag_clear(&tracer.is_working);
}

/* Stops all work in a child of fork(), where CUDA does not work and the thread does not exist. */
static void
tracer_disarm(void)
{
	atomic_store(&tracer.is_disarmed, true);
}

static bool
start_thread(void)
{
	sigset_t all;
	sigset_t before;
	pthread_attr_t attributes;
	pthread_t thread;
	bool has_started;

	if (pthread_attr_init(&attributes) != 0)
		return false;
	(void) pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	(void) pthread_attr_setstacksize(&attributes, STACK_BYTES);
	/* the program's signals are handled by its own threads */
	sigfillset(&all);
	(void) pthread_sigmask(SIG_SETMASK, &all, &before);
	has_started = pthread_create(&thread, &attributes, run_tracer, NULL) == 0;
	(void) pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void) pthread_attr_destroy(&attributes);
	if (has_started)
		(void) pthread_setname_np(thread, "pfs-gpu");
	return has_started;
}

int InitializeInjection(void) __attribute__((visibility("default")));

int
InitializeInjection(void)
{
	static atomic_flag was_called = ATOMIC_FLAG_INIT;
	const char *wrong;

	if (atomic_flag_test_and_set(&was_called))
		return 1;
	wrong = gpu_settings_read(&tracer.settings);
	if (wrong != NULL)
		fprintf(stderr, "profstore: %s has no valid value and is ignored\n", wrong);
	if (tracer.settings.is_off)
		return 1;
	tracer.window_ns = tracer.settings.window_ns;
	tracer.random = (monotonic_ns() ^ (uint64_t) getpid() << 40) | 1;
	if (pthread_atfork(NULL, NULL, tracer_disarm) != 0)
		return 1;
	register_exit(1);
	if (tracer.phase == PHASE_DEAD)
		return 1;
	if (!start_thread())
		atomic_store(&tracer.is_disarmed, true);
	return 1;
}
