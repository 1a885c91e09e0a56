/*
 * kube_watch.c
 *		Makes one request at a time: a page of a list, or a watch.
 *
 * Lists are read in pages of PAGE objects, so that answers stay small; a watch's lines are read as
 * they arrive. Resource versions are opaque texts.
 */
#include "kubernetes/kube_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <uthash.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/percent.h"
#include "http_client/json_read.h"

#define PAGE	"500"
#define LIST_MS 60000

/*
 * Limit of the memory of parsed JSON; the managedFields of a pod take 20 times the length of their
 * text.
 */
#define LIST_BYTES_MAX		(64 * JSON_READ_MB)
#define LIST_JSON_BYTES_MAX (256 * JSON_READ_MB)
#define LINE_BYTES_MAX		(8 * JSON_READ_MB)
#define LINE_JSON_BYTES_MAX (64 * JSON_READ_MB)

/*
 * A watch lasts for a random time between WATCH_S_MIN and twice that, so that many watches do not
 * end together.
 */
#define WATCH_S_MIN	  300
#define WATCH_MS_MORE 30000

#define BACK_OFF_MS		800
#define BACK_OFF_MS_MAX 30000
#define SOON_MS			1000 /* pause between two watches, even if the server ends them at once */
/* If no list was requested for this long, the next list may follow soon again. */
#define CALM_MS			120000

#define GONE 410

typedef struct KnownKey
{
	UT_hash_handle hh;
	char *key;
	uint64_t list; /* number of the last list or watch that contained the object */
} KnownKey;

struct KubeWatch
{
	KubeWatchOptions options;
	char *server;
	char *path;
	char *labels;
	char *fields;
	HttpTransfer *transfer;
	KnownKey *known;
	uint64_t lists;
	bool listing; /* a list is being requested; otherwise a watch */
	bool synced;
	bool ended_by_error; /* an ERROR event ended the watch, so a new list is needed */
	int64_t relist_ms;	 /* last pause before a list */
	int64_t relisted_ns; /* when relist_ms was last chosen */
	char *version;		 /* resource version; NULL: unknown */
	char *next_page;	 /* token of the list's next page; NULL: the list begins */
	char *line;			 /* an incomplete line */
	size_t line_length;
	size_t line_capacity;
	int64_t back_off_ms; /* pause before the next request; 0: the last request succeeded */
	int64_t due_ns;
};

static char *
copy_or_null(const char *text)
{
	return text == NULL ? NULL : strdup(text);
}

KubeWatch *
kube_watch_create(const KubeWatchOptions *options)
{
	KubeWatch *watch = calloc(1, sizeof(KubeWatch));

	if (watch == NULL)
		return NULL;
	watch->options = *options;
	watch->listing = true;
	watch->server = strdup(options->server);
	watch->path = strdup(options->path);
	watch->labels = copy_or_null(options->labels);
	watch->fields = copy_or_null(options->fields);
	if (watch->server != NULL && watch->path != NULL)
		return watch;
	kube_watch_free(watch);
	return NULL;
}

static void
forget_key(KubeWatch *watch, KnownKey *known)
{
	HASH_DEL(watch->known, known);
	free(known->key);
	free(known);
}

void
kube_watch_free(KubeWatch *watch)
{
	KnownKey *known;
	KnownKey *next;

	if (watch == NULL)
		return;
	if (watch->transfer != NULL)
		http_transfer_cancel(watch->transfer);
	HASH_ITER(hh, watch->known, known, next)
	{
		forget_key(watch, known);
	}
	free(watch->server);
	free(watch->path);
	free(watch->labels);
	free(watch->fields);
	free(watch->version);
	free(watch->next_page);
	free(watch->line);
	free(watch);
}

bool
kube_watch_is_synced(const KubeWatch *watch)
{
	return watch->synced;
}

/* --- objects --- */

static const char *
watch_text(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text != NULL ? text : "";
}

static void
watch_set_text(char **to, const char *text)
{
	free(*to);
	*to = text[0] == '\0' ? NULL : strdup(text);
}

static char *
make_key(const json_t *object)
{
	const json_t *meta = json_object_get(object, "metadata");
	const char *name = watch_text(meta, "name");
	char *key;

	if (name[0] == '\0' || asprintf(&key, "%s/%s", watch_text(meta, "namespace"), name) < 0)
		return NULL;
	return key;
}

/*
 * Reports an object, and remembers its key with the number of the list, so that an object that is
 * missing in the next list can be reported as gone.
 */
static void
take_object(KubeWatch *watch, json_t *object, bool is_gone)
{
	char *key = make_key(object);
	KnownKey *known = NULL;

	if (key == NULL)
		return;
	HASH_FIND_STR(watch->known, key, known);
	if (is_gone && known != NULL)
		forget_key(watch, known);
	/* If this fails, the removal of the object between two lists is not noticed. */
	if (!is_gone && known == NULL && (known = calloc(1, sizeof(KnownKey))) != NULL)
	{
		known->key = strdup(key);
		if (known->key == NULL)
		{
			free(known);
			known = NULL;
		}
		else
			HASH_ADD_KEYPTR(hh, watch->known, known->key, strlen(known->key), known);
	}
	if (!is_gone && known != NULL)
		known->list = watch->lists;
	watch->options.on_object(watch->options.context, key, is_gone ? NULL : object);
	free(key);
}

