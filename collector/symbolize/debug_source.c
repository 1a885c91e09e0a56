/*
 * debug_source.c
 *		Searches for debug information in the directory, then in the cache, then on each server.
 */
#include "symbolize/debug_source.h"
#include "debuginfo/debug_content.h"
#include "debuginfo/source_batch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache_directory.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/percent.h"
#include "base/regular_file.h"
#include "http_client/http_client.h"
#include "program/stop_signals.h"
#include "symbols/elf/elf_file.h"

#define MODULE "symbolize"

#define SERVERS_MAX	 16
#define CACHE_SUFFIX ".debug"

#define REST_FIRST_NS (30 * NS_PER_S)
#define REST_MOST_NS  (600 * NS_PER_S)
#define REST_LIAR_NS  (3600 * NS_PER_S)
#define STEP_MS		  1000
#define ANSWER_BYTES  65536 /* limit of an answer that is not the file */

/*
 * Shortest build ID, in bytes. Shorter ids may be equal by chance; linkers do not make longer ids
 * than the upper limit.
 */
#define BUILD_ID_LEAST 8
#define BUILD_ID_MOST  32

typedef struct DebugServer
{
	char *url;	 /* without a slash at the end */
	char *shown; /* the URL without its password, for messages */
	int64_t rest_until_ns;
	int64_t rest_ns; /* length of the last pause; 0: the last request was answered */
} DebugServer;

struct DebugSource
{
	const SymbolizeOptions *options;
	HttpClient *client;
	CacheDirectory *cache;
	DebugServer servers[SERVERS_MAX];
	size_t server_count;
};

/* A file that is being received from a server. */
typedef struct Fetch
{
	int fd;
	size_t bytes;
	size_t limit_bytes;
	int error; /* -errno of writing the file */
	bool ended;
	long status;
	char reason[HTTP_ERROR_BYTES];
} Fetch;

static int
add_server(DebugSource *source, const char *url, size_t length)
{
	DebugServer *server = &source->servers[source->server_count];

	while (length > 0 && url[length - 1] == '/')
		length--;
	if (source->server_count == SERVERS_MAX)
		return -EINVAL;
	source->server_count++;
	server->url = strndup(url, length);
	server->shown = server->url != NULL ? http_url_public(server->url) : NULL;
	if (server->shown == NULL)
		return -ENOMEM;
	length = strlen(server->shown);
	if (length > 0 && server->shown[length - 1] == '/')
		server->shown[length - 1] = '\0';
	return http_is_url(server->url) ? 0 : -EINVAL;
}

static int
add_servers(DebugSource *source, const char *urls)
{
	int error = 0;

	for (const char *at = urls; error == 0 && *at != '\0';)
	{
		size_t length = strcspn(at, " \t\n");

		if (length > 0)
			error = add_server(source, at, length);
		at += length;
		at += strspn(at, " \t\n");
	}
	return error;
}

int
debug_source_create(const SymbolizeOptions *options, DebugSource **result)
{
	DebugSource *source = calloc(1, sizeof(*source));
	int error = source == NULL ? -ENOMEM : 0;

	if (error == 0)
	{
		source->options = options;
		error = add_servers(source, options->servers);
	}
	if (error == 0)
		error = http_client_create(2 * ANSWER_BYTES, &source->client);
	if (error == 0 && options->cache_directory[0] != '\0')
		error = cache_directory_open(options->cache_directory, CACHE_SUFFIX, options->cache_bytes,
									 &source->cache);
	if (error != 0)
	{
		debug_source_free(source);
		return error;
	}
	*result = source;
	return 0;
}

void
debug_source_free(DebugSource *source)
{
	if (source == NULL)
		return;
	for (size_t i = 0; i < source->server_count; i++)
	{
		free(source->servers[i].url);
		free(source->servers[i].shown);
	}
	http_client_free(source->client);
	cache_directory_close(source->cache);
	free(source);
}

