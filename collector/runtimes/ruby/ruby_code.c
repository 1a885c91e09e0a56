/*
 * ruby_code.c
 *		Reads many objects with few calls.
 *
 * 1. The objects: instruction sequences and entries of methods, and what they lead to. Their
 *    checks must be those of the sample.
 * 2. For methods that are written in C, the strings of their names, by the table of symbols.
 * 3. Classes of methods.
 * 4. The heads of all strings, and then their characters, together with tables of lines.
 * 5. The objects again: one that is the same at the end was the same all the time.
 */
#include "runtimes/ruby/ruby_code.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unaligned.h"
#include "base/utf8.h"
#include "code/code_object.h"
#include "code/user_frame.h"
#include "ruby_check.h"
#include "runtimes/common/fetch.h"
#include "runtimes/ruby/ruby_lines.h"
#include "unwind/remote_address.h"

#define TYPE_CLASS	2
#define TYPE_MODULE 3
#define TYPE_STRING 5
#define TYPE_ARRAY	7

/*
 * If a string has this flag its characters are elsewhere; if an array lacks it, its elements are.
 */
#define FLAG_PLACE (UINT64_C(1) << 13)

#define HEAD_WORDS		 5 /* words at the start of strings and arrays */
#define DEFINITION_WORDS 5
#define DEFINITION_ID	 4 /* index in a method's definition: the number of its name */

#define LINES_MAX	   32768
#define CODE_WORDS_MAX (1U << 18) /* longer code has no lines */

/* The table of symbols: its third word leads to an array of arrays of 512 pairs. */
#define SYMBOLS_WORDS  4
#define SYMBOLS_ARRAYS 2
#define SYMBOLS_UNIT   512
#define ID_SHIFT	   4 /* numbers of names, except operators, have flags in the bits below */
#define ID_OPERATORS   0x100

typedef struct Text
{
	uint64_t address; /* 0: there is none */
	uint64_t head[HEAD_WORDS];
	size_t length;
	char characters[CODE_TEXT_BYTES + 1];
} Text;

typedef enum Part
{
	PART_FILE,
	PART_LABEL, /* label of Ruby code, or name of a method in C */
	PART_BASE,	/* label of the method around a block */
	PART_OWNER, /* the class that the method is defined in */
	PARTS
} Part;

/* The key of an object. */
typedef struct Facts
{
	__u64 object[PFS_RUBY_METHOD_WORDS]; /* words at the key's address */
	__u64 entry[PFS_RUBY_METHOD_WORDS];	 /* words of the method of Ruby code */
	__u64 body[RUBY_BODY_BYTES / 8];
} Facts;

/* State of reading one object. */
typedef struct Object
{
	bool is_c; /* a method that is written in C */
	bool valid;
	Facts facts;
	uint64_t definition[DEFINITION_WORDS];
	uint64_t array[HEAD_WORDS]; /* head of an array, either of symbols or of paths */
	uint64_t array_address;
	uint64_t symbol[2]; /* string, and number with flags */
	uint64_t owner[RUBY_CLASS_BYTES / 8];
	bool is_singleton; /* the method belongs to a class itself */
	Text texts[PARTS];
	uint8_t *entries; /* entries of the table of lines */
	uint8_t *ranks;
} Object;

typedef struct Batch
{
	const RubyFile *file;
	const RubyLayout *layout;
	uint64_t bias;
	size_t count;
	CodeWanted *wanted;
	Fetch fetch;
	Object objects[RUNTIME_CODES_MAX];
} Batch;

/* Adds a read of words at an address that a process chose. */
static void
fetch_words(Fetch *fetch, uint64_t address, void *words, size_t count)
{
	fetch_add(fetch, remote_is_object(address) ? address : 0, words, count * sizeof(uint64_t));
}

static uint64_t
payload_of(const CodeWanted *wanted, uint32_t i)
{
	return i < wanted->more_count ? PFS_FRAME_PAYLOAD(wanted->more[i]) : 0;
}

