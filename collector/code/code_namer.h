/*
 * code_namer.h
 *		The interface of a source that names code without a file.
 */
#ifndef COLLECTOR_CODE_NAMER_H
#define COLLECTOR_CODE_NAMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/code_object.h"
#include "code/user_frame.h"
#include "process/exec_image.h"

/* A walk whose frames are about to be named. */
typedef struct CodeWalk
{
	uint64_t time_ns; /* time of the sample */
	const uint64_t *words;
	uint32_t count;
	bool is_generated;	 /* some frames are machine code without a file */
	bool is_interpreted; /* some frames are of an interpreter */
} CodeWalk;

#define CODE_INLINED_MAX 32 /* functions that one frame may stand for */

/*
 * Stores in objects references to the code that a frame of the image executed at time_ns
 * (CLOCK_MONOTONIC), and returns their number: one function, or several that were inlined into each
 * other, innermost first; 0 if the code is not known. A frame of machine code is in memory without
 * a file. Called by the walker thread with the reader's lock, so it must not block.
 */
typedef size_t (*CodeNamerName)(void *context, const ExecImage *image, const UserFrame *frame,
								uint64_t time_ns, CodeObject *objects[CODE_INLINED_MAX]);

/*
 * Announces that the frames of a walk in the image will be named. Called by the walker thread
 * without the lock, so it may read files and memory, which CodeNamerName must not do.
 */
typedef void (*CodeNamerPrepare)(void *context, const ExecImage *image, const CodeWalk *walk);

/*
 * Drops images that were not used for long. Called a few times a minute, in the thread that calls
 * prepare.
 */
typedef void (*CodeNamerSweep)(void *context, uint64_t now_ns);

/* A zeroed structure means that there is no namer. */
typedef struct CodeNamer
{
	CodeNamerName name;
	CodeNamerPrepare prepare; /* NULL if not needed */
	CodeNamerSweep sweep;	  /* NULL if not needed */
	void *context;
	CodeTable *table; /* table that owns the code objects; must outlive all intervals */
} CodeNamer;

#endif
