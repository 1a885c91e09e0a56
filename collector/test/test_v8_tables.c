/*
 * test_v8_tables.c
 *		V8's tables without a process: positions, constants of versions, and the merge of V8's
 *		frames with native stacks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "runtimes/stack_merge.h"
#include "runtimes/v8/v8_layout.h"
#include "runtimes/v8/v8_positions.h"

/* Two entries: differences of 8 and -3 - 1, positions 10 and 4 further; then one of 2 and -6. */
static void
test_positions(void **state)
{
	static const uint8_t table[] = { 18, 2 * 22, 2 * 3 + 1, 2 * 8, 4, 2 * 12 - 1 };
	static const uint8_t widened[] = { 36, 2 * 22, 2 * (2 * 3 + 1), 2 * 8, 8, 2 * 12 - 1 };
	static const uint8_t endless[] = { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
									   0x80, 0x80, 0x80, 0x80, 0x80 };
	V8Position position;

	for (unsigned shift = 0; shift < 2; shift++)
	{
		const uint8_t *bytes = shift == 0 ? table : widened;

		assert_false(v8_position_find(bytes, 6, shift, 7, &position));
		assert_true(v8_position_find(bytes, 6, shift, 8, &position));
		assert_int_equal(position.offset, 10);
		assert_true(v8_position_find(bytes, 6, shift, 10, &position));
		assert_int_equal(position.offset, 10);
		assert_true(v8_position_find(bytes, 6, shift, 11, &position));
		assert_int_equal(position.offset, 14);
		assert_true(v8_position_find(bytes, 6, shift, 1000, &position));
		assert_int_equal(position.offset, 8);
		assert_int_equal(position.inlined, 0);
		/* an entry that was cut is ignored */
		assert_true(v8_position_find(bytes, 5, shift, 1000, &position));
		assert_int_equal(position.offset, 14);
	}
	assert_false(v8_position_find(endless, sizeof(endless), 0, 1, &position));
	position = v8_position_split((UINT64_C(5) << 31) | (8 << 1));
	assert_int_equal(position.offset, 7);
	assert_int_equal(position.inlined, 5);
	assert_int_equal(v8_position_split((8 << 1) | 1).offset, -1);
}

/* Bytecodes 4 (one byte, wide: two) and 5 (three bytes, wide: five). */
static void
test_baseline(void **state)
{
	static const uint8_t sizes[] = { 1, 1, 1, 1, 1, 3, 1, 1, 1, 1, 2, 5, 1, 1, 1, 1, 3, 9 };
	static const uint8_t code[] = { 4, 5, 0, 0, 0, 5, 1, 2, 3, 4, 4 };
	static const uint8_t table[] = { 10, 4, 6, 8, 2 };
	const V8Bytecodes bytecodes = { code, sizeof(code), sizes, 6 };
	static const uint32_t expected[][2] = {
		{ 0, 0 },  { 9, 0 },  { 10, 0 }, { 13, 0 },	 { 14, 1 },
		{ 19, 1 }, { 20, 4 }, { 27, 4 }, { 28, 10 }, { 29, 10 }
	};
	uint32_t offset;

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
	{
		assert_true(v8_baseline_find(table, sizeof(table), &bytecodes, expected[i][0], &offset));
		assert_int_equal(offset, expected[i][1]);
	}
	assert_false(v8_baseline_find(table, sizeof(table), &bytecodes, 30, &offset));
	assert_false(v8_baseline_find(table, 0, &bytecodes, 0, &offset));
}

/* Constants of Node 22, except those that are derived. */
static const struct
{
	const char *name;
	int32_t value;
} node_22[] = { { "SmiShiftSize", 31 },
				{ "class_JSFunction__shared__SharedFunctionInfo", 32 },
				{ "class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_", 16 },
				{ "class_SharedFunctionInfo__script__Tagged_HeapObject_", 32 },
				{ "class_SharedFunctionInfo__length__uint16_t", 40 },
				{ "class_BytecodeArray__wrapper__Tagged_BytecodeWrapper_", 16 },
				{ "class_BytecodeArray__data__uintptr_t", 64 },
				{ "class_Script__name__Object", 16 },
				{ "class_Script__line_ends__Object", 56 },
				{ "class_Code__flags__uint32_t", 48 },
				{ "class_Code__instruction_start__Address", 40 },
				{ "class_Code__instruction_size__int", 52 },
				{ "type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", 274 },
				{ "type_InstructionStream__INSTRUCTION_STREAM_TYPE", 210 },
				{ "type_Code__CODE_TYPE", 206 },
				{ "type_CodeWrapper__CODE_WRAPPER_TYPE", 153 },
				{ "type_BytecodeArray__BYTECODE_ARRAY_TYPE", 205 },
				{ "type_ScopeInfo__SCOPE_INFO_TYPE", 272 },
				{ "type_Script__SCRIPT_TYPE", 167 },
				{ "FirstNonstringType", 128 } };
