/*
 * config.c
 *		Reads the configuration file.
 */
#include "scrape/config.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

static bool
read_jobs(ConfigReader *reader, const Node *node, void *field)
{
	return config_read_items(reader, node, sizeof(ScrapeJob), scrape_job_read, field);
}

static bool
read_cluster(ConfigReader *reader, const Node *node, void *field)
{
	static const ConfigField fields[] = { KUBE_ACCESS_FIELDS(ScrapeCluster, access) };

	ScrapeCluster *cluster = field;

	return config_read_fields(reader, node, CONFIG_FIELDS(fields), cluster) &&
		   kube_access_check(reader, node, &cluster->access);
}

static bool
read_clusters(ConfigReader *reader, const Node *node, void *field)
{
	return config_read_items(reader, node, sizeof(ScrapeCluster), read_cluster, field);
}

static bool
check_names(ConfigReader *reader, const Node *root, const ScrapeConfig *config)
{
	const ScrapeJob *jobs = config->jobs.items;
	const Node *list = config_find(root, "scrape_configs");

	/* Rows of targets contain the name of their job, so it must be unique. */
	for (size_t i = 0; i < config->jobs.count; i++)
		for (size_t j = 0; j < i; j++)
			if (strcmp(jobs[i].name, jobs[j].name) == 0)
				return config_fail(reader, list->items[i], "The job name \"%s\" is repeated",
								   jobs[i].name);
	return true;
}

static bool
read_config(ScrapeConfig *config, Failure *failure)
{
	/* settings of Parca's own storage are accepted and ignored, because ours is --db */
	static const ConfigField fields[] = {
		{ "object_storage", NULL },
		{ "scrape_configs", read_jobs, offsetof(ScrapeConfig, jobs) },
		{ "parca_operator_configs", read_clusters, offsetof(ScrapeConfig, clusters) },
	};
	ConfigReader reader = { &config->document, failure, config->directory };
	const Node *root = config->document.root;

	return root == NULL || node_is_null(root) ||
		   (config_read_fields(&reader, root, CONFIG_FIELDS(fields), config) &&
			check_names(&reader, root, config));
}

/* Makes an empty configuration with one reference; NULL with *failure set. */
static ScrapeConfig *
new_config(const char *path, Failure *failure)
{
	ScrapeConfig *config = calloc(1, sizeof(ScrapeConfig));
	char *copy = strdup(path);

	if (config != NULL && copy != NULL)
	{
		config->references = 1;
		config->path = strdup(path);
		/* dirname() may change its argument, so it gets a copy. */
		config->directory = strdup(dirname(copy));
	}
	free(copy);
	if (config != NULL && config->path != NULL && config->directory != NULL)
		return config;
	failure_out_of_memory(failure);
	scrape_config_release(config);
	return NULL;
}

ScrapeConfig *
scrape_config_read(const char *path, Failure *failure)
{
	ScrapeConfig *config = new_config(path, failure);

	if (config != NULL && document_read(&config->document, config->path, failure) == EXIT_OK &&
		read_config(config, failure))
		return config;
	scrape_config_release(config);
	return NULL;
}

ScrapeConfig *
scrape_config_parse(ScrapeConfig *parent, const char *path, const char *text, Failure *failure)
{
	ScrapeConfig *config = new_config(path, failure);

	if (config == NULL)
		return NULL;
	/* The access to the cluster belongs to the parent. */
	config->parent = scrape_config_retain(parent);
	if (document_parse(&config->document, config->path, text, strlen(text), failure) == EXIT_OK)
		return config;
	scrape_config_release(config);
	return NULL;
}

ScrapeConfig *
scrape_config_retain(ScrapeConfig *config)
{
	config->references++;
	return config;
}

void
scrape_config_release(ScrapeConfig *config)
{
	if (config == NULL || config->references-- > 1)
		return;
	scrape_config_release(config->parent);
	document_free(&config->document);
	free(config->path);
	free(config->directory);
	free(config);
}