static void
end_list(KubeWatch *watch)
{
	KnownKey *known;
	KnownKey *next;

	HASH_ITER(hh, watch->known, known, next)
	{
		/* The list did not contain these objects, so they were removed meanwhile. */
		if (known->list == watch->lists)
			continue;
		watch->options.on_object(watch->options.context, known->key, NULL);
		forget_key(watch, known);
	}
	watch->listing = false;
	watch->synced = true;
}

/* --- received data --- */

static void
take_page(KubeWatch *watch, const json_t *page)
{
	const json_t *meta = json_object_get(page, "metadata");
	json_t *object;
	size_t i;

	/* All pages of a list have one number. */
	if (watch->next_page == NULL)
		watch->lists++;
	json_array_foreach(json_object_get(page, "items"), i, object)
	{
		take_object(watch, object, false);
	}
	watch_set_text(&watch->next_page, watch_text(meta, "continue"));
	watch_set_text(&watch->version, watch_text(meta, "resourceVersion"));
	if (watch->next_page == NULL)
		end_list(watch);
}

/*
 * Handles an ERROR event, which ends the watch. Status 410 is normal: the server has dropped the
 * history since our version.
 */
static void
take_error(KubeWatch *watch, const json_t *status)
{
	const char *message = watch_text(status, "message");

	watch->ended_by_error = true;
	if (json_integer_value(json_object_get(status, "code")) != GONE)
		watch->options.on_failure(watch->options.context, watch->path,
								  message[0] != '\0' ? message
													 : "The server ended the watch with an error.");
}

/*
 * Handles one event of a watch. Stores the version of the event's object, from which the next watch
 * continues. Returns false if the watch must end.
 */
static bool
take_event(KubeWatch *watch, const char *line, size_t length)
{
	const char *problem;
	json_t *event = json_read(line, length, 0, LINE_JSON_BYTES_MAX, &problem);
	json_t *object = json_object_get(event, "object");
	const char *type = watch_text(event, "type");
	bool good = object != NULL;

	if (strcmp(type, "ERROR") == 0)
	{
		take_error(watch, object);
		good = false;
	}
	else if (strcmp(type, "ADDED") == 0 || strcmp(type, "MODIFIED") == 0)
		take_object(watch, object, false);
	else if (strcmp(type, "DELETED") == 0)
		take_object(watch, object, true);
	else if (strcmp(type, "BOOKMARK") != 0)
		good = false;
	/* The next watch continues after this version. */
	if (good)
		watch_set_text(&watch->version,
					   watch_text(json_object_get(object, "metadata"), "resourceVersion"));
	json_decref(event);
	return good;
}

static bool
add_to_line(KubeWatch *watch, const char *bytes, size_t length)
{
	size_t wanted = watch->line_length + length;
	char *grown;

	/* A line without an end must not use all memory. */
	if (wanted > LINE_BYTES_MAX)
		return false;
	if (wanted > watch->line_capacity)
	{
		wanted = MAX(wanted, watch->line_capacity * 2);
		grown = realloc(watch->line, wanted);
		if (grown == NULL)
			return false;
		watch->line = grown;
		watch->line_capacity = wanted;
	}
	memcpy(watch->line + watch->line_length, bytes, length);
	watch->line_length += length;
	return true;
}

/* Splits the output of a watch into lines, each of which is an event. */
static bool
watch_on_data(void *context, const char *bytes, size_t length)
{
	KubeWatch *watch = context;

	while (length > 0)
	{
		const char *end = memchr(bytes, '\n', length);
		size_t part = end == NULL ? length : (size_t) (end - bytes);

		if (!add_to_line(watch, bytes, part))
			return false;
		if (end == NULL)
			return true;
		if (watch->line_length > 0 && !take_event(watch, watch->line, watch->line_length))
			return false;
		watch->line_length = 0;
		bytes += part + 1;
		length -= part + 1;
	}
	return true;
}

/* --- requests --- */

static void
watch_fail(KubeWatch *watch, const char *detail)
{
	watch->options.on_failure(watch->options.context, watch->path, detail);
	watch->back_off_ms =
		watch->back_off_ms == 0 ? BACK_OFF_MS : MIN(watch->back_off_ms * 2, BACK_OFF_MS_MAX);
	/* The random part keeps many clients from asking at the same time. */
	watch->due_ns =
		clock_ns(CLOCK_MONOTONIC) +
		(watch->back_off_ms / 2 + (int64_t) (hash_seed() % (uint64_t) (watch->back_off_ms / 2))) *
			NS_PER_MS;
}

/*
 * Starts a new list, the first time after a short pause. If one list follows another the pauses
 * grow, because a list is the most expensive request for the server.
 */
