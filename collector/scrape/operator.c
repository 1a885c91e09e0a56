/*
 * operator.c
 *		Keeps a watch for each cluster and namespace, and a job for each resource.
 *
 * A watch calls back in the middle of a request, when no other request may start or end; so changes
 * are queued until the next tick.
 */
#include "scrape/operator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/clock.h"
#include "base/log.h"
#include "kubernetes/kube_watch.h"
#include "scrape/operator_job.h"

#define API		 "/apis/parca.ricoberger.de/v1alpha1"
#define RESOURCE "parcascrapeconfigs"

typedef struct OperatorJob
{
	UT_hash_handle hh; /* keyed by "key" */
	char *key;		   /* "namespace/name" */
	char *spec;		   /* spec of the resource from which the job was made */
	JobRun *run;
	/* Cluster of the resource; NULL: the job is from an older configuration. */
	const struct Cluster *cluster;
} OperatorJob;

typedef struct Cluster
{
	OperatorJobs *jobs;
	const KubeAccess *access;
	KubeReach reach;
	KubeWatch **watches; /* one for each namespace */
	size_t count;
} Cluster;

/* A resource that was added or changed; object is NULL if it was removed. */
typedef struct News
{
	struct News *next;
	Cluster *cluster;
	char *key;
	json_t *resource;
} News;

struct OperatorJobs
{
	ScrapeConfig *config;
	JobHost host;
	Cluster *clusters;
	size_t cluster_count;
	OperatorJob *table;
	News *first_news; /* oldest first */
	News **last_news; /* where the next one is appended */
	bool has_older;	  /* some jobs are from an older configuration */
	uint64_t refused;
};

/* --- jobs --- */

static OperatorJob *
find_job(const OperatorJobs *jobs, const char *key)
{
	OperatorJob *job;

	HASH_FIND_STR(jobs->table, key, job);
	return job;
}

static void
forget_job(OperatorJobs *jobs, OperatorJob *job)
{
	HASH_DEL(jobs->table, job);
	job_run_free(job->run);
	free(job->spec);
	free(job->key);
	free(job);
}

static void
refuse_resource(OperatorJobs *jobs, const char *key, const Failure *failure)
{
	jobs->refused++;
	log_event(LOG_WARNING, "scrape", "could not use a ParcaScrapeConfig", log_text("resource", key),
			  log_text("reason", failure->message), log_text("detail", failure->detail),
			  log_text("hint", failure->hint));
}

/*
 * Returns true if the name belongs to another job. Names must be unique, because the rows of
 * targets contain them.
 */
static bool
is_taken(const Cluster *cluster, const OperatorJob *known, const char *key)
{
	const ScrapeConfig *config = cluster->jobs->config;
	const ScrapeJob *jobs = config->jobs.items;

	for (size_t i = 0; i < config->jobs.count; i++)
		if (strcmp(jobs[i].name, key) == 0)
			return true;
	/* A job of an older configuration has no cluster, and may be replaced. */
	return known != NULL && known->cluster != NULL && known->cluster != cluster;
}

static JobRun *
start_run(const Cluster *cluster, const char *key, const json_t *resource, Failure *failure)
{
	OperatorJobs *jobs = cluster->jobs;
	ScrapeConfig *config = operator_job_make(jobs->config, cluster->access, key, resource, failure);
	JobRun *run;

	if (config == NULL)
		return NULL;
	run = job_run_start(config, config->jobs.items, &jobs->host);
	scrape_config_release(config); /* the run has its own reference */
	if (run == NULL)
		failure_out_of_memory(failure);
	return run;
}

/* Stores a job. If a job of this key existed, the new one replaces it and continues its targets. */
static bool
put_job(const Cluster *cluster, const char *key, char *spec, JobRun *run)
{
	OperatorJobs *jobs = cluster->jobs;
	OperatorJob *job = find_job(jobs, key);

	if (job == NULL)
	{
		job = calloc(1, sizeof(OperatorJob));
		if (job == NULL || (job->key = strdup(key)) == NULL)
		{
			free(job);
			return false;
		}
		HASH_ADD_KEYPTR(hh, jobs->table, job->key, strlen(job->key), job);
	}
	else
	{
		/* The new job takes the targets over before the old one would remove them. */
		job_run_inherit(run, job->run, clock_ns(CLOCK_MONOTONIC));
		job_run_free(job->run);
		free(job->spec);
	}
	job->spec = spec;
	job->run = run;
	job->cluster = cluster;
	return true;
}

