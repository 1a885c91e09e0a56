/*
 * gpu_join.h
 *		Joins the stacks of launches with the kernels that programs' GPU libraries report.
 *
 * A kept launch waits for the window that reports its kernels, and a window waits for the stacks of
 * its launches, at most 10 s. Then the time of each kernel is added to the interval: its parts
 * under the stacks of launches, with the kernel as innermost frame. Walker thread, with the lock.
 */
#ifndef COLLECTOR_GPU_JOIN_H
#define COLLECTOR_GPU_JOIN_H

#include "agent/reader/reader_parts.h"

/* Keeps the stack of a launch. */
void gpu_join_keep(Reader *reader, const Record *record, Process *process, const UserWalk *walk);

/* Takes the rows of a record. The lock may be released meanwhile. */
void gpu_join_take_rows(Reader *reader, const Record *record);

/* Adds the windows that have waited long enough; if all is true, all of them. */
void gpu_join_settle(Reader *reader, bool all);

/* Forgets programs that have sent nothing for a while. */
void gpu_join_sweep(Reader *reader);

#endif
