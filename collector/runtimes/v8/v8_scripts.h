/*
 * v8_scripts.h
 *		Finds lines of positions in V8's scripts.
 *
 * For each script the number of lines before each piece of its source code is kept; the piece
 * itself is read again for each position.
 */
#ifndef COLLECTOR_V8_SCRIPTS_H
#define COLLECTOR_V8_SCRIPTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/allowance.h"
#include "runtimes/v8/v8_memory.h"

#define V8_SCRIPTS_MAX	16				   /* limit for a process */
#define V8_PIECE_LENGTH 16384			   /* characters */
#define V8_SOURCE_MAX	(16 * 1024 * 1024) /* in characters; longer code has no lines */

typedef struct V8Script
{
	uint64_t address;
	uint64_t id;	 /* V8's id, which is never reused */
	uint64_t source; /* the object whose pieces were counted */
	uint64_t used;	 /* number of the last use */
	uint32_t length; /* characters */
	uint32_t pieces;
	uint32_t *lines; /* number of lines before each piece */
} V8Script;

typedef struct V8Scripts
{
	uint64_t uses;
	uint64_t now_ns;	/* CLOCK_MONOTONIC, set by the caller */
	Allowance counting; /* allowance for counting lines, by the length of source code */
	V8Script scripts[V8_SCRIPTS_MAX];
} V8Scripts;

void v8_scripts_fini(V8Scripts *scripts);
size_t v8_scripts_bytes(const V8Scripts *scripts); /* its allocated bytes */

/* Returns the line of a position, counted from 1; 0 if it is unknown. */
int32_t v8_scripts_line(V8Scripts *scripts, V8Memory *memory, uint64_t address, uint64_t id,
						int32_t position);

#endif
