/*
 * work.c
 *		Counts the cost of decoding, keeps its result, and reads values that may be absent.
 */
#include "arrow/work.h"

#include <errno.h>

#include "formats/clean_text.h"

#define TEXT_BYTES_A_STEP 16

bool
work_fail(ArrowWork *work, const char *message)
{
	/* the first failure is the cause; callers that return later may report further ones */
	if (work->end == DECODE_OK)
	{
		work->end = DECODE_INVALID;
		work->message = message;
	}
	return false;
}

bool
work_too_large(ArrowWork *work)
{
	if (work->end == DECODE_OK)
	{
		work->end = DECODE_NO_ROOM;
		work->message = DECODE_TOO_LARGE;
	}
	return false;
}

bool
work_pay(ArrowWork *work, size_t steps)
{
	if (!work_limit_allows(work->limit, steps))
		return work_fail(work, "the request takes too long to read");
	/* steps may exceed INT64_MAX, so it is compared without a sign */
	if (work->left < 0 || (uint64_t) work->left < steps)
		return work_fail(work, "the request refers to large items too often");
	work->left -= (int64_t) steps;
	return true;
}

bool
work_outcome(ArrowWork *work, int err)
{
	switch (err)
	{
		case 0:
			return true;
		case -ENOMEM:
			return work_too_large(work);
		case -EOVERFLOW:
			return work_fail(work, "the sum of equal samples exceeds 64 bits");
		default:
			return work_fail(work, "an item exceeds a limit of the database");
	}
}

void *
work_alloc(ArrowWork *work, size_t count, size_t item_bytes)
{
	void *memory;
	size_t bytes;

	/* one item more, so that NULL always means a failure */
	if (__builtin_mul_overflow(count + 1, item_bytes, &bytes) ||
		(memory = arena_alloc(work->arena, bytes)) == NULL)
	{
		work_too_large(work);
		return NULL;
	}
	memset(memory, 0, bytes);
	return memory;
}

bool
work_clean(ArrowWork *work, Span *text)
{
	char *copy;

	if (!work_pay(work, text->length / TEXT_BYTES_A_STEP))
		return false;
	if (text->length == 0 || memchr(text->bytes, '\0', text->length) == NULL)
		return true;
	/* room for the worst case: each byte becomes a U+FFFD */
	copy = work_alloc(work, text->length, PFS_REPLACEMENT_BYTES);
	if (copy == NULL)
		return false;
	*text = (Span){ (const uint8_t *) copy,
					pfs_zeros_replace(copy, (const char *) text->bytes, text->length) };
	return true;
}

bool
work_bytes(ArrowWork *work, ArrowArray *array, uint32_t item, Span *bytes)
{
	ArrowPlace place;

	*bytes = (Span){ (const uint8_t *) "", 0 };
	/* the record batch lacks the column */
	if (array == NULL)
		return true;
	if (!arrow_place(array, item, &place) || !arrow_text(&place, bytes))
		return work_fail(work, "a text lies outside of its column");
	return true;
}

bool
work_text(ArrowWork *work, ArrowArray *array, uint32_t item, Span *text)
{
	return work_bytes(work, array, item, text) && work_clean(work, text);
}

bool
work_integer(ArrowWork *work, ArrowArray *array, uint32_t item, int64_t *value)
{
	ArrowPlace place;

	*value = 0;
	if (array == NULL)
		return true;
	if (!arrow_place(array, item, &place))
		return work_fail(work, "a number lies outside of its column");
	*value = arrow_integer(&place);
	return true;
}

bool
work_check_type(ArrowWork *work, const ArrowArray *array, ArrowTypeTest test)
{
	return array == NULL || test(array) || work_fail(work, "a column has the wrong type");
}
