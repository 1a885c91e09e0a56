/*
 * receive.h
 *		The sub-command "receive": profiles that others push, into the database.
 *
 * One port takes OTLP's profiles and Parca's writes, over gRPC and HTTP. A request is answered as
 * stored when the transaction that holds all of it has committed, and not before.
 */
#ifndef COLLECTOR_RECEIVE_H
#define COLLECTOR_RECEIVE_H

#include "receive/options.h"

/* Until SIGTERM or SIGINT; SIGHUP reads certificates and tokens again. */
ExitCode receive_run(const ReceiveOptions *options);

#endif
