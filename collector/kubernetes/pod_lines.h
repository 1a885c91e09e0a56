/*
 * pod_lines.h
 *		Parses the output of the process that watches pods into the table of pods.
 */
#ifndef COLLECTOR_POD_LINES_H
#define COLLECTOR_POD_LINES_H

#include "labels/pod_table.h"

typedef struct PodLines
{
	PodTable *table;
	char *line; /* the incomplete line, of up to POD_LINE_BYTES */
	size_t length;
	bool news;		  /* the table has changed since the owner cleared this flag */
	bool synced;	  /* the first full listing is complete */
	uint64_t refused; /* number of pods for which there was no room */
} PodLines;

int pod_lines_init(PodLines *lines, PodTable *table); /* returns 0 or -ENOMEM */
void pod_lines_fini(PodLines *lines);

/*
 * Begins the output of a new process. When its first list is complete, pods that are not in the
 * list are removed.
 */
void pod_lines_begin(PodLines *lines);

/*
 * Parses bytes. Returns 0; -EINVAL for a malformed line, after which no further output can be
 * parsed.
 */
int pod_lines_take(PodLines *lines, const char *bytes, size_t length, uint64_t now_ns);

#endif
