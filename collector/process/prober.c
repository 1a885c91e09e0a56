/*
 * prober.c
 *		Worker threads, abandoned threads, and the accounts of the owners whose processes did not
 *		answer.
 */
#include "process/prober.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <time.h>
#include <unistd.h>

#include "base/allowance.h"
#include "base/clock.h"
#include "process/owner.h"
#include "process/proc_file.h"

#define STACK_BYTES ((size_t) 256 * 1024)
#define RUN_NS		NS_PER_S		/* CPU time that a thread may use after its wait has ended */
#define BUSY_NS		(20 * NS_PER_S) /* longest extra wait for a CPU */

#define STAT_LIMIT_BYTES 4096

#define WAIT_LESS_NS  (NS_PER_S / 200)
#define COST		  20 /* a call that times out is charged its wait times this */
#define COST_ANSWERED 10
#define BURST_NS	  (10 * NS_PER_S)
#define ALL_BURST_NS  (3 * BURST_NS) /* limit of the debt of all debtors together */
#define DEBTORS		  32

enum
{
	PROBE_WAITING,
	PROBE_RUNNING,
	PROBE_DONE,
	PROBE_ABANDONED,
};

/* A worker thread. It serves one caller at a time; when it ends, it frees this structure. */
typedef struct Server
{
	struct Prober *prober;
	pthread_cond_t asked;
	pthread_cond_t done;
	Probe *probe;	 /* the next probe to run */
	pid_t id;		 /* 0 until the thread has started */
	clockid_t clock; /* clock of the thread's CPU time */
	int64_t used_ns; /* reading of that clock at the start of the thread's probe */
	struct Server *next_idle;
} Server;

struct Prober
{
	pthread_mutex_t mutex; /* guards all fields below, and the states of probes */
	Server *idle;
	uint32_t threads; /* number of idle, busy and abandoned threads */
	Probe *stuck;	  /* abandoned probes that have not returned */
	uint32_t stuck_count;
	bool ending;
	Allowance all_waits;
	KeyedAllowance debtors[DEBTORS]; /* owners or devices that did not answer in time */
	uint64_t timeouts;
};

int
prober_create(Prober **result)
{
	Prober *prober = calloc(1, sizeof(*prober));

	if (prober == NULL)
		return -ENOMEM;
	pthread_mutex_init(&prober->mutex, NULL);
	*result = prober;
	return 0;
}

static void
prober_destroy(Prober *prober)
{
	pthread_mutex_unlock(&prober->mutex);
	pthread_mutex_destroy(&prober->mutex);
	free(prober);
}

/* Removes a probe from the list of abandoned ones. The caller must hold the mutex. */
static void
forget_stuck(Prober *prober, Probe *probe)
{
	Probe **link = &prober->stuck;

	while (*link != probe)
		link = &(*link)->next_stuck;
	*link = probe->next_stuck;
	prober->stuck_count--;
}

/*
 * Runs the worker's probe. Returns false if the caller abandoned the probe meanwhile. The caller
 * must hold the mutex, which is released during the run.
 */
static bool
run_probe(Server *server)
{
	Prober *prober = server->prober;
	Probe *probe = server->probe;

	server->probe = NULL;
	server->used_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	probe->state = PROBE_RUNNING;
	pthread_mutex_unlock(&prober->mutex);
	/* the probe belongs to this thread while it runs, even if the caller gives up */
	probe->run(probe);
	pthread_mutex_lock(&prober->mutex);
	/*
	 * The mutex decides the race: either the caller sees PROBE_DONE, or this thread sees that it
	 * was abandoned.
	 */
	if (probe->state != PROBE_ABANDONED)
	{
		probe->state = PROBE_DONE;
		pthread_cond_signal(&server->done);
		return true;
	}
	/* the caller has returned; nobody else refers to the probe */
	forget_stuck(prober, probe);
	pthread_mutex_unlock(&prober->mutex);
	probe->discard(probe);
	pthread_mutex_lock(&prober->mutex);
	return false;
}

static void
server_free(Server *server)
{
	pthread_cond_destroy(&server->asked);
	pthread_cond_destroy(&server->done);
	free(server);
}

