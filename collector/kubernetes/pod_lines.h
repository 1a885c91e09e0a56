/*
 * pod_lines.h
 *		What the process that watches pods tells: bytes of a pipe into the table of pods.
 */
#ifndef COLLECTOR_POD_LINES_H
#define COLLECTOR_POD_LINES_H

#include "labels/pod_table.h"

typedef struct PodLines
{
	PodTable *table;
	char *line; /* of POD_LINE_BYTES: what has come of one */
	size_t length;
	bool news;		  /* something changed since the owner cleared it */
	bool synced;	  /* all pods that there are were told */
	uint64_t refused; /* pods that there was no room for */
} PodLines;

int pod_lines_init(PodLines *lines, PodTable *table); /* 0 or -ENOMEM */
void pod_lines_fini(PodLines *lines);

/* Another process tells from now on: the pods that it does not tell of are gone once it has. */
void pod_lines_begin(PodLines *lines);

/* 0, or -EINVAL: that is none of our lines, and nothing more can be made of what follows. */
int pod_lines_take(PodLines *lines, const char *bytes, size_t length, uint64_t now_ns);

#endif