#define NODE_22 (sizeof(node_22) / sizeof(node_22[0]))

/* Returns the constants without one of them, or with an invalid one. */
static void
note_constants(V8Constants *constants, size_t without, int32_t wrong)
{
	memset(constants, 0, sizeof(*constants));
	constants->version[0] = 12;
	constants->version[1] = 4;
	constants->version[2] = 254;
	for (size_t i = 0; i < NODE_22; i++)
	{
		if (i != without)
			v8_constants_note(constants, node_22[i].name, node_22[i].value);
		else if (wrong != 0)
			v8_constants_note(constants, node_22[i].name, wrong);
	}
}

static void
test_layouts(void **state)
{
	V8Constants constants;
	V8Layout layout;

	note_constants(&constants, NODE_22, 0);
	assert_true(v8_layout_of(&constants, &layout));
	assert_int_equal(layout.walk.slot_function, 6);
	assert_int_equal(layout.walk.slot_bytecodes, 4);
	assert_int_equal(layout.walk.slot_offset, 3);
	assert_int_equal(layout.walk.script_id, 8);
	assert_int_equal(layout.code_positions, 16);
	assert_int_equal(layout.code_deopt, 8);
	assert_int_equal(layout.bytecodes_positions, 24);
	assert_true(layout.has_streams && layout.start_is_pointer);
	for (size_t i = 0; i < NODE_22; i++)
	{
		/* constants that only need to exist; others follow from them, or nothing does */
		static const char *const marks[] = { "class_BytecodeArray__wrapper__", "type_Code__",
											 "type_CodeWrapper__" };
		static const char *const optional[] = { "class_BytecodeArray__data__", "class_Code__",
												"type_InstructionStream__" };
		bool is_mark = false;
		bool is_optional = false;

		for (size_t j = 0; j < 3; j++)
		{
			is_mark |= strncmp(node_22[i].name, marks[j], strlen(marks[j])) == 0;
			is_optional |= strncmp(node_22[i].name, optional[j], strlen(optional[j])) == 0;
		}
		if (is_mark)
			continue;
		note_constants(&constants, i, 0);
		assert_true(is_optional || !v8_layout_of(&constants, &layout));
		note_constants(&constants, i, -8);
		assert_true(is_optional || !v8_layout_of(&constants, &layout));
		note_constants(&constants, i, 1 << 20);
		assert_false(v8_layout_of(&constants, &layout));
	}
	/* compressed pointers, and unknown versions */
	note_constants(&constants, 0, 30);
	assert_false(v8_layout_of(&constants, &layout));
	note_constants(&constants, NODE_22, 0);
	constants.version[0] = 15;
	assert_false(v8_layout_of(&constants, &layout));
	constants.version[0] = 7;
	assert_false(v8_layout_of(&constants, &layout));
}

static bool
is_high(const void *context, uint64_t address)
{
	return address >= 0x10000;
}

/* Frames of the chain replace the native ones that they describe, with the executed address. */
static void
test_merge(void **state)
{
	const uint64_t first = 0x5000 | UINT64_C(2) << 60 | (uint64_t) PFS_RUNTIME_V8 << 56;
	const uint64_t more = UINT64_C(15) << 60;
	const uint64_t frames[] = { 0x100, 0x10201 | PFS_FRAME_RETURN_ADDRESS, 0x300, 0x400 };
	const uint64_t ends[] = { 16, 32, 48, 64 };
	const uint64_t words[] = { first,	  more, more | UINT64_C(0) << PFS_V8_BYTECODES_BITS,
							   first + 8, more, more | UINT64_C(1) << PFS_V8_BYTECODES_BITS,
							   first,	  more, more | UINT64_C(1) << PFS_V8_BYTECODES_BITS,
							   first,	  more, more | UINT64_C(9) << PFS_V8_BYTECODES_BITS };
	const uint64_t expected[] = { 0x100,		  first + (UINT64_C(1) << 60),
								  words[1],		  words[2],
								  more,			  first + 8 + (UINT64_C(1) << 60),
								  words[4],		  words[5],
								  more | 0x10200, 0x300,
								  0x400 };
	MachineStack machine = { .frames = frames,
							 .ends = ends,
							 .count = 4,
							 .cut_at = 4,
							 .late_from = 4,
							 .whole = true,
							 .is_generated = is_high };
	const ChainStack chain = {
		.words = words, .count = 12, .whole = true, .marks = PFS_MARKS_NUMBERS
	};
	static MergedStack merged;

	assert_true(stack_merge(&machine, &chain, NULL, 0, &merged));
	assert_int_equal(merged.count, sizeof(expected) / sizeof(expected[0]));
	assert_memory_equal(merged.words, expected, sizeof(expected));
	assert_int_equal(merged.merged, 2);
	assert_int_equal(merged.unmatched, 2); /* one frame twice, and an unknown one */
	assert_int_equal(merged.late_from, merged.count);
}

