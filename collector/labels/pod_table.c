/*
 * pod_table.c
 *		Finds pods by UID and by container.
 */
#include "labels/pod_table.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/utf8.h"
#include "labels/kubernetes_names.h"

#define UID_BYTES	  64
#define UID_SHORTEST  32 /* length of the hash of static pods; a UUID has four '-' more */
#define FIELDS_MAX	  512
#define CONTAINER_KEY "container"
#define STATIC_KEY	  "static_uid"

/* "key=value", both within the pod's text. */
typedef struct PodField
{
	const char *key;
	const char *value;
} PodField;

typedef struct PodContainer
{
	UT_hash_handle hh;
	struct Pod *pod;
	const char *id;
	const char *name;
	const char *image;
	bool init;
} PodContainer;

typedef struct Pod
{
	UT_hash_handle hh;
	char *line; /* the line as received, to recognize an equal one */
	char *text; /* a copy that is split into fields */
	const char *uid;
	/* UID in the control groups of a static pod; "" if the pod is not static */
	const char *static_uid;
	PodField *fields;
	size_t field_count;
	PodContainer *containers;
	size_t container_count;
	uint64_t gone_ns; /* time at which the pod was gone; 0: the pod exists */
	bool is_listed;	  /* pod_table_set() was called for it since pod_table_begin() */
} Pod;

struct PodTable
{
	pthread_mutex_t mutex;
	Pod *pods;
	PodContainer *containers;
};

int
pod_table_create(PodTable **result)
{
	PodTable *table = calloc(1, sizeof(*table));

	if (table == NULL)
		return -ENOMEM;
	pthread_mutex_init(&table->mutex, NULL);
	*result = table;
	return 0;
}

/* --- a pod --- */

static void
free_pod(Pod *pod)
{
	free(pod->line);
	free(pod->text);
	free(pod->fields);
	free(pod->containers);
	free(pod);
}

static void
pod_table_forget(PodTable *table, Pod *pod)
{
	for (size_t i = 0; i < pod->container_count; i++)
	{
		PodContainer *found;

		/* the container may belong to a later pod by now */
		HASH_FIND_STR(table->containers, pod->containers[i].id, found);
		if (found == &pod->containers[i])
			HASH_DEL(table->containers, found);
	}
	HASH_DEL(table->pods, pod);
	free_pod(pod);
}

static int
pod_table_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes %XX in place. Returns false if an escape is malformed or encodes a NUL. */
static bool
field_unescape(char *text)
{
	char *to = text;

	for (; *text != '\0'; text++)
	{
		if (*text == '%')
		{
			int high = pod_table_hex_digit(text[1]);
			int low = high < 0 ? -1 : pod_table_hex_digit(text[2]);

			if (low < 0 || (high == 0 && low == 0))
				return false;
			*to++ = (char) (high * 16 + low);
			text += 2;
		}
		else
			*to++ = *text;
	}
	*to = '\0';
	return true;
}

/* Parses "ID NAME IMAGE 0|1". */
static bool
parse_container(Pod *pod, char *text)
{
	PodContainer *container = &pod->containers[pod->container_count];
	char *init;

	*container = (PodContainer){ .pod = pod, .id = strsep(&text, " ") };
	container->name = strsep(&text, " ");
	container->image = strsep(&text, " ");
	init = text;
	/* If a field is missing, all later fields are NULL, so init is checked first. */
	if (init == NULL || (strcmp(init, "0") != 0 && strcmp(init, "1") != 0) ||
		container->id[0] == '\0' || !utf8_valid(container->id) || !utf8_valid(container->name) ||
		!utf8_valid(container->image))
		return false;
	container->init = init[0] == '1';
	pod->container_count++;
	return true;
}

static bool
is_key(const char *key)
{
	while (isalnum((unsigned char) *key) || *key == '_')
		key++;
	return *key == '\0';
}