/* Reads the facts from which checks are computed. */
static void
read_facts(Batch *batch, Facts facts[RUNTIME_CODES_MAX])
{
	for (size_t i = 0; i < batch->count; i++)
	{
		fetch_words(&batch->fetch, batch->wanted[i].key.address, facts[i].object,
					PFS_RUBY_METHOD_WORDS);
		fetch_words(&batch->fetch, payload_of(&batch->wanted[i], 1), facts[i].entry,
					PFS_RUBY_METHOD_WORDS);
	}
	fetch_run(&batch->fetch);
	for (size_t i = 0; i < batch->count; i++)
		fetch_words(&batch->fetch,
					batch->objects[i].is_c ? 0 : facts[i].object[PFS_RUBY_ISEQ_BODY / 8],
					facts[i].body, RUBY_BODY_BYTES / 8);
	fetch_run(&batch->fetch);
}

/* Returns whether an object has not changed since the sample. */
static bool
ruby_is_as_sampled(const CodeWanted *wanted, bool is_c, const Facts *facts)
{
	uint64_t hash = 0;

	if (is_c)
		return PFS_RUBY_INNER(facts->object[0]) == PFS_RUBY_INNER_METHOD &&
			   pfs_ruby_check(pfs_ruby_hash_of_method(0, facts->object)) == wanted->key.check;
	if (PFS_RUBY_INNER(facts->object[0]) != PFS_RUBY_INNER_ISEQ ||
		(wanted->more_count > 1 && PFS_RUBY_INNER(facts->entry[0]) != PFS_RUBY_INNER_METHOD))
		return false;
	hash = pfs_ruby_hash_of_iseq(facts->object[PFS_RUBY_ISEQ_BODY / 8], facts->body);
	if (wanted->more_count > 1)
		hash = pfs_ruby_hash_of_method(hash, facts->entry);
	return pfs_ruby_check(hash) == wanted->key.check;
}

static void
ruby_read_objects(Batch *batch)
{
	Facts *facts = calloc(batch->count, sizeof(*facts));

	for (size_t i = 0; i < batch->count; i++)
		batch->objects[i].is_c =
			PFS_RUBY_POSITION(payload_of(&batch->wanted[i], 0)) == PFS_RUBY_POSITION_MAX;
	if (facts == NULL)
		return;
	read_facts(batch, facts);
	for (size_t i = 0; i < batch->count; i++)
	{
		Object *object = &batch->objects[i];

		object->facts = facts[i];
		object->valid = ruby_is_as_sampled(&batch->wanted[i], object->is_c, &facts[i]);
		if (!object->valid || object->is_c)
			continue;
		object->texts[PART_FILE].address = facts[i].body[PFS_RUBY_BODY_PATH];
		object->texts[PART_LABEL].address = facts[i].body[PFS_RUBY_BODY_LABEL];
		object->texts[PART_BASE].address = facts[i].body[PFS_RUBY_BODY_BASE];
	}
	free(facts);
}

/* Returns the address of an array's elements. */
static uint64_t
elements_of(uint64_t address, const uint64_t head[HEAD_WORDS])
{
	if (PFS_RUBY_TYPE(head[0]) != TYPE_ARRAY)
		return 0;
	return (head[0] & FLAG_PLACE) != 0 ? address + 16 : head[4];
}

/*
 * Finds the elements of the table's array: of the places that may be the table, only one leads to
 * an array.
 */
