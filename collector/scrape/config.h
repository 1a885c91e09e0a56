/*
 * config.h
 *		What is to be scraped: Parca's configuration, as one that is counted by those who use it.
 */
#ifndef COLLECTOR_SCRAPE_CONFIG_H
#define COLLECTOR_SCRAPE_CONFIG_H

#include "discovery/discovery.h"
#include "http_client/http_settings.h"
#include "kubernetes/kube_access.h"
#include "labels/relabel_read.h"

typedef struct ProfileKind
{
	const char *name;
	const char *path;
	ConfigList keep_types; /* of DecodeType; empty: all */
	int64_t seconds;	   /* of a delta; 0: the interval's */
	bool enabled;
	bool delta;
} ProfileKind;

/* What stands in a list of some kind of discovery. */
typedef struct DiscoverySettings
{
	const DiscoveryKind *kind;
	const void *settings;
} DiscoverySettings;

typedef struct ScrapeParam
{
	const char *name;
	ConfigList values; /* of const char * */
} ScrapeParam;

typedef struct ScrapeJob
{
	const char *name;
	int64_t interval_ms;
	int64_t timeout_ms;
	const char *scheme;
	const char *path_prefix;
	ConfigList params;		/* of ScrapeParam */
	ConfigList profiles;	/* of ProfileKind, enabled ones */
	ConfigList discoveries; /* of DiscoverySettings */
	ConfigList rules;		/* of RelabelRule * */
	HttpSettings http;
} ScrapeJob;

/* A cluster whose ParcaScrapeConfig resources are jobs, too. */
typedef struct ScrapeCluster
{
	KubeAccess access;
} ScrapeCluster;

typedef struct ScrapeConfig
{
	Document document; /* all memory */
	char *path;
	char *directory;
	size_t references;			 /* of one thread */
	ConfigList jobs;			 /* of ScrapeJob */
	ConfigList clusters;		 /* of ScrapeCluster */
	struct ScrapeConfig *parent; /* that it refers to; NULL: none */
} ScrapeConfig;

/* A configuration with one reference, or NULL with *failure set. */
ScrapeConfig *scrape_config_read(const char *path, Failure *failure);

/*
 * One of a text, whose document is parsed, but not read; it refers to parent, and is called path in
 * messages.
 */
ScrapeConfig *scrape_config_parse(ScrapeConfig *parent, const char *path, const char *text,
								  Failure *failure);
ScrapeConfig *scrape_config_retain(ScrapeConfig *config);
void scrape_config_release(ScrapeConfig *config); /* accepts NULL */

/* A job's part of it: checked, and completed by defaults. */
bool scrape_job_read(ConfigReader *reader, const Node *node, void *job);

/* profiling_config of a job, and what a job has without it. */
bool scrape_profiles_read(ConfigReader *reader, const Node *node, ScrapeJob *job);

#endif
