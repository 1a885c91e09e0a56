/*
 * pod_text.c
 *		Formats the line of a pod, with the fields that fit.
 */
#include "kubernetes/pod_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labels/kubernetes_names.h"
#include "labels/pod_table.h"

#define ID_SCHEME	"://"
#define CONFIG_HASH "kubernetes.io/config.hash"
#define FIELDS_MAX	400 /* limit of a pod's fields; the agent accepts some more */

typedef struct Line
{
	char bytes[POD_LINE_BYTES];
	size_t length;
	size_t fields;
	size_t left_out;
} Line;

static const json_t *
pod_text_get(const json_t *object, const char *name)
{
	return json_object_get(object, name);
}

static const char *
pod_text_value(const json_t *object, const char *name)
{
	const char *value = json_string_value(pod_text_get(object, name));

	return value != NULL ? value : "";
}

/* --- fields --- */

static bool
line_put_bytes(Line *line, const char *bytes, size_t length)
{
	/* leave room for the end of the line */
	if (line->length + length + 2 > sizeof(line->bytes))
		return false;
	memcpy(line->bytes + line->length, bytes, length);
	line->length += length;
	return true;
}

static bool
put_escaped(Line *line, const char *value)
{
	for (; *value != '\0'; value++)
	{
		unsigned char byte = (unsigned char) *value;
		char escaped[4];
		bool plain = byte >= ' ' && byte != 0x7f && byte != '%';

		snprintf(escaped, sizeof(escaped), "%%%02X", byte);
		if (!line_put_bytes(line, plain ? value : escaped, plain ? 1 : 3))
			return false;
	}
	return true;
}

static bool
put_plain(Line *line, const char *name)
{
	for (; *name != '\0'; name++)
		if (!line_put_bytes(line, isalnum((unsigned char) *name) ? name : "_", 1))
			return false;
	return true;
}

/* Appends "prefixKEY=value", or nothing if the value is empty. */
static void
put_field(Line *line, const char *prefix, const char *key, const char *value)
{
	size_t before = line->length;

	if (value[0] == '\0')
		return;
	if (line->fields < FIELDS_MAX && line_put_bytes(line, "\t", 1) && put_plain(line, prefix) &&
		put_plain(line, key) && line_put_bytes(line, "=", 1) && put_escaped(line, value))
	{
		line->fields++;
		return;
	}
	/* Of a field that does not fit, no part stays. */
	line->length = before;
	line->left_out++;
}

/* --- containers --- */

static const char *
without_scheme(const char *id)
{
	const char *scheme = strstr(id, ID_SCHEME);

	return scheme != NULL ? scheme + strlen(ID_SCHEME) : id;
}

static bool
pod_text_is_word(const char *value)
{
	for (; *value != '\0'; value++)
		if ((unsigned char) *value <= ' ' || *value == '%' || *value == 0x7f)
			return false;
	return true;
}

/* Appends a container. Appends nothing if a part contains a space, or if it does not fit. */
static void
put_container(Line *line, const json_t *status, const char *id, bool init)
{
	const char *words[3] = { without_scheme(id), pod_text_value(status, "name"),
							 pod_text_value(status, "image") };
	size_t before = line->length;

	if (words[0][0] == '\0')
		return;
	if (line->fields < FIELDS_MAX && pod_text_is_word(words[0]) && pod_text_is_word(words[1]) &&
		pod_text_is_word(words[2]) && line_put_bytes(line, "\tcontainer=", 11) &&
		line_put_bytes(line, words[0], strlen(words[0])) && line_put_bytes(line, " ", 1) &&
		line_put_bytes(line, words[1], strlen(words[1])) && line_put_bytes(line, " ", 1) &&
		line_put_bytes(line, words[2], strlen(words[2])) &&
		line_put_bytes(line, init ? " 1" : " 0", 2))
	{
		line->fields++;
		return;
	}
	line->length = before;
	line->left_out++;
}

/*
 * Appends the containers of a list, each also with the id that it had before a restart, because
 * samples of that may still arrive.
 */
