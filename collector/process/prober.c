/*
 * prober.c
 *		One thread that serves, and those before it that never came back.
 */
#include "process/prober.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/proc_file.h"

#define STUCK_MAX	256
#define STACK_BYTES ((size_t) 256 * 1024)
#define BUSY_NS		NS_PER_S /* at most, for a processor */

#define STAT_LIMIT_BYTES 4096
#define NS_PER_S		 UINT64_C(1000000000)

enum
{
	PROBE_WAITING,
	PROBE_RUNNING,
	PROBE_DONE,
	PROBE_ABANDONED,
};

struct Prober
{
	pthread_mutex_t mutex; /* guards all that follows, and the states of probes */
	pthread_cond_t asked;
	pthread_cond_t done;
	Probe *probe;	  /* that nobody runs yet */
	uint32_t serving; /* threads that take probes: one, or none yet … */
	pid_t server;	  /* … that one; 0: it has not begun */
	uint32_t stuck;	  /* threads whose probe was abandoned */
	bool ending;
};

int
prober_create(Prober **result)
{
	Prober *prober = calloc(1, sizeof(*prober));
	pthread_condattr_t attributes;

	if (prober == NULL)
		return -ENOMEM;
	pthread_mutex_init(&prober->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&prober->asked, NULL);
	pthread_cond_init(&prober->done, &attributes);
	pthread_condattr_destroy(&attributes);
	*result = prober;
	return 0;
}

static void
destroy(Prober *prober)
{
	pthread_mutex_unlock(&prober->mutex);
	pthread_cond_destroy(&prober->asked);
	pthread_cond_destroy(&prober->done);
	pthread_mutex_destroy(&prober->mutex);
	free(prober);
}

/* Runs one probe; false where it was abandoned meanwhile. Mutex held, but while it runs. */
static bool
run_probe(Prober *prober)
{
	Probe *probe = prober->probe;

	prober->probe = NULL;
	probe->state = PROBE_RUNNING;
	pthread_mutex_unlock(&prober->mutex);
	probe->run(probe);
	pthread_mutex_lock(&prober->mutex);
	if (probe->state != PROBE_ABANDONED)
	{
		probe->state = PROBE_DONE;
		pthread_cond_signal(&prober->done);
		return true;
	}
	pthread_mutex_unlock(&prober->mutex);
	probe->discard(probe);
	pthread_mutex_lock(&prober->mutex);
	return false;
}

static void *
serve(void *argument)
{
	Prober *prober = argument;
	bool served = true;

	pthread_mutex_lock(&prober->mutex);
	prober->server = gettid();
	while (served)
	{
		while (prober->probe == NULL && !prober->ending)
			pthread_cond_wait(&prober->asked, &prober->mutex);
		if (prober->probe == NULL)
			break;
		served = run_probe(prober);
	}
	if (served)
		prober->serving--;
	else
		prober->stuck--;
	pthread_cond_signal(&prober->done);
	if (prober->ending && prober->serving == 0 && prober->stuck == 0)
		destroy(prober);
	else
		pthread_mutex_unlock(&prober->mutex);
	return NULL;
}

void
prober_free(Prober *prober)
{
	if (prober == NULL)
		return;
	pthread_mutex_lock(&prober->mutex);
	prober->ending = true;
	pthread_cond_signal(&prober->asked);
	/* the last thread destroys it */
	if (prober->serving == 0 && prober->stuck == 0)
		destroy(prober);
	else
		pthread_mutex_unlock(&prober->mutex);
}

/* Mutex held. */
static int
start_thread(Prober *prober)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int result;

	if (prober->stuck >= STUCK_MAX)
		return EBUSY;
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	result = pthread_create(&thread, &attributes, serve, prober);
	pthread_attr_destroy(&attributes);
	prober->server = 0;
	prober->serving += result == 0;
	return result == 0 ? 0 : EBUSY;
}

/* Mutex held. The probe is nobody's any more but its thread's, if it has one. */
static void
abandon(Prober *prober, Probe *probe)
{
	if (probe->salvage != NULL)
		probe->salvage(probe);
	if (probe->state == PROBE_RUNNING)
	{
		probe->state = PROBE_ABANDONED;
		prober->serving--;
		prober->stuck++;
		return;
	}
	prober->probe = NULL;
	probe->discard(probe);
}

/*
 * Does the thread wait for a processor, not for an answer? On a busy machine that takes its time
 * too, and says nothing against the process. Mutex held.
 */
static bool
waits_for_processor(const Prober *prober, const Probe *probe)
{
	char path[64];
	const char *state;
	char *text;
	bool runs;

	if (probe->state == PROBE_WAITING)
		return true;
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int) prober->server);
	if (proc_file_read(path, STAT_LIMIT_BYTES, &text, NULL) != 0)
		return false;
	state = strrchr(text, ')');
	runs = state != NULL && state[1] == ' ' && state[2] == 'R';
	free(text);
	return runs;
}

/* Until the probe is done or so much time has passed: 0 or ETIMEDOUT. Mutex held. */
static int
wait_until_done(Prober *prober, const Probe *probe, uint64_t until_ns)
{
	struct timespec until = { (time_t) (until_ns / NS_PER_S), (long) (until_ns % NS_PER_S) };
	int result = 0;

	while (result == 0 && probe->state != PROBE_DONE)
		result = pthread_cond_timedwait(&prober->done, &prober->mutex, &until);
	return probe->state == PROBE_DONE ? 0 : result;
}

int
prober_run(Prober *prober, Probe *probe, uint64_t wait_ns)
{
	uint64_t begin_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	uint64_t waited_ns = wait_ns;
	int result = 0;

	pthread_mutex_lock(&prober->mutex);
	probe->state = PROBE_WAITING;
	if (prober->serving == 0)
		result = start_thread(prober);
	if (result == 0)
	{
		prober->probe = probe;
		pthread_cond_signal(&prober->asked);
	}
	if (result == 0)
		result = wait_until_done(prober, probe, begin_ns + waited_ns);
	while (result == ETIMEDOUT && waited_ns < BUSY_NS && waits_for_processor(prober, probe))
	{
		waited_ns += wait_ns;
		result = wait_until_done(prober, probe, begin_ns + waited_ns);
	}
	if (result != 0)
		abandon(prober, probe);
	pthread_mutex_unlock(&prober->mutex);
	return -result;
}

uint32_t
prober_stuck(Prober *prober)
{
	uint32_t stuck;

	pthread_mutex_lock(&prober->mutex);
	stuck = prober->stuck;
	pthread_mutex_unlock(&prober->mutex);
	return stuck;
}
