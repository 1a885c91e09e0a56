/*
 * v8_memory.c
 *		Reads strings in V8's five forms.
 */
#include "runtimes/v8/v8_memory.h"

#include <string.h>

#include "unwind/remote_address.h"

#define TYPE_UNKNOWN UINT16_MAX

/* Lower bits of the type of strings. */
#define STRING_FORM		  7
#define STRING_SEQUENTIAL 0
#define STRING_CONS		  1
#define STRING_EXTERNAL	  2
#define STRING_SLICED	  3
#define STRING_THIN		  5
#define STRING_ONE_BYTE	  8

#define FORMS_MAX		16 /* limit of strings that refer to each other */
#define CHARACTERS_STEP 256

void
v8_gather(V8Memory *memory, RemoteRange *ranges, size_t count, void *bytes)
{
	for (size_t i = 0; i < count; i++)
		ranges[i].had = false;
	if (memory->reads_left < count)
		return;
	memory->reads_left -= (uint32_t) count;
	memory->gather(memory->context, ranges, count, bytes);
}

bool
v8_read(V8Memory *memory, uint64_t address, void *bytes, size_t size_bytes)
{
	RemoteRange range = { address, size_bytes, false };

	v8_gather(memory, &range, 1, bytes);
	return range.had;
}

static uint64_t
checked_object(uint64_t address)
{
	return remote_is_object(address) ? address : 0;
}

uint64_t
v8_object_of(uint64_t word)
{
	return PFS_V8_IS_OBJECT(word) ? checked_object(PFS_V8_OBJECT(word)) : 0;
}

uint64_t
v8_weak_object_of(uint64_t word)
{
	return (word & 1) != 0 ? checked_object(word & ~UINT64_C(3)) : 0;
}

bool
v8_word(V8Memory *memory, uint64_t address, uint64_t *word)
{
	return v8_read(memory, address, word, sizeof(*word));
}

uint64_t
v8_object_at(V8Memory *memory, uint64_t address)
{
	uint64_t word;

	return v8_word(memory, address, &word) ? v8_object_of(word) : 0;
}

int64_t
v8_small_at(V8Memory *memory, uint64_t address)
{
	uint64_t word;

	if (!v8_word(memory, address, &word) || !PFS_V8_IS_SMALL(word))
		return -1;
	return (int64_t) (word >> 32);
}

uint16_t
v8_type_of(V8Memory *memory, uint64_t object)
{
	uint64_t map = object != 0 ? v8_object_at(memory, object) : 0;
	uint16_t type;

	if (map == 0 || !v8_read(memory, map + memory->layout->walk.map_type, &type, sizeof(type)))
		return TYPE_UNKNOWN;
	return type;
}

/* The head of a string. */
typedef struct V8String
{
	uint16_t type;
	uint32_t length;
	uint64_t first; /* the words at the position of characters */
	uint64_t second;
} V8String;

static bool
v8_memory_read_string(V8Memory *memory, uint64_t object, V8String *string)
{
	const V8Layout *layout = memory->layout;
	uint64_t words[2] = { 0, 0 };

	string->type = v8_type_of(memory, object);
	if (string->type >= layout->string_types ||
		!v8_read(memory, object + layout->string_length, &string->length, sizeof(string->length)))
		return false;
	/* the memory may end after a short string's characters */
	if ((string->type & STRING_FORM) != STRING_SEQUENTIAL &&
		!v8_read(memory, object + layout->string_characters, words, sizeof(words)))
		return false;
	string->first = words[0];
	string->second = words[1];
	return true;
}

bool
v8_characters_find(V8Memory *memory, uint64_t object, V8Characters *characters)
{
	uint64_t skipped = 0;
	V8String string;
	uint32_t length;

	if (!v8_memory_read_string(memory, object, &string))
		return false;
	length = string.length;
	for (int i = 0; i < FORMS_MAX; i++)
	{
		uint8_t width = (string.type & STRING_ONE_BYTE) != 0 ? 1 : 2;

		switch (string.type & STRING_FORM)
		{
			case STRING_SEQUENTIAL:
			case STRING_EXTERNAL:
				if (skipped + length > string.length)
					return false;
				*characters =
					(V8Characters){ object + memory->layout->string_characters, length, width };
				if ((string.type & STRING_FORM) == STRING_EXTERNAL)
					characters->address = string.second;
				characters->address += skipped * width;
				return true;
			case STRING_CONS: /* a single string if the second part is empty */
			{
				V8String second;

				if (!v8_memory_read_string(memory, v8_object_of(string.second), &second) ||
					second.length != 0)
					return false;
				object = v8_object_of(string.first);
				break;
			}
			case STRING_SLICED:
				if (!PFS_V8_IS_SMALL(string.second))
					return false;
				skipped += string.second >> 32;
				object = v8_object_of(string.first);
				break;
			case STRING_THIN:
				object = v8_object_of(string.first);
				break;
			default:
				return false;
		}
		if (!v8_memory_read_string(memory, object, &string))
			return false;
	}
	return false;
}