/*
 * Runs the body of a worker thread: runs probes until the prober is freed, or one of its probes was
 * abandoned.
 */
static void *
server_main(void *argument)
{
	Server *server = argument;
	Prober *prober = server->prober;
	bool serves = true;

	pthread_mutex_lock(&prober->mutex);
	server->id = gettid();
	/* cannot fail for a living thread */
	(void) pthread_getcpuclockid(pthread_self(), &server->clock);
	while (serves)
	{
		while (server->probe == NULL && !prober->ending)
			pthread_cond_wait(&server->asked, &prober->mutex);
		/* the prober is ending; a probe that was given before is still run */
		if (server->probe == NULL)
			break;
		serves = run_probe(server);
	}
	server_free(server);
	/* the last thread destroys the prober */
	if (--prober->threads == 0 && prober->ending)
		prober_destroy(prober);
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
	for (Server *server = prober->idle; server != NULL; server = server->next_idle)
		pthread_cond_signal(&server->asked);
	/* otherwise the last thread destroys the prober: abandoned threads may return much later */
	if (prober->threads == 0)
		prober_destroy(prober);
	else
		pthread_mutex_unlock(&prober->mutex);
}

static Server *
server_create(Prober *prober)
{
	Server *server = calloc(1, sizeof(*server));

	if (server == NULL)
		return NULL;
	server->prober = prober;
	pthread_cond_init(&server->asked, NULL);
	clock_condition_init(&server->done);
	return server;
}

/*
 * Returns an idle worker or a new one; NULL if too many threads are abandoned. The caller must hold
 * the mutex.
 */
static Server *
take_server(Prober *prober)
{
	Server *server = prober->idle;
	pthread_attr_t attributes;
	pthread_t thread;
	int result;

	if (server != NULL)
	{
		prober->idle = server->next_idle;
		return server;
	}
	server = prober->stuck_count < PROBER_STUCK ? server_create(prober) : NULL;
	if (server == NULL)
		return NULL;
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	result = pthread_create(&thread, &attributes, server_main, server);
	pthread_attr_destroy(&attributes);
	if (result != 0)
	{
		server_free(server);
		return NULL;
	}
	prober->threads++;
	return server;
}

/* Makes a worker idle again. The caller must hold the mutex. */
static void
give_server(Prober *prober, Server *server)
{
	server->next_idle = prober->idle;
	prober->idle = server;
}

/*
 * Returns true if the device or the owner (0: not known) has reached its limit of abandoned
 * threads. The caller must hold the mutex.
 */
static bool
has_too_many(const Prober *prober, uint64_t device, uint64_t owner)
{
	uint32_t of_device = 0;
	uint32_t of_owner = 0;

	/* the list has at most PROBER_STUCK probes */
	for (const Probe *probe = prober->stuck; probe != NULL; probe = probe->next_stuck)
	{
		of_device += device != 0 && probe->subject.device == device;
		of_owner += owner != 0 && probe->owner == owner;
	}
	return of_device >= PROBER_DEVICE_STUCK || of_owner >= PROBER_OWNER_STUCK;
}

bool
prober_avoids(Prober *prober, uint64_t device)
{
	bool avoids;

	pthread_mutex_lock(&prober->mutex);
	avoids = has_too_many(prober, device, 0);
	prober->timeouts += avoids;
	pthread_mutex_unlock(&prober->mutex);
	return avoids;
}

bool
prober_avoids_owner(Prober *prober, uint64_t owner)
{
	bool avoids;

	pthread_mutex_lock(&prober->mutex);
	avoids = has_too_many(prober, 0, owner);
	pthread_mutex_unlock(&prober->mutex);
	return avoids;
}

/*
 * Returns the key of the account that is charged for a probe's waits: its owner, otherwise its
 * device, otherwise 0, which all others share.
 */
static uint64_t
debtor_key(const Probe *probe)
{
	return probe->owner != 0 ? probe->owner : probe->subject.device;
}

/*
 * Returns how long to wait for the probe; less if its account is overdrawn. The caller must hold
 * the mutex.
 */
