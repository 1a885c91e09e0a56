/*
 * jfr_bytes.c
 *		Reads numbers and texts within bounds.
 */
#include "formats/jfr/jfr_bytes.h"

#include <string.h>

#include "formats/clean_text.h"

#define NUMBER_BYTES_MAX 9

/* Skipping a text of this many bytes takes as long as reading a number. */
#define TEXT_BYTES_OF_STEP 8

#define PAUSE_STEPS 1024

/* Encodings of a text. */
enum
{
	TEXT_NULL,
	TEXT_EMPTY,
	TEXT_REFERENCE,
	TEXT_UTF8,
	TEXT_CHARACTERS,
	TEXT_LATIN1
};

PfsReadStatus
pfs_jfr_fail(const PfsJfrBytes *in, const char *message)
{
	*in->error = pfs_error_at(message, in->at);
	return PFS_READ_MALFORMED;
}

PfsReadStatus
pfs_jfr_refused(const PfsJfrBytes *in)
{
	in->error->offset = in->at;
	return pfs_budget_status(in->profile->budget, in->error);
}

static PfsReadStatus
take_steps(PfsJfrBytes *in, size_t count)
{
	size_t before = in->steps_left;

	/* Steps limit the work: a chunk may refer to one position many times. */
	if (count > before)
	{
		*in->error = pfs_error_at("recording repeats itself too often", in->at);
		return PFS_READ_TOO_LARGE;
	}
	in->steps_left -= count;
	/* A pause each time the number of remaining steps crosses a multiple. */
	if (before / PAUSE_STEPS != in->steps_left / PAUSE_STEPS)
		pfs_pause(in->profile->budget->pause);
	return PFS_READ_OK;
}

PfsReadStatus
pfs_jfr_step(PfsJfrBytes *in)
{
	return take_steps(in, 1);
}

PfsReadStatus
pfs_jfr_number(PfsJfrBytes *in, uint64_t *number)
{
	uint64_t sum = 0;

	if (take_steps(in, 1) != PFS_READ_OK)
		return PFS_READ_TOO_LARGE;
	for (int i = 0; i < NUMBER_BYTES_MAX && in->at < in->length; i++)
	{
		uint8_t byte = in->bytes[in->at++];
		/* The ninth byte has 8 bits, the others 7: 8 * 7 + 8 = 64. */
		bool is_last = byte < 0x80 || i == NUMBER_BYTES_MAX - 1;

		sum |= (uint64_t) (i == NUMBER_BYTES_MAX - 1 ? byte : byte & 0x7f) << (7 * i);
		if (is_last)
		{
			*number = sum;
			return PFS_READ_OK;
		}
	}
	return pfs_jfr_fail(in, "number extends beyond the end");
}

PfsReadStatus
pfs_jfr_skip(PfsJfrBytes *in, uint64_t count)
{
	if (count > in->length - in->at)
		return pfs_jfr_fail(in, "field extends beyond the end");
	in->at += (size_t) count;
	return PFS_READ_OK;
}

/* Writes a character as UTF-8; halves of surrogate pairs become "?". */
static char *
jfr_put_character(char *out, uint64_t c)
{
	if (c == 0 || c > 0xFFFF || (c >= 0xD800 && c <= 0xDFFF))
		c = '?';
	if (c < 0x80)
		*out++ = (char) c;
	else if (c < 0x800)
		*out++ = (char) (0xC0 | c >> 6);
	else
	{
		*out++ = (char) (0xE0 | c >> 12);
		*out++ = (char) (0x80 | (c >> 6 & 0x3F));
	}
	if (c >= 0x80)
		*out++ = (char) (0x80 | (c & 0x3F));
	return out;
}

/* Converts characters, each a number or a byte, to UTF-8. */
static PfsReadStatus
read_characters(PfsJfrBytes *in, uint64_t count, bool are_bytes, PfsText *text)
{
	PfsReadStatus status = PFS_READ_OK;
	/* A character has at most 3 bytes in UTF-8. */
	char *begin =
		pfs_scratch_alloc(&in->profile->texts, in->profile->budget, (size_t) count * 3 + 1);
	char *out = begin;

	if (begin == NULL)
		return pfs_jfr_refused(in);
	/* begin_text() has tested that a byte exists for each character. */
	for (uint64_t i = 0; status == PFS_READ_OK && i < count; i++)
	{
		uint64_t c = 0;

		if (are_bytes)
			c = in->bytes[in->at++];
		else
			status = pfs_jfr_number(in, &c);
		out = jfr_put_character(out, c);
	}
	*text = (PfsText){ begin, (uint32_t) (out - begin) };
	return status;
}

static PfsReadStatus
read_utf8(PfsJfrBytes *in, uint64_t count, PfsText *text)
{
	*text = (PfsText){ (const char *) in->bytes + in->at, (uint32_t) count };
	in->at += (size_t) count;
	return pfs_text_clean(in->profile, text) ? PFS_READ_OK : pfs_jfr_refused(in);
}

/*
 * Reads the encoding of a text and the number after it: a constant's key, or the number of
 * characters, which is within bounds; 0 for other encodings.
 */
static PfsReadStatus
begin_text(PfsJfrBytes *in, uint8_t *kind, uint64_t *number)
{
	PfsReadStatus status = take_steps(in, 1);

	*kind = TEXT_NULL;
	*number = 0;
	if (status != PFS_READ_OK)
		return status;
	if (in->at == in->length)
		return pfs_jfr_fail(in, "text extends beyond the end");
	*kind = in->bytes[in->at++];
	if (*kind > TEXT_LATIN1)
		return pfs_jfr_fail(in, "unknown kind of text");
	if (*kind == TEXT_NULL || *kind == TEXT_EMPTY)
		return PFS_READ_OK;
	status = pfs_jfr_number(in, number);
	if (status != PFS_READ_OK || *kind == TEXT_REFERENCE)
		return status;
	/* Every character takes at least one byte. */
	if (*number > in->length - in->at)
		return pfs_jfr_fail(in, "text extends beyond the end");
	/* A long text takes more steps, because its bytes are read without any. */
	return take_steps(in, (size_t) *number / TEXT_BYTES_OF_STEP);
}

PfsReadStatus
pfs_jfr_text(PfsJfrBytes *in, PfsJfrText *text)
{
	uint64_t number;
	uint8_t kind;
	PfsReadStatus status = begin_text(in, &kind, &number);

	*text = (PfsJfrText){ .text = { "", 0 } };
	if (status != PFS_READ_OK || kind == TEXT_NULL || kind == TEXT_EMPTY)
		return status;
	if (kind == TEXT_REFERENCE)
	{
		text->is_reference = true;
		text->reference = number;
		return PFS_READ_OK;
	}
	return kind == TEXT_UTF8 ? read_utf8(in, number, &text->text)
							 : read_characters(in, number, kind == TEXT_LATIN1, &text->text);
}

PfsReadStatus
pfs_jfr_skip_text(PfsJfrBytes *in)
{
	uint64_t number;
	uint8_t kind;
	PfsReadStatus status = begin_text(in, &kind, &number);

	if (status != PFS_READ_OK || kind == TEXT_REFERENCE)
		return status;
	/* Bytes are skipped at once; characters have variable lengths. */
	if (kind != TEXT_CHARACTERS)
		return pfs_jfr_skip(in, number);
	for (uint64_t i = 0, c; status == PFS_READ_OK && i < number; i++)
		status = pfs_jfr_number(in, &c);
	return status;
}
