/*
 * stacks.h
 *		Converts lists of locations to stacks of a batch.
 *
 * A location is a struct of address, frame_type, mapping_file, mapping_build_id and lines; in the
 * first version also mapping_start, mapping_limit and mapping_offset. A line is a struct of line
 * and function, a struct of system_name, filename and start_line; in the first version it has the
 * fields function_name, function_system_name, function_filename and function_start_line instead. An
 * absent field counts as 0 or "".
 */
#ifndef COLLECTOR_ARROW_STACKS_H
#define COLLECTOR_ARROW_STACKS_H

#include "arrow/work.h"

#define ARROW_STACK_DEPTH_MAX 8192
#define ARROW_LINES_MAX		  1024

typedef struct FunctionColumns
{
	ArrowArray *items; /* the struct */
	ArrowArray *name;
	ArrowArray *system_name;
	ArrowArray *filename;
	ArrowArray *start_line;
} FunctionColumns;

typedef struct LocationColumns
{
	ArrowArray *items; /* the struct */
	ArrowArray *address;
	ArrowArray *frame_type;
	ArrowArray *file;
	ArrowArray *build_id;
	ArrowArray *start;
	ArrowArray *limit;
	ArrowArray *offset;
	ArrowArray *lines;
	ArrowArray *line;
	ArrowArray *function; /* NULL if a line has the fields of its function */
	FunctionColumns functions;
} LocationColumns;

/* Properties of a location that determine the partition of its stacks. */
typedef struct FrameOrigin
{
	bool is_user; /* not a frame of the kernel */
	/* build ID of a file that may be the executable; NULL: the file cannot be */
	const char *program;
} FrameOrigin;

typedef struct StackReader
{
	ArrowWork *work;
	ArrowArray *stacks;
	LocationColumns columns;
	FrameOrigin *origins; /* by the batch's index of the location */
	size_t origin_capacity;
	uint32_t *frames; /* scratch space for the locations of a stack */
	BatchLine *lines; /* scratch */
} StackReader;

/* Opens a column of lists of locations. The caller closes the reader, even after a failure. */
bool stack_reader_open(StackReader *reader, ArrowWork *work, ArrowArray *stacks);
void stack_reader_close(StackReader *reader);

/* Finds the range of locations of a row's stack. */
bool stack_reader_range(StackReader *reader, uint32_t row, uint32_t *first, uint32_t *count);

/* Adds the stack of a range of locations to the batch, and returns the batch's index of it. */
bool stack_reader_add(StackReader *reader, uint32_t first, uint32_t count, uint32_t *index);

#endif
