/*
 * exec_image.h
 *		An exec image: the program that a process executes from one exec to the next.
 *
 * The three members together are unique: they differ after an exec, and for a new process that gets
 * the same pid.
 */
#ifndef COLLECTOR_EXEC_IMAGE_H
#define COLLECTOR_EXEC_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ExecImage
{
	uint32_t pid;
	uint64_t start_time_ns; /* start of the process since boot */
	uint64_t exec_id;		/* number of execs in the process so far */
} ExecImage;

static inline bool
exec_image_equal(const ExecImage *a, const ExecImage *b)
{
	return a->pid == b->pid && a->start_time_ns == b->start_time_ns && a->exec_id == b->exec_id;
}

#endif
