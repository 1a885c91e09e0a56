/*
 * http_token.h
 *		The OAuth 2.0 tokens of a client: making the request for a token, and reading the answer.
 *
 * Belongs to a client and its thread, which sends the requests and knows which transfers wait.
 * Equal settings share a token, even if they come from different versions of a configuration.
 */
#ifndef COLLECTOR_HTTP_TOKEN_H
#define COLLECTOR_HTTP_TOKEN_H

#include <uthash.h>

#include "http_client/http_request.h"

typedef struct HttpToken
{
	UT_hash_handle hh; /* keyed by "key" */
	char *key;
	struct HttpClient *client;	   /* the owner of the token */
	struct HttpTransfer *transfer; /* the current request for this token; NULL: none */
	unsigned users;				   /* number of transfers that refer to it */
	char *header;				   /* value of "Authorization"; NULL: no token yet */
	uint64_t number;			   /* incremented with each new token */
	/* CLOCK_MONOTONIC, somewhat before the token really expires; used_ns is of this clock, too */
	int64_t expires_ns;
	int64_t used_ns;
	bool in_body;	 /* send the client's name and secret in the body, not in the header */
	bool knows_form; /* the server has accepted this form */
} HttpToken;

typedef struct HttpTokens
{
	HttpToken *table;
} HttpTokens;

/* Finds the token of these settings, or makes one without a header; NULL if out of memory. */
HttpToken *http_token_find(HttpTokens *tokens, const HttpOauth2 *oauth2, struct HttpClient *client,
						   int64_t now_ns);
void http_tokens_free(HttpTokens *tokens);

/*
 * Returns the header's value if the token is valid at this time; NULL: the token must be requested.
 */
const char *http_token_header(const HttpToken *token, int64_t now_ns);

/* Invalidates the token after the server rejected it, unless its number has changed since. */
void http_token_forget(HttpToken *token, uint64_t number);

/*
 * A request for a token, without its callbacks, and the memory that it refers to. Free it with
 * http_token_ask_fini().
 */
typedef struct HttpTokenRequest
{
	HttpRequest request;
	HttpSettings settings;
	HttpBasicAuth basic;
	char *id;
	char *secret;
	char *form;
} HttpTokenRequest;

/* Prepares a request for the token. Returns false with error set if the secret cannot be read. */
bool http_token_ask(const HttpToken *token, const HttpOauth2 *oauth2, HttpTokenRequest *ask,
					char error[HTTP_ERROR_BYTES]);
void http_token_ask_fini(HttpTokenRequest *ask);

typedef enum HttpTokenAnswer
{
	HTTP_TOKEN_TAKEN,
	HTTP_TOKEN_ASK_AGAIN, /* ask again in the other form */
	HTTP_TOKEN_REFUSED	  /* the reason is in error */
} HttpTokenAnswer;

HttpTokenAnswer http_token_take(HttpToken *token, const HttpAnswer *answer,
								char error[HTTP_ERROR_BYTES]);

#endif
