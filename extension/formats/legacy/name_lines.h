/*
 * name_lines.h
 *		Names that a file gives to addresses separately from its stacks. Includes no server header.
 */
#ifndef PFS_NAME_LINES_H
#define PFS_NAME_LINES_H

#include "formats/text_index.h"

/* A line of a location. */
typedef struct PfsNameLine
{
	uint32_t location;
	uint32_t order; /* order in which the line was added */
	PfsProfileLine line;
} PfsNameLine;

typedef struct PfsNameLines
{
	PfsProfile *profile;
	PfsTextIndex functions; /* functions by name */
	PfsNameLine *lines;
	uint32_t count;
} PfsNameLines;

void pfs_name_lines_init(PfsNameLines *names, PfsProfile *profile);
void pfs_name_lines_fini(PfsNameLines *names);

/*
 * Adds the next line of a location, innermost first. A function's file is that of its first line.
 * Returns false if out of memory or budget.
 */
bool pfs_name_lines_add(PfsNameLines *names, uint32_t location, PfsText name, PfsText file,
						int32_t line);

/*
 * Gives the locations their lines. Returns PFS_READ_TOO_LARGE for too many lines of a location, or
 * PFS_READ_NO_MEMORY.
 */
PfsReadStatus pfs_name_lines_finish(PfsNameLines *names, PfsReadError *error);

#endif
