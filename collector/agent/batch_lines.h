/*
 * batch_lines.h
 *		The symbolizer's answer to an address as a location's lines in a batch.
 */
#ifndef COLLECTOR_BATCH_LINES_H
#define COLLECTOR_BATCH_LINES_H

#include <stdint.h>

#include "batch/batch.h"
#include "symbols/symbol_line.h"

#define BATCH_LINES_MAX 64 /* inlined calls at one address */

/* Adds the functions and fills in the lines, of BATCH_LINES_MAX at most. 0, or as batch_add. */
int batch_lines_add(Batch *batch, const SymbolLines *symbols, BatchLine lines[BATCH_LINES_MAX],
					uint32_t *line_count);

#endif