/*
 * The innermost frame executes one of V8's own functions, which makes no frame: its caller has the
 * address before the one to which the function returns, if that is generated code.
 */
static void
test_merge_without_frame(void **state)
{
	const uint64_t first = 0x5000 | UINT64_C(3) << 60 | (uint64_t) PFS_RUNTIME_V8 << 56;
	const uint64_t more = UINT64_C(15) << 60;
	uint64_t frames[] = { 0x100, 0x300 };
	const uint64_t ends[] = { 16, 32 };
	uint64_t words[] = { first, more, more, more | 0x10201, first, more, more | 1, more | 0x10201 };
	MachineStack machine = { .frames = frames,
							 .ends = ends,
							 .count = 2,
							 .cut_at = 2,
							 .late_from = 2,
							 .whole = true,
							 .is_generated = is_high };
	ChainStack chain = { .words = words, .count = 4, .whole = true, .marks = PFS_MARKS_NUMBERS };
	static MergedStack merged;

	assert_true(stack_merge(&machine, &chain, NULL, 0, &merged));
	assert_int_equal(merged.count, 6);
	assert_int_equal(merged.words[0], 0x100);
	assert_int_equal(merged.words[1], first);
	assert_int_equal(merged.words[4], more | 0x10200);
	/* the word is no return address into generated code */
	words[3] = more | 0x201;
	assert_true(stack_merge(&machine, &chain, NULL, 0, &merged));
	assert_int_equal(merged.count, 6);
	assert_int_equal(merged.words[4], more);
	/* generated code runs itself, so the word means nothing */
	words[3] = more | 0x10201;
	frames[0] = 0x10300;
	assert_true(stack_merge(&machine, &chain, NULL, 0, &merged));
	assert_int_equal(merged.count, 5);
	assert_int_equal(merged.words[3], more | 0x10300);
	/* only the innermost frame has such a word */
	chain.count = 8;
	words[6] = more | UINT64_C(1) << PFS_V8_BYTECODES_BITS;
	assert_true(stack_merge(&machine, &chain, NULL, 0, &merged));
	assert_int_equal(merged.words[7], more);
}

/* The words on both sides of a chain's gap are not taken for one description. */
static void
test_merge_torn(void **state)
{
	const uint64_t first = 0x5000 | UINT64_C(2) << 60 | (uint64_t) PFS_RUNTIME_V8 << 56;
	const uint64_t more = UINT64_C(15) << 60;
	const uint64_t frames[] = { 0x100, 0x10201, 0x10301 };
	const uint64_t ends[] = { 16, 32, 48 };
	const uint64_t second = more | UINT64_C(1) << PFS_V8_BYTECODES_BITS;
	const uint64_t third = more | UINT64_C(2) << PFS_V8_BYTECODES_BITS;
	/* the gap is between the words of the first description */
	const uint64_t words[] = { first, more, second, first, more, third };
	const MachineStack machine = { .frames = frames,
								   .ends = ends,
								   .count = 3,
								   .cut_at = 3,
								   .late_from = 3,
								   .whole = true,
								   .is_generated = is_high };
	const ChainStack chain = {
		.words = words, .count = 6, .cut_at = 2, .cut = 6, .whole = true, .marks = PFS_MARKS_NUMBERS
	};
	static MergedStack merged;

	assert_true(stack_merge(&machine, &chain, NULL, 0, &merged));
	assert_int_equal(merged.merged, 1);
	assert_int_equal(merged.words[1], frames[1]);
}

/*
 * Frames that are described by their addresses replace the native frames with these frame pointers,
 * if the walk passed them. Other addresses are not frames.
 */