static uint64_t
ruby_find_symbols(Batch *batch)
{
	uint64_t tables[RUBY_SYMBOLS_MAX][SYMBOLS_WORDS];
	uint64_t heads[RUBY_SYMBOLS_MAX][HEAD_WORDS];

	for (int i = 0; i < RUBY_SYMBOLS_MAX; i++)
		fetch_words(&batch->fetch,
					batch->file->symbols[i] != 0 ? batch->file->symbols[i] + batch->bias : 0,
					tables[i], SYMBOLS_WORDS);
	fetch_run(&batch->fetch);
	for (int i = 0; i < RUBY_SYMBOLS_MAX; i++)
		fetch_words(&batch->fetch, tables[i][SYMBOLS_ARRAYS], heads[i], HEAD_WORDS);
	fetch_run(&batch->fetch);
	for (int i = 0; i < RUBY_SYMBOLS_MAX; i++)
	{
		uint64_t elements = elements_of(tables[i][SYMBOLS_ARRAYS], heads[i]);

		if (elements != 0)
			return elements;
	}
	return 0;
}

/* Returns the position of a name in the table of symbols. */
static uint64_t
serial_of(const Object *object)
{
	uint64_t id = object->definition[DEFINITION_ID];

	return id < ID_OPERATORS ? id : id >> ID_SHIFT;
}

/* Finds the strings of names of methods that are written in C. */
static void
ruby_find_names(Batch *batch)
{
	uint64_t symbols;
	bool any = false;

	for (size_t i = 0; i < batch->count; i++)
	{
		Object *object = &batch->objects[i];

		any = any || (object->valid && object->is_c);
		fetch_words(&batch->fetch, object->valid && object->is_c ? object->facts.object[2] : 0,
					object->definition, DEFINITION_WORDS);
	}
	fetch_run(&batch->fetch);
	symbols = any ? ruby_find_symbols(batch) : 0;
	if (symbols == 0)
		return;
	for (size_t i = 0; i < batch->count; i++)
		fetch_words(&batch->fetch, symbols + 8 * (serial_of(&batch->objects[i]) / SYMBOLS_UNIT),
					&batch->objects[i].array_address, 1);
	fetch_run(&batch->fetch);
	for (size_t i = 0; i < batch->count; i++)
		fetch_words(&batch->fetch, batch->objects[i].array_address, batch->objects[i].array,
					HEAD_WORDS);
	fetch_run(&batch->fetch);
	for (size_t i = 0; i < batch->count; i++)
	{
		Object *object = &batch->objects[i];
		uint64_t elements = elements_of(object->array_address, object->array);

		fetch_words(&batch->fetch,
					elements != 0 ? elements + 16 * (serial_of(object) % SYMBOLS_UNIT) : 0,
					object->symbol, 2);
	}
	fetch_run(&batch->fetch);
	for (size_t i = 0; i < batch->count; i++)
	{
		Object *object = &batch->objects[i];

		/* the pair's second word is the number itself, with the flag of a symbol */
		if (object->valid && object->is_c &&
			object->symbol[1] == (object->definition[DEFINITION_ID] << 8 | 0xc))
			object->texts[PART_LABEL].address = object->symbol[0];
	}
}

static bool
is_class(const uint64_t *words)
{
	return PFS_RUBY_TYPE(words[0]) == TYPE_CLASS || PFS_RUBY_TYPE(words[0]) == TYPE_MODULE;
}

/* Finds the strings of names of classes that methods are defined in. */
static void
find_owners(Batch *batch)
{
	if (batch->layout->singleton == 0)
		return;
	for (size_t i = 0; i < batch->count; i++)
	{
		Object *object = &batch->objects[i];
		const __u64 *entry = object->is_c ? object->facts.object : object->facts.entry;

		fetch_words(&batch->fetch, object->valid ? entry[4] : 0, object->owner,
					RUBY_CLASS_BYTES / 8);
	}
	fetch_run(&batch->fetch);
	for (size_t i = 0; i < batch->count; i++)
	{
		Object *object = &batch->objects[i];

		object->is_singleton = PFS_RUBY_TYPE(object->owner[0]) == TYPE_CLASS &&
							   (object->owner[0] & batch->layout->singleton) != 0;
		if (object->is_singleton)
			fetch_words(&batch->fetch, object->owner[RUBY_CLASS_OBJECT / 8], object->owner,
						RUBY_CLASS_BYTES / 8);
	}
	fetch_run(&batch->fetch);
	for (size_t i = 0; i < batch->count; i++)
	{
		Object *object = &batch->objects[i];

		if (is_class(object->owner))
			object->texts[PART_OWNER].address = object->owner[RUBY_CLASS_NAME / 8];
	}
}

