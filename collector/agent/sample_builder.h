/*
 * sample_builder.h
 *		From a record and its walked stack to a sample of the interval.
 */
#ifndef COLLECTOR_SAMPLE_BUILDER_H
#define COLLECTOR_SAMPLE_BUILDER_H

#include "agent/reader_parts.h"

/*
 * With the lock, which may be given back meanwhile. Adds a sample to the interval. Without a
 * process (NULL: no memory) or room it is counted as lost.
 */
void sample_build(Reader *reader, const Record *record, Process *process, const UserWalk *walk);

#endif
