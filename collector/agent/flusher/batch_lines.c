/*
 * batch_lines.c
 *		Copies functions and lines of the symbolizer into a batch.
 */
#include "agent/flusher/batch_lines.h"

int
batch_lines_add(Batch *batch, const SymbolLines *symbols, BatchLine lines[BATCH_LINES_MAX],
				uint32_t *line_count)
{
	uint32_t count = symbols->count < BATCH_LINES_MAX ? symbols->count : BATCH_LINES_MAX;

	*line_count = 0;
	for (uint32_t i = 0; i < count; i++)
	{
		const SymbolLine *symbol = &symbols->lines[i];
		BatchFunction function = {
			.name = symbol->name,
			.system_name = symbol->system_name,
			.filename = symbol->filename,
			.start_line = symbol->start_line,
		};
		int result = batch_add_function(batch, &function, &lines[i].function);

		if (result != 0)
			return result;
		lines[i].line = symbol->line;
	}
	*line_count = count;
	return 0;
}
