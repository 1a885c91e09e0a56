/*
 * symbol_ask.h
 *		Terms of a question to the symbol worker: how long to wait, and which owners pay.
 */
#ifndef COLLECTOR_SYMBOL_ASK_H
#define COLLECTOR_SYMBOL_ASK_H

#include <stdint.h>

typedef struct SymbolAsk
{
	/*
	 * CLOCK_MONOTONIC. The worker continues after the deadline, so that the question can be
	 * repeated.
	 */
	int64_t deadline_ns;
	/*
	 * Accounts of the owners that map the file, one bit each (worker_accounts.h); 0: nobody is
	 * charged.
	 */
	uint64_t owners;
	/*
	 * Number of the interval in which the address was sampled. DWARF is read only for a binary that
	 * was also asked about in an earlier interval, because many programs of a build run once. 0:
	 * DWARF is read at once.
	 */
	uint32_t round;
} SymbolAsk;

/* Waits for the answer as long as the worker's own limits allow. */
#define SYMBOL_ASK_PATIENT ((SymbolAsk){ INT64_MAX, 0, 0 })

#endif
