/*
 * python_lines.h
 *		Finds lines of CPython's code objects in the table that each version keeps.
 */
#ifndef COLLECTOR_PYTHON_LINES_H
#define COLLECTOR_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

/*
 * Returns the line of an instruction, counted in units of two bytes (-1: none was executed yet); 0
 * if it has no line, or is beyond the table. first_line is the function's.
 */
int32_t python_line(uint32_t minor, const uint8_t *table, size_t length, int32_t first_line,
					int32_t instruction);

#endif
