/*
 * spool_options.h
 *		The flags of a spool, which all commands that store samples share.
 */
#ifndef COLLECTOR_SPOOL_OPTIONS_H
#define COLLECTOR_SPOOL_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "program/flags.h"

typedef struct SpoolOptions
{
	const char *directory; /* used by this process only; "" or NULL: batches wait in memory only */
	size_t size_bytes;	   /* limit of all files */
	int64_t age_ms;		   /* limit of the age of a batch */
} SpoolOptions;

/* Sets the defaults, stores the flags at flags and returns their number. */
size_t spool_flags(SpoolOptions *options, Flag *flags);

#endif
