/*
 * code_object.h
 *		Functions of generated and interpreted code, which has no file: one object for each function
 *		in the agent.
 *
 * A namer adds the function while the process lives and its code is the sampled one. From then on
 * the object identifies the frame, because process and code may disappear. Objects are reference
 * counted, by namers and by the intervals that contain their frames. Any thread may call these
 * functions.
 */
#ifndef COLLECTOR_CODE_OBJECT_H
#define COLLECTOR_CODE_OBJECT_H

#include <stddef.h>
#include <stdint.h>

/* Strings are cut to this length at a character boundary, because processes choose them. */
#define CODE_TEXT_BYTES 512

typedef struct CodeTable CodeTable;
typedef struct CodeObject CodeObject;

/* The name of a function. Strings are never NULL; runtime and name are not empty. */
typedef struct CodeName
{
	const char *runtime; /* name of the runtime in brackets; stored as the mapping */
	const char *name;
	const char *file;	/* "" if not known */
	int32_t start_line; /* first line of the function; 0 if not known */
	int32_t line;		/* line of the frame; 0 if not known */
} CodeName;

typedef struct CodeTableStats
{
	size_t count;
	size_t bytes;
	uint64_t refused; /* number of additions that were refused for lack of room */
} CodeTableStats;

/* Makes a table whose objects take up to limit_bytes. Returns 0 or -ENOMEM. */
int code_table_create(size_t limit_bytes, CodeTable **table);
/* accepts NULL; all objects must have been released before */
void code_table_free(CodeTable *table);

/*
 * Returns a reference to the object with this name, adding it if needed. Returns NULL, and counts a
 * refusal, if there is no room or memory.
 */
CodeObject *code_table_add(CodeTable *table, const CodeName *name);

/*
 * The object that was last added for some strings, without a reference. It is alive if the table
 * has removed no object since then. A zeroed structure has no object.
 */
typedef struct CodeHint
{
	CodeObject *object;
	uint64_t removals;
} CodeHint;

/*
 * Like code_table_add(), but without a look at the strings if the hint's object has the name's
 * lines. Each hint must always come with the same table and strings. Updates the hint.
 */
CodeObject *code_table_add_again(CodeTable *table, const CodeName *name, CodeHint *hint);
void code_table_stats(CodeTable *table, CodeTableStats *stats);

CodeObject *code_object_retain(CodeObject *object);
void code_object_release(CodeObject *object); /* accepts NULL */

/* Returns the object's name, which is valid as long as the object is referenced. */
const CodeName *code_object_name(const CodeObject *object);

#endif
