/*
 * stop_signals.h
 *		Signals that ask a running command to stop or to reload its configuration.
 *
 * The first SIGTERM or SIGINT asks to stop. The second one ends the process at once with EXIT_IO,
 * even if samples are not stored yet. SIGHUP reloads if the command supports that. Otherwise it
 * asks to stop but, however often it arrives, never ends the process at once: when a terminal
 * closes, both the shell and the kernel send it, and service managers send it together with
 * SIGTERM. The state is global to the process.
 */
#ifndef COLLECTOR_STOP_SIGNALS_H
#define COLLECTOR_STOP_SIGNALS_H

#include <stdbool.h>

/* Installs the handlers and ignores SIGPIPE. */
void stop_signals_catch(bool sighup_reloads);

/*
 * Returns a descriptor that becomes readable after a signal; -1 if there is none. stop_asked() and
 * reload_asked() return the new state before it becomes readable.
 */
int stop_signals_fd(void);

/* Makes the descriptor of stop_signals_fd() not readable again. */
void stop_signals_seen(void);

bool stop_asked(void);

/* Returns true once for each requested reload. */
bool reload_asked(void);

#endif
