/*
 * receiver.h
 *		State that the services of "receive" share, in addition to the server's.
 *
 * A worker unpacks and decodes a call; the writer's thread stores its batch.
 */
#ifndef COLLECTOR_RECEIVE_RECEIVER_H
#define COLLECTOR_RECEIVE_RECEIVER_H

#include "http_server/host.h"
#include "otlp/labels.h"
#include "receive/receive_metrics.h"
#include "receive/receive_options.h"
#include "receive/repeats.h"
#include "receive/series_limit.h"
#include "receive/store_line.h"
#include "uploads/upload_line.h"
#include "uploads/upload_slots.h"

typedef struct Receiver
{
	Host host;
	const ReceiveOptions *options;
	AttributeRule rule;
	ReceiveMetrics metrics;
	Repeats repeats;
	SeriesLimit series;
	StoreLine line;
	UploadSlots uploads;  /* uploads of debug information */
	UploadLine spool;	  /* their bytes, which are written to --upload-directory */
	UploadLine questions; /* questions about uploads */
	UploadLine stores;	  /* files that are being stored in the database */
} Receiver;

static inline Receiver *
receiver_of(Host *host)
{
	return (Receiver *) host;
}

/* Returns EXIT_OK, or another code with *failure set. Call receiver_fini() in either case. */
ExitCode receiver_init(Receiver *receiver, const ReceiveOptions *options,
					   const ServiceTable *services, Writer *writer, Failure *failure);
void receiver_fini(Receiver *receiver); /* call after the writer has released its batches */

/* A FiguresFill whose context is a Receiver. */
void receiver_fill_figures(void *context, Figures *figures);

/*
 * Implements told of ServiceTable: keeps the request as stored until its client has received the
 * answer.
 */
void receiver_told(Host *host, Call *call);
void receiver_left(Host *host, Call *call, int64_t now_ns);

#endif
