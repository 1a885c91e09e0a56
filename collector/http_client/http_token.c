/*
 * http_token.c
 *		Requests a token for client credentials: RFC 6749, 4.4 and 5.
 *
 * Servers differ in where they expect the client's id and secret: in the header, which the RFC
 * requires all servers to accept, or in the body. If a server refuses one form, the other is tried;
 * the accepted form is used from then on.
 */
#include "http_client/http_token.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/param.h>

#include "base/clock.h"
#include "http_client/http_secret.h"
#include "http_client/json_read.h"

#define ASK_MS			 10000
#define ANSWER_BYTES_MAX 65536
#define EARLY_S			 10 /* a token is not used in the last EARLY_S seconds of its life */
/* a token with a short life is not used in the last 1/EARLY_PART of it */
#define EARLY_PART		 4
#define EXPIRES_S		 3600 /* lifetime of a token for which the server states none */
#define EXPIRES_S_MAX	 31536000
#define UNUSED_NS		 (3600 * NS_PER_S) /* time until an unused token is forgotten */

/* --- those that there are --- */

static void
free_token(HttpTokens *tokens, HttpToken *token)
{
	HASH_DEL(tokens->table, token);
	free(token->header);
	free(token->key);
	free(token);
}

static void
token_sweep(HttpTokens *tokens, int64_t now_ns)
{
	HttpToken *token;
	HttpToken *next;

	HASH_ITER(hh, tokens->table, token, next)
	{
		if (token->users == 0 && token->transfer == NULL && now_ns - token->used_ns > UNUSED_NS)
			free_token(tokens, token);
	}
}

HttpToken *
http_token_find(HttpTokens *tokens, const HttpOauth2 *oauth2, struct HttpClient *client,
				int64_t now_ns)
{
	HttpToken *token;

	HASH_FIND_STR(tokens->table, oauth2->key, token);
	if (token == NULL)
	{
		token_sweep(tokens, now_ns);
		token = calloc(1, sizeof(HttpToken));
		if (token == NULL || (token->key = strdup(oauth2->key)) == NULL)
		{
			free(token);
			return NULL;
		}
		token->client = client;
		HASH_ADD_KEYPTR(hh, tokens->table, token->key, strlen(token->key), token);
	}
	token->used_ns = now_ns;
	return token;
}

void
http_tokens_free(HttpTokens *tokens)
{
	HttpToken *token;
	HttpToken *next;

	HASH_ITER(hh, tokens->table, token, next)
	{
		free_token(tokens, token);
	}
}

const char *
http_token_header(const HttpToken *token, int64_t now_ns)
{
	return now_ns < token->expires_ns ? token->header : NULL;
}

void
http_token_forget(HttpToken *token, uint64_t number)
{
	if (token->number == number)
		token->expires_ns = 0;
}

/* --- asking --- */

static void
put_pair(FILE *out, const char *name, const char *value)
{
	char *escaped_name = curl_easy_escape(NULL, name, 0);
	char *escaped = value[0] != '\0' ? curl_easy_escape(NULL, value, 0) : NULL;

	if (ftell(out) > 0)
		fputc('&', out);
	fprintf(out, "%s=%s", escaped_name != NULL ? escaped_name : "", escaped != NULL ? escaped : "");
	curl_free(escaped_name);
	curl_free(escaped);
}

static void
put_scopes(FILE *out, const ConfigList *scopes)
{
	const char *const *names = scopes->items;
	char *joined = NULL;
	size_t length;
	FILE *words = open_memstream(&joined, &length);

	if (words == NULL)
		return;
	for (size_t i = 0; i < scopes->count; i++)
		fprintf(words, i == 0 ? "%s" : " %s", names[i]);
	if (fclose(words) == 0)
		put_pair(out, "scope", joined);
	free(joined);
}

/* Makes the body of the request for a token; the caller frees it. Returns NULL on out of memory. */
static char *
make_form(const HttpToken *token, const HttpOauth2 *oauth2, const char *secret)
{
	const ConfigPair *params = oauth2->endpoint_params.items;
	bool has_grant = false;
	char *form = NULL;
	size_t length;
	FILE *out = open_memstream(&form, &length);

	if (out == NULL)
		return NULL;
	for (size_t i = 0; i < oauth2->endpoint_params.count; i++)
	{
		put_pair(out, params[i].name, params[i].value);
		has_grant |= strcmp(params[i].name, "grant_type") == 0;
	}
	if (!has_grant)
		put_pair(out, "grant_type", "client_credentials");
	if (oauth2->scopes.count > 0)
		put_scopes(out, &oauth2->scopes);
	if (token->in_body)
	{
		put_pair(out, "client_id", oauth2->client_id);
		put_pair(out, "client_secret", secret);
	}
	if (fclose(out) == 0)
		return form;
	free(form);
	return NULL;
}

