/*
 * http_settings.c
 *		Reads and checks the settings of HTTP clients.
 */
#include "http_client/http_settings.h"

#include <string.h>
#include <strings.h>

static const char *const tls_versions[] = { "TLS10", "TLS11", "TLS12", "TLS13" };

bool
http_check_secret(ConfigReader *reader, const Node *node, const HttpSecret *secret,
				  const char *what)
{
	return secret->text == NULL || secret->file == NULL ||
		   config_fail(reader, node, "%s is set twice, as a text and as a file", what);
}

bool
http_read_basic_auth(ConfigReader *reader, const Node *node, void *field)
{
	static const ConfigField fields[] = {
		{ "username", config_read_text, offsetof(HttpBasicAuth, username.text) },
		{ "username_file", config_read_path, offsetof(HttpBasicAuth, username.file) },
		{ "password", config_read_text, offsetof(HttpBasicAuth, password.text) },
		{ "password_file", config_read_path, offsetof(HttpBasicAuth, password.file) },
	};
	HttpBasicAuth *auth = config_alloc(reader, sizeof(HttpBasicAuth));

	*(HttpBasicAuth **) field = auth;
	return auth != NULL && config_read_fields(reader, node, CONFIG_FIELDS(fields), auth) &&
		   http_check_secret(reader, node, &auth->username, "The user's name") &&
		   http_check_secret(reader, node, &auth->password, "The password");
}

bool
http_read_authorization(ConfigReader *reader, const Node *node, void *field)
{
	static const ConfigField fields[] = {
		{ "type", config_read_text, offsetof(HttpAuthorization, type) },
		{ "credentials", config_read_text, offsetof(HttpAuthorization, credentials.text) },
		{ "credentials_file", config_read_path, offsetof(HttpAuthorization, credentials.file) },
	};
	HttpAuthorization *authorization = config_alloc(reader, sizeof(HttpAuthorization));

	*(HttpAuthorization **) field = authorization;
	if (authorization == NULL)
		return false;
	authorization->type = "Bearer";
	if (!config_read_fields(reader, node, CONFIG_FIELDS(fields), authorization))
		return false;
	if (strcasecmp(authorization->type, "basic") == 0)
		return config_fail(reader, node, "The type is \"basic\": use basic_auth");
	return http_check_secret(reader, node, &authorization->credentials, "The credentials");
}

static bool
read_tls_version(ConfigReader *reader, const Node *node, void *field)
{
	if (!config_read_text(reader, node, field))
		return false;
	for (size_t i = 0; i < sizeof(tls_versions) / sizeof(tls_versions[0]); i++)
		if (strcmp(tls_versions[i], node->text) == 0)
			return true;
	return config_fail(reader, node, "The value must be TLS10, TLS11, TLS12 or TLS13");
}

bool
http_read_tls(ConfigReader *reader, const Node *node, void *field)
{
	static const ConfigField fields[] = {
		{ "ca", config_read_text, offsetof(HttpTls, ca.text) },
		{ "ca_file", config_read_path, offsetof(HttpTls, ca.file) },
		{ "cert", config_read_text, offsetof(HttpTls, cert.text) },
		{ "cert_file", config_read_path, offsetof(HttpTls, cert.file) },
		{ "key", config_read_text, offsetof(HttpTls, key.text) },
		{ "key_file", config_read_path, offsetof(HttpTls, key.file) },
		{ "server_name", config_read_text, offsetof(HttpTls, server_name) },
		{ "insecure_skip_verify", config_read_bool, offsetof(HttpTls, insecure_skip_verify) },
		{ "min_version", read_tls_version, offsetof(HttpTls, min_version) },
		{ "max_version", read_tls_version, offsetof(HttpTls, max_version) },
	};
	HttpTls *tls = field;
	bool has_cert;
	bool has_key;

	if (!config_read_fields(reader, node, CONFIG_FIELDS(fields), tls))
		return false;
	has_cert = tls->cert.text != NULL || tls->cert.file != NULL;
	has_key = tls->key.text != NULL || tls->key.file != NULL;
	if (has_cert != has_key)
		return config_fail(reader, node, "cert_file and key_file must be set together");
	if (tls->min_version != NULL && tls->max_version != NULL &&
		strcmp(tls->min_version, tls->max_version) > 0)
		return config_fail(reader, node, "max_version is below min_version");
	return http_check_secret(reader, node, &tls->ca, "The authority's certificate") &&
		   http_check_secret(reader, node, &tls->cert, "The certificate") &&
		   http_check_secret(reader, node, &tls->key, "The key");
}

