/*
 * ruby_lines.h
 *		Lines of Ruby's instruction sequences.
 */
#ifndef COLLECTOR_RUBY_LINES_H
#define COLLECTOR_RUBY_LINES_H

#include <stddef.h>
#include <stdint.h>

/* The line that holds from a position on, up to that of the next entry. */
typedef struct RubyLine
{
	uint32_t position; /* of a word of the code */
	int32_t line;
} RubyLine;

/* Bytes of the index of a code of so many words, as Ruby has it. */
size_t ruby_ranks_bytes(uint32_t size);

/*
 * Finds the position of each of count lines by the index, which has so many entries set at or
 * before each position. Returns how many lines have one. The index is memory of a process: size
 * words of code have ruby_ranks_bytes(size) bytes.
 */
size_t ruby_lines_of_ranks(const uint8_t *ranks, uint32_t size, const int32_t *lines, size_t count,
						   RubyLine *result);

/* The line of a position; 0 if the table has none. */
int32_t ruby_line(const RubyLine *lines, size_t count, uint32_t position);

#endif
