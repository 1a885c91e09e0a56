/*
 * python_code.c
 *		Reads many objects with few calls.
 *
 * 1. The objects, and hashes of their names.
 * 2. The heads of the objects that they refer to: name, file, table of lines.
 * 3. The contents of these.
 * 4. The code objects again: one that is equal at the end was equal all the time.
 */
#include "runtimes/cpython/python_code.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/unaligned.h"
#include "code/code_object.h"
#include "unwind/remote_address.h"

/* The objects that a code object refers to. */
typedef enum Part
{
	PART_NAME,
	PART_FILE,
	PART_LINES,
	PARTS
} Part;

/* Position of a part's content. */
typedef struct Content
{
	uint64_t address;
	size_t bytes;  /* 0: there is none */
	uint8_t width; /* bytes of a character */
} Content;

/* State of reading one object. */
typedef struct Object
{
	uint8_t bytes[PYTHON_CODE_BYTES];
	uint64_t name_hash;
	bool valid;
	uint64_t parts[PARTS]; /* addresses */
	Content contents[PARTS];
} Object;

typedef struct Batch
{
	RemoteMemory *memory;
	const PythonLayout *layout;
	uint64_t type;
	size_t count;
	CodeWanted *wanted;
	Object objects[RUNTIME_CODES_MAX];
} Batch;

/* Reads the objects into bytes, one after the other. Sets had for the readable ones. */
static void
python_read_objects(const Batch *batch, uint8_t *bytes, bool *had)
{
	RemoteRange ranges[RUNTIME_CODES_MAX];

	for (size_t i = 0; i < batch->count; i++)
		ranges[i] = (RemoteRange){ batch->wanted[i].key.address, batch->layout->code_bytes, false };
	remote_memory_gather(batch->memory, ranges, batch->count, bytes);
	for (size_t i = 0; i < batch->count; i++)
		had[i] = ranges[i].had;
}

/*
 * Reads the hashes of names, which are part of the check for versions whose code objects have no
 * number of their own.
 */
static void
read_name_hashes(Batch *batch, uint64_t hashes[RUNTIME_CODES_MAX])
{
	RemoteRange ranges[RUNTIME_CODES_MAX];

	memset(hashes, 0, RUNTIME_CODES_MAX * sizeof(*hashes));
	if (batch->layout->walk.code_name == 0)
		return;
	for (size_t i = 0; i < batch->count; i++)
		ranges[i] = (RemoteRange){ bytes_u64_at(batch->objects[i].bytes, batch->layout->code_name) +
									   batch->layout->walk.name_hash,
								   sizeof(uint64_t), false };
	remote_memory_gather(batch->memory, ranges, batch->count, hashes);
}

static bool
python_is_as_sampled(const Batch *batch, size_t i)
{
	const Object *object = &batch->objects[i];

	return (batch->type == 0 ||
			bytes_u64_at(object->bytes, batch->layout->object_type) == batch->type) &&
		   python_layout_check(batch->layout, object->bytes, object->name_hash) ==
			   batch->wanted[i].key.check;
}

static void
python_code_read_codes(Batch *batch)
{
	const PythonLayout *layout = batch->layout;
	uint8_t *bytes = calloc(batch->count, batch->layout->code_bytes);
	uint64_t hashes[RUNTIME_CODES_MAX];
	bool had[RUNTIME_CODES_MAX];

	if (bytes == NULL)
		return;
	python_read_objects(batch, bytes, had);
	for (size_t i = 0; i < batch->count; i++)
		memcpy(batch->objects[i].bytes, bytes + i * layout->code_bytes, layout->code_bytes);
	free(bytes);
	read_name_hashes(batch, hashes);
	for (size_t i = 0; i < batch->count; i++)
	{
		Object *object = &batch->objects[i];
		uint16_t name = layout->code_qualified != 0 ? layout->code_qualified : layout->code_name;

		object->name_hash = hashes[i];
		object->valid = had[i] && python_is_as_sampled(batch, i);
		object->parts[PART_NAME] = bytes_u64_at(object->bytes, name);
		object->parts[PART_FILE] = bytes_u64_at(object->bytes, layout->code_file);
		object->parts[PART_LINES] = bytes_u64_at(object->bytes, layout->code_lines);
	}
}

/* Finds the position and the width of a string's characters from its head. */
static void
find_characters(const PythonLayout *layout, const uint8_t *head, uint64_t address, Content *content)
{
	uint64_t length = bytes_u64_at(head, layout->object_length);
	uint32_t state = bytes_u32_at(head, layout->string_state) >> layout->string_kind;
	uint8_t width = state & 7;
	bool compact = (state >> 3 & 1) != 0;
	bool ascii = (state >> 4 & 1) != 0;

	if (!compact || (width != 1 && width != 2 && width != 4) || (ascii && width != 1))
		return;
	if (length > CODE_TEXT_BYTES)
		length = CODE_TEXT_BYTES;
	content->address = address + (ascii ? layout->string_ascii : layout->string_compact);
	content->bytes = (size_t) length * width;
	content->width = width;
}

static void
find_bytes(const PythonLayout *layout, const uint8_t *head, uint64_t address, Content *content)
{
	uint64_t length = bytes_u64_at(head, layout->object_length);

	if (length <= PYTHON_LINES_BYTES)
		*content = (Content){ address + layout->bytes_data, (size_t) length, 1 };
}

