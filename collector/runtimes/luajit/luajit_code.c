/*
 * luajit_code.c
 *		Reads many prototypes with few calls: the prototypes, heads of the names of their chunks,
 *		then the names and tables of lines, and the prototypes and heads again.
 */
#include "runtimes/luajit/luajit_code.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "code/code_object.h"
#include "luajit_check.h"
#include "runtimes/common/fetch.h"

#define STRING_TYPE 4 /* second byte of the first word */
#define STRING_TEXT 24

#define CODE_WORDS_MAX (1U << 16) /* longer functions have no lines */

/*
 * The size of a difference, one, two or four bytes, depends on the number of the function's lines.
 */
#define LINES_NARROW 256U
#define LINES_MIDDLE 65536U

/* State of reading one prototype. */
typedef struct Prototype
{
	__u64 words[PFS_LUAJIT_PROTO_WORDS];
	bool valid;
	__u64 chunk[PFS_LUAJIT_STRING_WORDS];
	char name[CODE_TEXT_BYTES + 1];
	LuajitLines *lines;
	size_t lines_bytes;
} Prototype;

typedef struct Batch
{
	size_t count;
	CodeWanted *wanted;
	Fetch fetch;
	Prototype prototypes[RUNTIME_CODES_MAX];
} Batch;

static uint64_t
chunk_of(const Prototype *prototype)
{
	return PFS_LUAJIT_REFERENCE(prototype->words[PFS_LUAJIT_PROTO_CHUNK]);
}

/*
 * Reads the prototypes and the heads of their chunks' names, and marks those that have not changed
 * since the sample.
 */
static void
read_prototypes(Batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
	{
		Prototype *prototype = &batch->prototypes[i];

		fetch_add(&batch->fetch, batch->wanted[i].key.address, prototype->words,
				  sizeof(prototype->words));
	}
	fetch_run(&batch->fetch);
	for (size_t i = 0; i < batch->count; i++)
		fetch_add(&batch->fetch, chunk_of(&batch->prototypes[i]) + PFS_LUAJIT_STRING_FIRST,
				  batch->prototypes[i].chunk, sizeof(batch->prototypes[i].chunk));
	fetch_run(&batch->fetch);
	for (size_t i = 0; i < batch->count; i++)
	{
		Prototype *prototype = &batch->prototypes[i];

		prototype->valid =
			pfs_luajit_check(prototype->words, prototype->chunk) == batch->wanted[i].key.check;
	}
}

static uint32_t
luajit_line_count(const Prototype *prototype)
{
	return (uint32_t) (prototype->words[PFS_LUAJIT_PROTO_LINES] >> 32);
}

static size_t
difference_bytes(uint32_t count)
{
	return count < LINES_NARROW ? 1 : count < LINES_MIDDLE ? 2 : 4;
}

/* Adds a read of the table of lines, which has no entry for the function's first instruction. */
static void
luajit_fetch_lines(Batch *batch, Prototype *prototype)
{
	uint32_t size = (uint32_t) (prototype->words[PFS_LUAJIT_PROTO_SIZE] >> 32);
	uint64_t table = prototype->words[PFS_LUAJIT_PROTO_TABLE];

	if (!prototype->valid || size < 2 || size > CODE_WORDS_MAX || table == 0)
		return;
	prototype->lines_bytes = (size - 1) * difference_bytes(luajit_line_count(prototype));
	prototype->lines = malloc(sizeof(*prototype->lines) + prototype->lines_bytes);
	if (prototype->lines == NULL)
		return;
	prototype->lines->line_count = luajit_line_count(prototype);
	fetch_add(&batch->fetch, table, prototype->lines->differences, prototype->lines_bytes);
}

static void
luajit_read_contents(Batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
	{
		Prototype *prototype = &batch->prototypes[i];
		uint32_t length = (uint32_t) (prototype->chunk[1] >> 32);

		if (!prototype->valid || PFS_LUAJIT_TYPE(prototype->chunk[0]) != STRING_TYPE)
			length = 0;
		fetch_add(&batch->fetch, chunk_of(prototype) + STRING_TEXT, prototype->name,
				  length < CODE_TEXT_BYTES ? length : CODE_TEXT_BYTES);
		luajit_fetch_lines(batch, prototype);
	}
	fetch_run(&batch->fetch);
}

/*
 * Returns the source of the chunk: "@" begins the name of a file, "=" a description, and any other
 * text is the code itself.
 */
static char *
file_of(const Prototype *prototype)
{
	const char *name = prototype->name;
	char text[80];

	if (name[0] == '@' || name[0] == '=')
		return utf8_replace_invalid(name + 1);
	snprintf(text, sizeof(text), "[string \"%.*s\"]", (int) strcspn(name, "\n"), name);
	return utf8_replace_invalid(text);
}

/* Returns the last part of the file's name and the line; NULL: out of memory. */
static char *
luajit_name_of(const char *file, int32_t line)
{
	const char *slash = file[0] != '[' ? strrchr(file, '/') : NULL;
	char text[CODE_TEXT_BYTES + 16];

	if (line == 0)
		snprintf(text, sizeof(text), "main chunk of %s", slash != NULL ? slash + 1 : file);
	else
		snprintf(text, sizeof(text), "%s:%d", slash != NULL ? slash + 1 : file, (int) line);
	return utf8_replace_invalid(text);
}

static void
luajit_take_code(Prototype *prototype, RuntimeCode *code)
{
	int32_t first = (int32_t) prototype->words[PFS_LUAJIT_PROTO_LINES];

	code->file = prototype->name[0] != '\0' ? file_of(prototype) : NULL;
	code->name = code->file != NULL ? luajit_name_of(code->file, first) : NULL;
	if (code->name == NULL)
	{
		runtime_code_fini(code);
		return;
	}
	code->first_line = first;
	if (prototype->lines == NULL)
		return;
	code->lines = (uint8_t *) prototype->lines;
	code->lines_bytes = sizeof(*prototype->lines) + prototype->lines_bytes;
	prototype->lines = NULL;
}

void
luajit_codes_read(RemoteMemory *memory, CodeWanted *wanted, size_t count)
{
	Batch *batch = calloc(1, sizeof(*batch));

	if (!code_wanted_begin(wanted, count) || batch == NULL)
	{
		free(batch);
		return;
	}
	batch->fetch.memory = memory;
	batch->count = count;
	batch->wanted = wanted;
	read_prototypes(batch);
	luajit_read_contents(batch);
	read_prototypes(batch);
	for (size_t i = 0; i < count; i++)
	{
		if (batch->prototypes[i].valid)
			luajit_take_code(&batch->prototypes[i], &wanted[i].code);
		free(batch->prototypes[i].lines);
	}
	free(batch);
}

int32_t
luajit_line(const RuntimeCode *code, uint32_t position)
{
	const LuajitLines *lines = (const LuajitLines *) (const void *) code->lines;
	uint32_t difference = 0;
	size_t width;
	size_t at;

	/* positions count from 1, and the first instruction has no entry */
	if (position == 0 || lines == NULL || code->lines_bytes < sizeof(*lines))
		return 0;
	if (position == 1)
		return code->first_line;
	width = difference_bytes(lines->line_count);
	at = (position - 2) * width;
	if (at + width > code->lines_bytes - sizeof(*lines))
		return 0;
	memcpy(&difference, lines->differences + at, width); /* little-endian */
	return (int32_t) ((uint32_t) code->first_line + difference);
}