/* State of writing UTF-8. */
typedef struct Text
{
	char *at;
	char *end;	   /* end of the buffer, without the final zero */
	uint32_t high; /* the first half of a surrogate pair; 0: there is none */
} Text;

/*
 * Appends a character. Zero and invalid characters become U+FFFD. Returns false if there is no
 * room.
 */
static bool
v8_memory_put_character(Text *text, uint32_t character)
{
	uint8_t bytes[4];
	size_t count = 0;

	if (character == 0 || character > 0x10ffff || (character >= 0xd800 && character < 0xe000))
		character = 0xfffd;
	if (character < 0x80)
		bytes[count++] = (uint8_t) character;
	else
	{
		if (character < 0x800)
			bytes[count++] = (uint8_t) (0xc0 | character >> 6);
		else
		{
			if (character < 0x10000)
				bytes[count++] = (uint8_t) (0xe0 | character >> 12);
			else
			{
				bytes[count++] = (uint8_t) (0xf0 | character >> 18);
				bytes[count++] = (uint8_t) (0x80 | (character >> 12 & 63));
			}
			bytes[count++] = (uint8_t) (0x80 | (character >> 6 & 63));
		}
		bytes[count++] = (uint8_t) (0x80 | (character & 63));
	}
	if ((size_t) (text->end - text->at) < count)
	{
		text->end = text->at;
		return false;
	}
	memcpy(text->at, bytes, count);
	text->at += count;
	return true;
}

/* Appends a unit of UTF-16. */
static bool
put_unit(Text *text, uint32_t unit)
{
	uint32_t high = text->high;

	text->high = 0;
	if (high != 0 && unit >= 0xdc00 && unit < 0xe000)
		return v8_memory_put_character(text, 0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00));
	if (high != 0 && !v8_memory_put_character(text, high))
		return false;
	if (unit >= 0xd800 && unit < 0xdc00)
	{
		text->high = unit;
		return true;
	}
	return v8_memory_put_character(text, unit);
}

static bool
put_characters(V8Memory *memory, const V8Characters *characters, Text *text)
{
	uint8_t bytes[2 * CHARACTERS_STEP];
	uint32_t count;

	for (uint32_t at = 0; at < characters->length; at += count)
	{
		uint32_t left = characters->length - at;

		count = left < CHARACTERS_STEP ? left : CHARACTERS_STEP;
		if (!v8_read(memory, characters->address + (uint64_t) at * characters->width, bytes,
					 (size_t) count * characters->width))
			return false;
		for (uint32_t i = 0; i < count; i++)
		{
			uint32_t unit = characters->width == 1
								? bytes[i]
								: (uint32_t) (bytes[2 * i] | bytes[2 * i + 1] << 8);

			if (!put_unit(text, unit))
				return true; /* the text is cut */
		}
	}
	return true;
}

static bool
v8_memory_put_string(V8Memory *memory, uint64_t object, Text *text, int depth)
{
	V8Characters characters;
	V8String string;

	if (v8_characters_find(memory, object, &characters))
		return put_characters(memory, &characters, text);
	if (depth == FORMS_MAX || !v8_memory_read_string(memory, object, &string) ||
		(string.type & STRING_FORM) != STRING_CONS)
		return false;
	return v8_memory_put_string(memory, v8_object_of(string.first), text, depth + 1) &&
		   (text->at == text->end ||
			v8_memory_put_string(memory, v8_object_of(string.second), text, depth + 1));
}

bool
v8_text(V8Memory *memory, uint64_t string, char *text, size_t size_bytes)
{
	Text out = { .at = text, .end = text + size_bytes - 1 };
	bool had = v8_memory_put_string(memory, string, &out, 0);

	if (out.high != 0)
		(void) v8_memory_put_character(&out, out.high);
	*out.at = '\0';
	return had;
}
