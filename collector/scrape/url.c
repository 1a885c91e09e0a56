/*
 * url.c
 *		Builds a URL from scheme, address, path and parameters.
 */
#include "scrape/url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/percent.h"

#define PARAM_PREFIX "__param_"

char *
scrape_join_path(LabelBuilder *builder, const char *prefix, const char *path)
{
	size_t length = strlen(prefix);
	size_t bytes = length + strlen(path) + 3;
	char *joined = label_builder_alloc(builder, bytes);

	if (joined == NULL)
		return NULL;
	while (length > 0 && prefix[length - 1] == '/')
		length--;
	path += strspn(path, "/");
	snprintf(joined, bytes, "%s%.*s/%s", length > 0 && prefix[0] != '/' ? "/" : "", (int) length,
			 prefix, path);
	return joined;
}

static bool
has_port(const char *address)
{
	const char *end = strrchr(address, ':');
	const char *bracket = strrchr(address, ']');

	/* A colon within brackets belongs to an IPv6 address. */
	if (end == NULL || (bracket != NULL && end < bracket))
		return false;
	/* An address with several colons is IPv6 without brackets, so without a port. */
	return address[0] == '[' || strchr(address, ':') == end;
}

/* Returns the address with a port; an IPv6 address gets brackets. */
static const char *
complete_address(LabelBuilder *builder, const char *address, const char *scheme)
{
	const char *port = strcmp(scheme, "https") == 0 ? "443" : "80";
	bool bare = address[0] != '[' && strchr(address, ':') != NULL;
	size_t bytes = strlen(address) + 8;
	char *complete;

	if (has_port(address))
		return address;
	complete = label_builder_alloc(builder, bytes);
	if (complete != NULL)
		snprintf(complete, bytes, bare ? "[%s]:%s" : "%s:%s", address, port);
	return complete;
}

/* The bytes that a path, and a query after it, may contain beside those of any part of a URL. */
#define PATH_BYTES "/?=&%:@!$'()*+,;"

typedef struct Query
{
	FILE *out;
	bool begun; /* the "?" was written */
} Query;

static void
url_put_param(Query *query, const char *name, const char *value)
{
	fputc(query->begun ? '&' : '?', query->out);
	query->begun = true;
	percent_encode(query->out, name, "");
	fputc('=', query->out);
	percent_encode(query->out, value, "");
}

static const ScrapeParam *
find_param(const ScrapeJob *job, const char *name)
{
	const ScrapeParam *params = job->params.items;

	for (size_t i = 0; i < job->params.count; i++)
		if (strcmp(params[i].name, name) == 0)
			return &params[i];
	return NULL;
}

/*
 * Writes the parameters. The first value of each comes from its label, so a parameter whose label a
 * rule removed is not sent, and a label that a rule added is.
 */
static void
put_params(Query *query, const LabelBuilder *builder, const ScrapeJob *job)
{
	for (size_t i = 0; i < builder->count; i++)
	{
		const char *name = builder->labels[i].name + strlen(PARAM_PREFIX);
		const ScrapeParam *param;

		if (strncmp(builder->labels[i].name, PARAM_PREFIX, strlen(PARAM_PREFIX)) != 0)
			continue;
		url_put_param(query, name, builder->labels[i].value);
		param = find_param(job, name);
		for (size_t j = 1; param != NULL && j < param->values.count; j++)
			url_put_param(query, name, ((const char *const *) param->values.items)[j]);
	}
}

/* Writes the duration of a delta: the configured one, otherwise the interval. */
static void
put_seconds(Query *query, const ScrapeJob *job, const ProfileKind *profile)
{
	int64_t seconds = profile->seconds > 0 ? profile->seconds : MAX(job->interval_ms / 1000, 1);
	char text[24];

	/* A parameter "seconds" of the configuration is sent instead. */
	if (!profile->delta || find_param(job, "seconds") != NULL)
		return;
	snprintf(text, sizeof(text), "%lld", (long long) seconds);
	url_put_param(query, "seconds", text);
}

char *
scrape_make_url(LabelBuilder *builder, const ScrapeJob *job, const ProfileKind *profile,
				char error[HTTP_ERROR_BYTES])
{
	const char *scheme = label_builder_get(builder, "__scheme__");
	const char *address = label_builder_get(builder, "__address__");
	const char *path = label_builder_get(builder, "__profile_path__");
	Query query = { .begun = strchr(path, '?') != NULL };
	char *url = NULL;
	size_t length;

	if (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0)
		snprintf(error, HTTP_ERROR_BYTES, "Scheme \"%.100s\" is neither http nor https", scheme);
	else if (address[0] == '\0')
		snprintf(error, HTTP_ERROR_BYTES, "The label __address__ is empty");
	else if (strpbrk(address, "/?#@ \t\r\n") != NULL)
		snprintf(error, HTTP_ERROR_BYTES, "Address \"%.200s\" is not a host and port", address);
	if (error[0] != '\0')
		return NULL;
	address = complete_address(builder, address, scheme);
	if (address == NULL || (query.out = open_memstream(&url, &length)) == NULL)
		return NULL;
	/* The address distinguishes the series of different targets. */
	if (label_builder_get(builder, "instance")[0] == '\0')
		label_builder_set(builder, "instance", address);
	fprintf(query.out, "%s://%s%s", scheme, address, path[0] == '/' ? "" : "/");
	percent_encode(query.out, path, PATH_BYTES);
	put_params(&query, builder, job);
	put_seconds(&query, job, profile);
	if (fclose(query.out) == 0)
		return url;
	free(url);
	return NULL;
}
