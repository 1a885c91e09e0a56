/*
 * code_namer.h
 *		Who knows the names of code that no file names.
 */
#ifndef COLLECTOR_CODE_NAMER_H
#define COLLECTOR_CODE_NAMER_H

#include <stdint.h>

#include "code/code_object.h"
#include "code/user_frame.h"
#include "process/exec_image.h"

/*
 * What a frame of the image executed at time_ns (CLOCK_MONOTONIC), held for the caller; NULL where
 * that is not known. A frame of machine code lies in memory without a file. Called by the walker
 * thread with the reader's lock, so it waits for nobody.
 */
typedef CodeObject *(*CodeNamerName)(void *context, const ExecImage *image, const UserFrame *frame,
									 uint64_t time_ns);

/* Zeroed: nobody. */
typedef struct CodeNamer
{
	CodeNamerName name;
	void *context;
	CodeTable *table; /* that its objects come from; outlives all intervals */
} CodeNamer;

#endif
