/*
 * symbolize.h
 *		The sub-command "symbolize": finds names and lines for addresses that are stored without
 *		them.
 *
 * A binary in production is stripped, and its debug information may arrive a day after its samples.
 * The database lists the builds with open addresses (profstore.symbol_work). The command claims one
 * build after the other, finds debug information by build ID, and stores better answers; stored
 * samples then have names and lines. Several processes may run at once.
 */
#ifndef COLLECTOR_SYMBOLIZE_H
#define COLLECTOR_SYMBOLIZE_H

#include "symbolize/symbolize_options.h"

/* Runs until SIGTERM or SIGINT; if once is set, until no build is left to try. */
ExitCode symbolize_run(const SymbolizeOptions *options);

#endif