/*
 * Sets basic authentication with the client's id and secret. RFC 6749, 2.3.1, requires both to be
 * escaped like values of a form.
 */
static bool
set_header(HttpTokenRequest *ask, const HttpOauth2 *oauth2, const char *secret)
{
	ask->id = curl_easy_escape(NULL, oauth2->client_id, 0);
	ask->secret = secret[0] != '\0' ? curl_easy_escape(NULL, secret, 0) : NULL;
	ask->basic.username.text = ask->id;
	ask->basic.password.text = ask->secret;
	ask->settings.basic_auth = &ask->basic;
	return ask->id != NULL && (ask->secret != NULL || secret[0] == '\0');
}

bool
http_token_ask(const HttpToken *token, const HttpOauth2 *oauth2, HttpTokenRequest *ask,
			   char error[HTTP_ERROR_BYTES])
{
	char *secret = http_secret_read(&oauth2->client_secret, error);
	bool good;

	*ask = (HttpTokenRequest){ .settings = oauth2->http };
	if (secret == NULL)
		return false;
	ask->form = make_form(token, oauth2, secret);
	good = ask->form != NULL && (token->in_body || set_header(ask, oauth2, secret));
	free(secret);
	if (!good)
		snprintf(error, HTTP_ERROR_BYTES, "Out of memory");
	ask->request = (HttpRequest){ .url = oauth2->token_url,
								  .settings = &ask->settings,
								  .form = ask->form,
								  .timeout_ms = ASK_MS,
								  .body_max = ANSWER_BYTES_MAX };
	return good;
}

void
http_token_ask_fini(HttpTokenRequest *ask)
{
	curl_free(ask->id);
	curl_free(ask->secret);
	free(ask->form);
}

/* --- the answer --- */

/* Returns a member if it can be used in a header and in a message; otherwise NULL. */
static const char *
plain_text(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	if (text == NULL || text[0] == '\0')
		return NULL;
	for (const char *at = text; *at != '\0'; at++)
		if (*at <= ' ' || *at > '~')
			return NULL;
	return text;
}

static int64_t
seconds_of(const json_t *value)
{
	double seconds =
		json_is_string(value) ? strtod(json_string_value(value), NULL) : json_number_value(value);

	/* the comparison is false if the value is not a number (NaN) */
	return seconds > 0 ? (int64_t) MIN(seconds, (double) EXPIRES_S_MAX) : EXPIRES_S;
}

static bool
set_token(HttpToken *token, const json_t *object)
{
	const char *text = plain_text(object, "access_token");
	const char *type = plain_text(object, "token_type");
	int64_t seconds = seconds_of(json_object_get(object, "expires_in"));
	char *header;

	if (text == NULL)
		return false;
	if (type == NULL || strcasecmp(type, "bearer") == 0)
		type = "Bearer";
	if (asprintf(&header, "%s %s", type, text) < 0)
		return false;
	free(token->header);
	token->header = header;
	token->number++;
	token->expires_ns = clock_ns(CLOCK_MONOTONIC) + seconds * NS_PER_S -
						MIN(EARLY_S * NS_PER_S, seconds * NS_PER_S / EARLY_PART);
	return true;
}

/* Sets the reason for which the server's answer contains no token. */
static void
set_refusal(const HttpAnswer *answer, const json_t *object, char error[HTTP_ERROR_BYTES])
{
	const char *reason = plain_text(object, "error");

	if (answer->error[0] != '\0')
		snprintf(error, HTTP_ERROR_BYTES, "%s", answer->error);
	else if (answer->status != 200)
		snprintf(error, HTTP_ERROR_BYTES, "The server answered with HTTP status %ld%s%.64s",
				 answer->status, reason != NULL ? ", " : "", reason != NULL ? reason : "");
	else
		snprintf(error, HTTP_ERROR_BYTES, "The server's answer has no access_token");
}

HttpTokenAnswer
http_token_take(HttpToken *token, const HttpAnswer *answer, char error[HTTP_ERROR_BYTES])
{
	bool answered = answer->error[0] == '\0';
	const char *problem;
	json_t *object = answered ? json_read_body(&answer->body, 0, JSON_READ_MB, &problem) : NULL;
	bool good = answer->status == 200 && set_token(token, object);
	bool tried_both = token->knows_form || token->in_body;

	if (!good)
		set_refusal(answer, object, error);
	json_decref(object);
	if (good)
	{
		token->knows_form = true;
		return HTTP_TOKEN_TAKEN;
	}
	token->in_body = answered && !tried_both;
	token->knows_form = false;
	return token->in_body ? HTTP_TOKEN_ASK_AGAIN : HTTP_TOKEN_REFUSED;
}
