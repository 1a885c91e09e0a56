/*
 * receive_options.h
 *		Options of the command "receive".
 */
#ifndef COLLECTOR_RECEIVE_OPTIONS_H
#define COLLECTOR_RECEIVE_OPTIONS_H

#include "http_server/host.h"
#include "program/common_flags.h"
#include "spool/spool_options.h"
#include "uploads/upload_slots.h"

#define RECEIVE_FLAGS_MAX 40

typedef struct ReceiveOptions
{
	const char *database; /* libpq connection string */
	const char *name;	  /* name of this receiver in its reports */
	HostOptions host;
	const char *drop;	/* attributes that do not become labels; see otlp/labels.h */
	size_t queue_bytes; /* limit of batches that wait for the database */
	SpoolOptions spool;
	int64_t client_series; /* limit of series of one tenant or address in an hour */
	int64_t workers;
	UploadLimits uploads; /* limits of uploads of debug information */
	int64_t max_age_ms;	  /* limit of the samples' age */
	bool keep_times;
	LogOptions log;
	char name_room[300]; /* default of name */
} ReceiveOptions;

/* Sets the defaults and fills in the flags, which point into options. Returns their number. */
size_t receive_flags(ReceiveOptions *options, Flag flags[RECEIVE_FLAGS_MAX]);

#endif
