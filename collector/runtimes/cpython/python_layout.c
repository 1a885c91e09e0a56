/*
 * python_layout.c
 *		Offsets in CPython's structures, by version.
 */
#include "runtimes/cpython/python_layout.h"

#include <string.h>

#define OBJECT_BYTES	  16 /* size of PyObject */
#define OBJECT_BYTES_FREE 32 /* in a build without the interpreter's lock */
#define STRING_HASH		  24
#define STRING_KIND		  2
#define STRING_KIND_FREE  8 /* from 3.14 on, in a build without the lock: a byte comes before it */

/* Offsets of a version, from its headers. */
typedef struct VersionOffsets
{
	uint16_t minor;
	uint16_t thread_id;
	uint16_t state_frame;
	uint16_t frame_code;
	uint16_t frame_previous;
	uint16_t frame_instruction;
	uint16_t frame_owner;
	uint16_t file;
	uint16_t name;
	uint16_t qualified;
	uint16_t first_line;
	uint16_t lines;
	uint16_t instructions;
	uint16_t object_bytes;
	uint16_t ascii;
	uint16_t compact;
	uint16_t
		frame_copy; /* offset in builds whose threads execute copies of bytecode; otherwise 0 */
	uint16_t copies;
} VersionOffsets;

static const VersionOffsets versions[] = {
	{ 6, 152, 24, 32, 24, 120, 0, 96, 104, 0, 36, 112, 0, OBJECT_BYTES, 48, 72, 0, 0 },
	{ 7, 176, 24, 32, 24, 104, 0, 96, 104, 0, 36, 112, 0, OBJECT_BYTES, 48, 72, 0, 0 },
	{ 8, 176, 24, 32, 24, 104, 0, 104, 112, 0, 40, 120, 0, OBJECT_BYTES, 48, 72, 0, 0 },
	{ 9, 176, 24, 32, 24, 104, 0, 104, 112, 0, 40, 120, 0, OBJECT_BYTES, 48, 72, 0, 0 },
	{ 10, 176, 24, 32, 24, 96, 0, 104, 112, 0, 40, 120, 0, OBJECT_BYTES, 48, 72, 0, 0 },
	{ 11, 152, 56, 32, 48, 56, 68, 112, 120, 128, 72, 136, 184, OBJECT_BYTES, 48, 72, 0, 0 },
	{ 12, 136, 56, 0, 8, 56, 70, 112, 120, 128, 68, 136, 192, OBJECT_BYTES, 40, 56, 0, 0 },
};

#define OWNER_GENERATOR 1
#define OWNER_SHIM		3
/* the field is_entry of 3.11 */
#define OWNER_NO_ENTRY	0
#define OWNER_ENTRY		1

/* Positions of words in a build's table, whose groups grew from version to version. */
typedef struct OffsetPlaces
{
	uint16_t minor;
	uint16_t current_frame;
	uint16_t thread_id;
	uint16_t frame; /* size, previous, executable, instr_ptr, localsplus, owner */
	uint16_t frame_copy;
	uint16_t code; /* size, filename, name, qualname, linetable, firstlineno */
	uint16_t code_adaptive;
	uint16_t copies;
	uint16_t object; /* size, ob_type */
	uint16_t bytes;	 /* size, ob_size, ob_sval */
	uint16_t string; /* size, state, length, asciiobject_size */
} OffsetPlaces;

static const OffsetPlaces places[] = {
	{ 13, 23, 24, 28, 0, 34, 43, 0, 44, 64, 67 },
	{ 14, 26, 27, 31, 38, 39, 48, 49, 50, 74, 77 },
	{ 15, 26, 30, 39, 46, 47, 56, 57, 58, 86, 89 },
};

#define MOST_OFFSET	  4096
#define SIZE_MOST	  (1 << 20)
#define RELEASE_FINAL 0xf

/*
 * Derives the layout from the offsets. Returns false if an offset exceeds the block that is read at
 * once.
 */
