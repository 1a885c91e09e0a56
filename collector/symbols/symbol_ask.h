/*
 * symbol_ask.h
 *		The terms of a question to the symbol worker: how long its answer is waited for, and who
 *		pays.
 */
#ifndef COLLECTOR_SYMBOL_ASK_H
#define COLLECTOR_SYMBOL_ASK_H

#include <stdint.h>

typedef struct SymbolAsk
{
	/* CLOCK_MONOTONIC; the worker goes on after that, and the question may be repeated */
	int64_t deadline_ns;
	/* accounts of those that mapped the file, a bit each (worker_accounts.h); 0: nobody pays */
	uint64_t owners;
	/*
	 * Number of the interval that the address was sampled in. DWARF is read of a binary that was
	 * asked about in an earlier one: many programs of a build run once. 0: it is read at once.
	 */
	uint32_t round;
} SymbolAsk;

/* Waits for any answer that the worker gives within its own limits. */
#define SYMBOL_ASK_PATIENT ((SymbolAsk){ INT64_MAX, 0, 0 })

#endif
