/*
 * walker.h
 *		The walker thread.
 */
#ifndef COLLECTOR_WALKER_H
#define COLLECTOR_WALKER_H

/* The thread's body; the argument is the reader. */
void *reader_walker_run(void *reader);

#endif
