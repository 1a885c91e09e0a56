/*
 * walker.h
 *		The walker thread.
 */
#ifndef COLLECTOR_WALKER_H
#define COLLECTOR_WALKER_H

/* Runs the walker thread; the argument is the reader. */
void *reader_walker_run(void *reader);

#endif
