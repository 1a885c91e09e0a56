/*
 * pods.h
 *		The sub-command "pods" of profstore-sources, which the agent starts: prints the pods of a
 *		node on standard output, a line for each, and again when they change.
 */
#ifndef COLLECTOR_PODS_H
#define COLLECTOR_PODS_H

#include "program/common_flags.h"
#include "program/exit_code.h"

typedef struct PodsOptions
{
	const char *node;		 /* NULL: not set; also for the other fields */
	const char *server;		 /* NULL: the cluster that this process runs in */
	const char *kubelet;	 /* polled instead of the API server */
	const char *token_file;	 /* NULL: this pod's, like ca_file; none if a server is set */
	const char *ca_file;	 /* file of the CA */
	const char *annotations; /* names separated by commas */
	LogOptions log;
} PodsOptions;

size_t pods_flags(PodsOptions *options, Flag *flags);

/* Runs until it is killed, or its output is closed; returns the process's exit code. */
ExitCode pods_run(const PodsOptions *options);

#endif
