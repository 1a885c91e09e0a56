/*
 * code_namer.h
 *		Who knows the names of code that no file names.
 */
#ifndef COLLECTOR_CODE_NAMER_H
#define COLLECTOR_CODE_NAMER_H

#include <stdbool.h>
#include <stdint.h>

#include "code/code_object.h"
#include "code/user_frame.h"
#include "process/exec_image.h"

/* A walk whose frames are about to be named. */
typedef struct CodeWalk
{
	uint64_t time_ns; /* of the sample */
	const uint64_t *words;
	uint32_t count;
	bool is_generated;	 /* machine code without a file is among the frames, … */
	bool is_interpreted; /* … and interpreters' frames are */
} CodeWalk;

/*
 * What a frame of the image executed at time_ns (CLOCK_MONOTONIC), held for the caller; NULL where
 * that is not known. A frame of machine code lies in memory without a file. Called by the walker
 * thread with the reader's lock, so it waits for nobody.
 */
typedef CodeObject *(*CodeNamerName)(void *context, const ExecImage *image, const UserFrame *frame,
									 uint64_t time_ns);

/*
 * Frames of the image are about to be named. Called by the walker thread without the lock, so files
 * and memory may be read; now or never.
 */
typedef void (*CodeNamerPrepare)(void *context, const ExecImage *image, const CodeWalk *walk);

/* Forgets images that were not asked about for long: a few times a minute, as prepare is called. */
typedef void (*CodeNamerSweep)(void *context, uint64_t now_ns);

/* Zeroed: nobody. */
typedef struct CodeNamer
{
	CodeNamerName name;
	CodeNamerPrepare prepare; /* NULL: it needs none */
	CodeNamerSweep sweep;	  /* likewise */
	void *context;
	CodeTable *table; /* that its objects come from; outlives all intervals */
} CodeNamer;

#endif
