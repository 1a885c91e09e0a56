/*
 * name_lines.h
 *		Names that a file gives to addresses, apart from its stacks. Knows no server header.
 */
#ifndef PFS_NAME_LINES_H
#define PFS_NAME_LINES_H

#include "formats/text_index.h"

/* A line of a location, in whatever order the file has them. */
typedef struct PfsNameLine
{
	uint32_t location;
	uint32_t order; /* in which it came */
	PfsProfileLine line;
} PfsNameLine;

typedef struct PfsNameLines
{
	PfsProfile *profile;
	PfsTextIndex functions; /* by name */
	PfsNameLine *lines;
	uint32_t count;
} PfsNameLines;

void pfs_name_lines_init(PfsNameLines *names, PfsProfile *profile);
void pfs_name_lines_fini(PfsNameLines *names);

/*
 * Adds the next line of a location, innermost first. The file is that of the function's first line.
 * False where memory or budget are out.
 */
bool pfs_name_lines_add(PfsNameLines *names, uint32_t location, PfsText name, PfsText file,
						int32_t line);

/* Gives the locations their lines; PFS_READ_TOO_LARGE for too many of one, or without memory. */
PfsReadStatus pfs_name_lines_finish(PfsNameLines *names, PfsReadError *error);

#endif
