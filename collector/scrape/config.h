/*
 * config.h
 *		The scrape configuration, in Parca's format; reference counted.
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
	ConfigList keep_types; /* list of DecodeType; empty means all types */
	int64_t seconds;	   /* duration of a delta; 0: the scrape interval */
	bool enabled;
	bool delta;
} ProfileKind;

/* One entry of a job's list for some kind of discovery. */
typedef struct DiscoverySettings
{
	const DiscoveryKind *kind;
	const void *settings;
} DiscoverySettings;

typedef struct ScrapeParam
{
	const char *name;
	ConfigList values; /* list of const char * */
} ScrapeParam;

typedef struct ScrapeJob
{
	const char *name;
	int64_t interval_ms;
	int64_t timeout_ms;
	const char *scheme;
	const char *path_prefix;
	ConfigList params;		/* list of ScrapeParam */
	ConfigList profiles;	/* list of ProfileKind, enabled ones only */
	ConfigList discoveries; /* list of DiscoverySettings */
	ConfigList rules;		/* list of RelabelRule * */
	HttpSettings http;
} ScrapeJob;

/* A cluster whose ParcaScrapeConfig resources define jobs. */
typedef struct ScrapeCluster
{
	KubeAccess access;
} ScrapeCluster;

typedef struct ScrapeConfig
{
	Document document; /* owns all memory */
	char *path;
	char *directory;
	size_t references;			 /* number of references; one thread counts them */
	ConfigList jobs;			 /* list of ScrapeJob */
	ConfigList clusters;		 /* list of ScrapeCluster */
	struct ScrapeConfig *parent; /* configuration to which this one refers; NULL: none */
} ScrapeConfig;

/* Returns a configuration with one reference, or NULL with *failure set. */
ScrapeConfig *scrape_config_read(const char *path, Failure *failure);

/*
 * Parses a text into the document of a new configuration, without reading jobs from it. The
 * configuration refers to parent and appears as path in messages.
 */
ScrapeConfig *scrape_config_parse(ScrapeConfig *parent, const char *path, const char *text,
								  Failure *failure);
ScrapeConfig *scrape_config_retain(ScrapeConfig *config);
void scrape_config_release(ScrapeConfig *config); /* accepts NULL */

/* Reads a job, checks it and fills in defaults. */
bool scrape_job_read(ConfigReader *reader, const Node *node, void *job);

/* Reads a job's profiling_config; without this setting, sets the defaults. */
bool scrape_profiles_read(ConfigReader *reader, const Node *node, ScrapeJob *job);

#endif
