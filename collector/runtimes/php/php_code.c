/*
 * php_code.c
 *		Reads many functions with few calls.
 *
 * 1. The functions, and the heads of their names: the check needs the hashes in these.
 * 2. The name of each class.
 * 3. The characters of the strings.
 * 4. The functions and the heads again: a function that is the same at the end was so all the time.
 */
#include "runtimes/php/php_code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code/code_object.h"
#include "php_frame.h"
#include "runtimes/common/remote_text.h"

#define CLASS_NAME		  8
#define STRING_CHARACTERS 24
#define STRING_WORDS	  3 /* words of the head: counts, hash, length */
#define FUNCTION_WORDS	  32

#define FRAME_FUNCTION	  3 /* index of a frame's word, as in bpf/php.bpf.h */
#define FRAME_PREVIOUS	  6
#define FRAME_WORDS		  7
#define FRAMES_LOOKED_AT  32
#define INSTRUCTION_BYTES 32

/* Strings in the memory of the process, by the index of their function: names, files or classes. */
typedef struct PhpStrings
{
	uint64_t addresses[RUNTIME_CODES_MAX]; /* 0: there is none */
	uint64_t hashes[RUNTIME_CODES_MAX];
	RemoteText texts[RUNTIME_CODES_MAX];
} PhpStrings;

typedef struct PhpBatch
{
	RemoteMemory *memory;
	const struct pfs_php_layout *layout;
	CodeWanted *wanted;
	size_t count;
	bool valid[RUNTIME_CODES_MAX];
	uint64_t functions[RUNTIME_CODES_MAX][FUNCTION_WORDS];
	PhpStrings names;
	PhpStrings files;
	PhpStrings classes;
} PhpBatch;

/* Reads the functions. The type of an unreadable function is set to 0. */
static void
php_read_functions(PhpBatch *batch)
{
	uint64_t words[RUNTIME_CODES_MAX * PFS_PHP_FUNCTION_WORDS];
	uint64_t heads[RUNTIME_CODES_MAX * PFS_PHP_INTERNAL_WORDS];
	uint64_t addresses[RUNTIME_CODES_MAX];
	bool had[RUNTIME_CODES_MAX];

	for (size_t i = 0; i < batch->count; i++)
		addresses[i] = batch->wanted[i].key.address;
	remote_words_read(batch->memory, addresses, batch->count, PFS_PHP_FUNCTION_WORDS, words, had);
	for (size_t i = 0; i < batch->count; i++)
	{
		memcpy(batch->functions[i], words + i * PFS_PHP_FUNCTION_WORDS,
			   PFS_PHP_FUNCTION_WORDS * sizeof(*words));
		if (had[i])
			addresses[i] = 0;
	}
	remote_words_read(batch->memory, addresses, batch->count, PFS_PHP_INTERNAL_WORDS, heads, had);
	for (size_t i = 0; i < batch->count; i++)
	{
		const uint64_t *head = heads + i * PFS_PHP_INTERNAL_WORDS;

		if (had[i] && (uint8_t) head[PFS_PHP_FUNCTION_TYPE] == PFS_PHP_INTERNAL)
			memcpy(batch->functions[i], head, PFS_PHP_INTERNAL_WORDS * sizeof(*head));
	}
}

static bool
php_is_internal(const PhpBatch *batch, size_t i)
{
	return (uint8_t) batch->functions[i][PFS_PHP_FUNCTION_TYPE] == PFS_PHP_INTERNAL;
}

static bool
php_is_script(const PhpBatch *batch, size_t i)
{
	uint8_t type = (uint8_t) batch->functions[i][PFS_PHP_FUNCTION_TYPE];

	return type == PFS_PHP_USER || type == PFS_PHP_EVAL;
}

/* Reads the heads of strings: their hashes, and the positions of their characters. */
static void
php_read_heads(const PhpBatch *batch, PhpStrings *strings)
{
	uint64_t heads[RUNTIME_CODES_MAX * STRING_WORDS];
	bool had[RUNTIME_CODES_MAX];

	remote_words_read(batch->memory, strings->addresses, batch->count, STRING_WORDS, heads, had);
	for (size_t i = 0; i < batch->count; i++)
	{
		strings->hashes[i] = heads[i * STRING_WORDS + 1];
		strings->texts[i].address = strings->addresses[i] + STRING_CHARACTERS;
		strings->texts[i].bytes = had[i] ? heads[i * STRING_WORDS + 2] : 0;
	}
}

/* Reads the functions, and marks those that have not changed since the sample. */
static void
php_read_sampled(PhpBatch *batch)
{
	php_read_functions(batch);
	for (size_t i = 0; i < batch->count; i++)
	{
		const uint64_t *function = batch->functions[i];

		batch->names.addresses[i] = function[PFS_PHP_FUNCTION_NAME];
		batch->files.addresses[i] =
			php_is_script(batch, i) ? function[batch->layout->function_file & 31] : 0;
	}
	php_read_heads(batch, &batch->names);
	php_read_heads(batch, &batch->files);
	for (size_t i = 0; i < batch->count; i++)
		batch->valid[i] = (php_is_internal(batch, i) || php_is_script(batch, i)) &&
						  pfs_php_check(batch->layout, (const __u64 *) batch->functions[i],
										batch->names.hashes[i], batch->files.hashes[i]) ==
							  PFS_PHP_CHECK(batch->wanted[i].key.check);
}