/* Starts a job for a resource, unless its spec is unchanged. */
static void
take_resource(Cluster *cluster, const char *key, const json_t *resource)
{
	OperatorJobs *jobs = cluster->jobs;
	const OperatorJob *known = find_job(jobs, key);
	char *spec = json_dumps(json_object_get(resource, "spec"), JSON_COMPACT | JSON_SORT_KEYS);
	Failure failure = { .code = EXIT_OK };
	JobRun *run = NULL;

	/* frequent changes concern only the status, which needs no new job */
	if (known != NULL && known->cluster == cluster && spec != NULL &&
		strcmp(known->spec, spec) == 0)
	{
		free(spec);
		return;
	}
	if (is_taken(cluster, known, key))
		failure_set(&failure, EXIT_CONFIG, "a job of that name exists");
	else if (json_object_get(resource, "spec") != NULL && spec == NULL)
		failure_out_of_memory(&failure);
	else
		run = start_run(cluster, key, resource, &failure);
	if (run != NULL && put_job(cluster, key, spec, run))
	{
		log_event(LOG_INFO, "scrape", "using a ParcaScrapeConfig", log_text("resource", key));
		return;
	}
	/* put_job() fails on out of memory only. */
	if (run != NULL)
		failure_out_of_memory(&failure);
	job_run_free(run);
	free(spec);
	refuse_resource(jobs, key, &failure);
}

static void
drop_resource(Cluster *cluster, const char *key)
{
	OperatorJob *job = find_job(cluster->jobs, key);

	/* The job may be that of a resource with this name in another cluster. */
	if (job == NULL || (job->cluster != cluster && job->cluster != NULL))
		return;
	log_event(LOG_INFO, "scrape", "a ParcaScrapeConfig was removed", log_text("resource", key));
	forget_job(cluster->jobs, job);
}

static void
free_news(News *news)
{
	json_decref(news->resource);
	free(news->key);
	free(news);
}

static void
take_news(OperatorJobs *jobs)
{
	while (jobs->first_news != NULL)
	{
		News *news = jobs->first_news;

		jobs->first_news = news->next;
		if (news->next == NULL)
			jobs->last_news = &jobs->first_news;
		if (news->resource != NULL)
			take_resource(news->cluster, news->key, news->resource);
		else
			drop_resource(news->cluster, news->key);
		free_news(news);
	}
}

/* Called by a watch with a resource that was added, changed, or removed (NULL). */
static void
operator_on_object(void *context, const char *key, json_t *resource)
{
	Cluster *cluster = context;
	News *news = calloc(1, sizeof(News));
	Failure failure;

	if (news == NULL || (news->key = strdup(key)) == NULL)
	{
		free(news);
		failure_out_of_memory(&failure);
		refuse_resource(cluster->jobs, key, &failure);
		return;
	}
	news->cluster = cluster;
	news->resource = json_incref(resource);
	*cluster->jobs->last_news = news;
	cluster->jobs->last_news = &news->next;
}

static void
operator_on_failure(void *context, const char *path, const char *detail)
{
	log_event(LOG_WARNING, "scrape", "could not watch ParcaScrapeConfigs", log_text("path", path),
			  log_text("detail", detail));
}

/* --- begin and end --- */

/* Starts a watch for one namespace, or for all if space is NULL. */
static bool
start_watch(Cluster *cluster, const char *space)
{
	char path[600];
	const KubeWatchOptions options = { .client = cluster->jobs->host.client,
									   .settings = &cluster->reach.http,
									   .server = cluster->reach.server,
									   .path = path,
									   .on_object = operator_on_object,
									   .on_failure = operator_on_failure,
									   .context = cluster };
	KubeWatch *watch;

	if (space == NULL)
		snprintf(path, sizeof(path), API "/" RESOURCE);
	else
		snprintf(path, sizeof(path), API "/namespaces/%s/" RESOURCE, space);
	watch = kube_watch_create(&options);
	if (watch != NULL)
		cluster->watches[cluster->count++] = watch;
	return watch != NULL;
}

static bool
start_cluster(Cluster *cluster)
{
	KubeReach *reach = &cluster->reach;

	if (!kube_reach_init(reach, cluster->access))
		return false;
	if (reach->problem != NULL)
		operator_on_failure(cluster, reach->server, reach->problem);
	cluster->watches = calloc(reach->space_count + 1, sizeof(KubeWatch *));
	for (size_t i = 0; cluster->watches != NULL && i < reach->space_count; i++)
		if (!start_watch(cluster, reach->spaces[i]))
			return false;
	return cluster->watches != NULL;
}

