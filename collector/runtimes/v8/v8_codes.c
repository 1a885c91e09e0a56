/*
 * v8_codes.c
 *		Finds the piece of V8's machine code that contains an instruction, by searching backwards
 *		for the object before it.
 */
#include "runtimes/v8/v8_codes.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/unaligned.h"

#define PAGE_BYTES		4096
/* limit of the distance between an instruction and the start of its code */
#define LOOK_BYTES		((uint64_t) 512 * 1024)
#define CODE_MAX		((uint64_t) 8 * 1024 * 1024)
#define KIND_MASK		15
#define HEAD_CODE		8  /* in the object before the code: index of the word that leads to Code */
#define HEAD_BYTES		16 /* of the object before the code */
#define READS_SEARCH	20000
/* limit of the bytes of an object before code, above all offsets that a layout can have */
#define CODE_OBJECT_MAX 1032
/* bytes that are read of a piece to see whether it has changed */
#define PARTS_MAX		(CODE_OBJECT_MAX + HEAD_BYTES + sizeof(uint16_t))
#define TOGETHER		64 /* pieces that are read together, with one call of the system */
#define USED_NS			(1000 * NS_PER_MS)

#define SEARCH_COST_NS	(4 * NS_PER_MS)
#define SEARCH_BURST_NS (1000 * NS_PER_MS) /* 250 searches at a time, and as many per second */
#define SEARCH_AGAIN_NS (1000 * NS_PER_MS) /* pause before code is searched for again */

void
v8_codes_fini(V8Codes *codes)
{
	free(codes->codes);
	*codes = (V8Codes){ 0 };
}

size_t
v8_codes_bytes(const V8Codes *codes)
{
	return codes->room * sizeof(*codes->codes);
}