static bool
http_settings_read_header(ConfigReader *reader, const Node *node, HttpHeader *header)
{
	static const ConfigField fields[] = {
		{ "values", config_read_texts, offsetof(HttpHeader, values) },
		{ "secrets", config_read_texts, offsetof(HttpHeader, secrets) },
		{ "files", config_read_texts, offsetof(HttpHeader, files) },
	};

	return config_read_fields(reader, node, CONFIG_FIELDS(fields), header);
}

static bool
read_header_map(ConfigReader *reader, const Node *node, bool only_values, ConfigList *list)
{
	HttpHeader *headers;

	if (node->kind != NODE_MAPPING)
		return config_fail(reader, node, "Expected keys and values");
	headers = config_alloc(reader, (node->count + 1) * sizeof(HttpHeader));
	for (size_t i = 0; headers != NULL && i < node->count; i++)
	{
		const Node *name = node->items[2 * i];
		const Node *value = node->items[2 * i + 1];

		headers[i].name = name->text;
		if (strpbrk(name->text, ": \r\n") != NULL || name->text[0] == '\0')
			return config_fail(reader, name, "Invalid name of a header");
		if (only_values ? !config_read_texts(reader, value, &headers[i].values)
						: !http_settings_read_header(reader, value, &headers[i]))
			return false;
	}
	*list = (ConfigList){ headers, node->count };
	return headers != NULL;
}

bool
http_read_headers(ConfigReader *reader, const Node *node, void *field)
{
	return read_header_map(reader, node, false, field);
}

bool
http_read_proxy_headers(ConfigReader *reader, const Node *node, void *field)
{
	return read_header_map(reader, node, true, field);
}

bool
http_read_not(ConfigReader *reader, const Node *node, void *field)
{
	if (!config_read_bool(reader, node, field))
		return false;
	*(bool *) field = !*(bool *) field;
	return true;
}

bool
http_is_url(const char *text)
{
	return text != NULL &&
		   (strncasecmp(text, "http://", 7) == 0 || strncasecmp(text, "https://", 8) == 0);
}

bool
http_check_proxy(ConfigReader *reader, const Node *node, const HttpSettings *settings)
{
	if (settings->no_proxy != NULL && settings->proxy_url == NULL)
		return config_fail(reader, node, "no_proxy requires proxy_url");
	if (settings->proxy_from_environment && settings->proxy_url != NULL)
		return config_fail(reader, node, "proxy_from_environment excludes proxy_url");
	if (settings->proxy_headers.count > 0 && settings->proxy_url == NULL &&
		!settings->proxy_from_environment)
		return config_fail(reader, node, "proxy_connect_header requires a proxy");
	return true;
}

bool
http_settings_check(ConfigReader *reader, const Node *node, const HttpSettings *settings)
{
	bool has_bearer = settings->bearer.text != NULL || settings->bearer.file != NULL;

	if ((settings->basic_auth != NULL) + (settings->authorization != NULL) +
			(settings->oauth2 != NULL) + has_bearer >
		1)
		return config_fail(
			reader, node,
			"At most one of basic_auth, authorization, oauth2 and bearer_token can be set");
	return http_check_proxy(reader, node, settings) &&
		   http_check_secret(reader, node, &settings->bearer, "The bearer token");
}
