/*
 * stop_signals.h
 *		Signals that ask a running command to stop, or to read its configuration again.
 *
 * The first SIGTERM or SIGINT asks to stop, the second one ends the process at once with EXIT_IO,
 * whatever is not stored yet. SIGHUP reloads where the command says so; else it stops, but insists
 * on nothing: the shell and the kernel send one each where a terminal is closed, and service
 * managers send it along with SIGTERM. One set for the process.
 */
#ifndef COLLECTOR_STOP_SIGNALS_H
#define COLLECTOR_STOP_SIGNALS_H

#include <stdbool.h>

/* Catches them, and ignores SIGPIPE. */
void stop_signals_catch(bool sighup_reloads);

/*
 * A descriptor that is readable once a signal has come, -1 for none. What the signal asks for is
 * set before that.
 */
int stop_signals_fd(void);

/* Empties the descriptor. */
void stop_signals_seen(void);

bool stop_asked(void);

/* True once for each time that a reload was asked for. */
bool reload_asked(void);

#endif