static uint64_t
wait_of(Prober *prober, const Probe *probe, uint64_t now_ns, uint64_t wait_ns)
{
	const Allowance *waits = allowance_find(prober->debtors, DEBTORS, debtor_key(probe));

	/* all_waits limits an attack by more owners than the table of debtors has room for */
	if ((waits != NULL && waits->paid_ns > now_ns + BURST_NS) ||
		prober->all_waits.paid_ns > now_ns + ALL_BURST_NS)
		return MIN(wait_ns, WAIT_LESS_NS);
	return wait_ns;
}

/*
 * Charges the time since begin_ns times cost to the probe's account. The caller must hold the
 * mutex.
 */
static void
charge_wait(Prober *prober, const Probe *probe, uint64_t begin_ns, uint64_t cost)
{
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	uint64_t cost_ns = cost * (now_ns - begin_ns);
	Allowance *waits = allowance_of(prober->debtors, DEBTORS, debtor_key(probe));

	(void) allowance_take(waits, now_ns, cost_ns, BURST_NS + COST * WAIT_LESS_NS);
	(void) allowance_take(&prober->all_waits, now_ns, cost_ns, ALL_BURST_NS + COST * WAIT_LESS_NS);
}

/*
 * Returns true if the thread is runnable: it waits for a CPU and not for an answer. On a busy
 * machine this wait is not the fault of the process.
 */
static bool
waits_for_processor(pid_t id)
{
	char path[64];
	const char *state;
	char *text;
	bool runs;

	if (id == 0)
		return true;
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int) id);
	if (proc_file_read(path, STAT_LIMIT_BYTES, &text, NULL) != 0)
		return false;
	state = strrchr(text, ')');
	runs = state != NULL && state[1] == ' ' && state[2] == 'R';
	free(text);
	return runs;
}

/*
 * Waits until the probe is done or until_ns has passed: 0 or ETIMEDOUT. The caller must hold the
 * mutex.
 */
static int
wait_until_done(Server *server, const Probe *probe, uint64_t until_ns)
{
	struct timespec until = { (time_t) (until_ns / NS_PER_S), (long) (until_ns % NS_PER_S) };
	int result = 0;

	while (result == 0 && probe->state != PROBE_DONE)
		result = pthread_cond_timedwait(&server->done, &server->prober->mutex, &until);
	return probe->state == PROBE_DONE ? 0 : result;
}

/*
 * Returns true if the worker of the probe waits for a CPU, or has used little CPU time so far. The
 * caller must hold the mutex, which is released during the check.
 */
static bool
server_is_busy(const Server *server, const Probe *probe)
{
	bool has_begun = probe->state != PROBE_WAITING;
	pid_t id = has_begun ? server->id : 0;
	int64_t begun_ns = server->used_ns;
	bool busy;

	pthread_mutex_unlock(&server->prober->mutex);
	busy = waits_for_processor(id);
	pthread_mutex_lock(&server->prober->mutex);
	return busy && (!has_begun || clock_ns(server->clock) - begun_ns < RUN_NS);
}

/*
 * Like wait_until_done(), but extends the wait while the thread waits for a CPU. Extensions are
 * counted from the present time, because this thread may have had no CPU either. Sets *is_slow if
 * the answer took longer than WAIT_LESS_NS for another reason. The caller must hold the mutex,
 * which is released at times.
 */
static int
wait_patiently(Server *server, const Probe *probe, uint64_t begin_ns, uint64_t wait_ns,
			   bool *is_slow)
{
	uint64_t now_ns = begin_ns;
	int result;

	/*
	 * An answer within WAIT_LESS_NS costs nothing. A later one is charged, unless the thread merely
	 * waited for a CPU.
	 */
	*is_slow = wait_ns > WAIT_LESS_NS &&
			   wait_until_done(server, probe, begin_ns + WAIT_LESS_NS) == ETIMEDOUT &&
			   !server_is_busy(server, probe);
	result = wait_until_done(server, probe, begin_ns + wait_ns);
	while (result == ETIMEDOUT && now_ns < begin_ns + BUSY_NS)
	{
		if (!server_is_busy(server, probe))
			return probe->state == PROBE_DONE ? 0 : result;
		now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
		result = wait_until_done(server, probe, now_ns + wait_ns);
	}
	return result;
}

