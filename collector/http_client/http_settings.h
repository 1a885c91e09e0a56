/*
 * http_settings.h
 *		Settings of HTTP clients, with the names of Prometheus' configuration.
 *
 * Secrets and certificates in files are read again for each request, because they rotate.
 */
#ifndef COLLECTOR_HTTP_SETTINGS_H
#define COLLECTOR_HTTP_SETTINGS_H

#include "config/config_reader.h"

/* A secret: its text, or the file that contains it. */
typedef struct HttpSecret
{
	const char *text; /* NULL: not set; this applies to file, too */
	const char *file;
} HttpSecret;

typedef struct HttpBasicAuth
{
	HttpSecret username;
	HttpSecret password;
} HttpBasicAuth;

typedef struct HttpAuthorization
{
	const char *type;
	HttpSecret credentials;
} HttpAuthorization;

typedef struct HttpTls
{
	HttpSecret ca; /* in PEM */
	HttpSecret cert;
	HttpSecret key;
	/* verified in place of the URL's host name; NULL: the host name is verified */
	const char *server_name;
	const char *min_version; /* for example "TLS12"; NULL: the library's default */
	const char *max_version;
	bool insecure_skip_verify;
} HttpTls;

typedef struct HttpHeader
{
	const char *name;
	ConfigList values;	/* list of const char * */
	ConfigList secrets; /* secret values, of const char * */
	ConfigList files;	/* paths of files that contain values, of const char * */
} HttpHeader;

typedef struct HttpOauth2 HttpOauth2;

typedef struct HttpSettings
{
	HttpBasicAuth *basic_auth; /* NULL: no basic authentication */
	HttpAuthorization *authorization;
	HttpOauth2 *oauth2;
	HttpSecret bearer; /* an older setting, replaced by authorization */
	HttpTls tls;
	const char *proxy_url; /* NULL: no proxy */
	const char *no_proxy;
	ConfigList proxy_headers; /* list of HttpHeader */
	ConfigList headers;		  /* list of HttpHeader */
	bool proxy_from_environment;
	bool no_redirects;
	bool no_http2;
} HttpSettings;

/*
 * Settings of OAuth 2.0 with client credentials (RFC 6749, 4.4): requests carry a token from
 * token_url.
 */
struct HttpOauth2
{
	const char *client_id;
	HttpSecret client_secret;
	const char *token_url;
	ConfigList scopes; /* list of const char * */
	/* List of ConfigPair: parameters that are added to the request for a token. */
	ConfigList endpoint_params;
	HttpSettings http; /* for the token's request; only TLS and proxy are used */
	const char *key;   /* all settings as one text: equal keys share a token */
};

bool http_read_basic_auth(ConfigReader *reader, const Node *node, void *field);
bool http_read_authorization(ConfigReader *reader, const Node *node, void *field);
bool http_read_tls(ConfigReader *reader, const Node *node, void *field);
bool http_read_headers(ConfigReader *reader, const Node *node, void *field);
bool http_read_proxy_headers(ConfigReader *reader, const Node *node, void *field);
/* reads a bool and stores its negation */
bool http_read_not(ConfigReader *reader, const Node *node, void *field);
/* defined in http_oauth2.c */
bool http_read_oauth2(ConfigReader *reader, const Node *node, void *field);

/* Keys of HttpSettings, for a structure that contains an HttpSettings. */
#define HTTP_SETTING(type, member, key, read, field) \
	{                                                \
		key, read, offsetof(type, member.field)      \
	}
#define HTTP_SETTING_FIELDS(type, member)                                                    \
	HTTP_SETTING(type, member, "basic_auth", http_read_basic_auth, basic_auth),              \
		HTTP_SETTING(type, member, "authorization", http_read_authorization, authorization), \
		HTTP_SETTING(type, member, "bearer_token", config_read_text, bearer.text),           \
		HTTP_SETTING(type, member, "bearer_token_file", config_read_path, bearer.file),      \
		HTTP_SETTING(type, member, "oauth2", http_read_oauth2, oauth2),                      \
		HTTP_SETTING(type, member, "tls_config", http_read_tls, tls),                        \
		HTTP_SETTING(type, member, "proxy_url", config_read_text, proxy_url),                \
		HTTP_SETTING(type, member, "no_proxy", config_read_text, no_proxy),                  \
		HTTP_SETTING(type, member, "proxy_from_environment", config_read_bool,               \
					 proxy_from_environment),                                                \
		HTTP_SETTING(type, member, "proxy_connect_header", http_read_proxy_headers,          \
					 proxy_headers),                                                         \
		HTTP_SETTING(type, member, "http_headers", http_read_headers, headers),              \
		HTTP_SETTING(type, member, "follow_redirects", http_read_not, no_redirects),         \
		HTTP_SETTING(type, member, "enable_http2", http_read_not, no_http2)

/* Refuses settings that exclude each other; node is their position in the file. */
bool http_settings_check(ConfigReader *reader, const Node *node, const HttpSettings *settings);

/*
 * Refuse settings of a proxy, or of a secret, that exclude each other. what is the name of the
 * secret in the message.
 */
bool http_check_proxy(ConfigReader *reader, const Node *node, const HttpSettings *settings);
bool http_check_secret(ConfigReader *reader, const Node *node, const HttpSecret *secret,
					   const char *what);

/* Returns true for a complete URL of http or https; false for NULL. */
bool http_is_url(const char *text);

#endif
