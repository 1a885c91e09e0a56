/*
 * gate.h
 *		A token that lets one of several writers at a time store new content.
 *
 * A transaction does not see content that another has interned but not committed. Two transactions
 * that intern equal content at the same time store it twice: answers stay right, but space is lost.
 * So writers that share a gate hold it from before BEGIN to after COMMIT if they need new ids. A
 * writer that knows all ids does not need it.
 */
#ifndef COLLECTOR_GATE_H
#define COLLECTOR_GATE_H

#include <stdbool.h>

typedef struct Gate
{
	int fd; /* eventfd, readable if no writer holds the gate */
} Gate;

int gate_open(Gate *gate); /* 0 or -errno */
void gate_close(Gate *gate);

/* Waits for the gate. Returns false if wake_fd becomes readable, or on an error. */
bool gate_enter(const Gate *gate, int wake_fd);
void gate_leave(const Gate *gate);

#endif
