/*
 * http_auth.c
 *		Converts settings to libcurl's options.
 */
#include "http_client/http_auth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http_client/http_secret.h"

typedef struct Applying
{
	HttpAuth *auth;
	CURL *easy;
	const HttpRequest *request;
	char *error; /* buffer of HTTP_ERROR_BYTES */
} Applying;

static bool
auth_out_of_memory(Applying *applying)
{
	snprintf(applying->error, HTTP_ERROR_BYTES, "Out of memory");
	return false;
}

/*
 * Appends a header to libcurl's list. A line break in the value would inject a further header, so
 * it is refused.
 */
static bool
add_line(Applying *applying, struct curl_slist **list, const char *name, const char *value)
{
	size_t bytes = strlen(name) + strlen(value) + 3;
	char *line = malloc(bytes);
	struct curl_slist *longer = NULL;

	if (strpbrk(value, "\r\n") != NULL)
	{
		snprintf(applying->error, HTTP_ERROR_BYTES, "Header \"%s\" has more than one line", name);
		free(line);
		return false;
	}
	if (line != NULL)
	{
		snprintf(line, bytes, "%s: %s", name, value);
		longer = curl_slist_append(*list, line);
	}
	free(line);
	if (longer == NULL)
		return auth_out_of_memory(applying);
	*list = longer;
	return true;
}

/* Appends configured headers, whose values are texts, secrets or contents of files. */
static bool
add_headers(Applying *applying, const ConfigList *headers, struct curl_slist **list)
{
	const HttpHeader *header = headers->items;

	for (size_t i = 0; i < headers->count; i++, header++)
	{
		const char *const *values = header->values.items;
		const char *const *secrets = header->secrets.items;
		const char *const *files = header->files.items;

		applying->auth->has_secrets |= header->secrets.count + header->files.count > 0;
		for (size_t j = 0; j < header->values.count; j++)
			if (!add_line(applying, list, header->name, values[j]))
				return false;
		for (size_t j = 0; j < header->secrets.count; j++)
			if (!add_line(applying, list, header->name, secrets[j]))
				return false;
		for (size_t j = 0; j < header->files.count; j++)
		{
			char *text = http_secret_read_file(files[j], applying->error);
			bool added = text != NULL && add_line(applying, list, header->name, text);

			free(text);
			if (!added)
				return false;
		}
	}
	return true;
}

static bool
apply_basic(Applying *applying, const HttpBasicAuth *basic)
{
	char *username = http_secret_read(&basic->username, applying->error);
	char *password = username != NULL ? http_secret_read(&basic->password, applying->error) : NULL;

	if (password != NULL)
	{
		curl_easy_setopt(applying->easy, CURLOPT_HTTPAUTH, (long) CURLAUTH_BASIC);
		curl_easy_setopt(applying->easy, CURLOPT_USERNAME, username);
		curl_easy_setopt(applying->easy, CURLOPT_PASSWORD, password);
	}
	free(username);
	free(password);
	return password != NULL;
}

static bool
apply_credentials(Applying *applying, const char *type, const HttpSecret *credentials)
{
	char *secret = http_secret_read(credentials, applying->error);
	char *value = NULL;
	bool added = false;

	if (secret == NULL)
		return false;
	if (asprintf(&value, "%s %s", type, secret) < 0)
		auth_out_of_memory(applying);
	else
		added = add_line(applying, &applying->auth->headers, "Authorization", value);
	free(value);
	free(secret);
	return added;
}

static bool
apply_identity(Applying *applying)
{
	const HttpSettings *settings = applying->request->settings;

	if (settings->basic_auth != NULL)
		return apply_basic(applying, settings->basic_auth);
	if (settings->authorization != NULL)
		return apply_credentials(applying, settings->authorization->type,
								 &settings->authorization->credentials);
	if (http_secret_is_given(&settings->bearer))
		return apply_credentials(applying, "Bearer", &settings->bearer);
	return true;
}

/* --- TLS --- */

static bool
apply_pem(Applying *applying, const HttpSecret *secret, CURLoption option)
{
	struct curl_blob blob = { .flags = CURL_BLOB_COPY };
	char *text;
	CURLcode code;

	if (!http_secret_is_given(secret))
		return true;
	text = http_secret_read(secret, applying->error);
	if (text == NULL)
		return false;
	blob.data = text;
	blob.len = strlen(text);
	code = curl_easy_setopt(applying->easy, option, &blob);
	free(text);
	return code == CURLE_OK || auth_out_of_memory(applying);
}

static long
tls_version(const char *name, const long versions[4])
{
	return versions[name[4] - '0'];
}

/*
 * Requests and verifies another server name than the URL's. The request goes to the URL's host,
 * which remains in the header Host.
 */
static bool
apply_server_name(Applying *applying, const char *name)
{
	CURLU *parts = curl_url();
	char *host = NULL;
	char *port = NULL;
	char *connect_to = NULL;
	char *header = NULL;
	char *url = NULL;
	bool good = false;

	if (parts != NULL &&
		curl_url_set(parts, CURLUPART_URL, applying->request->url, 0) == CURLUE_OK &&
		curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
		curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
		curl_url_set(parts, CURLUPART_HOST, name, 0) == CURLUE_OK &&
		curl_url_get(parts, CURLUPART_URL, &url, 0) == CURLUE_OK &&
		asprintf(&connect_to, "%s:%s:%s:%s", name, port, host, port) >= 0 &&
		asprintf(&header, "%s:%s", host, port) >= 0)
	{
		applying->auth->connect_to = curl_slist_append(NULL, connect_to);
		curl_easy_setopt(applying->easy, CURLOPT_CONNECT_TO, applying->auth->connect_to);
		curl_easy_setopt(applying->easy, CURLOPT_URL, url);
		good = applying->auth->connect_to != NULL &&
			   add_line(applying, &applying->auth->headers, "Host", header);
	}
	curl_free(host);
	curl_free(port);
	curl_free(url);
	free(connect_to);
	free(header);
	curl_url_cleanup(parts);
	if (!good && applying->error[0] == '\0')
		snprintf(applying->error, HTTP_ERROR_BYTES, "Could not set the server's name");
	return good;
}

