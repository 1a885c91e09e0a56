/*
 * runtime_code.h
 *		A function of an interpreter, as it was read out of the memory of the process that runs it.
 *
 * An object is read a moment after it was sampled. By then it may be gone, and another one in its
 * place: it counts only if its check is that of the sample, before and after its strings are read.
 */
#ifndef COLLECTOR_RUNTIME_CODE_H
#define COLLECTOR_RUNTIME_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUNTIME_CODES_MAX 64 /* objects that are read together */

typedef struct RuntimeCode RuntimeCode;

/* All of it is on the heap, and the object's owner's. */
struct RuntimeCode
{
	char *name;			/* NULL: it is not known */
	char *file;			/* not NULL if there is a name */
	int32_t first_line; /* of the function; 0: not known */
	int32_t line;		/* of the frame, if the key names an instruction; 0: not known */
	size_t lines_bytes;
	uint8_t *lines;		 /* the table of lines as the runtime has it; NULL: none */
	RuntimeCode *caller; /* the function that this one was inlined into; NULL: none */
};

/* The identity of an object within its process. */
typedef struct CodeKey
{
	uint64_t address;
	uint64_t check; /* of its content, at the moment of the sample */
} CodeKey;

typedef struct CodeWanted
{
	CodeKey key;
	const uint64_t *more; /* further words of the frame that it was sampled by */
	uint32_t more_count;
	RuntimeCode code; /* out; zeroed: the object is not the sampled one, or unreadable */
} CodeWanted;

/*
 * Zeroes the code of each object before it is read. Returns false if they are too many to be read
 * together.
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

/* The bytes that the object takes apart from its own struct. */
size_t runtime_code_bytes(const RuntimeCode *code);

#endif