static void
test_merge_places(void **state)
{
	const uint64_t first = 0x5000 | UINT64_C(2) << 60 | (uint64_t) PFS_RUNTIME_V8 << 56;
	const uint64_t more = UINT64_C(15) << 60;
	const uint64_t by_pointer = PFS_FRAME_RETURN_ADDRESS | PFS_FRAME_BY_FRAME_POINTER;
	const uint64_t frames[] = { 0x100, 0x10201 | PFS_FRAME_RETURN_ADDRESS, 0x10301 | by_pointer,
								0x10401 | by_pointer, 0x500 | PFS_FRAME_RETURN_ADDRESS };
	const uint64_t ends[] = { 0x1010, 0x1040, 0x1080, 0x10c0, 0 };
	/* the first one's caller was found by a rule, no frame ends at the second, the last is below */
	const uint64_t words[] = { first, more, more | UINT64_C(0) << PFS_V8_BYTECODES_BITS,
							   first, more, more | UINT64_C(1) << PFS_V8_BYTECODES_BITS,
							   first, more, more | UINT64_C(6) << PFS_V8_BYTECODES_BITS,
							   first, more, more | UINT64_C(14) << PFS_V8_BYTECODES_BITS,
							   first, more, more | UINT64_C(22) << PFS_V8_BYTECODES_BITS,
							   first, more, more | UINT64_C(6) << PFS_V8_BYTECODES_BITS };
	const uint64_t expected[] = { 0x100,		  first + (UINT64_C(1) << 60), more,	 words[8],
								  more | 0x10200, first + (UINT64_C(1) << 60), more,	 words[11],
								  more | 0x10300, 0x10401 | by_pointer,		   frames[4] };
	MachineStack machine = { .frames = frames,
							 .ends = ends,
							 .count = 5,
							 .cut_at = 5,
							 .late_from = 0,
							 .first_sp = 0x1000,
							 .whole = true,
							 .is_generated = is_high };
	const ChainStack chain = {
		.words = words, .count = 18, .whole = true, .marks = PFS_MARKS_PLACES
	};
	static MergedStack merged;

	assert_true(stack_merge(&machine, &chain, NULL, 0, &merged));
	assert_int_equal(merged.merged, 2);
	assert_int_equal(merged.unmatched, 0);
	assert_int_equal(merged.count, sizeof(expected) / sizeof(expected[0]));
	assert_memory_equal(merged.words, expected, sizeof(expected));
}

/* Frames after a gap are found by their number from the end, unless later ones were added. */
static void
test_merge_cut(void **state)
{
	static uint64_t frames[PFS_MAX_USER_FRAMES];
	static uint64_t ends[PFS_MAX_USER_FRAMES];
	static MergedStack merged;
	const uint64_t first = 0x5000 | UINT64_C(2) << 60 | (uint64_t) PFS_RUNTIME_V8 << 56;
	const uint64_t more = UINT64_C(15) << 60;
	const uint64_t words[] = { first, more, more | UINT64_C(1011) << PFS_V8_BYTECODES_BITS };
	MachineStack machine = { .frames = frames,
							 .ends = ends,
							 .count = PFS_MAX_USER_FRAMES,
							 .cut_at = PFS_LEAF_FRAMES,
							 .cut = 500,
							 .late_from = PFS_MAX_USER_FRAMES,
							 .whole = true };
	const ChainStack chain = {
		.words = words, .count = 3, .whole = true, .marks = PFS_MARKS_NUMBERS
	};

	for (uint32_t i = 0; i < PFS_MAX_USER_FRAMES; i++)
		frames[i] = 0x100 * (i + 1);
	assert_true(stack_merge(&machine, &chain, NULL, 0, &merged));
	assert_int_equal(merged.count, PFS_MAX_USER_FRAMES + 3);
	assert_int_equal(merged.words[510], frames[510]);
	assert_int_equal(PFS_FRAME_MORE(merged.words[511]), 3);
	assert_int_equal(merged.cut, 500);
	machine.late_from = PFS_MAX_USER_FRAMES - 20;
	assert_false(stack_merge(&machine, &chain, NULL, 0, &merged));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_positions),	 cmocka_unit_test(test_baseline),
		cmocka_unit_test(test_layouts),		 cmocka_unit_test(test_merge),
		cmocka_unit_test(test_merge_places), cmocka_unit_test(test_merge_cut),
		cmocka_unit_test(test_merge_torn),	 cmocka_unit_test(test_merge_without_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
