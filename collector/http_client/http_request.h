/*
 * http_request.h
 *		A request and its answer.
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
	/* The callback may keep the body; it must then replace it by a zeroed one. */
	HttpBody body;
	int64_t duration_ns;
	/* False: the request could not be made, for example because a certificate was missing. */
	bool started;
} HttpAnswer;

typedef struct HttpRequest
{
	const char *url;
	/* Read when the request starts; settings with oauth2 must outlive the request. */
	const HttpSettings *settings;
	const ConfigPair *headers; /* in addition to those of the settings */
	size_t header_count;
	bool headers_are_secret; /* headers must not be sent to other hosts after a redirect */
	const char *form;		 /* body of a POST, application/x-www-form-urlencoded; NULL: GET */
	int64_t timeout_ms;
	size_t body_max;

	/*
	 * If set, receives pieces of the body when the status is 200; otherwise, and for other
	 * statuses, the body is collected in the answer. Returning false ends the request.
	 */
	bool (*on_data)(void *context, const char *bytes, size_t length);

	/*
	 * Called before the first bytes of the body. Returning false pauses the transfer until
	 * http_transfer_resume() is called. NULL: the transfer is never paused.
	 */
	bool (*may_read)(void *context);

	/*
	 * Called once when the request ends, unless it is cancelled. The answer is valid during the
	 * call.
	 */
	void (*on_end)(void *context, HttpAnswer *answer);
	void *context;
} HttpRequest;

#endif
