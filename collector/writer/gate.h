/*
 * gate.h
 *		A token with which only one of several writers at a time stores new content.
 *
 * A transaction does not see content that another transaction has interned but not committed. If
 * two transactions intern equal content at the same time, it is stored twice: answers stay right,
 * but space is lost. So writers that share a gate hold the token from before BEGIN to after COMMIT
 * if they need new ids. A writer that knows all ids does not need the token.
 */
#ifndef COLLECTOR_GATE_H
#define COLLECTOR_GATE_H

#include <stdbool.h>

typedef struct Gate
{
	int fd; /* eventfd, readable if no writer holds the token */
} Gate;

int gate_open(Gate *gate); /* returns 0 or -errno */
void gate_close(Gate *gate);

/* Waits for the token. Returns false if wake_fd becomes readable, or on an error. */
bool gate_enter(const Gate *gate, int wake_fd);
void gate_leave(const Gate *gate);

#endif
