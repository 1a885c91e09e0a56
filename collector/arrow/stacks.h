/*
 * stacks.h
 *		Lists of locations as stacks of a batch.
 *
 * A location is a struct: address, frame_type, mapping_file, mapping_build_id, lines and in the
 * first version mapping_start, mapping_limit, mapping_offset. A line is a struct: line, and either
 * function, a struct of system_name, filename, start_line, or those by themselves (function_name,
 * function_system_name, function_filename, function_start_line). What is not there is nothing.
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
	ArrowArray *function; /* where functions stand by themselves */
	FunctionColumns functions;
} LocationColumns;

/* What a location tells of the partition of its stacks. */
typedef struct FrameOrigin
{
	bool is_user;
	const char *program; /* build id of what may be the executable; NULL: it is not */
} FrameOrigin;

typedef struct StackReader
{
	ArrowWork *work;
	ArrowArray *stacks;
	LocationColumns columns;
	FrameOrigin *origins; /* by the batch's number of the location */
	size_t origin_capacity;
	uint32_t *frames; /* scratch: a stack's locations */
	BatchLine *lines; /* scratch */
} StackReader;

/* For a column of lists of locations. To be closed in either case. */
bool stack_reader_open(StackReader *reader, ArrowWork *work, ArrowArray *stacks);
void stack_reader_close(StackReader *reader);

/* Which locations the stack of a row has. */
bool stack_reader_range(StackReader *reader, uint32_t row, uint32_t *first, uint32_t *count);

/* The batch's index of the stack of these locations. */
bool stack_reader_add(StackReader *reader, uint32_t first, uint32_t count, uint32_t *index);

#endif
