/*
 * gate.h
 *		One at a time of several writers: whoever stores what the others may not know yet.
 *
 * A transaction does not see what another has interned and not committed. Two that intern the same
 * at once store it twice: no answer changes, it costs space. So writers that are given the same
 * gate go through it one after the other, from before BEGIN to after COMMIT, where they lack ids.
 * Where they have all of them they pass by.
 */
#ifndef COLLECTOR_GATE_H
#define COLLECTOR_GATE_H

#include <stdbool.h>

typedef struct Gate
{
	int fd; /* eventfd: readable when nobody is inside */
} Gate;

int gate_open(Gate *gate); /* 0 or -errno */
void gate_close(Gate *gate);

/* Waits until nobody is inside; false once wake_fd is readable, or where the gate is broken. */
bool gate_enter(const Gate *gate, int wake_fd);
void gate_leave(const Gate *gate);

#endif
