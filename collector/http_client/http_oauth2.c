/*
 * http_oauth2.c
 *		Reads and checks the settings of OAuth 2.0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http_client/http_settings.h"

/* Accepts only the supported grant, because other grants need other settings. */
static bool
read_grant_type(ConfigReader *reader, const Node *node, void *field)
{
	return (node->kind == NODE_SCALAR && strcmp(node->text, "client_credentials") == 0) ||
		   config_fail(reader, node, "The only grant that is supported is client_credentials");
}

static void
put_node(FILE *out, const Node *node)
{
	size_t items = node->kind == NODE_MAPPING ? 2 * node->count : node->count;

	if (node->kind == NODE_SCALAR)
	{
		fprintf(out, "%zu %s", strlen(node->text), node->text);
		return;
	}
	fprintf(out, "%d[", node->kind);
	for (size_t i = 0; i < items; i++)
		put_node(out, node->items[i]);
	fputc(']', out);
}

/*
 * Makes the key by which requests with equal settings share a token. The depth of the recursion is
 * bounded by that of the document.
 */
static bool
set_key(ConfigReader *reader, const Node *node, HttpOauth2 *oauth2)
{
	char *text = NULL;
	char *copy = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (out != NULL)
	{
		fprintf(out, "%s ", reader->directory);
		put_node(out, node);
		if (fclose(out) == 0 && (copy = config_alloc(reader, length + 1)) != NULL)
			memcpy(copy, text, length + 1);
	}
	free(text);
	oauth2->key = copy;
	return copy != NULL || config_no_memory(reader);
}

/*
 * Checks endpoint_params. They must not replace parameters that the request sets itself, except
 * grant_type.
 */
static bool
check_params(ConfigReader *reader, const Node *node, const HttpOauth2 *oauth2)
{
	static const char *const own[] = { "client_id", "client_secret" };
	const ConfigPair *params = oauth2->endpoint_params.items;

	for (size_t i = 0; i < oauth2->endpoint_params.count; i++)
	{
		for (size_t j = 0; j < sizeof(own) / sizeof(own[0]); j++)
			if (strcmp(params[i].name, own[j]) == 0)
				return config_fail(reader, node,
								   "Use the setting %s in place of an item of endpoint_params",
								   own[j]);
		if (strcmp(params[i].name, "scope") == 0 && oauth2->scopes.count > 0)
			return config_fail(reader, node, "The scope is set twice");
	}
	return true;
}

bool
http_read_oauth2(ConfigReader *reader, const Node *node, void *field)
{
	static const ConfigField fields[] = {
		{ "client_id", config_read_text, offsetof(HttpOauth2, client_id) },
		{ "client_secret", config_read_text, offsetof(HttpOauth2, client_secret.text) },
		{ "client_secret_file", config_read_path, offsetof(HttpOauth2, client_secret.file) },
		{ "token_url", config_read_text, offsetof(HttpOauth2, token_url) },
		{ "grant_type", read_grant_type, 0 },
		{ "scopes", config_read_texts, offsetof(HttpOauth2, scopes) },
		{ "endpoint_params", config_read_pairs, offsetof(HttpOauth2, endpoint_params) },
		{ "tls_config", http_read_tls, offsetof(HttpOauth2, http.tls) },
		{ "proxy_url", config_read_text, offsetof(HttpOauth2, http.proxy_url) },
		{ "no_proxy", config_read_text, offsetof(HttpOauth2, http.no_proxy) },
		{ "proxy_from_environment", config_read_bool,
		  offsetof(HttpOauth2, http.proxy_from_environment) },
		{ "proxy_connect_header", http_read_proxy_headers,
		  offsetof(HttpOauth2, http.proxy_headers) },
	};
	HttpOauth2 *oauth2 = config_alloc(reader, sizeof(HttpOauth2));

	*(HttpOauth2 **) field = oauth2;
	if (oauth2 == NULL || !config_read_fields(reader, node, CONFIG_FIELDS(fields), oauth2))
		return false;
	if (oauth2->client_id == NULL || oauth2->client_id[0] == '\0')
		return config_fail(reader, node, "client_id is missing");
	if (oauth2->client_secret.text == NULL && oauth2->client_secret.file == NULL)
		return config_fail(reader, node, "client_secret is missing");
	if (!http_is_url(oauth2->token_url))
		return config_fail(reader, node, "token_url must begin with http:// or https://");
	oauth2->http.no_redirects = true; /* the request contains a secret */
	return http_check_secret(reader, node, &oauth2->client_secret, "The client's secret") &&
		   http_check_proxy(reader, node, &oauth2->http) && check_params(reader, node, oauth2) &&
		   set_key(reader, node, oauth2);
}
