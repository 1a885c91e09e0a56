/*
 * stop_signals.h
 *		Signals that ask a running command to stop or to reload its configuration.
 *
 * The first SIGTERM or SIGINT asks to stop. The second one ends the process at once with EXIT_IO,
 * even if samples are not stored yet. SIGHUP reloads if the command supports that; otherwise it
 * asks to stop, any number of times: when a terminal closes, both the shell and the kernel send
 * one, and service managers send it together with SIGTERM. The state is global to the process.
 */
#ifndef COLLECTOR_STOP_SIGNALS_H
#define COLLECTOR_STOP_SIGNALS_H

#include <stdbool.h>

/* Installs the handlers and ignores SIGPIPE. */
void stop_signals_catch(bool sighup_reloads);

/*
 * Returns a descriptor that becomes readable after a signal, or -1 if there is none. stop_asked()
 * and reload_asked() already reflect the signal by then.
 */
int stop_signals_fd(void);

/* Resets the descriptor of stop_signals_fd() to not readable. */
void stop_signals_seen(void);

bool stop_asked(void);

/* Returns true once for each reload that was asked for. */
bool reload_asked(void);

#endif
