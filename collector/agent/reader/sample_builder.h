/*
 * sample_builder.h
 *		Turns a record and its walked stack into a sample of the interval.
 */
#ifndef COLLECTOR_SAMPLE_BUILDER_H
#define COLLECTOR_SAMPLE_BUILDER_H

#include "agent/reader/reader_parts.h"

/*
 * Adds a sample to the interval. With the lock, which may be released meanwhile. The sample is
 * counted as lost if process is NULL (out of memory) or the interval is full.
 */
void sample_build(Reader *reader, const Record *record, Process *process, const UserWalk *walk);

#endif
