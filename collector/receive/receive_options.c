/*
 * receive_options.c
 *		The flags of "receive".
 */
#include "receive/receive_options.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "otlp/labels.h"

#define MB ((size_t) 1024 * 1024)

/* Names of the values ACKNOWLEDGE_*, in their order. */
static const char *const acknowledge_choices[] = { "database", "spool", NULL };

size_t
receive_flags(ReceiveOptions *options, Flag flags[RECEIVE_FLAGS_MAX])
{
	const Flag own[] = {
		{ "node", FLAG_TEXT, &options->name, "NAME",
		  "name of this receiver in its reports to the database; default: receive@HOST" },
		{ "listen", FLAG_TEXT, &options->host.listen, "ADDRESS,...",
		  "addresses HOST:PORT to listen on; default: 127.0.0.1:4317,127.0.0.1:4318" },
		{ "tls-cert", FLAG_TEXT, &options->host.cert, "FILE",
		  "file of the certificate chain, PEM; default: no TLS" },
		{ "tls-key", FLAG_TEXT, &options->host.key, "FILE", "file of the certificate's key, PEM" },
		{ "tls-client-ca", FLAG_TEXT, &options->host.client_ca, "FILE",
		  "file of authorities, PEM, that sign clients' certificates; their common name is the label tenant" },
		{ "tokens", FLAG_TEXT, &options->host.tokens, "FILE",
		  "file of lines TENANT TOKEN, followed by upload if the tenant may upload debug information; clients need one of these tokens, or a certificate" },
		{ "trust-tenant-header", FLAG_SWITCH, &options->host.trusts_scope, NULL,
		  "take the label tenant from the header X-Scope-OrgID, which a proxy must set or remove for each client" },
		{ "drop-attributes", FLAG_TEXT, &options->drop, "LIST",
		  "OTLP attributes and labels of Arrow records to drop; default: those of threads and calls" },
		{ "max-message", FLAG_SIZE, &options->host.max_message, "SIZE",
		  "limit of an unpacked request; default: 64MB", .minimum = 1024 },
		{ "max-memory", FLAG_SIZE, &options->host.max_memory, "SIZE",
		  "limit of requests that arrive or are being decoded, together; default: 256MB",
		  .minimum = 1024 * 1024 },
		{ "queue-size", FLAG_SIZE, &options->queue_bytes, "SIZE",
		  "limit of decoded requests that wait for the database; default: 256MB",
		  .minimum = 1024 * 1024 },
		{ "acknowledge", FLAG_CHOICE, &options->host.acknowledge, "WHEN",
		  "answer a request once its samples are in the database (default), or on disk: spool",
		  .choices = acknowledge_choices },
		{ "max-connections", FLAG_NUMBER, &options->host.max_connections, "NUMBER",
		  "limit of connections; default: 4096", .minimum = 1, .maximum = 1000000 },
		{ "client-connections", FLAG_NUMBER, &options->host.client_connections, "NUMBER",
		  "limit of connections from one address; default: 2048", .minimum = 1,
		  .maximum = 1000000 },
		{ "client-requests", FLAG_NUMBER, &options->host.client_requests, "NUMBER",
		  "limit of requests per second of one tenant or address; default: 1000", .minimum = 1,
		  .maximum = 1000000 },
		{ "client-series", FLAG_NUMBER, &options->client_series, "NUMBER",
		  "limit of distinct series of one tenant or address in an hour; default: 50000",
		  .minimum = 1, .maximum = 1000000 },
		{ "workers", FLAG_NUMBER, &options->workers, "NUMBER",
		  "number of threads that decode; default: number of CPUs, at most 4", .minimum = 1,
		  .maximum = 64 },
		{ "answer-timeout", FLAG_DURATION, &options->host.answer_ms, "DURATION",
		  "time after which a client that waits for a commit is asked to retry; default: 4s",
		  .minimum = 100, .maximum = 3600000 },
		{ "idle-timeout", FLAG_DURATION, &options->host.idle_ms, "DURATION",
		  "time after which a connection without requests is closed; default: 5m", .minimum = 1000,
		  .maximum = 86400000 },
		{ "max-age", FLAG_DURATION, &options->max_age_ms, "DURATION",
		  "age above which samples are refused; default: 7d", .minimum = 1000,
		  .maximum = 31622400000 },
		{ "max-upload", FLAG_SIZE, &options->uploads.file_bytes, "SIZE",
		  "limit of a file with debug information; default: 512MB", .minimum = 1024,
		  .maximum = 1024 * MB },
		{ "upload-space", FLAG_SIZE, &options->uploads.space_bytes, "SIZE",
		  "limit of all files that are being uploaded, of which one tenant may use half; default: 2GB",
		  .minimum = 1024 },
		{ "upload-directory", FLAG_TEXT, &options->uploads.directory, "DIRECTORY",
		  "directory of files that are being uploaded; default: /var/tmp" },
		{ "keep-times", FLAG_SWITCH, &options->keep_times, NULL,
		  "store a row for each time of an OTLP sample, not one for the profile's window" },
	};
	char host[256] = "localhost";
	size_t count = 0;
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	memset(options, 0, sizeof(*options));
	/* If gethostname() fails, it may have written a part of the name. */
	if (gethostname(host, sizeof(host) - 1) != 0)
		strcpy(host, "localhost");
	snprintf(options->name_room, sizeof(options->name_room), "receive@%s", host);
	options->name = options->name_room;
	options->host.module = "receive";
	options->host.listen = "127.0.0.1:4317,127.0.0.1:4318";
	options->drop = LABELS_DROPPED_DEFAULT;
	options->host.max_message = 64 * MB;
	options->host.max_memory = 256 * MB;
	options->queue_bytes = 256 * MB;
	options->host.max_connections = 4096;
	options->host.client_connections = 2048;
	options->host.client_requests = 1000;
	options->client_series = 50000;
	options->workers = processors < 1 ? 1 : processors > 4 ? 4 : processors;
	options->host.answer_ms = 4000;
	options->host.idle_ms = 300000;
	options->uploads = (UploadLimits){ "/var/tmp", 512 * MB, 2048 * MB, 8192 * MB };
	options->max_age_ms = INT64_C(7) * 86400000;
	flags[count++] = database_flag(&options->database);
	count += log_flags(&options->log, &flags[count]);
	count += spool_flags(&options->spool, &flags[count]);
	return flags_append(flags, count, own, sizeof(own) / sizeof(own[0]));
}
