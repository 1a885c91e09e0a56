/*
 * http_request.h
 *		A request, and its answer.
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
	atomic_size_t *held; /* counter of the bytes of all bodies */
	char *bytes;
	size_t length;
	size_t capacity;
} HttpBody;

typedef struct HttpAnswer
{
	long status;				  /* 0: no status was received */
	char error[HTTP_ERROR_BYTES]; /* a sentence without its full stop; "": the answer is complete */
	const char *content_type;	  /* "" if missing; also index */
	const char *index;			  /* header X-Consul-Index */
	/* the callback may keep the body, if it leaves a zeroed one in its place */
	HttpBody body;
	int64_t duration_ns;
	/* false: the request could not be made, for example because a certificate was missing */
	bool started;
} HttpAnswer;

typedef struct HttpRequest
{
	const char *url;
	/* read at the start, but those with oauth2 must outlive the request */
	const HttpSettings *settings;
	const ConfigPair *headers; /* in addition to those of the settings */
	size_t header_count;
	bool headers_are_secret; /* headers must not be sent to other hosts after a redirect */
	const char *form;		 /* body of a POST, application/x-www-form-urlencoded; NULL: GET */
	int64_t timeout_ms;
	size_t body_max;

	/*
	 * Receives pieces of the body instead of the answer, only if the status is 200; the body of
	 * another status is collected. Returns false to end the request.
	 */
	bool (*on_data)(void *context, const char *bytes, size_t length);

	/*
	 * Called before the first bytes of the body; returning false pauses the transfer until
	 * http_transfer_resume(). NULL: never paused.
	 */
	bool (*may_read)(void *context);

	/* Called once, unless the transfer is cancelled; the answer is valid during the call. */
	void (*on_end)(void *context, HttpAnswer *answer);
	void *context;
} HttpRequest;

#endif
