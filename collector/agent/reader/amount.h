/*
 * amount.h
 *		Amounts that another source than the kernel's records measured: each belongs to a process or
 *		to the host, and has a stack of one frame, the device.
 */
#ifndef COLLECTOR_AMOUNT_H
#define COLLECTOR_AMOUNT_H

#include <stdint.h>

#include "agent/reader/reader_options.h"
#include "batch/batch.h"
#include "code/code_object.h"
#include "events.h"

typedef struct ReaderAmount
{
	enum pfs_kind kind;
	uint32_t pid;	  /* process that the amount belongs to; 0: the host */
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t value;
	CodeObject *frame;		  /* borrowed */
	const BatchLabel *labels; /* added to the labels of the process or host */
	uint32_t label_count;
} ReaderAmount;

/*
 * Adds an amount to the interval, or counts it as lost if the interval is full. If the process has
 * ended, the amount is added to the host's. Any thread.
 */
void reader_add_amount(Reader *reader, const ReaderAmount *amount);

/*
 * Returns the time, in microseconds, under which an amount measured at time_ns is stored. Any
 * thread.
 */
int64_t reader_stored_time(Reader *reader, uint64_t time_ns);

#endif
