/*
 * amount.h
 *		Amounts that no record of the kernel brings: they belong to a process or to the host, and
 *		have one frame, the device.
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
	const BatchLabel *labels; /* in addition to those of the process or host */
	uint32_t label_count;
} ReaderAmount;

/*
 * Adds an amount to the interval; it is counted as lost if that is full. An amount of a process
 * that has ended is added to those of the host. Any thread.
 */
void reader_add_amount(Reader *reader, const ReaderAmount *amount);

/* Returns the time at which an amount of that moment is stored, in microseconds. Any thread. */
int64_t reader_stored_time(Reader *reader, uint64_t time_ns);

#endif
