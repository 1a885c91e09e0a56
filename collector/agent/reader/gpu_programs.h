/*
 * gpu_programs.h
 *		Programs that have loaded the GPU library: the launches whose stacks were sampled, the
 *		windows that wait for such stacks, and the names of kernels.
 *
 * All memory, also that of a window that is not complete and of names, is charged to a budget, of
 * which the programs of one owner may use a quarter, because a program can send anything. Callers
 * must hold the reader's lock.
 */
#ifndef COLLECTOR_GPU_PROGRAMS_H
#define COLLECTOR_GPU_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uthash.h>

#include "agent/reader/interval.h"
#include "code/code_object.h"
#include "gpu/gpu_window.h"
#include "labels/label_set.h"
#include "process/exec_image.h"
#include "process/mapped_file.h"

#define GPU_PROGRAMS_BYTES	  ((size_t) 24 << 20)
#define GPU_PROGRAM_LAUNCHES  2048
#define GPU_PROGRAM_WINDOWS	  16 /* windows that wait at a time */
#define GPU_UUID_TEXT_BYTES	  41
#define GPU_WINDOW_LABELS_MAX 64

/* A frame whose file or code object is held, so that it outlives the interval. */
typedef struct HeldFrame
{
	uint64_t address;
	void *item;
	uint32_t kind; /* FrameKind */
} HeldFrame;

/* A launch that was kept, with its stack. */
typedef struct GpuLaunch
{
	uint32_t correlation;
	uint32_t counted; /* serial number of the window that has counted the launch */
	uint64_t period;  /* number of launches of which this one was kept */
	uint64_t came_ns;
	uint8_t side; /* as in IntervalStack */
	uint8_t walk;
	uint16_t depth;
	UT_hash_handle hh;
	HeldFrame frames[]; /* innermost first */
} GpuLaunch;

/* The labels of the rows of a device, stream and copy direction. */
typedef struct GpuLabels
{
	uint16_t device;
	const char *copy; /* "" for kernels */
	uint32_t stream;
	LabelSet *labels;
} GpuLabels;

/* A window that waits for the stacks of its kept launches. */
typedef struct GpuWaiting
{
	struct GpuWaiting *next;
	GpuWindow window;
	uint64_t time_ns; /* CLOCK_MONOTONIC of its rows */
	uint64_t due_ns;
	size_t bytes;
	uint32_t labels_count;
	GpuLabels labels[GPU_WINDOW_LABELS_MAX];
} GpuWaiting;

/* The account of one owner: the memory that is charged for its programs. */
typedef struct GpuOwner
{
	uint64_t owner;
	size_t bytes;
	uint32_t programs;
	UT_hash_handle hh;
} GpuOwner;

typedef struct GpuProgram
{
	ExecImage image;
	GpuOwner *owner;
	uint64_t library;	 /* the library whose rows count; others of the program are ignored */
	uint64_t library_ns; /* when it last sent rows */
	uint64_t used_ns;
	size_t bytes;
	GpuDecoder decoder;
	size_t decoder_bytes; /* bytes charged for the decoder's incomplete window */
	uint64_t refused;	  /* counts of the decoder that were added to the losses */
	uint64_t busy;
	GpuLaunch *launches; /* by correlation */
	GpuWaiting *waiting; /* oldest first */
	MappedFile *executable;
	CodeObject **names; /* by number; NULL: none is known */
	uint32_t names_count;
	char uuids[PFS_GPU_DEVICES_MAX][GPU_UUID_TEXT_BYTES];
	UT_hash_handle hh;
} GpuProgram;

typedef struct GpuPrograms
{
	MappedFileTable *files;
	GpuProgram *programs;
	GpuOwner *owners;
	size_t bytes;
} GpuPrograms;

/* Returns the program of an image, adding it if needed; NULL if its owner has no room. */
GpuProgram *gpu_programs_get(GpuPrograms *programs, const ExecImage *image, uint64_t owner,
							 uint64_t now_ns);

/* Returns the program of an image; NULL if it is not known. */
GpuProgram *gpu_programs_find(const GpuPrograms *programs, const ExecImage *image);

/* Charges a program; returns false if its owner, or all together, have no room. */
bool gpu_program_charge(GpuPrograms *programs, GpuProgram *program, size_t bytes);
void gpu_program_release(GpuPrograms *programs, GpuProgram *program, size_t bytes);

GpuLaunch *gpu_program_launch(const GpuProgram *program, uint32_t correlation);

/*
 * Adds a launch, whose frames refer to the interval. Replaces one of the same correlation. Returns
 * false if there is no room.
 */
bool gpu_program_keep(GpuPrograms *programs, GpuProgram *program, const GpuLaunch *launch,
					  const Interval *interval, const IntervalStack *stack);

void gpu_program_forget(GpuPrograms *programs, GpuProgram *program, GpuLaunch *launch);

/* Frees a window, which must not be in the list any more. */
void gpu_waiting_free(GpuPrograms *programs, GpuProgram *program, GpuWaiting *waiting);

/* Sets the name of a kernel, which takes over the reference. Returns false if there is no room. */
bool gpu_program_name(GpuPrograms *programs, GpuProgram *program, uint32_t number,
					  CodeObject *name);

void gpu_programs_drop(GpuPrograms *programs, GpuProgram *program);
void gpu_programs_fini(GpuPrograms *programs);

#endif
