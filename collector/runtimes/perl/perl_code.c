/*
 * perl_code.c
 *		Reads many names with few calls.
 *
 * 1. The heads of the names, and the begins of the files' names: the check needs them.
 * 2. Packages, which have a name or a list of names.
 * 3. The characters.
 * 4. Heads and begins again: a frame whose check is the same at the end has these names.
 */
#include "runtimes/perl/perl_code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code/code_object.h"
#include "code/user_frame.h"
#include "perl_frame.h"
#include "runtimes/common/remote_text.h"
#include "unwind/remote_address.h"

/* A name (HEK): hash and length, and the characters. */
#define NAME_CHARACTERS 8

/* A package (HV): its body (XPVHV) and its array. The names follow one of the two. */
#define STASH_BODY	0
#define STASH_ARRAY 2
#define STASH_WORDS 3
#define BODY_MOST	3 /* where the array is one word longer */
#define BODY_WORDS	4
#define NAMES_NAME	0 /* the name; or an array of names if NAMES_COUNT is not 0 */
#define NAMES_COUNT 3 /* in the upper half of the word */
#define NAMES_WORDS 4

/*
 * Values of threads' keys are pairs (sequence number, value); glibc has 32 of them at a fixed
 * offset.
 */
#define KEYS	   32
#define PAIR_VALUE 8
#ifdef __aarch64__
#define KEYS_FROM (-0x610)
#else
#define KEYS_FROM 0x310
#endif

#define STACK_CONTEXTS 1 /* index of a stack's word, as in bpf/perl.bpf.h */
#define STACK_PREVIOUS 2
#define STACK_INDEXES  4
#define STACK_WORDS	   6
#define STACK_MAIN	   1
#define STACKS_MAX	   64

typedef struct PerlNames
{
	uint64_t addresses[RUNTIME_CODES_MAX]; /* 0: there is none */
	uint64_t heads[RUNTIME_CODES_MAX];
	RemoteText texts[RUNTIME_CODES_MAX];
} PerlNames;

typedef struct PerlBatch
{
	RemoteMemory *memory;
	const struct pfs_perl_layout *layout;
	CodeWanted *wanted;
	size_t count;
	bool valid[RUNTIME_CODES_MAX];
	PerlNames names;
	PerlNames packages;
	RemoteText files[RUNTIME_CODES_MAX];
} PerlBatch;

/* Returns a further word of the frame in which the code was sampled. */
static uint64_t
perl_frame_word(const CodeWanted *wanted, uint32_t number)
{
	return PFS_FRAME_PAYLOAD(wanted->more[number]);
}

/* Reads the heads of names. */
static void
perl_read_heads(const PerlBatch *batch, PerlNames *names)
{
	bool had[RUNTIME_CODES_MAX];

	remote_words_read(batch->memory, names->addresses, batch->count, 1, names->heads, had);
	for (size_t i = 0; i < batch->count; i++)
	{
		int32_t length = (int32_t) (names->heads[i] >> 32);

		names->texts[i].address = names->addresses[i] + NAME_CHARACTERS;
		names->texts[i].bytes = had[i] && length > 0 ? (uint64_t) length : 0;
	}
}

/* Reads the parts of the check, and marks the frames that have not changed since the sample. */
static void
perl_read_sampled(PerlBatch *batch)
{
	uint64_t files[RUNTIME_CODES_MAX];
	uint64_t begins[RUNTIME_CODES_MAX * PFS_PERL_FILE_WORDS];
	bool had[RUNTIME_CODES_MAX];

	for (size_t i = 0; i < batch->count; i++)
	{
		const CodeWanted *wanted = &batch->wanted[i];

		batch->names.addresses[i] = wanted->key.address < PFS_PERL_CODES ? 0 : wanted->key.address;
		files[i] = perl_frame_word(wanted, PFS_PERL_MORE_FILE);
	}
	perl_read_heads(batch, &batch->names);
	remote_words_read(batch->memory, files, batch->count, PFS_PERL_FILE_WORDS, begins, had);
	for (size_t i = 0; i < batch->count; i++)
		batch->valid[i] =
			pfs_perl_check(batch->names.heads[i],
						   perl_frame_word(&batch->wanted[i], PFS_PERL_MORE_STASH),
						   pfs_perl_file_hash(files[i],
											  (const __u64 *) &begins[i * PFS_PERL_FILE_WORDS])) ==
			batch->wanted[i].key.check;
}

/* Finds the names of the packages. */
static void
perl_read_packages(PerlBatch *batch)
{
	uint64_t addresses[RUNTIME_CODES_MAX];
	uint64_t stashes[RUNTIME_CODES_MAX * STASH_WORDS];
	uint64_t bodies[RUNTIME_CODES_MAX * BODY_WORDS];
	uint64_t names[RUNTIME_CODES_MAX * NAMES_WORDS];
	uint64_t first[RUNTIME_CODES_MAX];
	bool had[RUNTIME_CODES_MAX];

	for (size_t i = 0; i < batch->count; i++)
		addresses[i] =
			batch->valid[i] ? perl_frame_word(&batch->wanted[i], PFS_PERL_MORE_STASH) : 0;
	remote_words_read(batch->memory, addresses, batch->count, STASH_WORDS, stashes, had);
	for (size_t i = 0; i < batch->count; i++)
		addresses[i] = stashes[i * STASH_WORDS + STASH_BODY];
	remote_words_read(batch->memory, addresses, batch->count, BODY_WORDS, bodies, had);
	for (size_t i = 0; i < batch->count; i++)
	{
		uint64_t array = stashes[i * STASH_WORDS + STASH_ARRAY];
		uint64_t most = bodies[i * BODY_WORDS + BODY_MOST];

		if (!had[i])
			addresses[i] = 0;
		else if (batch->layout->has_names_behind_body)
			addresses[i] += BODY_WORDS * sizeof(uint64_t);
		else
			addresses[i] = array != 0 ? array + sizeof(uint64_t) * (most + 1) : 0;
	}
	remote_words_read(batch->memory, addresses, batch->count, NAMES_WORDS, names, had);
	for (size_t i = 0; i < batch->count; i++)
	{
		batch->packages.addresses[i] = names[i * NAMES_WORDS + NAMES_NAME];
		addresses[i] =
			names[i * NAMES_WORDS + NAMES_COUNT] >> 32 != 0 ? batch->packages.addresses[i] : 0;
	}
	remote_words_read(batch->memory, addresses, batch->count, 1, first, had);
	for (size_t i = 0; i < batch->count; i++)
	{
		if (addresses[i] != 0)
			batch->packages.addresses[i] = first[i];
	}
	perl_read_heads(batch, &batch->packages);
}

