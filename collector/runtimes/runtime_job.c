/*
 * runtime_job.c
 *		A probe with copies of all that a kind's function uses.
 *
 * After a timeout the function may still run, in a thread that was left behind. So the job has its
 * own copy of the target, of the walk and of the objects, and owns the target's data while it runs.
 */
#include "runtimes/runtime_job.h"

#include <stdlib.h>
#include <string.h>

/* limit of the time for which the calling thread, the walker, waits */
#define WAIT_NS UINT64_C(50000000)

typedef struct RuntimeJob
{
	Probe probe;
	RemoteMemory memory;
	RuntimeTarget target;
	CodeWalk walk;
	size_t count;
	CodeWanted wanted[RUNTIME_CODES_MAX];
	uint64_t words[]; /* the walk's */
} RuntimeJob;

static void
run_refresh(Probe *probe)
{
	RuntimeJob *job = (RuntimeJob *) probe;

	job->target.file.kind->refresh(&job->memory, &job->target, &job->walk);
}

static void
run_read_codes(Probe *probe)
{
	RuntimeJob *job = (RuntimeJob *) probe;

	job->target.file.kind->read_codes(&job->memory, &job->target, job->wanted, job->count);
}

static void
discard_job(Probe *probe)
{
	RuntimeJob *job = (RuntimeJob *) probe;

	if (job->target.file.kind->release != NULL)
		job->target.file.kind->release(&job->target);
	for (size_t i = 0; i < job->count; i++)
		runtime_code_fini(&job->wanted[i].code);
	free(job);
}

/* Returns a job for some objects of the walk; NULL if out of memory. */
static RuntimeJob *
make_job(const RemoteMemory *memory, const RuntimeTarget *target, const CodeWalk *walk,
		 const CodeWanted *wanted, size_t count)
{
	RuntimeJob *job = malloc(sizeof(*job) + walk->count * sizeof(job->words[0]));

	if (job == NULL)
		return NULL;
	job->memory = (RemoteMemory){ .pid = memory->pid };
	job->target = *target;
	job->walk = *walk;
	job->walk.words = job->words;
	memcpy(job->words, walk->words, walk->count * sizeof(job->words[0]));
	job->count = count;
	for (size_t i = 0; i < count; i++)
	{
		job->wanted[i] = wanted[i];
		job->wanted[i].more = job->words + (wanted[i].more - walk->words);
		job->wanted[i].code = (RuntimeCode){ 0 };
	}
	return job;
}

/* Runs a job. Returns true if it belongs to the caller again. */
static bool
run_job(RemoteMemory *memory, RuntimeTarget *target, RuntimeJob *job, void (*run)(Probe *))
{
	job->probe = (Probe){ .run = run, .discard = discard_job, .subject.pid = memory->pid };
	target->own = NULL;
	memory->stuck = patience_run(memory->patience, &job->probe, WAIT_NS) != 0;
	if (!memory->stuck)
		target->own = job->target.own;
	return !memory->stuck;
}

void
runtime_job_refresh(RemoteMemory *memory, RuntimeTarget *target, const CodeWalk *walk)
{
	RuntimeJob *job = make_job(memory, target, walk, NULL, 0);

	if (job != NULL && run_job(memory, target, job, run_refresh))
		free(job);
}

void
runtime_job_read_codes(RemoteMemory *memory, RuntimeTarget *target, const CodeWalk *walk,
					   CodeWanted *wanted, size_t count)
{
	RuntimeJob *job = make_job(memory, target, walk, wanted, count);

	for (size_t i = 0; i < count; i++)
		wanted[i].code = (RuntimeCode){ 0 };
	if (job == NULL || !run_job(memory, target, job, run_read_codes))
		return;
	for (size_t i = 0; i < count; i++)
		wanted[i].code = job->wanted[i].code;
	free(job);
}