static bool
apply_tls(Applying *applying)
{
	static const long least[] = { CURL_SSLVERSION_TLSv1_0, CURL_SSLVERSION_TLSv1_1,
								  CURL_SSLVERSION_TLSv1_2, CURL_SSLVERSION_TLSv1_3 };
	static const long most[] = { CURL_SSLVERSION_MAX_TLSv1_0, CURL_SSLVERSION_MAX_TLSv1_1,
								 CURL_SSLVERSION_MAX_TLSv1_2, CURL_SSLVERSION_MAX_TLSv1_3 };
	const HttpTls *tls = &applying->request->settings->tls;
	CURL *easy = applying->easy;
	long versions = 0;

	if (tls->min_version != NULL)
		versions |= tls_version(tls->min_version, least);
	if (tls->max_version != NULL)
		versions |= tls_version(tls->max_version, most);
	if (versions != 0)
		curl_easy_setopt(easy, CURLOPT_SSLVERSION, versions);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, tls->insecure_skip_verify ? 0L : 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, tls->insecure_skip_verify ? 0L : 2L);
	return apply_pem(applying, &tls->ca, CURLOPT_CAINFO_BLOB) &&
		   apply_pem(applying, &tls->cert, CURLOPT_SSLCERT_BLOB) &&
		   apply_pem(applying, &tls->key, CURLOPT_SSLKEY_BLOB) &&
		   (tls->server_name == NULL || apply_server_name(applying, tls->server_name));
}

/*
 * Returns true if the proxy gets credentials or headers. libcurl reuses a CONNECT tunnel to the
 * same proxy even if it was opened with other credentials.
 */
static bool
proxy_has_credentials(const HttpSettings *settings)
{
	return settings->proxy_headers.count > 0 ||
		   (settings->proxy_url != NULL && strchr(settings->proxy_url, '@') != NULL);
}

/* Sets the proxy: the configured one, the environment's only on request, otherwise none. */
static bool
apply_proxy(Applying *applying)
{
	const HttpSettings *settings = applying->request->settings;
	CURL *easy = applying->easy;

	if (settings->proxy_url != NULL)
		curl_easy_setopt(easy, CURLOPT_PROXY, settings->proxy_url);
	else if (!settings->proxy_from_environment)
		curl_easy_setopt(easy, CURLOPT_PROXY, "");
	if (settings->proxy_url != NULL)
		curl_easy_setopt(easy, CURLOPT_NOPROXY,
						 settings->no_proxy != NULL ? settings->no_proxy : "");
	curl_easy_setopt(easy, CURLOPT_HEADEROPT, (long) CURLHEADER_SEPARATE);
	if (!add_headers(applying, &settings->proxy_headers, &applying->auth->proxy_headers))
		return false;
	curl_easy_setopt(easy, CURLOPT_PROXYHEADER, applying->auth->proxy_headers);
	if (proxy_has_credentials(settings))
	{
		curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
		curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
	}
	return true;
}

bool
http_auth_apply(HttpAuth *auth, CURL *easy, const HttpRequest *request,
				char error[HTTP_ERROR_BYTES])
{
	Applying applying = { auth, easy, request, error };

	if (!apply_identity(&applying) || !apply_tls(&applying) || !apply_proxy(&applying) ||
		!add_headers(&applying, &request->settings->headers, &auth->headers))
		return false;
	for (size_t i = 0; i < request->header_count; i++)
		if (!add_line(&applying, &auth->headers, request->headers[i].name,
					  request->headers[i].value))
			return false;
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, auth->headers);
	auth->has_secrets |= request->headers_are_secret;
	return true;
}

/*
 * Returns scheme, host and port of a URL. libcurl compares them to decide whether a redirected
 * request still gets the credentials.
 */
static char *
origin_of(const char *url)
{
	CURLU *parts = curl_url();
	char *scheme = NULL;
	char *host = NULL;
	char *port = NULL;
	char *origin = NULL;

	if (parts != NULL && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
		curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
		curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
		curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
		asprintf(&origin, "%s://%s:%s", scheme, host, port) < 0)
		origin = NULL;
	curl_free(scheme);
	curl_free(host);
	curl_free(port);
	curl_url_cleanup(parts);
	return origin;
}

bool
http_auth_may_go(HttpAuth *auth, const char *url)
{
	char *origin;
	bool is_same;

	if (!auth->has_secrets)
		return true;
	origin = origin_of(url);
	if (auth->origin == NULL)
	{
		auth->origin = origin;
		return origin != NULL;
	}
	is_same = origin != NULL && strcasecmp(origin, auth->origin) == 0;
	free(origin);
	return is_same;
}

bool
http_auth_add_token(HttpAuth *auth, CURL *easy, const char *value, char error[HTTP_ERROR_BYTES])
{
	Applying applying = { auth, easy, NULL, error };

	if (!add_line(&applying, &auth->headers, "Authorization", value))
		return false;
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, auth->headers);
	return true;
}

void
http_auth_fini(HttpAuth *auth)
{
	curl_slist_free_all(auth->headers);
	curl_slist_free_all(auth->proxy_headers);
	curl_slist_free_all(auth->connect_to);
	free(auth->origin);
	*auth = (HttpAuth){ NULL };
}
