/*
 * code_object.h
 *		Functions of code that no file names, generated and interpreted: each once in the agent.
 *
 * Whoever reads such names adds them while the process lives and its code is what was sampled. From
 * then on the object stands for the frame, and its address for name, file and line: processes come
 * and go, and so does their code. An object is counted by those who hold it (who reads names, and
 * intervals whose frames it is), and goes with the last of them. Any thread may call these
 * functions.
 */
#ifndef COLLECTOR_CODE_OBJECT_H
#define COLLECTOR_CODE_OBJECT_H

#include <stddef.h>
#include <stdint.h>

/* Strings are cut to so many bytes, between two characters: they come from any process. */
#define CODE_TEXT_BYTES 512

typedef struct CodeTable CodeTable;
typedef struct CodeObject CodeObject;

/* Strings are never NULL, and runtime and name not empty. */
typedef struct CodeName
{
	const char *runtime; /* whose code, in brackets; stands for the mapping */
	const char *name;
	const char *file;	/* "" where not known */
	int32_t start_line; /* of the function; 0 where not known */
	int32_t line;		/* of the frame; 0 likewise */
} CodeName;

typedef struct CodeTableStats
{
	size_t count;
	size_t bytes;
	uint64_t refused; /* times that there was no room */
} CodeTableStats;

/* Objects take limit_bytes together at most. 0 or -ENOMEM. */
int code_table_create(size_t limit_bytes, CodeTable **table);
void code_table_free(CodeTable *table); /* accepts NULL; no object may be held any more */

/* The object of that name, held for the caller. NULL, and counted, without room or memory. */
CodeObject *code_table_add(CodeTable *table, const CodeName *name);
void code_table_stats(CodeTable *table, CodeTableStats *stats);

CodeObject *code_object_retain(CodeObject *object);
void code_object_release(CodeObject *object); /* accepts NULL */

/* Valid as long as the object is held. */
const CodeName *code_object_name(const CodeObject *object);

#endif
