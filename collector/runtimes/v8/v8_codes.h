/*
 * v8_codes.h
 *		The pieces of machine code that V8 has made in a process.
 *
 * An object before the code leads to V8's description of it. It is found by looking back from an
 * instruction, so it is the one that is really there. Later code may replace it: a piece is used
 * for a sample only if it existed before the sample and still exists after it.
 */
#ifndef COLLECTOR_V8_CODES_H
#define COLLECTOR_V8_CODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/allowance.h"
#include "runtimes/v8/v8_memory.h"

#define V8_CODES_MAX 512 /* limit for a process; the least recently used one is dropped */

typedef struct V8Code
{
	uint64_t start; /* half-open */
	uint64_t end;
	uint64_t head;		/* the object before the code; 0: not found */
	uint64_t map;		/* the head's map */
	uint64_t object;	/* Code */
	uint64_t positions; /* objects that it refers to */
	uint64_t deopt;
	uint64_t check;		  /* hash of its fields */
	uint64_t verified_ns; /* CLOCK_MONOTONIC */
	uint64_t used_ns;
	uint32_t kind;		 /* CodeKind */
	uint32_t generation; /* no other piece of the process has the same one */
} V8Code;

typedef struct V8Codes
{
	uint32_t generations;
	uint32_t count;
	size_t room;
	Allowance searches;
	V8Code *codes; /* codes by ascending start, disjoint; owned */
} V8Codes;

void v8_codes_fini(V8Codes *codes);
size_t v8_codes_bytes(const V8Codes *codes); /* its allocated bytes */

/* Returns the code at an address; NULL if none is known. */
const V8Code *v8_codes_find(const V8Codes *codes, uint64_t address);

/*
 * Makes sure that the data of the code at an address was true after since_ns. now_ns: not later
 * than the first read.
 */
void v8_codes_verify(V8Codes *codes, V8Memory *memory, uint64_t address, uint64_t since_ns,
					 uint64_t now_ns);

/*
 * Like v8_codes_verify(), but for all pieces that were used within the last second, which are read
 * together. Pieces that have changed are dropped.
 */
void v8_codes_verify_used(V8Codes *codes, V8Memory *memory, uint64_t now_ns);

/* Notes that a piece is used. Returns whether v8_codes_verify() need not read anything. */
bool v8_codes_use(V8Codes *codes, uint64_t address, uint64_t since_ns, uint64_t now_ns);

/* Returns whether the piece is unchanged. */
bool v8_code_is_same(V8Memory *memory, const V8Code *code);

#endif
