/*
 * batch_lines.h
 *		Copies the symbolizer's answer for an address into a batch, as the lines of a location.
 */
#ifndef COLLECTOR_BATCH_LINES_H
#define COLLECTOR_BATCH_LINES_H

#include <stdint.h>

#include "batch/batch.h"
#include "symbols/worker/symbol_line.h"

#define BATCH_LINES_MAX 64 /* limit of inlined calls at one address */

/*
 * Adds the functions to the batch and fills in at most BATCH_LINES_MAX lines. Returns 0, or an
 * error of batch_add_function().
 */
int batch_lines_add(Batch *batch, const SymbolLines *symbols, BatchLine lines[BATCH_LINES_MAX],
					uint32_t *line_count);

#endif