static void
list_again(KubeWatch *watch)
{
	int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	bool is_calm = watch->relist_ms == 0 || now_ns - watch->relisted_ns > CALM_MS * NS_PER_MS;

	watch->listing = true;
	watch_set_text(&watch->next_page, "");
	watch->relist_ms = is_calm ? SOON_MS : MIN(watch->relist_ms * 2, BACK_OFF_MS_MAX);
	watch->relisted_ns = now_ns;
	watch->due_ns = now_ns + watch->relist_ms * NS_PER_MS;
}

/* Handles the answer to a request for a list: takes its page, or reports why it is not one. */
static void
on_list(KubeWatch *watch, const HttpAnswer *answer)
{
	const char *problem;
	json_t *page = json_read_body(&answer->body, 0, LIST_JSON_BYTES_MAX, &problem);

	if (page == NULL)
		watch_fail(watch, problem);
	else if (!json_is_array(json_object_get(page, "items")) &&
			 !json_is_null(json_object_get(page, "items")))
		watch_fail(watch, "The answer is not a list of objects.");
	else
	{
		watch->back_off_ms = 0;
		watch->due_ns = 0;
		take_page(watch, page);
	}
	json_decref(page);
}

/* Called when a watch has ended, usually at its timeout. All its events have been handled. */
static void
on_watch_end(KubeWatch *watch, const HttpAnswer *answer)
{
	if (watch->ended_by_error)
		list_again(watch);
	else if (answer->error[0] != '\0')
		watch_fail(watch, answer->error);
	else
	{
		/* The server ends each watch after its time, so this is no failure. */
		watch->back_off_ms = 0;
		watch->due_ns = clock_ns(CLOCK_MONOTONIC) + SOON_MS * NS_PER_MS;
	}
}

/*
 * Handles the end of a request: after status 410 a new list is started, after other failures the
 * request is repeated.
 */
static void
watch_on_end(void *context, HttpAnswer *answer)
{
	KubeWatch *watch = context;
	char status[64];

	watch->transfer = NULL;
	snprintf(status, sizeof(status), "The server answered with HTTP status %ld.", answer->status);
	if (answer->status == GONE)
		list_again(watch);
	else if (answer->status != 200)
		watch_fail(watch, answer->error[0] != '\0' ? answer->error : status);
	else if (!watch->listing)
		on_watch_end(watch, answer);
	else if (answer->error[0] != '\0')
		watch_fail(watch, answer->error);
	else
		on_list(watch, answer);
}

static void
put_query(FILE *out, const char *name, const char *value)
{
	if (value == NULL)
		return;
	fprintf(out, "&%s=", name);
	percent_encode(out, value, "");
}

/* Returns the URL of a list, or of a watch of that duration. */
static char *
watch_make_url(const KubeWatch *watch, uint32_t watch_s)
{
	char *url = NULL;
	size_t length;
	FILE *out = open_memstream(&url, &length);

	if (out == NULL)
		return NULL;
	fprintf(out, "%s%s?", watch->server, watch->path);
	if (watch->listing)
		fprintf(out, "limit=" PAGE);
	else
		fprintf(out, "watch=1&allowWatchBookmarks=true&timeoutSeconds=%u", watch_s);
	put_query(out, "labelSelector", watch->labels);
	put_query(out, "fieldSelector", watch->fields);
	if (watch->listing)
		put_query(out, "continue", watch->next_page);
	/*
	 * Only the first list may come from the server's cache: later ones must not be older than the
	 * watch.
	 */
	if (watch->listing && watch->options.from_cache && watch->lists == 0)
		put_query(out, "resourceVersion", "0");
	else if (!watch->listing)
		put_query(out, "resourceVersion", watch->version);
	if (fclose(out) == 0)
		return url;
	free(url);
	return NULL;
}

/*
 * Starts the request that is due: a page of the list, or a watch. The deadline of a watch is a
 * little longer than its requested duration.
 */
static void
watch_begin(KubeWatch *watch)
{
	uint32_t watch_s = 0;
	char *url;
	HttpRequest request = { .settings = watch->options.settings,
							.timeout_ms = LIST_MS,
							.body_max = LIST_BYTES_MAX,
							.on_end = watch_on_end,
							.context = watch };

	/* With random times, the watches of many clients end at different moments. */
	watch_s = WATCH_S_MIN + (uint32_t) (hash_seed() % WATCH_S_MIN);
	url = watch_make_url(watch, watch_s);
	request.url = url;
	if (!watch->listing)
	{
		request.timeout_ms = (int64_t) watch_s * 1000 + WATCH_MS_MORE;
		request.on_data = watch_on_data;
		/* An incomplete line of the previous watch is void. */
		watch->line_length = 0;
		watch->ended_by_error = false;
	}
	if (url != NULL)
		watch->transfer = http_client_start(watch->options.client, &request);
	if (watch->transfer == NULL)
		watch_fail(watch, "Out of memory.");
	free(url);
}

int64_t
kube_watch_tick(KubeWatch *watch, int64_t now_ns)
{
	if (watch->transfer == NULL && now_ns >= watch->due_ns)
		watch_begin(watch);
	return watch->transfer != NULL ? INT64_MAX : watch->due_ns;
}