/* Reads the names of the classes. */
static void
php_read_classes(PhpBatch *batch)
{
	uint64_t addresses[RUNTIME_CODES_MAX];
	bool had[RUNTIME_CODES_MAX];

	for (size_t i = 0; i < batch->count; i++)
	{
		uint64_t class = batch->functions[i][PFS_PHP_FUNCTION_CLASS];

		addresses[i] = batch->valid[i] && class != 0 ? class + CLASS_NAME : 0;
	}
	remote_words_read(batch->memory, addresses, batch->count, 1, batch->classes.addresses, had);
	php_read_heads(batch, &batch->classes);
}

/* Returns the name of a function, on the heap; NULL if it could not be read. */
static char *
php_name_of(const PhpBatch *batch, size_t i)
{
	const uint64_t *function = batch->functions[i];
	const char *name = batch->names.texts[i].text;
	const char *class = batch->classes.texts[i].text;
	char *text;

	if (function[PFS_PHP_FUNCTION_NAME] == 0)
	{
		if ((uint8_t) function[PFS_PHP_FUNCTION_TYPE] == PFS_PHP_EVAL)
			return strdup("{eval}");
		return strdup(batch->wanted[i].key.check & PFS_PHP_NESTED ? "{include}" : "{main}");
	}
	if (name == NULL || (function[PFS_PHP_FUNCTION_CLASS] != 0 && class == NULL))
		return NULL;
	if (function[PFS_PHP_FUNCTION_CLASS] == 0)
		return strdup(name);
	return asprintf(&text, "%s::%s", class, name) < 0 ? NULL : text;
}

/* Fills the code of a function that has not changed since the sample. */
static void
php_take_code(const PhpBatch *batch, size_t i)
{
	RuntimeCode *code = &batch->wanted[i].code;
	const char *file = php_is_internal(batch, i) ? "" : batch->files.texts[i].text;

	if (file == NULL)
		return;
	code->name = php_name_of(batch, i);
	code->file = strdup(file);
	if (php_is_script(batch, i))
		code->first_line = (int32_t) batch->functions[i][batch->layout->function_lines & 31];
	if (code->name == NULL || code->file == NULL)
		runtime_code_fini(code);
}

static void
php_strings_fini(PhpStrings *strings, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(strings->texts[i].text);
}

void
php_codes_read(RemoteMemory *memory, const struct pfs_php_layout *layout, CodeWanted *wanted,
			   size_t count)
{
	PhpBatch *batch = calloc(1, sizeof(*batch));

	if (!code_wanted_begin(wanted, count) || batch == NULL)
	{
		free(batch);
		return;
	}
	batch->memory = memory;
	batch->layout = layout;
	batch->wanted = wanted;
	batch->count = count;
	php_read_sampled(batch);
	php_read_classes(batch);
	remote_texts_read(memory, batch->names.texts, count);
	remote_texts_read(memory, batch->files.texts, count);
	remote_texts_read(memory, batch->classes.texts, count);
	php_read_sampled(batch);
	for (size_t i = 0; i < count && !memory->stuck; i++)
	{
		if (batch->valid[i])
			php_take_code(batch, i);
	}
	php_strings_fini(&batch->names, count);
	php_strings_fini(&batch->files, count);
	php_strings_fini(&batch->classes, count);
	free(batch);
}

/* Reads words at an address. Returns false if not all of them can be read. */
static bool
php_read_words(RemoteMemory *memory, uint64_t address, uint64_t *words, size_t count)
{
	const RemotePieces piece = { .address = address,
								 .piece_bytes = count * sizeof(*words),
								 .count = 1 };

	return address != 0 && remote_memory_read(memory, &piece, words) == count * sizeof(*words);
}

/*
 * Returns whether a script's function has instructions, lines and a file at the layout's offsets.
 */
static bool
php_function_fits(RemoteMemory *memory, const struct pfs_php_layout *layout,
				  const uint64_t function[FUNCTION_WORDS])
{
	uint64_t instructions = function[layout->function_opcodes & 31];
	uint64_t file = function[layout->function_file & 31];
	uint64_t lines = function[layout->function_lines & 31];
	uint32_t first = (uint32_t) lines;
	uint32_t last = (uint32_t) (lines >> 32);
	uint64_t instruction[INSTRUCTION_BYTES / sizeof(uint64_t)];
	uint64_t head[STRING_WORDS + 1];
	uint32_t count = pfs_php_instructions(layout, (const __u64 *) function);
	uint32_t line;

	if (count == 0 || first == 0 || last < first ||
		!php_read_words(memory, instructions + (uint64_t) (count - 1) * INSTRUCTION_BYTES,
						instruction, sizeof(instruction) / sizeof(instruction[0])) ||
		!php_read_words(memory, file, head, STRING_WORDS + 1))
		return false;
	/* the last instruction is a return at the end of the function, and the file has a name */
	line = (uint32_t) instruction[3];
	return line >= first && line <= last && head[2] > 0 && head[2] < UINT16_MAX &&
		   ((uint8_t) head[STRING_WORDS] > ' ');
}

bool
php_frames_fit(RemoteMemory *memory, const struct pfs_php_layout *layout)
{
	uint64_t frame;

	if (!php_read_words(memory, layout->current, &frame, 1))
		return false;
	for (int i = 0; i < FRAMES_LOOKED_AT; i++)
	{
		uint64_t function[FUNCTION_WORDS] = { 0 };
		uint64_t words[FRAME_WORDS];
		uint8_t type;

		if (!php_read_words(memory, frame, words, FRAME_WORDS))
			return false;
		frame = words[FRAME_PREVIOUS];
		if (!php_read_words(memory, words[FRAME_FUNCTION], function, PFS_PHP_FUNCTION_WORDS))
			continue;
		type = (uint8_t) function[PFS_PHP_FUNCTION_TYPE];
		if (type == PFS_PHP_USER || type == PFS_PHP_EVAL)
			return php_function_fits(memory, layout, function);
	}
	return false;
}