/* Parses one "key=value" field: a container, the UID of a static pod, or any other field. */
static bool
parse_field(Pod *pod, char *field)
{
	char *value = strchr(field, '=');

	if (value == NULL || value == field)
		return false;
	*value++ = '\0';
	if (!is_key(field))
		return false;
	/* A container has fields of its own, and these are not escaped. */
	if (strcmp(field, CONTAINER_KEY) == 0)
		return parse_container(pod, value);
	/* An escape may produce any byte, so UTF-8 is checked after decoding. */
	if (!field_unescape(value) || !utf8_valid(value))
		return false;
	if (strcmp(field, STATIC_KEY) == 0)
		pod->static_uid = value;
	else
		pod->fields[pod->field_count++] = (PodField){ field, value };
	return true;
}

static bool
pod_parse(Pod *pod)
{
	char *rest = pod->text;
	char *uid = strsep(&rest, "\t");
	char *field;
	size_t count = 0;

	pod->uid = uid;
	pod->static_uid = "";
	/* find_uid() copies UIDs into buffers of UID_BYTES. */
	if (uid[0] == '\0' || strlen(uid) >= UID_BYTES)
		return false;
	/* Each field takes one place in one of two arrays of FIELDS_MAX places. */
	while ((field = strsep(&rest, "\t")) != NULL)
		if (++count > FIELDS_MAX || !parse_field(pod, field))
			return false;
	return true;
}

/* Shrinks an array to the size used; if realloc() fails, it stays as it is. */
static void
array_trim(void **array, size_t bytes)
{
	void *less = realloc(*array, bytes > 0 ? bytes : 1);

	if (less != NULL)
		*array = less;
}

/* Makes a pod from a line; *good is false if the line is malformed. NULL on out of memory. */
static Pod *
make_pod(const char *line, bool *good)
{
	Pod *pod = calloc(1, sizeof(*pod));

	if (pod == NULL)
		return NULL;
	pod->line = strdup(line);
	pod->text = strdup(line);
	/* The number of fields is known only after parsing, so the arrays are trimmed then. */
	pod->fields = calloc(FIELDS_MAX, sizeof(PodField));
	pod->containers = calloc(FIELDS_MAX, sizeof(PodContainer));
	if (pod->line == NULL || pod->text == NULL || pod->fields == NULL || pod->containers == NULL)
	{
		free_pod(pod);
		return NULL;
	}
	*good = strlen(line) < POD_LINE_BYTES && pod_parse(pod);
	array_trim((void **) &pod->fields, pod->field_count * sizeof(PodField));
	array_trim((void **) &pod->containers, pod->container_count * sizeof(PodContainer));
	return pod;
}

/* --- the table --- */

void
pod_table_free(PodTable *table)
{
	Pod *pod;
	Pod *next;

	if (table == NULL)
		return;
	HASH_ITER(hh, table->pods, pod, next)
	{
		pod_table_forget(table, pod);
	}
	pthread_mutex_destroy(&table->mutex);
	free(table);
}

static void
pod_table_add(PodTable *table, Pod *pod)
{
	pod->is_listed = true;
	HASH_ADD_KEYPTR(hh, table->pods, pod->uid, strlen(pod->uid), pod);
	for (size_t i = 0; i < pod->container_count; i++)
	{
		PodContainer *container = &pod->containers[i];
		PodContainer *found;

		HASH_FIND_STR(table->containers, container->id, found);
		/* If two pods claim a container, the later one gets it. */
		if (found != NULL)
			HASH_DEL(table->containers, found);
		HASH_ADD_KEYPTR(hh, table->containers, container->id, strlen(container->id), container);
	}
}

/*
 * Adds or replaces a pod and returns 1; returns 0 if an equal pod is in the table. The caller must
 * hold the lock, and must free the pod unless the result is 1.
 */
static int
pod_table_replace(PodTable *table, Pod *pod)
{
	Pod *old;

	HASH_FIND_STR(table->pods, pod->uid, old);
	if (old != NULL && strcmp(old->line, pod->line) == 0)
	{
		/* The pod may have been marked as gone before. */
		old->is_listed = true;
		old->gone_ns = 0;
		return 0;
	}
	/* Replacing a pod does not make the table larger. */
	if (old == NULL && HASH_COUNT(table->pods) >= PODS_MAX)
		return -ENOSPC;
	if (old != NULL)
		pod_table_forget(table, old);
	pod_table_add(table, pod);
	return 1;
}

