/*
 * run_frames.h
 *		The records of a run as stacks of frames: each address becomes an offset in the file that
 *		was mapped there at that time.
 *
 * Files belong to the list, so that their numbers stay valid over all runs of the command.
 */
#ifndef COLLECTOR_RUN_FRAMES_H
#define COLLECTOR_RUN_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "ci/run_events.h"

/* Kinds of frames that are not an offset in a file, in the place of the file's number. */
#define RUN_FRAME_KERNEL  UINT32_MAX
#define RUN_FRAME_CODE	  (UINT32_MAX - 1) /* generated code */
#define RUN_FRAME_UNKNOWN (UINT32_MAX - 2) /* no mapping is known */

/* The most frames of a sample; the rest is left out. */
#define RUN_FRAMES_MAX 512

typedef struct RunFrame
{
	uint32_t file;
	uint64_t address; /* offset in the file; of kernel frames the address */
} RunFrame;

/* Called with each sample: frames from the leaf on, and the file of the process's first mapping. */
typedef int (*RunSampleHandler)(void *context, const RunFrame *frames, size_t count,
								uint32_t executable);

typedef struct RunFiles
{
	Budget budget;
	Arena arena; /* paths */
	Table table; /* table of const char *: the number of a file is its position */
} RunFiles;

void run_files_init(RunFiles *files); /* files must not move afterwards */
void run_files_fini(RunFiles *files);

const char *run_files_path(const RunFiles *files, uint32_t number);

/*
 * Passes all samples to the handler, oldest first. Of addresses that a call returns to, the frame
 * has the address before. Returns 0, -ENOMEM or an error of the handler.
 */
int run_frames_replay(RunEvents *events, RunFiles *files, RunSampleHandler handler, void *context);

#endif
