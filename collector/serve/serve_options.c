/*
 * serve_options.c
 *		The flags of "serve".
 */
#include "serve/serve_options.h"

#include <string.h>

#define MB ((size_t) 1024 * 1024)

/* Names of the values SERVE_AS_*, in their order. */
static const char *const authenticate_choices[] = { "server", "database", NULL };

size_t
serve_flags(ServeOptions *options, Flag flags[SERVE_FLAGS_MAX])
{
	const Flag own[] = {
		{ "listen", FLAG_TEXT, &options->host.listen, "ADDRESS,...",
		  "addresses HOST:PORT to listen on; default: 127.0.0.1:4041" },
		{ "authenticate", FLAG_CHOICE, &options->authenticate, "HOW",
		  "database: clients give a user and a password of the database, and read as that user; server (default): they read as the user of --db, or as the role of their token or certificate",
		  .choices = authenticate_choices },
		{ "tls-cert", FLAG_TEXT, &options->host.cert, "FILE",
		  "file of the certificate chain, PEM; default: no TLS" },
		{ "tls-key", FLAG_TEXT, &options->host.key, "FILE", "file of the certificate's key, PEM" },
		{ "tls-client-ca", FLAG_TEXT, &options->host.client_ca, "FILE",
		  "file of authorities, PEM, that sign clients' certificates; their common name is the role" },
		{ "tokens", FLAG_TEXT, &options->host.tokens, "FILE",
		  "file of lines ROLE TOKEN; clients need one of these tokens, or a certificate, and read as the role, which the user of --db must be a member of" },
		{ "connections", FLAG_NUMBER, &options->connections, "NUMBER",
		  "limit of connections to the database, and so of concurrent queries; default: 4",
		  .minimum = 1, .maximum = 64 },
		{ "query-timeout", FLAG_DURATION, &options->query_ms, "DURATION",
		  "time after which a query is cancelled, at most 100s; default: 30s", .minimum = 100,
		  .maximum = 100000 },
		{ "max-message", FLAG_SIZE, &options->host.max_message, "SIZE",
		  "limit of an unpacked request; default: 1MB", .minimum = 1024 },
		{ "max-memory", FLAG_SIZE, &options->host.max_memory, "SIZE",
		  "limit of requests and results of queries, together; default: 256MB",
		  .minimum = 1024 * 1024 },
		{ "max-connections", FLAG_NUMBER, &options->host.max_connections, "NUMBER",
		  "limit of connections of clients; default: 1024", .minimum = 1, .maximum = 1000000 },
		{ "client-connections", FLAG_NUMBER, &options->host.client_connections, "NUMBER",
		  "limit of connections from one address; default: 512", .minimum = 1, .maximum = 1000000 },
		{ "client-requests", FLAG_NUMBER, &options->host.client_requests, "NUMBER",
		  "limit of requests per second of one role or address; default: 200", .minimum = 1,
		  .maximum = 1000000 },
		{ "idle-timeout", FLAG_DURATION, &options->host.idle_ms, "DURATION",
		  "time after which a connection without requests is closed; default: 5m", .minimum = 1000,
		  .maximum = 86400000 },
	};
	size_t count = 0;

	memset(options, 0, sizeof(*options));
	options->host.module = "serve";
	options->host.listen = "127.0.0.1:4041";
	options->connections = 4;
	options->query_ms = 30000;
	options->host.max_message = MB;
	options->host.max_memory = 256 * MB;
	options->host.max_connections = 1024;
	options->host.client_connections = 512;
	options->host.client_requests = 200;
	options->host.idle_ms = 300000;
	flags[count++] = database_flag(&options->database);
	count += log_flags(&options->log, &flags[count]);
	return flags_append(flags, count, own, sizeof(own) / sizeof(own[0]));
}
