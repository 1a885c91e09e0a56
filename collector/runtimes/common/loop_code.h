/*
 * loop_code.h
 *		Code of an interpreter's loop.
 */
#ifndef COLLECTOR_LOOP_CODE_H
#define COLLECTOR_LOOP_CODE_H

#include <stdbool.h>
#include <stdint.h>

/* Half-open; ELF virtual addresses in a file, otherwise addresses in a process. */
typedef struct LoopCode
{
	uint64_t start;
	uint64_t end;
	bool is_caller; /* the function calls the loop: its frame and the loop's frame count as one */
	/*
	 * The function is not the loop, but may call the loop again, to continue the code that its
	 * calling loop executes (an eval in Perl): of these two loops only the inner one counts.
	 */
	bool is_resumer;
} LoopCode;

#endif
