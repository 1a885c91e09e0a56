/*
 * operator_job.c
 *		Converts a resource to the JSON form of the configuration file, and reads that form. So a
 *		resource means what the file would mean, and is refused for the same reasons.
 *
 * Keys are converted to those of the file: "targetLabel" becomes "target_label". Empty strings
 * count as not given, as in Parca's operator. Values in the selector are plain values, as
 * everywhere in Kubernetes, whereas Parca's operator takes them for regular expressions.
 */
#include "scrape/operator_job.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "discovery/kubernetes.h"
#include "labels/kubernetes_names.h"

#define LEVELS_MAX 8

#define CANNOT_READ "could not read a ParcaScrapeConfig"

/* --- keys and values --- */

/* Converts "keepSampleType" to "keep_sample_type". */
static char *
file_key(const char *name)
{
	char *key = malloc(2 * strlen(name) + 1);
	char *to = key;

	for (const char *from = name; key != NULL && *from != '\0'; from++)
	{
		if (isupper((unsigned char) *from))
			*to++ = '_';
		*to++ = (char) tolower((unsigned char) *from);
	}
	if (key != NULL)
		*to = '\0';
	return key;
}

static bool
is_given(const json_t *value)
{
	return value != NULL && !json_is_null(value) &&
		   !(json_is_string(value) && json_string_length(value) == 0);
}

/*
 * Converts a value. names: the keys of the object are names chosen by the user, which are not
 * converted.
 */
static json_t *file_value(const json_t *value, bool names, int levels);

/* Converts the members of an object, and their keys unless these are names chosen by the user. */
static json_t *
file_object(const json_t *from, bool names, int levels)
{
	json_t *to = json_object();
	const char *name;
	json_t *value;

	json_object_foreach((json_t *) (uintptr_t) from, name, value)
	{
		char *key = names ? strdup(name) : file_key(name);

		/* The keys of pprofConfig are names of profiles. */
		if (is_given(value) && key != NULL)
			json_object_set_new(to, key,
								file_value(value, strcmp(name, "pprofConfig") == 0, levels + 1));
		free(key);
	}
	return to;
}

static json_t *
file_value(const json_t *value, bool names, int levels)
{
	json_t *list;
	json_t *item;
	size_t i;

	/* The limit keeps the recursion short; no setting has as many levels. */
	if (levels > LEVELS_MAX || !(json_is_object(value) || json_is_array(value)))
		return json_incref((json_t *) (uintptr_t) value);
	if (json_is_object(value))
		return file_object(value, names, levels);
	list = json_array();
	json_array_foreach(value, i, item)
	{
		json_array_append_new(list, file_value(item, false, levels + 1));
	}
	return list;
}

/* --- rules --- */

static void
add_rule(json_t *rules, const char *action, const char *source, const char *target,
		 const char *regex, const char *replacement)
{
	json_t *rule = json_object();

	json_object_set_new(rule, "action", json_string(action));
	if (source != NULL)
		json_object_set_new(rule, "source_labels", json_pack("[s]", source));
	if (target != NULL)
		json_object_set_new(rule, "target_label", json_string(target));
	if (regex != NULL)
		json_object_set_new(rule, "regex", json_string(regex));
	if (replacement != NULL)
		json_object_set_new(rule, "replacement", json_string(replacement));
	json_array_append_new(rules, rule);
}

/* Inserts mark before each character of text that is in the set "before". */
static char *
escape_characters(const char *text, const char *before, char mark)
{
	char *escaped = malloc(2 * strlen(text) + 1);
	char *to = escaped;

	for (; escaped != NULL && *text != '\0'; text++)
	{
		if (strchr(before, *text) != NULL)
			*to++ = mark;
		*to++ = *text;
	}
	if (escaped != NULL)
		*to = '\0';
	return escaped;
}

static void
add_label_rule(json_t *rules, const char *target, const char *value)
{
	/* A "$" in the replacement would refer to a group of the regex. */
	char *replacement = escape_characters(value, "$", '$');

	add_rule(rules, "replace", NULL, target, NULL, replacement);
	free(replacement);
}

static void
add_port_rules(json_t *rules, const char *source, const char *port)
{
	/* The port is a plain value, not a regex. */
	char *regex = escape_characters(port, "\\.+*?()|[]{}^$", '\\');

	add_rule(rules, "keep", source, NULL, regex, NULL);
	add_label_rule(rules, "endpoint", port);
	free(regex);
}

/*
 * Makes the relabelling rules of a job: drop ended pods, select the port, set labels, then the
 * resource's own rules.
 */