/* Reads heads of strings. A file's path may be the first element of an array. */
static void
ruby_read_heads(Batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
	{
		for (int part = 0; part < PARTS; part++)
		{
			Text *text = &batch->objects[i].texts[part];

			fetch_words(&batch->fetch, text->address, text->head, HEAD_WORDS);
		}
	}
	fetch_run(&batch->fetch);
	for (size_t i = 0; i < batch->count; i++)
	{
		Text *file = &batch->objects[i].texts[PART_FILE];
		uint64_t elements = elements_of(file->address, file->head);

		if (elements != 0)
			fetch_words(&batch->fetch, elements, &file->address, 1);
	}
	fetch_run(&batch->fetch);
	for (size_t i = 0; i < batch->count; i++)
	{
		Text *file = &batch->objects[i].texts[PART_FILE];

		fetch_words(&batch->fetch, file->address, file->head, HEAD_WORDS);
	}
	fetch_run(&batch->fetch);
}

/* Adds a read of a string's characters, by its head. */
static void
fetch_characters(Fetch *fetch, const RubyLayout *layout, Text *text)
{
	uint64_t flags = text->head[0];
	uint64_t length = text->head[2];
	uint64_t place = text->head[3];

	if (PFS_RUBY_TYPE(flags) != TYPE_STRING)
		return;
	if ((flags & FLAG_PLACE) == 0 && layout->string_length)
		place = text->address + 24;
	else if ((flags & FLAG_PLACE) == 0)
	{
		place = text->address + 16;
		length = flags >> 14 & 31;
	}
	text->length = length < CODE_TEXT_BYTES ? (size_t) length : CODE_TEXT_BYTES;
	fetch_add(fetch, place, text->characters, text->length);
}

static uint32_t
ruby_line_count(const Batch *batch, const Object *object)
{
	return bytes_u32_at(object->facts.body, batch->layout->line_count);
}

/* Returns the number of words of the object's code. */
static uint32_t
code_size(const Object *object)
{
	return (uint32_t) (object->facts.body[PFS_RUBY_BODY_SIZE] >> 32);
}

/* Adds reads of the table of lines and of its index. */
static void
ruby_fetch_lines(Batch *batch, Object *object)
{
	const RubyLayout *layout = batch->layout;
	uint32_t count = ruby_line_count(batch, object);
	uint32_t size = code_size(object);

	if (!object->valid || object->is_c || count == 0 || count > LINES_MAX || size > CODE_WORDS_MAX)
		return;
	object->entries = malloc((size_t) count * layout->line_bytes);
	if (object->entries != NULL)
		fetch_add(&batch->fetch, object->facts.body[layout->lines / 8], object->entries,
				  (size_t) count * layout->line_bytes);
	if (layout->ranks == 0 || count == 1)
		return;
	object->ranks = malloc(ruby_ranks_bytes(size));
	if (object->ranks != NULL)
		fetch_add(&batch->fetch, object->facts.body[layout->ranks / 8], object->ranks,
				  ruby_ranks_bytes(size));
}

static void
ruby_read_contents(Batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
	{
		for (int part = 0; part < PARTS; part++)
			fetch_characters(&batch->fetch, batch->layout, &batch->objects[i].texts[part]);
		ruby_fetch_lines(batch, &batch->objects[i]);
	}
	fetch_run(&batch->fetch);
}

/* Marks objects that have changed since the first read. */
static void
ruby_drop_changed(Batch *batch)
{
	Facts *facts = calloc(batch->count, sizeof(*facts));

	if (facts != NULL)
		read_facts(batch, facts);
	for (size_t i = 0; i < batch->count; i++)
	{
		Object *object = &batch->objects[i];

		object->valid = object->valid && facts != NULL &&
						ruby_is_as_sampled(&batch->wanted[i], object->is_c, &facts[i]);
	}
	free(facts);
}

