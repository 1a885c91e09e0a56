/*
 * http_token.h
 *		Tokens of OAuth 2.0: those that a client has, how one is asked for, what an answer gives.
 *
 * Belongs to a client and its thread, which sends the requests, and knows who waits for them.
 * Settings that are alike share a token, also those of a configuration that was read again.
 */
#ifndef COLLECTOR_HTTP_TOKEN_H
#define COLLECTOR_HTTP_TOKEN_H

#include <uthash.h>

#include "http_client/http_request.h"

typedef struct HttpToken
{
	UT_hash_handle hh; /* by key */
	char *key;
	struct HttpClient *client;	   /* whose it is */
	struct HttpTransfer *transfer; /* that asks for it; NULL: nobody does */
	unsigned users;				   /* transfers that refer to it */
	char *header;				   /* value of "Authorization"; NULL: there is none */
	uint64_t number;			   /* of the token, as they came */
	int64_t expires_ns;			   /* CLOCK_MONOTONIC, somewhat early; so used_ns */
	int64_t used_ns;
	bool in_body;	 /* the client's name and secret stand in the body, not in the header */
	bool knows_form; /* that this, or the other way, is what the server takes */
} HttpToken;

typedef struct HttpTokens
{
	HttpToken *table;
} HttpTokens;

/* That of these settings, which may be a new one without a header; NULL where memory is out. */
HttpToken *http_token_find(HttpTokens *tokens, const HttpOauth2 *oauth2, struct HttpClient *client,
						   int64_t now_ns);
void http_tokens_free(HttpTokens *tokens);

/* What it is at this time; NULL: to be asked for. */
const char *http_token_header(const HttpToken *token, int64_t now_ns);

/* The server took it no more, if it is still that one. */
void http_token_forget(HttpToken *token, uint64_t number);

/* A request for it, but for who is told, with all that it refers to; to be given back. */
typedef struct HttpTokenRequest
{
	HttpRequest request;
	HttpSettings settings;
	HttpBasicAuth basic;
	char *id;
	char *secret;
	char *form;
} HttpTokenRequest;

/* False, and why in error, where there is no secret. */
bool http_token_ask(const HttpToken *token, const HttpOauth2 *oauth2, HttpTokenRequest *ask,
					char error[HTTP_ERROR_BYTES]);
void http_token_ask_fini(HttpTokenRequest *ask);

typedef enum HttpTokenAnswer
{
	HTTP_TOKEN_TAKEN,
	HTTP_TOKEN_ASK_AGAIN, /* in the other form */
	HTTP_TOKEN_REFUSED	  /* why is in error */
} HttpTokenAnswer;

HttpTokenAnswer http_token_take(HttpToken *token, const HttpAnswer *answer,
								char error[HTTP_ERROR_BYTES]);

#endif
