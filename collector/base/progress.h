/*
 * progress.h
 *		A progress bar on standard error, where that is a terminal; else nothing.
 */
#ifndef COLLECTOR_PROGRESS_H
#define COLLECTOR_PROGRESS_H

#include <stdint.h>

/* Draws it anew: done of total, which is not 0, and a text behind it. */
void progress_draw(int64_t done, int64_t total, const char *text);

/* Goes on to the next line. */
void progress_end(void);

#endif
