/*
 * pods.h
 *		The sub-command "pods" of profstore-sources, which the agent starts: tells on standard
 *		output which pods there are on a node, a line each, and again when they change.
 */
#ifndef COLLECTOR_PODS_H
#define COLLECTOR_PODS_H

#include "base/common_flags.h"
#include "base/exit_code.h"

typedef struct PodsOptions
{
	const char *node;		 /* NULL: not given, as the others */
	const char *server;		 /* NULL: the cluster that we run in */
	const char *kubelet;	 /* asked in the API's place */
	const char *token_file;	 /* NULL: that of our pod, as ca_file; none where a server is given */
	const char *ca_file;	 /* … */
	const char *annotations; /* names between commas */
	LogOptions log;
} PodsOptions;

size_t pods_flags(PodsOptions *options, Flag *flags);

/* Runs until it is killed, or nobody reads; the process's exit code. */
ExitCode pods_run(const PodsOptions *options);

#endif
