/*
 * http_auth.h
 *		Authentication of one request and of its server: TLS, credentials, headers, proxy.
 */
#ifndef COLLECTOR_HTTP_AUTH_H
#define COLLECTOR_HTTP_AUTH_H

#include <curl/curl.h>

#include "http_client/http_request.h"

/* Memory that a handle of libcurl points to. */
typedef struct HttpAuth
{
	struct curl_slist *headers;
	struct curl_slist *proxy_headers;
	struct curl_slist *connect_to;
	bool has_secrets; /* headers have secrets, which libcurl would also send to another host */
	char *origin;	  /* origin of the first URL; set with has_secrets when the URL is requested */
} HttpAuth;

/*
 * Sets all options, and reads secrets from their files. Returns false, with error set, if a file
 * cannot be read. In either case call http_auth_fini() after the handle was freed.
 */
bool http_auth_apply(HttpAuth *auth, CURL *easy, const HttpRequest *request,
					 char error[HTTP_ERROR_BYTES]);
void http_auth_fini(HttpAuth *auth);

/* Returns true if a request may be sent to this URL: the first one, or that of a redirect. */
bool http_auth_may_go(HttpAuth *auth, const char *url);

/* Adds the value of the header "Authorization" when the token has arrived. */
bool http_auth_add_token(HttpAuth *auth, CURL *easy, const char *value,
						 char error[HTTP_ERROR_BYTES]);

#endif
