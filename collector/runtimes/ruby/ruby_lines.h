/*
 * ruby_lines.h
 *		Lines of Ruby's instruction sequences.
 */
#ifndef COLLECTOR_RUBY_LINES_H
#define COLLECTOR_RUBY_LINES_H

#include <stddef.h>
#include <stdint.h>

/* A line, which is valid from a position up to the position of the next entry. */
typedef struct RubyLine
{
	uint32_t position; /* index of a word of the code */
	int32_t line;
} RubyLine;

/* Returns the size of the index, in bytes, of code with size words. */
size_t ruby_ranks_bytes(uint32_t size);

/*
 * Finds the position of each of count lines by the index of entries at or before each position.
 * Returns the number of lines that have a position. The index is memory of a process: size words of
 * code have ruby_ranks_bytes(size) bytes.
 */
size_t ruby_lines_of_ranks(const uint8_t *ranks, uint32_t size, const int32_t *lines, size_t count,
						   RubyLine *result);

/* Returns the line of a position; 0 if the table has none. */
int32_t ruby_line(const RubyLine *lines, size_t count, uint32_t position);

#endif