static json_t *
operator_job_make_rules(const json_t *scrape, const char *key)
{
	const char *job = json_string_value(json_object_get(scrape, "job"));
	const char *port = json_string_value(json_object_get(scrape, "port"));
	json_int_t number = json_integer_value(json_object_get(scrape, "portNumber"));
	json_t *own = json_object_get(scrape, "relabelConfigs");
	json_t *rules = json_array();
	json_t *converted = is_given(own) ? file_value(own, false, 0) : NULL;
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long) number);
	/* The API still lists the address of a pod that has ended. */
	add_rule(rules, "drop", KUBE_META KUBE_POD_PHASE, NULL, "Failed|Succeeded", NULL);
	if (port != NULL && port[0] != '\0')
		add_port_rules(rules, KUBE_META KUBE_PORT_NAME, port);
	else if (number != 0)
		add_port_rules(rules, KUBE_META KUBE_PORT_NUMBER, text);
	add_rule(rules, "replace", KUBE_META KUBE_NAMESPACE, "namespace", NULL, NULL);
	add_rule(rules, "replace", KUBE_META KUBE_CONTAINER_NAME, "container", NULL, NULL);
	add_rule(rules, "replace", KUBE_META KUBE_POD_NAME, "pod", NULL, NULL);
	add_label_rule(rules, "job", job != NULL && job[0] != '\0' ? job : key);
	json_array_extend(rules, converted);
	json_decref(converted);
	return rules;
}

/* --- the job --- */

static void
rename_key(json_t *object, const char *from, const char *to)
{
	json_t *value = json_object_get(object, from);

	if (value == NULL)
		return;
	json_object_set(object, to, value);
	json_object_del(object, from);
}

/* Returns the job as text in the format of an entry of scrape_configs; the caller frees it. */
static char *
make_text(const char *key, const json_t *scrape)
{
	json_t *job = file_object(scrape, false, 0);
	json_t *params = json_object_get(scrape, "params");
	char *text;

	/* These settings have become rules. */
	json_object_del(job, "port");
	json_object_del(job, "port_number");
	json_object_del(job, "job");
	rename_key(job, "interval", "scrape_interval");
	rename_key(job, "timeout", "scrape_timeout");
	if (is_given(params))
		/*
		 * the keys of params are not converted, because they are names of the target's parameters
		 */
		json_object_set(job, "params", params);
	json_object_set_new(job, "job_name", json_string(key));
	json_object_set_new(job, "relabel_configs", operator_job_make_rules(scrape, key));
	text = json_dumps(job, JSON_INDENT(1));
	json_decref(job);
	return text;
}

/*
 * Refuses settings that use files or secrets of the scraper, such as credentials that are sent to
 * targets: users who may write resources may not be allowed to write the configuration.
 */
static bool
operator_job_check_settings(const json_t *scrape, const char *key, Failure *failure)
{
	static const char *const settings[] = {
		"job",	   "port",	 "portNumber",		"params",		  "interval",
		"timeout", "scheme", "profilingConfig", "relabelConfigs",
	};
	const char *name;
	json_t *value;

	json_object_foreach((json_t *) (uintptr_t) scrape, name, value)
	{
		size_t i = 0;

		while (i < sizeof(settings) / sizeof(settings[0]) && strcmp(settings[i], name) != 0)
			i++;
		if (i < sizeof(settings) / sizeof(settings[0]))
			continue;
		failure_set(failure, EXIT_CONFIG, CANNOT_READ);
		failure_detail(failure, "\"%s\": A scrapeConfig has no setting \"%.64s\".", key, name);
		return false;
	}
	return true;
}

/* --- the selector --- */

static bool
fail_resource(Failure *failure, const char *key, const char *reason)
{
	failure_set(failure, EXIT_CONFIG, CANNOT_READ);
	failure_detail(failure, "\"%s\": %s.", key, reason);
	return false;
}

/*
 * Returns true if the text has only characters of label names and values; none of them has a
 * meaning in a selector.
 */
static bool
is_plain(const char *text)
{
	if (text == NULL)
		return false;
	for (; *text != '\0'; text++)
		if (!isalnum((unsigned char) *text) && strchr("-_./", *text) == NULL)
			return false;
	return true;
}

static bool
json_put_values(FILE *out, const json_t *values)
{
	json_t *value;
	size_t i;

	json_array_foreach(values, i, value)
	{
		if (!is_plain(json_string_value(value)))
			return false;
		fprintf(out, "%s%s", i > 0 ? "," : "", json_string_value(value));
	}
	return json_array_size(values) > 0;
}

