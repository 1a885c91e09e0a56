/*
 * recording.h
 *		A moment of a process: the data of a sample, and the stack that the C library's unwinder
 *		found.
 *
 * A file contains recordings one after the other, each followed by its stack_bytes bytes of stack.
 * The numbers of registers are DWARF's for the recording machine; the walker that replays must be
 * for the same architecture.
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
	uint64_t offset; /* offset in the file */
	char path[232];	 /* empty if there is no file */
} RecordedSpan;

typedef struct Recording
{
	char name[32];
	uint64_t registers[RECORDING_REGISTERS];
	uint64_t frame_count;
	uint64_t frames[RECORDING_FRAMES]; /* innermost first; the first is only near the recorded pc */
	uint64_t signals;				   /* frames that a signal interrupted, except the innermost */
	uint64_t span_count;
	RecordedSpan spans[RECORDING_SPANS];
	uint64_t stack_address;
	uint64_t stack_bytes;
} Recording;

#endif