static void
python_read_heads(Batch *batch)
{
	RemoteRange ranges[RUNTIME_CODES_MAX * PARTS];
	/* bytes objects have the shortest head */
	size_t head_bytes = (size_t) batch->layout->string_state + 8;
	uint8_t *heads = malloc(sizeof(ranges) / sizeof(ranges[0]) * head_bytes);
	size_t count = 0;

	if (heads == NULL)
		return;
	for (size_t i = 0; i < batch->count; i++)
	{
		for (int part = 0; part < PARTS; part++)
		{
			const Object *object = &batch->objects[i];
			bool read = object->valid && remote_is_object(object->parts[part]);

			ranges[count++] = (RemoteRange){ read ? object->parts[part] : 0, head_bytes, false };
		}
	}
	remote_memory_gather(batch->memory, ranges, count, heads);
	for (size_t i = 0; i < count; i++)
	{
		Object *object = &batch->objects[i / PARTS];
		const uint8_t *head = heads + i * head_bytes;
		uint64_t address = ranges[i].address;

		if (!ranges[i].had)
			continue;
		if (i % PARTS == PART_LINES)
			find_bytes(batch->layout, head, address, &object->contents[PART_LINES]);
		else
			find_characters(batch->layout, head, address, &object->contents[i % PARTS]);
	}
	free(heads);
}

/* Appends a character as UTF-8. NUL and invalid characters become U+FFFD. */
static char *
python_put_character(char *to, uint32_t character)
{
	if (character == 0 || character > 0x10ffff || (character >= 0xd800 && character < 0xe000))
		character = 0xfffd;
	if (character < 0x80)
		*to++ = (char) character;
	else if (character < 0x800)
	{
		*to++ = (char) (0xc0 | character >> 6);
		*to++ = (char) (0x80 | (character & 63));
	}
	else if (character < 0x10000)
	{
		*to++ = (char) (0xe0 | character >> 12);
		*to++ = (char) (0x80 | (character >> 6 & 63));
		*to++ = (char) (0x80 | (character & 63));
	}
	else
	{
		*to++ = (char) (0xf0 | character >> 18);
		*to++ = (char) (0x80 | (character >> 12 & 63));
		*to++ = (char) (0x80 | (character >> 6 & 63));
		*to++ = (char) (0x80 | (character & 63));
	}
	return to;
}

/* Returns NULL if out of memory. */
static char *
python_text_of(const uint8_t *bytes, const Content *content)
{
	size_t count = content->bytes / content->width;
	char *text = malloc(4 * count + 1);
	char *end = text;

	if (text == NULL)
		return NULL;
	for (size_t i = 0; i < count; i++)
	{
		uint32_t character = 0;

		memcpy(&character, bytes + i * content->width, content->width); /* little-endian */
		end = python_put_character(end, character);
	}
	*end = '\0';
	return text;
}

static void
take_part(RuntimeCode *code, Part part, const uint8_t *bytes, const Content *content)
{
	if (part == PART_NAME)
		code->name = python_text_of(bytes, content);
	else if (part == PART_FILE)
		code->file = python_text_of(bytes, content);
	else if ((code->lines = malloc(content->bytes)) != NULL)
	{
		memcpy(code->lines, bytes, content->bytes);
		code->lines_bytes = content->bytes;
	}
}

static void
python_read_contents(Batch *batch)
{
	RemoteRange ranges[RUNTIME_CODES_MAX * PARTS];
	size_t total = 0;
	size_t count = 0;
	uint8_t *bytes;
	uint8_t *at;

	for (size_t i = 0; i < batch->count; i++)
	{
		for (int part = 0; part < PARTS; part++)
		{
			const Content *content = &batch->objects[i].contents[part];

			ranges[count++] = (RemoteRange){ content->address, content->bytes, false };
			total += content->bytes;
		}
	}
	bytes = total > 0 ? malloc(total) : NULL;
	if (bytes == NULL)
		return;
	remote_memory_gather(batch->memory, ranges, count, bytes);
	at = bytes;
	for (size_t i = 0; i < count; i++)
	{
		Object *object = &batch->objects[i / PARTS];

		if (ranges[i].had && ranges[i].bytes > 0)
			take_part(&batch->wanted[i / PARTS].code, (Part) (i % PARTS), at,
					  &object->contents[i % PARTS]);
		at += ranges[i].bytes;
	}
	free(bytes);
}

/* Discards the data of objects that have changed since the first read. */
static void
python_drop_changed(Batch *batch)
{
	uint8_t *bytes = calloc(batch->count, batch->layout->code_bytes);
	uint64_t hashes[RUNTIME_CODES_MAX];
	bool had[RUNTIME_CODES_MAX] = { false };

	if (bytes != NULL)
	{
		python_read_objects(batch, bytes, had);
		read_name_hashes(batch, hashes);
	}
	for (size_t i = 0; i < batch->count; i++)
	{
		Object *object = &batch->objects[i];
		RuntimeCode *code = &batch->wanted[i].code;

		if (object->valid && had[i] && object->name_hash == hashes[i])
		{
			memcpy(object->bytes, bytes + i * batch->layout->code_bytes, batch->layout->code_bytes);
			object->valid = python_is_as_sampled(batch, i);
		}
		else
			object->valid = false;
		if (!object->valid || code->name == NULL || code->file == NULL)
			runtime_code_fini(code);
		else
			code->first_line =
				(int32_t) bytes_u32_at(object->bytes, batch->layout->code_first_line);
	}
	free(bytes);
}

void
python_codes_read(RemoteMemory *memory, const PythonLayout *layout, uint64_t type,
				  CodeWanted *wanted, size_t count)
{
	Batch *batch = calloc(1, sizeof(*batch));

	if (!code_wanted_begin(wanted, count) || batch == NULL)
	{
		free(batch);
		return;
	}
	batch->memory = memory;
	batch->layout = layout;
	batch->type = type;
	batch->count = count;
	batch->wanted = wanted;
	python_code_read_codes(batch);
	python_read_heads(batch);
	python_read_contents(batch);
	python_drop_changed(batch);
	free(batch);
}
