/*
 * http_request.h
 *		A request, and what comes of it.
 */
#ifndef COLLECTOR_HTTP_REQUEST_H
#define COLLECTOR_HTTP_REQUEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http_client/http_settings.h"

#define HTTP_ERROR_BYTES 320

typedef struct HttpBody
{
	atomic_size_t *held; /* where it counts */
	char *bytes;
	size_t length;
	size_t capacity;
} HttpBody;

typedef struct HttpAnswer
{
	long status;				  /* 0: none came */
	char error[HTTP_ERROR_BYTES]; /* a sentence without its full stop; "": a whole answer came */
	const char *content_type;	  /* "" where it does not say; so index */
	const char *index;			  /* header X-Consul-Index */
	HttpBody body;				  /* the callback may keep it, and leaves a zeroed one then */
	int64_t duration_ns;
	bool started; /* false: something on our side was missing, such as a certificate */
} HttpAnswer;

typedef struct HttpRequest
{
	const char *url;
	const HttpSettings *settings; /* read as it starts; those with oauth2 must outlive it */
	const ConfigPair *headers;	  /* beside those of the settings */
	size_t header_count;
	bool headers_are_secret; /* and go to the URL's own host alone */
	const char *form;		 /* POST it, application/x-www-form-urlencoded; NULL: GET */
	int64_t timeout_ms;
	size_t body_max;

	/*
	 * Takes pieces of the body as they come, instead of the answer; only of status 200, any other
	 * one's is gathered. False ends the request.
	 */
	bool (*on_data)(void *context, const char *bytes, size_t length);

	/*
	 * Called before the first bytes of the body are taken; false pauses the transfer until
	 * http_transfer_resume(). NULL: none is paused.
	 */
	bool (*may_read)(void *context);

	/* Called once, unless the transfer is cancelled; the answer holds during the call. */
	void (*on_end)(void *context, HttpAnswer *answer);
	void *context;
} HttpRequest;

#endif