/* Returns the name of a frame, on the heap; NULL if it could not be read. */
static char *
perl_name_of(const PerlBatch *batch, size_t i)
{
	const char *name = batch->names.texts[i].text;
	const char *package = batch->packages.texts[i].text;
	char *text;

	switch (batch->wanted[i].key.address)
	{
		case PFS_PERL_MAIN:
			return strdup("(main)");
		case PFS_PERL_REQUIRE:
			return strdup("(require)");
		case PFS_PERL_EVAL:
			return strdup("(eval)");
		default:
			if (name == NULL || package == NULL)
				return NULL;
			return asprintf(&text, "%s::%s", package, name) < 0 ? NULL : text;
	}
}

/*
 * Fills the code of a frame. If the frame has changed since the sample, only an eval has a name,
 * which is not read from memory: the file name of an eval of a string exists only while the eval
 * runs.
 */
static void
perl_take_code(const PerlBatch *batch, size_t i)
{
	RuntimeCode *code = &batch->wanted[i].code;
	bool is_eval = batch->wanted[i].key.address == PFS_PERL_EVAL;
	const char *file = batch->files[i].bytes == 0 ? "" : batch->files[i].text;

	if (!batch->valid[i])
		file = NULL;
	if (file == NULL && is_eval)
		file = "";
	if (file == NULL)
		return;
	code->name = perl_name_of(batch, i);
	code->file = strdup(file);
	if (code->name == NULL || code->file == NULL)
		runtime_code_fini(code);
}

void
perl_codes_read(RemoteMemory *memory, const struct pfs_perl_layout *layout, CodeWanted *wanted,
				size_t count)
{
	PerlBatch *batch = calloc(1, sizeof(*batch));

	if (!code_wanted_begin(wanted, count) || batch == NULL)
	{
		free(batch);
		return;
	}
	batch->memory = memory;
	batch->layout = layout;
	batch->wanted = wanted;
	batch->count = count;
	for (size_t i = 0; i < count; i++)
	{
		uint64_t file = perl_frame_word(&wanted[i], PFS_PERL_MORE_FILE);

		batch->files[i] = (RemoteText){ file, file != 0 ? CODE_TEXT_BYTES : 0, NULL };
	}
	perl_read_sampled(batch);
	perl_read_packages(batch);
	remote_texts_read(memory, batch->names.texts, count);
	remote_texts_read(memory, batch->packages.texts, count);
	remote_texts_read(memory, batch->files, count);
	perl_read_sampled(batch);
	for (size_t i = 0; i < count; i++)
	{
		if (!memory->stuck)
			perl_take_code(batch, i);
		free(batch->names.texts[i].text);
		free(batch->packages.texts[i].text);
		free(batch->files[i].text);
	}
	free(batch);
}

static bool
perl_read(RemoteMemory *memory, uint64_t address, void *to, size_t bytes)
{
	const RemotePieces piece = { .address = address, .piece_bytes = bytes, .count = 1 };

	return remote_is_user_address(address) && remote_memory_read(memory, &piece, to) == bytes;
}

/* Returns whether one of the interpreter's stacks is the program's stack. */
static bool
perl_stacks_fit(RemoteMemory *memory, const struct pfs_perl_layout *layout, uint64_t interpreter)
{
	uint64_t stack;

	if (!perl_read(memory, interpreter + layout->state_stack, &stack, sizeof(stack)))
		return false;
	for (int i = 0; i < STACKS_MAX; i++)
	{
		uint64_t words[STACK_WORDS];
		int32_t last;
		int32_t room;
		int32_t type;

		if (!perl_read(memory, stack, words, sizeof(words)))
			return false;
		last = (int32_t) words[STACK_INDEXES];
		room = (int32_t) (words[STACK_INDEXES] >> 32);
		memcpy(&type, (const uint8_t *) words + 4 * (layout->stack_type & 15), sizeof(type));
		if (last < -1 || last > room || words[STACK_CONTEXTS] % 8 != 0 || type < -1 || type > 64)
			return false;
		stack = words[STACK_PREVIOUS];
		if (type == STACK_MAIN)
			return stack == 0;
	}
	return false;
}

bool
perl_place_find(RemoteMemory *memory, const struct pfs_perl_layout *layout, uint64_t key,
				uint64_t thread_pointer, int32_t *offset)
{
	uint64_t interpreter;
	uint32_t number;

	if (!perl_read(memory, key, &number, sizeof(number)) || number >= KEYS)
		return false;
	*offset = KEYS_FROM + 16 * (int32_t) number + PAIR_VALUE;
	return perl_read(memory, thread_pointer + (uint64_t) (int64_t) *offset, &interpreter,
					 sizeof(interpreter)) &&
		   perl_stacks_fit(memory, layout, interpreter);
}
