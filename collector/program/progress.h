/*
 * progress.h
 *		Draws a progress bar on standard error. Does nothing if standard error is not a terminal.
 */
#ifndef COLLECTOR_PROGRESS_H
#define COLLECTOR_PROGRESS_H

#include <stdint.h>

/* Redraws the bar for done out of total, followed by text. total must not be 0. */
void progress_draw(int64_t done, int64_t total, const char *text);

/* Ends the bar's line. */
void progress_end(void);

#endif