/* Returns the index of the first piece that ends after the address. */
static uint32_t
place_of(const V8Codes *codes, uint64_t address)
{
	uint32_t low = 0;
	uint32_t high = codes->count;

	while (low < high)
	{
		uint32_t middle = low + (high - low) / 2;

		if (codes->codes[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static V8Code *
find_piece(const V8Codes *codes, uint64_t address)
{
	uint32_t place = place_of(codes, address);

	return place < codes->count && codes->codes[place].start <= address ? &codes->codes[place]
																		: NULL;
}

const V8Code *
v8_codes_find(const V8Codes *codes, uint64_t address)
{
	const V8Code *code = find_piece(codes, address);

	return code != NULL && code->head != 0 ? code : NULL;
}

static void
remove_piece(V8Codes *codes, uint32_t place)
{
	memmove(&codes->codes[place], &codes->codes[place + 1],
			(--codes->count - place) * sizeof(codes->codes[0]));
}

static void
remove_least_used(V8Codes *codes)
{
	uint32_t least = 0;

	for (uint32_t i = 1; i < codes->count; i++)
	{
		if (codes->codes[i].used_ns < codes->codes[least].used_ns)
			least = i;
	}
	remove_piece(codes, least);
}

/* Adds a piece, and removes those that it overlaps. Out of memory, it is left out. */
static void
add_piece(V8Codes *codes, const V8Code *code)
{
	uint32_t place = place_of(codes, code->start);

	while (place < codes->count && codes->codes[place].start < code->end)
		remove_piece(codes, place);
	if (codes->count == V8_CODES_MAX)
		remove_least_used(codes);
	if (grow_array(&codes->codes, &codes->room, codes->count, sizeof(codes->codes[0])) != 0)
		return;
	place = place_of(codes, code->start);
	memmove(&codes->codes[place + 1], &codes->codes[place],
			(codes->count++ - place) * sizeof(codes->codes[0]));
	codes->codes[place] = *code;
}

/* Returns the bytes of a Code object, up to its last field that is needed; 0: too many. */
static size_t
code_object_bytes(const V8Layout *layout)
{
	size_t end = MAX(layout->code_size, layout->code_flags) + sizeof(uint32_t);

	end = MAX(end, MAX(layout->code_positions, layout->code_deopt) + sizeof(uint64_t));
	if (layout->start_is_pointer)
		end = MAX(end, layout->code_start + sizeof(uint64_t));
	return end <= CODE_OBJECT_MAX ? end : 0;
}

/* Fills a piece from the bytes of its Code object. Returns false if they are of no code. */
static bool
take_code_object(const V8Layout *layout, const uint8_t *object, V8Code *code)
{
	uint64_t words[4] = { bytes_u64_at(object, 0), bytes_u64_at(object, layout->code_positions),
						  bytes_u64_at(object, layout->code_deopt), 0 };
	uint32_t size = bytes_u32_at(object, layout->code_size);
	uint32_t flags = bytes_u32_at(object, layout->code_flags);

	code->start = layout->start_is_pointer ? bytes_u64_at(object, layout->code_start)
										   : code->object + layout->code_start;
	if (size == 0 || size > CODE_MAX || code->start <= code->head ||
		code->start > UINT64_MAX - size)
		return false;
	code->end = code->start + size;
	code->positions = v8_object_of(words[1]);
	code->deopt = v8_object_of(words[2]);
	code->kind = flags & KIND_MASK;
	words[3] = (uint64_t) code->kind << 32 | size;
	code->check = hash_bytes(code->start, words, sizeof(words));
	return true;
}

/* Reads the piece after a head. Returns false if the head does not lead to a Code object. */
static bool
v8_codes_read_code(V8Memory *memory, uint64_t head, V8Code *code)
{
	const V8Layout *layout = memory->layout;
	size_t object_bytes = code_object_bytes(layout);
	uint8_t object[CODE_OBJECT_MAX];
	uint16_t type;

	*code = (V8Code){ .head = head, .map = v8_object_at(memory, head) };
	if (code->map == 0 ||
		!v8_read(memory, code->map + layout->walk.map_type, &type, sizeof(type)) ||
		type != layout->type_code)
		return false;
	code->object = layout->has_streams ? v8_object_at(memory, head + HEAD_CODE) : head;
	return code->object != 0 && object_bytes != 0 &&
		   v8_read(memory, code->object, object, object_bytes) &&
		   take_code_object(layout, object, code);
}

/* Ranges of memory that show whether a piece has changed. */
enum
{
	PART_HEAD, /* its map, and the word that leads to the Code object */
	PART_TYPE, /* of the map; empty if the piece before has the same map */
	PART_OBJECT,
	PARTS,
};

/* Sets the ranges of a piece. previous: the piece that is read before it; NULL: none. */
static void
set_parts(const V8Layout *layout, const V8Code *code, const V8Code *previous,
		  RemoteRange parts[PARTS])
{
	size_t type_bytes = previous == NULL || previous->map != code->map ? sizeof(uint16_t) : 0;

	parts[PART_HEAD] = (RemoteRange){ code->head, HEAD_BYTES, false };
	parts[PART_TYPE] = (RemoteRange){ code->map + layout->walk.map_type, type_bytes, false };
	parts[PART_OBJECT] = (RemoteRange){ code->object, code_object_bytes(layout), false };
}

/* Returns whether the head and the Code object that were read are those of an unchanged piece. */
static bool
is_same(const V8Layout *layout, const V8Code *code, const uint8_t *head, const uint8_t *object)
{
	V8Code now = { .head = code->head, .object = code->object };

	return v8_object_of(bytes_u64_at(head, 0)) == code->map &&
		   (!layout->has_streams || v8_object_of(bytes_u64_at(head, HEAD_CODE)) == code->object) &&
		   take_code_object(layout, object, &now) && now.start == code->start &&
		   now.end == code->end && now.check == code->check;
}

/* Checks together which pieces have not changed. count: at most TOGETHER. */
static void
check_pieces(V8Memory *memory, V8Code *const *pieces, size_t count, bool *are_same)
{
	const V8Layout *layout = memory->layout;
	RemoteRange ranges[TOGETHER * PARTS];
	uint8_t *bytes = malloc(count * PARTS_MAX);
	const uint8_t *at = bytes;
	uint16_t type = 0;

	memset(are_same, 0, count * sizeof(*are_same));
	if (bytes == NULL || code_object_bytes(layout) == 0)
	{
		free(bytes);
		return;
	}
	for (size_t i = 0; i < count; i++)
		set_parts(layout, pieces[i], i > 0 ? pieces[i - 1] : NULL, &ranges[i * PARTS]);
	v8_gather(memory, ranges, count * PARTS, bytes);
	for (size_t i = 0; i < count; i++)
	{
		const RemoteRange *parts = &ranges[i * PARTS];
		const uint8_t *type_bytes = at + parts[PART_HEAD].bytes;
		const uint8_t *object = type_bytes + parts[PART_TYPE].bytes;

		if (parts[PART_TYPE].bytes > 0)
			type = parts[PART_TYPE].had ? bytes_u16_at(type_bytes, 0) : 0;
		are_same[i] = parts[PART_HEAD].had && parts[PART_OBJECT].had && type == layout->type_code &&
					  is_same(layout, pieces[i], at, object);
		at = object + parts[PART_OBJECT].bytes;
	}
	free(bytes);
}

bool
v8_code_is_same(V8Memory *memory, const V8Code *code)
{
	V8Code copy = *code;
	V8Code *const piece = &copy;
	bool same;

	check_pieces(memory, &piece, 1, &same);
	return same;
}

/* Slots for words that were seen while code is searched, so that the type of most is read once. */
#define SEEN_WORDS 256

typedef struct SeenWords
{
	uint64_t others[SEEN_WORDS]; /* words that lead to other objects */
	uint64_t map;				 /* map of objects before code; 0: not seen yet */
} SeenWords;

/* Returns whether a word is the map of objects before code. */
static bool
is_code_map(V8Memory *memory, SeenWords *seen, uint64_t word)
{
	uint64_t map = v8_object_of(word);
	uint64_t *other = &seen->others[hash_word(0, word) % SEEN_WORDS];
	uint16_t type;

	if (map == 0 || *other == word)
		return false;
	if (word == seen->map)
		return true;
	if (v8_read(memory, map + memory->layout->walk.map_type, &type, sizeof(type)) &&
		type == memory->layout->type_code && v8_object_at(memory, map) != 0)
	{
		seen->map = word;
		return true;
	}
	*other = word;
	return false;
}

/* Searches for the object before the code at an address. Returns false if there is none. */
static bool
search_code(V8Memory *memory, uint64_t address, V8Code *code)
{
	uint64_t words[PAGE_BYTES / 8];
	uint64_t page = address & ~(uint64_t) (PAGE_BYTES - 1);
	uint64_t end = address & ~(uint64_t) 7;
	SeenWords seen = { { 0 }, 0 };

	for (; page != 0 && address - page < LOOK_BYTES; page -= PAGE_BYTES)
	{
		size_t count = (size_t) ((end - page) / 8);

		if (count > 0 && !v8_read(memory, page, words, count * 8))
			return false;
		while (count-- > 0)
		{
			uint64_t head = page + 8 * count;

			if (is_code_map(memory, &seen, words[count]) &&
				v8_codes_read_code(memory, head, code) && address >= code->start &&
				address < code->end)
				return true;
		}
		end = page;
	}
	return false;
}

static bool
is_verified(const V8Code *code, uint64_t since_ns, uint64_t now_ns)
{
	return code != NULL && (code->head != 0 ? code->verified_ns > since_ns
											: now_ns - code->verified_ns < SEARCH_AGAIN_NS);
}

bool
v8_codes_use(V8Codes *codes, uint64_t address, uint64_t since_ns, uint64_t now_ns)
{
	V8Code *code = find_piece(codes, address);

	if (code != NULL)
		code->used_ns = now_ns;
	return is_verified(code, since_ns, now_ns);
}

/*
 * Marks pieces that have not changed as verified, and removes the others. The pieces are at
 * ascending places of the list.
 */
static void
keep_same(V8Codes *codes, V8Memory *memory, V8Code *const *pieces, size_t count, uint64_t now_ns)
{
	bool are_same[TOGETHER];

	memory->reads_left = READS_SEARCH;
	check_pieces(memory, pieces, count, are_same);
	/* from the last one on, because a removal moves the pieces after it */
	while (count-- > 0)
	{
		if (are_same[count])
			pieces[count]->verified_ns = now_ns;
		else
			remove_piece(codes, (uint32_t) (pieces[count] - codes->codes));
	}
}

void
v8_codes_verify_used(V8Codes *codes, V8Memory *memory, uint64_t now_ns)
{
	V8Code *pieces[TOGETHER];
	size_t count = 0;

	/* from the last one on, because keep_same() moves the pieces after those that it removes */
	for (uint32_t i = codes->count; i > 0; i--)
	{
		V8Code *code = &codes->codes[i - 1];

		if (code->head == 0 || now_ns - code->used_ns >= USED_NS)
			continue;
		pieces[TOGETHER - ++count] = code;
		if (count < TOGETHER)
			continue;
		keep_same(codes, memory, pieces, count, now_ns);
		count = 0;
	}
	keep_same(codes, memory, &pieces[TOGETHER - count], count, now_ns);
}

void
v8_codes_verify(V8Codes *codes, V8Memory *memory, uint64_t address, uint64_t since_ns,
				uint64_t now_ns)
{
	V8Code *known = find_piece(codes, address);
	V8Code code;

	if (is_verified(known, since_ns, now_ns))
	{
		known->used_ns = now_ns;
		return;
	}
	memory->reads_left = READS_SEARCH;
	if (known != NULL && known->head != 0 && v8_code_is_same(memory, known))
	{
		known->verified_ns = now_ns;
		known->used_ns = now_ns;
		return;
	}
	if (known != NULL)
		remove_piece(codes, (uint32_t) (known - codes->codes));
	if (!allowance_take(&codes->searches, now_ns, SEARCH_COST_NS, SEARCH_BURST_NS))
		return;
	if (search_code(memory, address, &code))
		code.generation = ++codes->generations;
	else
		code = (V8Code){ .start = address, .end = address + 1 };
	code.verified_ns = now_ns;
	code.used_ns = now_ns;
	add_piece(codes, &code);
}