static bool
finish(PythonLayout *layout, const VersionOffsets *at)
{
	uint16_t first = at->first_line & (uint16_t) ~7;
	struct pfs_python_layout *walk = &layout->walk;
	uint16_t words = (uint16_t) ((at->lines + 8 - first) / 8);

	if (words > PFS_CODE_BLOCK_WORDS || at->lines + 8 > PYTHON_CODE_BYTES || at->name < first ||
		at->name > at->lines || at->lines % 8 != 0 || at->name % 8 != 0 || at->file % 8 != 0 ||
		at->qualified % 8 != 0 || at->frame_code / 8 >= PFS_FRAME_BLOCK_MOST_WORDS ||
		at->frame_previous / 8 >= PFS_FRAME_BLOCK_MOST_WORDS ||
		at->frame_instruction / 8 >= PFS_FRAME_BLOCK_MOST_WORDS)
		return false;
	layout->minor = (uint8_t) at->minor;
	layout->state_thread_id = at->thread_id;
	layout->code_file = at->file;
	layout->code_name = at->name;
	layout->code_qualified = at->qualified;
	layout->code_first_line = at->first_line;
	layout->code_lines = at->lines;
	layout->code_instructions = at->instructions;
	layout->code_bytes = (uint16_t) (at->lines + 8);
	layout->object_type = at->object_bytes - 8;
	layout->object_length = at->object_bytes;
	/* the length and the hash precede the bytes */
	layout->bytes_data = at->object_bytes + 16;
	layout->string_state = at->object_bytes + 16;
	layout->string_kind = at->frame_copy != 0 ? STRING_KIND_FREE : STRING_KIND;
	layout->string_ascii = at->ascii;
	layout->string_compact = at->compact;
	*walk = (struct pfs_python_layout){
		.state_frame = at->state_frame,
		.code_first = first,
		.name_hash = STRING_HASH,
		.frame_code = (uint8_t) (at->frame_code / 8),
		.frame_previous = (uint8_t) (at->frame_previous / 8),
		.frame_instruction = (uint8_t) (at->frame_instruction / 8),
		.frame_owner = (uint8_t) at->frame_owner,
		.code_mask = (uint16_t) ((1U << words) - 1),
	};
	if (at->frame_copy != 0)
	{
		walk->frame_copy = (uint8_t) (at->frame_copy / 4);
		walk->code_copies = (uint8_t) (at->copies / 8);
		walk->code_bytecode = (uint8_t) (at->instructions / 8);
	}
	/* from 3.12 on code objects have a number of their own, which is among the hashed words */
	if (at->minor < 12)
		walk->code_name = (uint8_t) ((at->name - first) / 8);
	walk->wide_frames = at->minor < 11;
	walk->is_index = at->minor < 11;
	walk->boundary = at->minor == 11 ? OWNER_ENTRY : OWNER_SHIM;
	/*
	 * From 3.12 on these are generators alone. Greenlets end their chains with functions that no
	 * shim called.
	 */
	walk->called = at->minor == 11 ? OWNER_NO_ENTRY : OWNER_GENERATOR;
	if (at->minor >= 11)
		layout->marks = at->minor == 11 ? PFS_MARKS_ENTRY : PFS_MARKS_SHIM;
	if (at->minor == 11 || at->minor == 12)
	{
		walk->has_record = 1;
		walk->record_frame = at->minor == 11 ? 8 : 0;
	}
	return true;
}

bool
python_layout_of_version(uint32_t minor, PythonLayout *layout)
{
	*layout = (PythonLayout){ 0 };
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
	{
		if (versions[i].minor == minor)
			return finish(layout, &versions[i]);
	}
	return false;
}

/*
 * Checks a group of the table: its size, followed by count offsets, which must be less than the
 * size.
 */
static bool
group_holds(const uint64_t *group, uint32_t count)
{
	if (group[0] == 0 || group[0] > SIZE_MOST)
		return false;
	for (uint32_t i = 1; i <= count; i++)
	{
		if (group[i] >= group[0] || group[i] >= MOST_OFFSET)
			return false;
	}
	return true;
}

static bool
table_is_of(uint32_t minor, const uint64_t *words)
{
	return memcmp(words, PYTHON_OFFSETS_MAGIC, sizeof(*words)) == 0 && words[1] >> 24 == 3 &&
		   (words[1] >> 16 & 0xff) == minor && (words[1] >> 4 & 0xf) == RELEASE_FINAL &&
		   words[2] <= 1;
}

