/*
 * test_stack_fold.c
 *		Frames that stay if a runtime's own frames are omitted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "runtime_types.h"
#include "runtimes/stack_fold.h"

#define RUNTIME_START 0x10000
#define RUNTIME_END	  0x20000
#define INSIDE(n)	  (0x10000 + (n))
#define OUTSIDE(n)	  (0x50000 + (n))

/* Two words: the first and the second word of an interpreter's frame. */
#define CODE(n) (UINT64_C(0x1100000000000000) + (n)), (UINT64_C(0xf000000000000000) + (n))
#define RETURN	PFS_FRAME_RETURN_ADDRESS

static void
assert_folded(const uint64_t *words, uint32_t count, const uint64_t *left, uint32_t left_count,
			  FoldedStack *stack)
{
	static uint64_t copy[FOLD_WORDS_MAX];

	memcpy(copy, words, count * sizeof(*words));
	stack->words = copy;
	stack->count = count;
	stack_fold(stack, RUNTIME_START, RUNTIME_END);
	assert_int_equal(stack->count, left_count);
	assert_memory_equal(copy, left, left_count * sizeof(*left));
}

#define COUNT(array) ((uint32_t) (sizeof(array) / sizeof((array)[0])))

static void
test_between_frames(void **state)
{
	const uint64_t words[] = { INSIDE(1), CODE(1),	 INSIDE(2), OUTSIDE(3), INSIDE(4), CODE(2),
							   CODE(3),	  INSIDE(5), CODE(4),	OUTSIDE(6), INSIDE(7) };
	const uint64_t left[] = { INSIDE(1), CODE(1), OUTSIDE(3), CODE(2),
							  CODE(3),	 CODE(4), OUTSIDE(6), INSIDE(7) };
	FoldedStack stack = { .cut_at = 384, .late_from = UINT32_MAX };

	assert_folded(words, COUNT(words), left, COUNT(left), &stack);
	assert_int_equal(stack.late_from, stack.count);
}

/* A return address belongs to the call before it. */
static void
test_edges(void **state)
{
	const uint64_t words[] = { CODE(1),		RUNTIME_START,		  RUNTIME_START | RETURN,
							   RUNTIME_END, RUNTIME_END | RETURN, CODE(2) };
	const uint64_t left[] = { CODE(1), RUNTIME_START | RETURN, RUNTIME_END, CODE(2) };
	FoldedStack stack = { 0 };

	assert_folded(words, COUNT(words), left, COUNT(left), &stack);
}

/* Positions of marks move with the words that follow them. */
static void
test_places(void **state)
{
	const uint64_t words[] = { CODE(1),	  INSIDE(1), INSIDE(2), CODE(2),
							   INSIDE(3), CODE(3),	 OUTSIDE(1) };
	const uint64_t left[] = { CODE(1), CODE(2), CODE(3), OUTSIDE(1) };

	for (uint32_t place = 0; place <= COUNT(words); place++)
	{
		static const uint32_t moved[] = { 0, 1, 2, 2, 2, 3, 4, 4, 5, 6, 7 };
		FoldedStack stack = { .cut_at = place, .late_from = place };

		assert_folded(words, COUNT(words), left, COUNT(left), &stack);
		assert_int_equal(stack.cut_at, moved[place]);
		assert_int_equal(stack.late_from, moved[place]);
	}
}

/* Without two frames of the interpreter nothing lies between them. */
static void
test_nothing_to_fold(void **state)
{
	const uint64_t native[] = { INSIDE(1), OUTSIDE(2), INSIDE(3) };
	const uint64_t one[] = { INSIDE(1), CODE(1), INSIDE(3) };
	/* words at the edges of a gap are not frames */
	const uint64_t torn[] = { UINT64_C(0xf000000000000001), INSIDE(1),
							  UINT64_C(0x1100000000000001) };
	FoldedStack stack = { 0 };

	assert_folded(native, COUNT(native), native, COUNT(native), &stack);
	assert_folded(one, COUNT(one), one, COUNT(one), &stack);
	assert_folded(torn, COUNT(torn), torn, COUNT(torn), &stack);
	assert_folded(native, 0, native, 0, &stack);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_between_frames),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_nothing_to_fold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
