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
#include <sys/param.h>

#include "code/code_object.h"
#include "code/user_frame.h"
#include "perl_frame.h"
#include "runtimes/common/remote_text.h"
#include "unwind/remote_address.h"

/* A name (HEK): hash and length, and the characters. */
#define NAME_CHARACTERS 8
#define FILE_PREFIX		2 /* characters before a file's name in the name of its glob: "_<" */

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
 * Values of threads' keys: glibc has 32 pairs (sequence number, value) at a fixed offset; musl has
 * an array of values.
 */
#define KEYS		 32
#define PAIR_VALUE	 8
#define POINTED_KEYS (BESIDE_POINTED_BYTES / 8)
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

#define LISTS 3 /* of texts: names, packages and files */

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

/* The words of memory that a frame's check is made of. */
typedef struct PerlSampled
{
	uint64_t head;
	uint64_t begin[PFS_PERL_FILE_WORDS]; /* of the file's name */
} PerlSampled;

/* Returns a further word of the frame in which the code was sampled. */
static uint64_t
perl_frame_word(const CodeWanted *wanted, uint32_t number)
{
	return PFS_FRAME_PAYLOAD(wanted->more[number]);
}

/* Sets the head of a name, and the position of its characters. */
static void
perl_take_head(PerlNames *names, size_t i, uint64_t head)
{
	int32_t length = (int32_t) (head >> 32);

	names->heads[i] = head;
	names->texts[i].address = names->addresses[i] + NAME_CHARACTERS;
	names->texts[i].bytes = length > 0 ? (uint64_t) length : 0;
}

/*
 * Reads the parts of the check at once, and marks the frames that have not changed since the
 * sample.
 */
static void
perl_read_sampled(PerlBatch *batch)
{
	PerlSampled parts[RUNTIME_CODES_MAX];
	RemoteRange ranges[2 * RUNTIME_CODES_MAX];

	for (size_t i = 0; i < batch->count; i++)
	{
		const CodeWanted *wanted = &batch->wanted[i];

		batch->names.addresses[i] = wanted->key.address < PFS_PERL_CODES ? 0 : wanted->key.address;
		ranges[2 * i] = (RemoteRange){ batch->names.addresses[i], sizeof(parts[i].head), false };
		ranges[2 * i + 1] = (RemoteRange){ perl_frame_word(wanted, PFS_PERL_MORE_FILE),
										   sizeof(parts[i].begin), false };
	}
	remote_memory_gather(batch->memory, ranges, 2 * batch->count, parts);
	for (size_t i = 0; i < batch->count; i++)
	{
		const CodeWanted *wanted = &batch->wanted[i];
		uint64_t file = ranges[2 * i + 1].address;

		perl_take_head(&batch->names, i, ranges[2 * i].had ? parts[i].head : 0);
		if (!ranges[2 * i + 1].had)
			memset(parts[i].begin, 0, sizeof(parts[i].begin));
		batch->valid[i] =
			pfs_perl_check(batch->names.heads[i], perl_frame_word(wanted, PFS_PERL_MORE_STASH),
						   pfs_perl_file_hash(file, (const __u64 *) parts[i].begin)) ==
			wanted->key.check;
	}
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
	remote_words_read(batch->memory, batch->packages.addresses, batch->count, 1, first, had);
	for (size_t i = 0; i < batch->count; i++)
		perl_take_head(&batch->packages, i, first[i]);
}

/* Reads the characters of names, packages and files together. */
static void
perl_read_texts(PerlBatch *batch)
{
	RemoteText *lists[] = { batch->names.texts, batch->packages.texts, batch->files };
	RemoteText texts[LISTS * RUNTIME_CODES_MAX];
	size_t count = 0;

	for (size_t list = 0; list < LISTS; list++)
	{
		memcpy(&texts[count], lists[list], batch->count * sizeof(texts[0]));
		count += batch->count;
	}
	for (size_t at = 0; at < count; at += REMOTE_TEXTS_MAX)
		remote_texts_read(batch->memory, &texts[at], MIN(count - at, REMOTE_TEXTS_MAX));
	for (size_t list = 0; list < LISTS; list++)
		memcpy(lists[list], &texts[list * batch->count], batch->count * sizeof(texts[0]));
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
		uint64_t before = layout->is_single ? NAME_CHARACTERS + FILE_PREFIX : 0;

		batch->files[i] = (RemoteText){ file + before, file != 0 ? CODE_TEXT_BYTES : 0, NULL };
	}
	perl_read_sampled(batch);
	perl_read_packages(batch);
	perl_read_texts(batch);
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

bool
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
				uint64_t thread_pointer, ThreadPlace *place)
{
	uint32_t number;

	if (!perl_read(memory, key, &number, sizeof(number)))
		return false;
	for (int is_pointed = 1; is_pointed >= 0; is_pointed--)
	{
		uint64_t interpreter;

		if (number >= (is_pointed ? POINTED_KEYS : KEYS))
			continue;
		*place = is_pointed ? (ThreadPlace){ 8 * (int32_t) number, BESIDE_POINTER }
							: (ThreadPlace){ KEYS_FROM + 16 * (int32_t) number + PAIR_VALUE, 0 };
		if (beside_thread_read_word(memory, thread_pointer, place, &interpreter) &&
			perl_stacks_fit(memory, layout, interpreter))
			return true;
	}
	return false;
}