static void
put_containers(Line *line, const json_t *pod, const char *list, bool init)
{
	json_t *status;
	size_t i;

	json_array_foreach(pod_text_get(pod_text_get(pod, "status"), list), i, status)
	{
		const char *id = pod_text_value(status, "containerID");
		const char *ended =
			pod_text_value(pod_text_get(pod_text_get(status, "state"), "terminated"),
						   "containerID");
		const char *last =
			pod_text_value(pod_text_get(pod_text_get(status, "lastState"), "terminated"),
						   "containerID");

		/* Samples of a container may arrive after its end, so its former IDs are sent, too. */
		put_container(line, status, id, init);
		if (strcmp(ended, id) != 0)
			put_container(line, status, ended, init);
		if (strcmp(last, id) != 0 && strcmp(last, ended) != 0)
			put_container(line, status, last, init);
	}
}

/* --- the pod --- */

bool
kube_controller(const json_t *object, Workload *result, const char **uid)
{
	json_t *owner;
	size_t i;

	json_array_foreach(pod_text_get(pod_text_get(object, "metadata"), "ownerReferences"), i, owner)
	{
		/* An object has at most one controller. */
		if (!json_is_true(pod_text_get(owner, "controller")))
			continue;
		snprintf(result->kind, sizeof(result->kind), "%s", pod_text_value(owner, "kind"));
		snprintf(result->name, sizeof(result->name), "%s", pod_text_value(owner, "name"));
		*uid = pod_text_value(owner, "uid");
		return true;
	}
	*result = (Workload){ "", "" };
	*uid = "";
	return false;
}

static bool
is_listed(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = list; at[0] != '\0'; at += strcspn(at, ",") + (strchr(at, ',') != NULL))
		if (strcspn(at, ",") == length && strncmp(at, name, length) == 0)
			return true;
	return false;
}

static void
pod_put_metadata(Line *line, const json_t *meta, const char *annotations)
{
	const char *key;
	json_t *value;

	put_field(line, "", KUBE_NAMESPACE, pod_text_value(meta, "namespace"));
	put_field(line, "", KUBE_POD_NAME, pod_text_value(meta, "name"));
	put_field(line, "", KUBE_POD_UID, pod_text_value(meta, "uid"));
	put_field(line, "", "static_uid",
			  pod_text_value(pod_text_get(meta, "annotations"), CONFIG_HASH));
	json_object_foreach((json_t *) (uintptr_t) pod_text_get(meta, "labels"), key, value)
	{
		put_field(line, "pod_label_", key, json_is_string(value) ? json_string_value(value) : "");
	}
	json_object_foreach((json_t *) (uintptr_t) pod_text_get(meta, "annotations"), key, value)
	{
		if (is_listed(annotations, key))
			put_field(line, "pod_annotation_", key,
					  json_is_string(value) ? json_string_value(value) : "");
	}
}

char *
pod_text(const json_t *pod, const Workload *workload, const char *annotations, size_t *left_out)
{
	const json_t *meta = pod_text_get(pod, "metadata");
	Line *line = calloc(1, sizeof(*line));
	Workload controller;
	const char *uid;
	char *copy;

	if (line == NULL)
		return NULL;
	/* The UID is the first word of the line. */
	if (pod_text_value(meta, "uid")[0] == '\0' || !pod_text_is_word(pod_text_value(meta, "uid")))
	{
		free(line);
		return NULL;
	}
	(void) line_put_bytes(line, "pod ", 4);
	(void) line_put_bytes(line, pod_text_value(meta, "uid"), strlen(pod_text_value(meta, "uid")));
	/* Containers come first, because labels may use up the room. */
	put_containers(line, pod, "containerStatuses", false);
	put_containers(line, pod, "initContainerStatuses", true);
	put_containers(line, pod, "ephemeralContainerStatuses", false);
	(void) kube_controller(pod, &controller, &uid);
	put_field(line, "", KUBE_POD_CONTROLLER_KIND, controller.kind);
	put_field(line, "", KUBE_POD_CONTROLLER_NAME, controller.name);
	put_field(line, "", "workload_kind", workload->kind);
	put_field(line, "", "workload_name", workload->name);
	put_field(line, "", KUBE_POD_IP, pod_text_value(pod_text_get(pod, "status"), "podIP"));
	put_field(line, "", KUBE_POD_NODE_NAME, pod_text_value(pod_text_get(pod, "spec"), "nodeName"));
	pod_put_metadata(line, meta, annotations);
	line->bytes[line->length++] = '\n';
	*left_out += line->left_out;
	copy = strndup(line->bytes, line->length);
	free(line);
	return copy;
}