int
pod_table_set(PodTable *table, const char *line)
{
	bool good = false;
	Pod *pod = make_pod(line, &good);
	int result = -EINVAL;

	if (pod == NULL)
		return -ENOMEM;
	if (good)
	{
		pthread_mutex_lock(&table->mutex);
		result = pod_table_replace(table, pod);
		pthread_mutex_unlock(&table->mutex);
	}
	if (result != 1)
		free_pod(pod);
	return result;
}

void
pod_table_remove(PodTable *table, const char *uid, uint64_t now_ns)
{
	Pod *pod;

	pthread_mutex_lock(&table->mutex);
	HASH_FIND_STR(table->pods, uid, pod);
	/* Only the first removal counts, so that repeated ones do not prolong the pod's life. */
	if (pod != NULL && pod->gone_ns == 0)
		pod->gone_ns = now_ns;
	pthread_mutex_unlock(&table->mutex);
}

void
pod_table_begin(PodTable *table)
{
	pthread_mutex_lock(&table->mutex);
	/* Pods that are not listed again before pod_table_end() are gone. */
	for (Pod *pod = table->pods; pod != NULL; pod = pod->hh.next)
		pod->is_listed = false;
	pthread_mutex_unlock(&table->mutex);
}

void
pod_table_end(PodTable *table, uint64_t now_ns)
{
	pthread_mutex_lock(&table->mutex);
	for (Pod *pod = table->pods; pod != NULL; pod = pod->hh.next)
		if (!pod->is_listed && pod->gone_ns == 0)
			pod->gone_ns = now_ns;
	pthread_mutex_unlock(&table->mutex);
}

void
pod_table_sweep(PodTable *table, uint64_t now_ns)
{
	Pod *pod;
	Pod *next;

	pthread_mutex_lock(&table->mutex);
	HASH_ITER(hh, table->pods, pod, next)
	{
		/* Samples of a pod may arrive after its end, so it is kept for POD_KEEP_NS. */
		if (pod->gone_ns != 0 && now_ns > pod->gone_ns + POD_KEEP_NS)
			pod_table_forget(table, pod);
	}
	pthread_mutex_unlock(&table->mutex);
}

size_t
pod_table_count(PodTable *table)
{
	size_t count;

	pthread_mutex_lock(&table->mutex);
	count = HASH_COUNT(table->pods);
	pthread_mutex_unlock(&table->mutex);
	return count;
}

/* --- from a control group to a pod --- */

/*
 * Finds the UID in "pod1-2" or "kubepods-burstable-pod1_2.slice:…" and writes it with '-'. Returns
 * false if there is none.
 */
static bool
find_uid(const char *part, size_t length, char uid[UID_BYTES])
{
	const char *end = part + length;
	size_t used = 0;

	for (const char *at = part; at + 3 < end; at++)
	{
		/* "pod" must begin a word, as in "kubepods-burstable-pod1_2". */
		if ((at > part && at[-1] != '-') || strncmp(at, "pod", 3) != 0)
			continue;
		used = 0;
		/* The kubelet writes '_' in names of slices, because '-' separates nested slices there. */
		for (at += 3; at < end && used < UID_BYTES - 1 && strchr("0123456789abcdef-_", *at); at++)
			uid[used++] = *at == '_' ? '-' : *at;
		uid[used] = '\0';
		if (used >= UID_SHORTEST)
			return true;
		/* The loop's increment must not skip the character that ended the digits. */
		at--;
	}
	return false;
}

static Pod *
pod_table_find_pod(const PodTable *table, const char *uid)
{
	Pod *pod;

	HASH_FIND_STR(table->pods, uid, pod);
	/* static pods are few, so they are searched linearly by their other UID */
	for (Pod *each = table->pods; pod == NULL && each != NULL; each = each->hh.next)
		if (strcmp(each->static_uid, uid) == 0)
			pod = each;
	return pod;
}

