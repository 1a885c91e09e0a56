/*
 * query_labels.h
 *		Tells the agent which query this backend runs, so that samples carry the query's id, the
 *		database and the role.
 *
 * The agent's BPF programs read the variable profstore_current_labels at each sample, from outside:
 * it leads to a set of labels in the layout of custom labels, version 1 (bpf/thread_labels.h).
 *
 *   database, role   names, from the backend's first statement on
 *   trace_id         QUERY_TRACE (8 bytes) and the system identifier, in hexadecimal digits
 *   span_id          the query id, in hexadecimal digits; like trace_id, only while a query runs
 *
 * A query id is stored as a span since ids of spans make no series, and the number of query ids has
 * no bound. The query is the one that the client sent: what functions run inside counts for it, as
 * in pg_stat_statements with track = top.
 *
 * While profstore.query_labels is off, the hooks only call the next hook. While it is on they
 * allocate no memory and raise no error, except in the catalog lookup of names once for each role
 * that a session uses.
 */
#ifndef PFS_QUERY_LABELS_H
#define PFS_QUERY_LABELS_H

#include "profstore.h"

/* Defines the setting, and installs the hooks. Sessions need the module from their start on. */
void pfs_query_labels_init(void);

#endif
