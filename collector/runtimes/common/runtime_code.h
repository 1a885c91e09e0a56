/*
 * runtime_code.h
 *		A function of an interpreter, read from the memory of the process that runs it.
 *
 * An object is read a moment after it was sampled. By then another object may have taken its place:
 * its data is used only if its check equals the sample's, before and after its strings are read.
 */
#ifndef COLLECTOR_RUNTIME_CODE_H
#define COLLECTOR_RUNTIME_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/code_object.h"

#define RUNTIME_CODES_MAX 64 /* objects that are read together */

typedef struct RuntimeCode RuntimeCode;

/* All strings and tables are on the heap and owned by the struct. */
struct RuntimeCode
{
	char *name;			/* NULL: unknown */
	char *file;			/* not NULL if name is not */
	int32_t first_line; /* first line of the function; 0: unknown */
	int32_t line;		/* line of the frame, if the key identifies an instruction; 0: unknown */
	size_t lines_bytes;
	uint8_t *lines;		 /* the table of lines in the runtime's format; NULL: there is none */
	CodeHint hint;		 /* of the names that were made of the strings */
	RuntimeCode *caller; /* the function that this one was inlined into; NULL: none */
};

/* The identity of an object within its process. */
typedef struct CodeKey
{
	uint64_t address;
	uint64_t check; /* hash of its content at the time of the sample */
} CodeKey;

typedef struct CodeWanted
{
	CodeKey key;
	const uint64_t *more; /* further words of the sampled frame */
	uint32_t more_count;
	RuntimeCode code; /* out; zeroed: the object is not the sampled one, or unreadable */
} CodeWanted;

/*
 * Zeroes the code of each object before it is read. Returns false if there are too many for one
 * read.
 */
static inline bool
code_wanted_begin(CodeWanted *wanted, size_t count)
{
	for (size_t i = 0; i < count; i++)
		wanted[i].code = (RuntimeCode){ 0 };
	return count <= RUNTIME_CODES_MAX;
}

/* Frees the object's members, and zeroes it. */
void runtime_code_fini(RuntimeCode *code);

/* Returns the bytes of the object's strings and tables. */
size_t runtime_code_bytes(const RuntimeCode *code);

#endif
