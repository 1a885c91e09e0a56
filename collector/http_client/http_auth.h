/*
 * http_auth.h
 *		Who we are and whom we trust: TLS, credentials, headers, proxy of one request.
 */
#ifndef COLLECTOR_HTTP_AUTH_H
#define COLLECTOR_HTTP_AUTH_H

#include <curl/curl.h>

#include "http_client/http_request.h"

/* What libcurl keeps pointers to. */
typedef struct HttpAuth
{
	struct curl_slist *headers;
	struct curl_slist *proxy_headers;
	struct curl_slist *connect_to;
	bool has_secrets; /* in headers that libcurl would take along to another host */
	char *origin;	  /* then: of the first URL, once it is asked */
} HttpAuth;

/*
 * Sets all of it, with secrets read from their files now. False, and why in error, where one cannot
 * be read. To be given back in either case, after the handle.
 */
bool http_auth_apply(HttpAuth *auth, CURL *easy, const HttpRequest *request,
					 char error[HTTP_ERROR_BYTES]);
void http_auth_fini(HttpAuth *auth);

/* Whether a request may go to this URL, which is the first one, or that of a redirect. */
bool http_auth_may_go(HttpAuth *auth, const char *url);

/* A token that came later, as the value of the header "Authorization". */
bool http_auth_add_token(HttpAuth *auth, CURL *easy, const char *value,
						 char error[HTTP_ERROR_BYTES]);

#endif