/* Returns the label, or "block in Class#base" if the class is known. NULL: out of memory. */
static char *
ruby_name_of(const Object *object)
{
	const char *label = object->texts[PART_LABEL].characters;
	const char *base = object->is_c ? label : object->texts[PART_BASE].characters;
	const char *owner = object->texts[PART_OWNER].characters;
	size_t before = strlen(label) - strlen(base);
	char text[3 * CODE_TEXT_BYTES];

	/* an anonymous class has no name, or "#<Class:0x…>" */
	if (owner[0] == '\0' || owner[0] == '#' || strlen(base) > strlen(label) ||
		strcmp(label + before, base) != 0)
		return utf8_replace_invalid(label);
	snprintf(text, sizeof(text), "%.*s%s%c%s", (int) before, label, owner,
			 object->is_singleton ? '.' : '#', base);
	return utf8_replace_invalid(text);
}

/* Makes the array of lines. */
static void
take_lines(const Batch *batch, const Object *object, RuntimeCode *code)
{
	const RubyLayout *layout = batch->layout;
	size_t count = ruby_line_count(batch, object);
	RubyLine *result = object->entries != NULL ? calloc(count, sizeof(*result)) : NULL;
	int32_t *lines = object->entries != NULL ? calloc(count, sizeof(*lines)) : NULL;

	if (result == NULL || lines == NULL)
		count = 0;
	for (size_t i = 0; i < count; i++)
	{
		const uint8_t *entry = object->entries + i * layout->line_bytes;

		if (layout->ranks == 0)
			memcpy(&result[i], entry, sizeof(result[i]));
		else
			memcpy(&lines[i], entry, sizeof(lines[i]));
	}
	if (layout->ranks != 0 && count == 1)
		result[0].line = lines[0];
	else if (layout->ranks != 0 && count > 0)
		count = object->ranks != NULL
					? ruby_lines_of_ranks(object->ranks, code_size(object), lines, count, result)
					: 0;
	free(lines);
	code->lines = (uint8_t *) result;
	code->lines_bytes = count * sizeof(*result);
}

static void
ruby_take_code(const Batch *batch, const Object *object, RuntimeCode *code)
{
	uint64_t first = object->facts.body[PFS_RUBY_BODY_FIRST];

	code->name = ruby_name_of(object);
	code->file = utf8_replace_invalid(object->texts[PART_FILE].characters);
	if (code->name == NULL || code->file == NULL || code->name[0] == '\0')
	{
		runtime_code_fini(code);
		return;
	}
	if (object->is_c)
		return;
	code->first_line =
		(int32_t) (batch->layout->first_line_tagged ? (uint32_t) (first >> 1) : (uint32_t) first);
	take_lines(batch, object, code);
}

void
ruby_codes_read(RemoteMemory *memory, const RubyFile *file, uint64_t bias, CodeWanted *wanted,
				size_t count)
{
	Batch *batch = calloc(1, sizeof(*batch));

	if (!code_wanted_begin(wanted, count) || batch == NULL || file->layout == NULL)
	{
		free(batch);
		return;
	}
	batch->fetch.memory = memory;
	batch->file = file;
	batch->layout = file->layout;
	batch->bias = bias;
	batch->count = count;
	batch->wanted = wanted;
	ruby_read_objects(batch);
	ruby_find_names(batch);
	find_owners(batch);
	ruby_read_heads(batch);
	ruby_read_contents(batch);
	ruby_drop_changed(batch);
	for (size_t i = 0; i < count; i++)
	{
		if (batch->objects[i].valid)
			ruby_take_code(batch, &batch->objects[i], &wanted[i].code);
		free(batch->objects[i].entries);
		free(batch->objects[i].ranks);
	}
	free(batch);
}