/* Returns true if a build ID can be part of a path and of a URL. */
static bool
is_build_id(const char *text)
{
	size_t length = strlen(text);

	return length >= 2 * BUILD_ID_LEAST && length <= 2 * BUILD_ID_MOST && length % 2 == 0 &&
		   strspn(text, "0123456789abcdef") == length;
}

static bool
has_build_id(const ElfBuildId *id, const char *expected)
{
	char text[ELF_BUILD_ID_TEXT_BYTES];

	elf_build_id_text(id, text);
	return id->size_bytes > 0 && strcmp(text, expected) == 0;
}

bool
debug_file_is_of(int fd, const char *build_id)
{
	ElfSource source = { .fd = fd };
	ElfFile file = { 0 };
	struct stat status;
	bool is_good;

	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
		return false;
	source.size_bytes = (uint64_t) status.st_size;
	is_good = elf_file_init(&file, &source) == 0 && has_build_id(&file.build_id, build_id) &&
			  (file.has_dwarf || file.symbols[ELF_SYMTAB].count > 0 ||
			   debug_content_has_go_table(&source));
	elf_file_fini(&file);
	return is_good;
}

static bool
find_in_directory(const DebugSource *source, const char *build_id, DebugFile *file)
{
	const char *directory = source->options->debug_directory;
	int fd;

	if (directory[0] == '\0' ||
		snprintf(file->where, sizeof(file->where), "%s/.build-id/%.2s/%s.debug", directory,
				 build_id, build_id + 2) >= (int) sizeof(file->where))
		return false;
	fd = open(file->where, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	if (debug_file_is_of(fd, build_id))
	{
		file->fd = fd;
		return true;
	}
	log_event(LOG_WARNING, MODULE, "a debug file has another build ID",
			  log_text("file", file->where));
	close(fd);
	return false;
}

static bool
find_in_cache(const DebugSource *source, const char *build_id, DebugFile *file)
{
	char name[2 * BUILD_ID_MOST + sizeof(CACHE_SUFFIX)];
	int fd;

	snprintf(name, sizeof(name), "%s" CACHE_SUFFIX, build_id);
	fd = cache_directory_find(source->cache, name);
	if (fd < 0)
		return false;
	if (!debug_file_is_of(fd, build_id))
	{
		close(fd);
		return false;
	}
	snprintf(file->where, sizeof(file->where), "%s/%s", source->options->cache_directory, name);
	file->fd = fd;
	return true;
}

/* Implements HttpRequest.on_data. Returns false to end the request. */
static bool
debug_source_take_bytes(void *context, const char *bytes, size_t length)
{
	Fetch *fetch = context;

	if (length > fetch->limit_bytes - fetch->bytes)
	{
		fetch->error = -EFBIG;
		return false;
	}
	fetch->error = cache_file_write(fetch->fd, bytes, length);
	fetch->bytes += length;
	return fetch->error == 0;
}

static void
end_fetch(void *context, HttpAnswer *answer)
{
	Fetch *fetch = context;

	fetch->ended = true;
	fetch->status = answer->status;
	snprintf(fetch->reason, sizeof(fetch->reason), "%s", answer->error);
}

/* Asks a server and waits for the end of its answer. */
static void
run_fetch(DebugSource *source, const char *url, Fetch *fetch)
{
	static const HttpSettings settings = { 0 };
	const HttpRequest request = { .url = url,
								  .settings = &settings,
								  .timeout_ms = source->options->server_timeout_ms,
								  .body_max = ANSWER_BYTES,
								  .on_data = debug_source_take_bytes,
								  .on_end = end_fetch,
								  .context = fetch };
	HttpTransfer *transfer = http_client_start(source->client, &request);

	if (transfer == NULL)
	{
		snprintf(fetch->reason, sizeof(fetch->reason), "out of memory");
		return;
	}
	while (!fetch->ended && !stop_asked())
		http_client_step(source->client, STEP_MS, stop_signals_fd());
	if (!fetch->ended)
	{
		http_transfer_cancel(transfer);
		snprintf(fetch->reason, sizeof(fetch->reason), "stopped");
	}
}

static void
rest_server(DebugServer *server, int64_t now_ns, int64_t rest_ns, const char *reason)
{
	server->rest_ns = rest_ns;
	server->rest_until_ns = now_ns + rest_ns;
	log_event(LOG_WARNING, MODULE, "pausing requests to a debuginfod server",
			  log_text("server", server->shown), log_number("seconds", rest_ns / NS_PER_S),
			  log_text("reason", reason));
}

static void
rest_after_failure(DebugServer *server, int64_t now_ns, const char *reason)
{
	int64_t rest_ns = server->rest_ns > 0 ? 2 * server->rest_ns : REST_FIRST_NS;

	rest_server(server, now_ns, rest_ns < REST_MOST_NS ? rest_ns : REST_MOST_NS, reason);
}

/*
 * Stores a server's answer in the cache. Returns 0; -EBADMSG if the answer is not the requested
 * file; another -errno if it cannot be stored.
 */
static int
keep_file(DebugSource *source, const char *build_id, const Fetch *fetch)
{
	char name[2 * BUILD_ID_MOST + sizeof(CACHE_SUFFIX)];
	char path[64];
	bool is_good;
	int fd;

	/* this descriptor is open for writing */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fetch->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	is_good = debug_file_is_of(fd, build_id);
	close(fd);
	snprintf(name, sizeof(name), "%s" CACHE_SUFFIX, build_id);
	return is_good ? cache_directory_keep(source->cache, name, fetch->bytes) : -EBADMSG;
}

/* Updates the server's state after a fetch. Returns true if the answer is whole. */
static bool
server_judge_answer(DebugServer *server, Fetch *fetch, const char *limit)
{
	int64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (fetch->ended && fetch->status == 404)
	{
		server->rest_ns = 0;
		snprintf(fetch->reason, sizeof(fetch->reason), "the server does not have it");
	}
	else if (fetch->error == -EFBIG)
		snprintf(fetch->reason, sizeof(fetch->reason), "the file is larger than %s", limit);
	else if (fetch->error != 0)
		snprintf(fetch->reason, sizeof(fetch->reason), "could not write the file: %s",
				 strerror(-fetch->error));
	else if (!fetch->ended)
		return false; /* the request was stopped, which shows nothing about the server */
	else if (fetch->reason[0] == '\0' && fetch->status == 200)
	{
		server->rest_ns = 0;
		return true;
	}
	else
	{
		if (fetch->reason[0] == '\0')
			snprintf(fetch->reason, sizeof(fetch->reason), "the server answered with status %ld",
					 fetch->status);
		rest_after_failure(server, now_ns, fetch->reason);
	}
	return false;
}

/* Like server_judge_answer(), but also returns false if the file is not the build's. */
static bool
judge_fetch(DebugSource *source, DebugServer *server, const char *build_id, Fetch *fetch)
{
	int error;

	if (!server_judge_answer(server, fetch, "--max-file"))
		return false;
	error = keep_file(source, build_id, fetch);
	if (error == -EBADMSG)
	{
		snprintf(fetch->reason, sizeof(fetch->reason), "the server sent another file");
		rest_server(server, clock_ns(CLOCK_MONOTONIC), REST_LIAR_NS, fetch->reason);
	}
	else if (error != 0) /* the server is not to blame */
		snprintf(fetch->reason, sizeof(fetch->reason), "could not store the file: %s",
				 strerror(-error));
	return error == 0;
}

/* Asks one server. Returns true if the file was found; otherwise the reason is in where. */
static bool
find_at_server(DebugSource *source, DebugServer *server, const char *build_id, DebugFile *file)
{
	Fetch fetch = { .limit_bytes = source->options->file_bytes };
	char url[1024];
	bool found;

	if (snprintf(url, sizeof(url), "%s/buildid/%s/debuginfo", server->url, build_id) >=
		(int) sizeof(url))
		return false;
	fetch.fd = cache_directory_make(source->cache);
	if (fetch.fd < 0)
	{
		snprintf(file->where, sizeof(file->where), "could not write to --cache-directory: %s",
				 strerror(-fetch.fd));
		return false;
	}
	run_fetch(source, url, &fetch);
	found = judge_fetch(source, server, build_id, &fetch);
	close(fetch.fd);
	if (!found)
	{
		cache_directory_drop(source->cache);
		snprintf(file->where, sizeof(file->where), "%s: %s", server->shown, fetch.reason);
		return false;
	}
	if (!find_in_cache(source, build_id, file))
		return false;
	snprintf(file->where, sizeof(file->where), "%s", server->shown);
	return true;
}

void
debug_source_find(DebugSource *source, const char *build_id, DebugFile *file)
{
	char reason[sizeof(file->where)] = "no debug information in --debug-directory";

	*file = (DebugFile){ .fd = -1 };
	if (!is_build_id(build_id))
	{
		snprintf(file->where, sizeof(file->where),
				 "the build ID does not have the length of a linker's");
		return;
	}
	if (find_in_directory(source, build_id, file))
		return;
	if (source->cache != NULL && find_in_cache(source, build_id, file))
		return;
	for (size_t i = 0; source->cache != NULL && i < source->server_count && !stop_asked(); i++)
	{
		DebugServer *server = &source->servers[i];

		if (server->rest_until_ns > clock_ns(CLOCK_MONOTONIC))
		{
			snprintf(reason, sizeof(reason), "%s: not asked, because it failed before",
					 server->shown);
			continue;
		}
		if (find_at_server(source, server, build_id, file))
			return;
		snprintf(reason, sizeof(reason), "%s", file->where);
	}
	snprintf(file->where, sizeof(file->where), "%s", reason);
}

/* Asks one server for a source file. Returns a descriptor, -ENOENT or -EHOSTDOWN. */
static int
fetch_text(DebugSource *source, DebugServer *server, const char *build_id, const char *escaped)
{
	Fetch fetch = { .limit_bytes = SOURCE_TEXT_BYTES };
	char url[1024 + 3 * SOURCE_PATH_BYTES];

	if (snprintf(url, sizeof(url), "%s/buildid/%s/source%s", server->url, build_id, escaped) >=
		(int) sizeof(url))
		return -ENOENT;
	fetch.fd = scratch_file_open();
	if (fetch.fd < 0)
		return -EHOSTDOWN;
	run_fetch(source, url, &fetch);
	if (server_judge_answer(server, &fetch, "4 MiB"))
		return fetch.fd;
	close(fetch.fd);
	return fetch.status == 404 || fetch.error == -EFBIG ? -ENOENT : -EHOSTDOWN;
}

int
debug_source_fetch_text(DebugSource *source, const char *build_id, const char *path)
{
	char escaped[3 * SOURCE_PATH_BYTES + 1];
	int result = -EHOSTDOWN;
	FILE *out;

	if (!is_build_id(build_id) || path[0] != '/' || strlen(path) > SOURCE_PATH_BYTES)
		return -ENOENT;
	out = fmemopen(escaped, sizeof(escaped), "w");
	if (out == NULL)
		return -EHOSTDOWN;
	percent_encode(out, path, "/");
	fclose(out);
	for (size_t i = 0; result < 0 && i < source->server_count && !stop_asked(); i++)
	{
		DebugServer *server = &source->servers[i];
		int fd = server->rest_until_ns > clock_ns(CLOCK_MONOTONIC)
					 ? -EHOSTDOWN
					 : fetch_text(source, server, build_id, escaped);

		if (fd != -EHOSTDOWN)
			result = fd;
	}
	return result;
}