/*
 * Gives up a probe. If the probe runs, its thread is abandoned, too. If it has not started, the
 * worker becomes idle and the probe is discarded here. The caller must hold the mutex, which is
 * released.
 */
static void
abandon_probe(Prober *prober, Server *server, Probe *probe)
{
	if (probe->salvage != NULL)
		probe->salvage(probe);
	/*
	 * The thread runs the probe and cannot be stopped. It discards the probe and ends when the call
	 * returns.
	 */
	if (server != NULL && probe->state == PROBE_RUNNING)
	{
		probe->state = PROBE_ABANDONED;
		probe->next_stuck = prober->stuck;
		prober->stuck = probe;
		prober->stuck_count++;
		pthread_mutex_unlock(&prober->mutex);
		return;
	}
	/* the thread has not begun: it can serve the next caller */
	if (server != NULL)
	{
		server->probe = NULL;
		give_server(prober, server);
	}
	pthread_mutex_unlock(&prober->mutex);
	probe->discard(probe);
}

/*
 * Returns true if any account is overdrawn or any thread abandoned. Otherwise owners need not be
 * determined, because no wait depends on them.
 */
static bool
has_debtors(Prober *prober, uint64_t now_ns)
{
	bool has;

	pthread_mutex_lock(&prober->mutex);
	has = prober->stuck_count > 0 || prober->all_waits.paid_ns > now_ns;
	pthread_mutex_unlock(&prober->mutex);
	return has;
}

/*
 * Determines the owner of a probe that did not return. Returns true if the probe has returned
 * meanwhile. The caller must hold the mutex, which is released during the lookup.
 */
static bool
note_owner(Prober *prober, Probe *probe)
{
	uint64_t owner;

	if (probe->subject.pid == 0 || probe->owner != 0)
		return false;
	pthread_mutex_unlock(&prober->mutex);
	owner = owner_of_process(probe->subject.pid);
	pthread_mutex_lock(&prober->mutex);
	probe->owner = owner;
	return probe->state == PROBE_DONE;
}

int
prober_run(Prober *prober, Probe *probe, uint64_t wait_ns)
{
	uint64_t begin_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	Server *server = NULL;
	bool is_slow = false;
	int result = EBUSY;

	probe->state = PROBE_WAITING;
	probe->owner = probe->subject.owner;
	/*
	 * The owner is read from /proc, and needed only while a thread is abandoned or an account
	 * overdrawn.
	 */
	if (probe->owner == 0 && probe->subject.pid != 0 && has_debtors(prober, begin_ns))
		probe->owner = owner_of_process(probe->subject.pid);
	pthread_mutex_lock(&prober->mutex);
	if (!has_too_many(prober, probe->subject.device, probe->owner))
		server = take_server(prober);
	/* The worker takes the probe as soon as wait_patiently() releases the mutex. */
	if (server != NULL)
	{
		server->probe = probe;
		pthread_cond_signal(&server->asked);
		result = wait_patiently(server, probe, begin_ns, wait_of(prober, probe, begin_ns, wait_ns),
								&is_slow);
		/*
		 * late answers of a device are not charged: local disks can be slow, and all owners share
		 * them
		 */
		is_slow &= probe->subject.pid != 0;
		if ((result != 0 || is_slow) && note_owner(prober, probe))
			result = 0;
		if (result != 0 || is_slow)
			charge_wait(prober, probe, begin_ns, result != 0 ? COST : COST_ANSWERED);
	}
	if (result == 0)
	{
		give_server(prober, server);
		pthread_mutex_unlock(&prober->mutex);
		return 0;
	}
	prober->timeouts++;
	abandon_probe(prober, server, probe);
	return -result;
}

uint32_t
prober_stuck(Prober *prober)
{
	uint32_t stuck;

	pthread_mutex_lock(&prober->mutex);
	stuck = prober->stuck_count;
	pthread_mutex_unlock(&prober->mutex);
	return stuck;
}

uint64_t
prober_timeouts(Prober *prober)
{
	uint64_t timeouts;

	pthread_mutex_lock(&prober->mutex);
	timeouts = prober->timeouts;
	pthread_mutex_unlock(&prober->mutex);
	return timeouts;
}
