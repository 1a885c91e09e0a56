/*
 * symbolize.h
 *		The sub-command "symbolize": names and lines for addresses that are stored without.
 *
 * A binary in production is stripped, and its debug information may come a day after its samples.
 * The database lists the builds with open addresses (profstore.symbol_work). The command claims one
 * after the other, finds debug information by build ID, and stores better answers. Stored samples
 * have names and lines from then on. Several processes may run at once.
 */
#ifndef COLLECTOR_SYMBOLIZE_H
#define COLLECTOR_SYMBOLIZE_H

#include "symbolize/symbolize_options.h"

/* Runs until SIGTERM or SIGINT or, with once, until no build is left to try. */
ExitCode symbolize_run(const SymbolizeOptions *options);

#endif