/* Writes "name in (a,b)", "name notin (a,b)", "name" or "!name". */
static bool
put_expression(FILE *out, const json_t *expression)
{
	const char *name = json_string_value(json_object_get(expression, "key"));
	const char *how = json_string_value(json_object_get(expression, "operator"));
	const json_t *values = json_object_get(expression, "values");
	bool good;

	if (name == NULL || name[0] == '\0' || !is_plain(name) || how == NULL)
		return false;
	if (strcmp(how, "Exists") == 0)
		return fprintf(out, "%s", name) > 0;
	if (strcmp(how, "DoesNotExist") == 0)
		return fprintf(out, "!%s", name) > 0;
	if (strcmp(how, "In") != 0 && strcmp(how, "NotIn") != 0)
		return false;
	fprintf(out, "%s %s (", name, how[0] == 'I' ? "in" : "notin");
	good = json_put_values(out, values);
	fputc(')', out);
	return good;
}

/* Writes a label selector in the text form that the API reads. Returns false if it is malformed. */
static bool
put_selector(FILE *out, const json_t *selector)
{
	const char *name;
	json_t *value;
	json_t *expression;
	size_t i;

	json_object_foreach(json_object_get(selector, "matchLabels"), name, value)
	{
		if (name[0] == '\0' || !is_plain(name) || !is_plain(json_string_value(value)))
			return false;
		fprintf(out, "%s%s=%s", ftell(out) > 0 ? "," : "", name, json_string_value(value));
	}
	json_array_foreach(json_object_get(selector, "matchExpressions"), i, expression)
	{
		if (ftell(out) > 0)
			fputc(',', out);
		if (!put_expression(out, expression))
			return false;
	}
	return true;
}

/*
 * Returns the selector, in the document's memory; "", which selects all pods, if the resource has
 * none.
 */
static const char *
make_selector(ConfigReader *reader, const char *key, const json_t *selector)
{
	char *text = NULL;
	char *copy = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	bool good = out != NULL && put_selector(out, selector);

	/* fclose() writes the last bytes, so it may fail. */
	if (out != NULL && fclose(out) != 0)
		good = false;
	if (!good)
		fail_resource(reader->failure, key, "The selector is not a valid label selector");
	else if ((copy = config_alloc(reader, length + 1)) != NULL)
		memcpy(copy, text, length + 1);
	free(text);
	return copy;
}

/* --- all of it --- */

/* Reads the job and adds the discovery of its pods. */
static bool
read_job(ScrapeConfig *config, const KubeAccess *access, const char *key, const json_t *spec,
		 Failure *failure)
{
	ConfigReader reader = { &config->document, failure, "" };
	ScrapeJob *job = config_alloc(&reader, sizeof(ScrapeJob));
	DiscoverySettings *pods = config_alloc(&reader, sizeof(DiscoverySettings));
	char *space = config_alloc(&reader, strlen(key) + 1);
	const char *selector = make_selector(&reader, key, json_object_get(spec, "selector"));

	if (job == NULL || pods == NULL || space == NULL || selector == NULL ||
		!scrape_job_read(&reader, config->document.root, job))
		return false;
	memcpy(space, key, strcspn(key, "/"));
	*pods = (DiscoverySettings){ &kubernetes_discovery,
								 kubernetes_pods_of(&reader, access, space,
													selector[0] != '\0' ? selector : NULL) };
	job->discoveries = (ConfigList){ pods, 1 };
	config->jobs = (ConfigList){ job, 1 };
	return pods->settings != NULL;
}

ScrapeConfig *
operator_job_make(ScrapeConfig *parent, const KubeAccess *access, const char *key,
				  const json_t *resource, Failure *failure)
{
	const json_t *spec = json_object_get(resource, "spec");
	const json_t *scrape = json_object_get(spec, "scrapeConfig");
	ScrapeConfig *config;
	char *text;

	if (!json_is_object(spec))
	{
		fail_resource(failure, key, "It has no spec");
		return NULL;
	}
	if (!operator_job_check_settings(scrape, key, failure))
		return NULL;
	text = make_text(key, scrape);
	config = text == NULL ? NULL : scrape_config_parse(parent, key, text, failure);
	if (text == NULL)
		fail_resource(failure, key, "It cannot be read");
	free(text);
	if (config != NULL && read_job(config, access, key, spec, failure))
		return config;
	scrape_config_release(config);
	return NULL;
}
