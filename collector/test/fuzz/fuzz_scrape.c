/*
 * fuzz_scrape.c
 *		Any bytes as input of the scraper: its configuration, a resource of Parca Operator, the
 *		answer of a token's server. No finding of the sanitizers, no leak, and refused input has a
 *		reason.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "http_client/http_token.h"
#include "program/common_flags.h"
#include "scrape/operator_job.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static ScrapeConfig *parent;
static int file;
static char path[64];

static void
check_failure(const void *result, const Failure *failure)
{
	if (result == NULL && failure->message == NULL)
		abort();
}

static ScrapeConfig *
read_file(const void *bytes, size_t length)
{
	Failure failure = { .message = NULL };
	ScrapeConfig *config;

	if (ftruncate(file, 0) != 0 || pwrite(file, bytes, length, 0) != (ssize_t) length)
		abort();
	config = scrape_config_read(path, &failure);
	check_failure(config, &failure);
	return config;
}

static void
try_resource(const json_t *resource)
{
	static const ScrapeCluster cluster = { .access = { .server = "http://127.0.0.1" } };
	Failure failure = { .message = NULL };
	ScrapeConfig *config =
		operator_job_make(parent, &cluster.access, "space/name", resource, &failure);

	check_failure(config, &failure);
	scrape_config_release(config);
}

static void
try_token(const char *bytes, size_t length)
{
	static const HttpOauth2 oauth2 = { .key = "k" };
	HttpTokens tokens = { NULL };
	HttpToken *token = http_token_find(&tokens, &oauth2, NULL, 0);
	HttpAnswer answer = { .status = 200,
						  .body = { .bytes = (char *) (uintptr_t) bytes, .length = length } };
	char error[HTTP_ERROR_BYTES] = "";

	if (token != NULL && http_token_take(token, &answer, error) == HTTP_TOKEN_TAKEN
			? token->header == NULL || strpbrk(token->header, "\r\n") != NULL
			: error[0] == '\0')
		abort();
	http_tokens_free(&tokens);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const LogOptions quiet = { .level = LOG_ERROR };

	log_apply(&quiet);
	file = memfd_create("scrape", 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	parent = read_file("scrape_configs: []", 18);
	return parent == NULL;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	json_t *resource = json_loadb((const char *) bytes, length, 0, NULL);

	scrape_config_release(read_file(bytes, length));
	if (resource != NULL)
		try_resource(resource);
	json_decref(resource);
	if (length > 0)
		try_token((const char *) bytes, length);
	return 0;
}