/* Returns the container that a component of the path names, if it belongs to this pod. */
static const PodContainer *
find_container(const PodTable *table, const Pod *pod, const char *part, size_t length)
{
	PodContainer *found = NULL;
	const char *id;
	size_t id_length;

	if (cgroup_find_id(part, length, &id, &id_length))
		HASH_FIND(hh, table->containers, id, id_length, found);
	return found != NULL && found->pod == pod ? found : NULL;
}

/*
 * Returns the pod whose UID is the outermost in the path; NULL if it is not known. *container is
 * NULL for a process outside of known containers, such as that of the sandbox.
 */
static const Pod *
find_by_path(const PodTable *table, const char *path, const PodContainer **container)
{
	const Pod *pod = NULL;
	bool seen = false;
	char uid[UID_BYTES];

	*container = NULL;
	while (*path != '\0' && *container == NULL)
	{
		size_t length = strcspn(path, "/");

		/* Below a user's manager, users choose the names of groups, which may look like pods. */
		if (!seen && cgroup_is_users(path, length))
			return NULL;
		/* The outermost UID counts: a container may run pods of its own below its group. */
		if (!seen && find_uid(path, length, uid))
		{
			seen = true;
			pod = pod_table_find_pod(table, uid);
		}
		if (pod != NULL)
			*container = find_container(table, pod, path, length);
		path += length + (path[length] == '/');
	}
	return pod;
}

/* --- labels --- */

/* Copies the value, because another thread may free the table's text. */
static void
set_copy(LabelBuilder *labels, const char *name, const char *value)
{
	char *copy = label_builder_copy(labels, value);

	if (copy != NULL)
		label_builder_set(labels, name, copy);
}

static void
set_meta(LabelBuilder *labels, const char *key, const char *value)
{
	size_t bytes = sizeof(KUBE_META) + strlen(key);
	char *name = label_builder_alloc(labels, bytes);

	if (name == NULL)
		return;
	snprintf(name, bytes, KUBE_META "%s", key);
	set_copy(labels, name, value);
}

/* Returns the label under which a field is stored; NULL if it is not stored. */
static const char *
stored_name(const PodLabels *settings, const char *key)
{
	static const char *const names[][2] = {
		{ KUBE_NAMESPACE, "namespace" },
		{ KUBE_POD_NAME, "pod" },
		{ "workload_kind", "workload_kind" },
		{ "workload_name", "workload" },
	};
	const char *const *chosen = settings->chosen.items;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i][0], key) == 0)
			return names[i][1];
	for (size_t i = 0; i < settings->chosen.count; i++)
		if (strcmp(chosen[i], key) == 0)
			return chosen[i];
	return NULL;
}

static void
add_container(const PodContainer *container, LabelBuilder *labels)
{
	set_copy(labels, "container", container->name);
	set_meta(labels, KUBE_CONTAINER_NAME, container->name);
	set_meta(labels, KUBE_CONTAINER_ID, container->id);
	set_meta(labels, KUBE_CONTAINER_IMAGE, container->image);
	set_meta(labels, KUBE_CONTAINER_INIT, container->init ? "true" : "false");
}

void
pod_labels_add(void *context, const LabelFacts *facts, LabelBuilder *labels)
{
	const PodLabels *settings = context;
	PodTable *table = settings->table;
	const PodContainer *container;
	const Pod *pod;

	/* Another thread changes the table. */
	pthread_mutex_lock(&table->mutex);
	pod = find_by_path(table, facts->cgroup->path, &container);
	for (size_t i = 0; pod != NULL && i < pod->field_count; i++)
	{
		const PodField *field = &pod->fields[i];
		const char *name = stored_name(settings, field->key);

		if (name != NULL)
			set_copy(labels, name, field->value);
		/*
		 * Rules can use every field: labels whose names begin with "__" are removed after the
		 * rules.
		 */
		set_meta(labels, field->key, field->value);
	}
	if (container != NULL)
		add_container(container, labels);
	pthread_mutex_unlock(&table->mutex);
}
