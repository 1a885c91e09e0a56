/*
 * recording.h
 *		A moment of a process: what a sample takes of it, and the stack that the C library's
 *		unwinder saw.
 *
 * A file holds recordings one after the other, each followed by its stack_bytes bytes of stack.
 * Only the machine that recorded gives registers their numbers (DWARF's); the walker that replays
 * must be of the same.
 */
#ifndef TEST_REPLAY_RECORDING_H
#define TEST_REPLAY_RECORDING_H

#include <stdint.h>

#define RECORDING_REGISTERS 33
#define RECORDING_FRAMES	128
#define RECORDING_SPANS		64

typedef struct RecordedSpan
{
	uint64_t start; /* executable mapping, half-open */
	uint64_t end;
	uint64_t offset; /* in the file */
	char path[232];	 /* empty where there is no file */
} RecordedSpan;

typedef struct Recording
{
	char name[32];
	uint64_t registers[RECORDING_REGISTERS];
	uint64_t frame_count;
	uint64_t frames[RECORDING_FRAMES]; /* innermost first; the first is only near the recorded pc */
	uint64_t signals; /* frames that a signal interrupted, the innermost left out */
	uint64_t span_count;
	RecordedSpan spans[RECORDING_SPANS];
	uint64_t stack_address;
	uint64_t stack_bytes;
} Recording;

#endif