OperatorJobs *
operator_jobs_create(ScrapeConfig *config, const JobHost *host)
{
	OperatorJobs *jobs = calloc(1, sizeof(OperatorJobs));
	const ScrapeCluster *clusters = config->clusters.items;

	if (jobs == NULL)
		return NULL;
	jobs->config = scrape_config_retain(config);
	jobs->host = *host;
	jobs->last_news = &jobs->first_news;
	jobs->clusters = calloc(config->clusters.count + 1, sizeof(Cluster));
	for (size_t i = 0; jobs->clusters != NULL && i < config->clusters.count; i++)
	{
		Cluster *cluster = &jobs->clusters[jobs->cluster_count++];

		cluster->jobs = jobs;
		cluster->access = &clusters[i].access;
		if (!start_cluster(cluster))
		{
			operator_jobs_free(jobs);
			return NULL;
		}
	}
	if (jobs->clusters != NULL)
		return jobs;
	operator_jobs_free(jobs);
	return NULL;
}

void
operator_jobs_inherit(OperatorJobs *jobs, OperatorJobs *older)
{
	if (older == NULL)
		return;
	jobs->table = older->table;
	jobs->refused = older->refused;
	jobs->has_older = jobs->table != NULL;
	older->table = NULL;
	/* These jobs are removed unless a watch lists their resources again. */
	for (OperatorJob *job = jobs->table; job != NULL; job = job->hh.next)
		job->cluster = NULL;
}

void
operator_jobs_free(OperatorJobs *jobs)
{
	OperatorJob *job;
	OperatorJob *next;
	News *news;

	if (jobs == NULL)
		return;
	/* A watch may call back, so watches end before the jobs. */
	for (size_t i = 0; i < jobs->cluster_count; i++)
	{
		Cluster *cluster = &jobs->clusters[i];

		for (size_t j = 0; j < cluster->count; j++)
			kube_watch_free(cluster->watches[j]);
		free(cluster->watches);
		kube_reach_fini(&cluster->reach);
	}
	HASH_ITER(hh, jobs->table, job, next)
	{
		forget_job(jobs, job);
	}
	while ((news = jobs->first_news) != NULL)
	{
		jobs->first_news = news->next;
		free_news(news);
	}
	free(jobs->clusters);
	scrape_config_release(jobs->config);
	free(jobs);
}

/* --- work --- */

static bool
operator_is_synced(const OperatorJobs *jobs)
{
	for (size_t i = 0; i < jobs->cluster_count; i++)
		for (size_t j = 0; j < jobs->clusters[i].count; j++)
			if (!kube_watch_is_synced(jobs->clusters[i].watches[j]))
				return false;
	return true;
}

/* Removes the jobs of an older configuration once all watches have listed their resources. */
static void
forget_older(OperatorJobs *jobs)
{
	OperatorJob *job;
	OperatorJob *next;

	HASH_ITER(hh, jobs->table, job, next)
	{
		if (job->cluster == NULL)
			forget_job(jobs, job);
	}
	jobs->has_older = false;
}

int64_t
operator_jobs_tick(OperatorJobs *jobs, int64_t now_ns, int64_t until_ns)
{
	int64_t due_ns = INT64_MAX;

	for (size_t i = 0; i < jobs->cluster_count; i++)
		for (size_t j = 0; j < jobs->clusters[i].count; j++)
			due_ns = MIN(due_ns, kube_watch_tick(jobs->clusters[i].watches[j], now_ns));
	/* Outside of the watches' callbacks, requests may start and end. */
	take_news(jobs);
	if (jobs->has_older && operator_is_synced(jobs))
		forget_older(jobs);
	for (OperatorJob *job = jobs->table; job != NULL; job = job->hh.next)
		due_ns = MIN(due_ns, job_run_tick(job->run, now_ns, until_ns));
	return due_ns;
}

void
operator_jobs_each(const OperatorJobs *jobs, void (*see)(void *context, JobRun *run), void *context)
{
	if (jobs == NULL)
		return;
	for (const OperatorJob *job = jobs->table; job != NULL; job = job->hh.next)
		see(context, job->run);
}

uint64_t
operator_jobs_refused(const OperatorJobs *jobs)
{
	return jobs->refused;
}