/* Checks what the walk reads with words of a byte each, and in a frame's block. */
static bool
copies_hold(uint64_t frame_copy, uint64_t copies, uint64_t bytecode)
{
	return frame_copy != 0 && frame_copy % 4 == 0 && frame_copy < 8 * PFS_FRAME_BLOCK_WORDS &&
		   copies % 8 == 0 && copies / 8 <= UINT8_MAX && bytecode % 8 == 0 &&
		   bytecode / 8 <= UINT8_MAX;
}

bool
python_layout_of_offsets(uint32_t minor, const uint64_t words[PYTHON_OFFSETS_WORDS],
						 PythonLayout *layout)
{
	const OffsetPlaces *at = NULL;
	const uint64_t *frame;
	const uint64_t *code;
	const uint64_t *bytes;
	const uint64_t *string;
	uint64_t object;
	bool has_copies;
	VersionOffsets found;

	*layout = (PythonLayout){ 0 };
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
	{
		if (places[i].minor == minor)
			at = &places[i];
	}
	if (at == NULL || !table_is_of(minor, words))
		return false;
	frame = &words[at->frame];
	code = &words[at->code];
	bytes = &words[at->bytes];
	string = &words[at->string];
	object = words[2] != 0 ? OBJECT_BYTES_FREE : OBJECT_BYTES;
	has_copies = words[2] != 0 && at->copies != 0;
	if (!group_holds(frame, 5) || !group_holds(code, 5) || !group_holds(bytes, 2) ||
		!group_holds(string, 2) || words[at->current_frame] >= MOST_OFFSET ||
		words[at->thread_id] >= MOST_OFFSET || words[at->code_adaptive] >= code[0] ||
		string[3] > string[0] || string[3] >= MOST_OFFSET)
		return false;
	/* finish() derives these from the size of an object */
	if (words[at->object] != object || words[at->object + 1] != object - 8 || bytes[1] != object ||
		bytes[2] != object + 16 || string[1] != object + 16 || string[2] != object ||
		frame[0] > 8 * PFS_FRAME_BLOCK_WORDS || frame[1] % 8 != 0 || frame[2] % 8 != 0 ||
		frame[3] % 8 != 0 || frame[5] >= 8 * PFS_FRAME_BLOCK_WORDS)
		return false;
	if (has_copies &&
		!copies_hold(words[at->frame_copy], words[at->copies], words[at->code_adaptive]))
		return false;
	found = (VersionOffsets){
		.minor = (uint16_t) minor,
		.thread_id = (uint16_t) words[at->thread_id],
		.state_frame = (uint16_t) words[at->current_frame],
		.frame_previous = (uint16_t) frame[1],
		.frame_code = (uint16_t) frame[2],
		.frame_instruction = (uint16_t) frame[3],
		.frame_owner = (uint16_t) frame[5],
		.file = (uint16_t) code[1],
		.name = (uint16_t) code[2],
		.qualified = (uint16_t) code[3],
		.lines = (uint16_t) code[4],
		.first_line = (uint16_t) code[5],
		.instructions = (uint16_t) words[at->code_adaptive],
		.object_bytes = (uint16_t) object,
		.ascii = (uint16_t) string[3],
		.compact = (uint16_t) (string[3] + 16),
		.frame_copy = (uint16_t) (has_copies ? words[at->frame_copy] : 0),
		.copies = (uint16_t) (has_copies ? words[at->copies] : 0),
	};
	return found.lines > found.first_line && found.file <= found.lines &&
		   found.qualified <= found.lines && finish(layout, &found);
}

uint64_t
python_layout_check(const PythonLayout *layout, const uint8_t *code, uint64_t name_hash)
{
	uint64_t words[PFS_CODE_BLOCK_WORDS] = { 0 };
	uint64_t hash = 0;

	/* finish() has checked that whole words are copied, and that they fit */
	memcpy(words, code + layout->walk.code_first,
		   (size_t) layout->code_bytes - layout->walk.code_first);
	for (uint32_t i = 0; i < PFS_CODE_BLOCK_WORDS; i++)
		hash = pfs_hash_masked(hash, words, layout->walk.code_mask, i);
	if (layout->walk.code_name != 0)
		hash = pfs_hash_step(hash, name_hash);
	return pfs_python_check(hash);
}
