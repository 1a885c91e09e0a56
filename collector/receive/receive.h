/*
 * receive.h
 *		The sub-command "receive": stores profiles that clients push.
 *
 * One port accepts all protocols, over gRPC and HTTP. A request is answered as stored only after
 * the transaction that contains all of it has been committed.
 */
#ifndef COLLECTOR_RECEIVE_H
#define COLLECTOR_RECEIVE_H

#include "receive/receive_options.h"

/* Runs until SIGTERM or SIGINT; SIGHUP reads certificates and tokens again. */
ExitCode receive_run(const ReceiveOptions *options);

#endif
