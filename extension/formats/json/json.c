/*
 * json.c
 *		Reads JSON values. To skip one it tracks only brackets and quotes, so that it needs constant
 *		memory at any depth.
 */
#include "formats/json/json.h"

#include <string.h>

#include "formats/clean_text.h"
#include "formats/lines.h"

/* Bytes of a skipped value between two pauses. */
#define PAUSE_BYTES 65536

PfsReadStatus
pfs_json_fail_at(const PfsJson *json, size_t at, PfsReadStatus status, const char *message)
{
	*json->error = pfs_error_at(message, at);
	json->error->line = pfs_line_number(json->bytes, at);
	return status;
}

PfsReadStatus
pfs_json_fail(const PfsJson *json, PfsReadStatus status, const char *message)
{
	return pfs_json_fail_at(json, json->at, status, message);
}

PfsReadStatus
pfs_json_refused(const PfsJson *json)
{
	json->error->offset = json->at;
	return pfs_budget_status(json->profile->budget, json->error);
}

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

char
pfs_json_peek(PfsJson *json)
{
	while (json->at < json->length && is_space(json->bytes[json->at]))
		json->at++;
	return json->at < json->length ? json->bytes[json->at] : '\0';
}

static char
closing(char open)
{
	return open == '[' ? ']' : '}';
}

PfsReadStatus
pfs_json_begin(PfsJson *json, char open, bool *more)
{
	*more = false;
	pfs_pause(json->profile->budget->pause);
	if (pfs_json_peek(json) != open)
		return pfs_json_fail(json, PFS_READ_MALFORMED,
							 open == '[' ? "array was expected" : "object was expected");
	json->at++;
	/* An empty array or object ends here, so its closing bracket is consumed. */
	*more = pfs_json_peek(json) != closing(open);
	json->at += !*more;
	return PFS_READ_OK;
}

PfsReadStatus
pfs_json_next(PfsJson *json, char open, bool *more)
{
	char c = pfs_json_peek(json);

	pfs_pause(json->profile->budget->pause);
	*more = c == ',';
	/* The separator is consumed; at the end of the text there is none. */
	json->at += c != '\0';
	if (c == ',')
	{
		/* JSON allows no comma after the last element */
		c = pfs_json_peek(json);
		/* A killed program may have written "[{...},": then the array ends after the comma. */
		*more = c != closing(open) && (c != '\0' || !json->may_be_cut);
		json->at += c == closing(open);
		return PFS_READ_OK;
	}
	if (c == closing(open) || (c == '\0' && open == '[' && json->may_be_cut))
		return PFS_READ_OK;
	/* The error is reported at the unexpected character. */
	json->at -= c != '\0';
	return pfs_json_fail(json, PFS_READ_MALFORMED,
						 c == '\0' ? "text ends early" : "comma or end was expected");
}

/* Finds the end of a text; *escaped is set if it contains a backslash. */
static PfsReadStatus
scan_text(PfsJson *json, PfsText *text, bool *escaped)
{
	size_t begin;

	*escaped = false;
	if (pfs_json_peek(json) != '"')
		return pfs_json_fail(json, PFS_READ_MALFORMED, "text was expected");
	begin = ++json->at;
	while (json->at < json->length && json->bytes[json->at] != '"')
	{
		bool is_escape = json->bytes[json->at] == '\\';

		*escaped = *escaped || is_escape;
		/* The byte after a backslash belongs to the sequence, even if it is a quote. */
		json->at += 1 + is_escape;
	}
	/* A backslash as the last byte moves beyond the end. */
	if (json->at >= json->length || json->at - begin > UINT32_MAX)
	{
		json->at = begin - 1;
		return pfs_json_fail(json, PFS_READ_MALFORMED, "text has no end");
	}
	*text = (PfsText){ json->bytes + begin, (uint32_t) (json->at - begin) };
	json->at++;
	return PFS_READ_OK;
}

/* Parses four hexadecimal digits; 0 if there are fewer. */
static uint32_t
parse_unit(PfsText text, uint32_t at)
{
	uint32_t unit = 0;

	if (text.length - at < 4)
		return 0;
	for (uint32_t i = at; i < at + 4; i++)
	{
		char c = text.data[i];
		/* The bit 0x20 makes a letter lower case. */
		uint32_t digit = pfs_is_digit(c) ? (uint32_t) (c - '0')
						 : (c | 0x20) >= 'a' && (c | 0x20) <= 'f'
							 ? (uint32_t) ((c | 0x20) - 'a') + 10
							 : 16;

		if (digit == 16)
			return 0;
		unit = unit << 4 | digit;
	}
	return unit;
}

static char *
json_put_character(char *out, uint32_t c)
{
	/* Number of bytes after the first one in UTF-8. */
	int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	static const uint8_t leads[] = { 0, 0xC0, 0xE0, 0xF0 };

	*out++ = (char) (leads[more] | c >> (6 * more));
	while (more-- > 0)
		*out++ = (char) (0x80 | (c >> (6 * more) & 0x3F));
	return out;
}

/*
 * Writes the character of a "\u1234" sequence; if it is the first half of a surrogate pair, reads
 * the second half too. Advances *at. A half without the other, and zero, become the replacement.
 */
static char *
put_escaped_unit(const PfsJson *json, char *out, PfsText text, uint32_t *at)
{
	/* *at is the position of the 'u'. */
	uint32_t first = parse_unit(text, *at + 1);
	uint32_t second = 0;

	*at += text.length - *at < 5 ? text.length - *at : 5;
	/* Characters beyond U+FFFF are written as two units: a high half, then a low half. */
	if (first >= 0xD800 && first < 0xDC00 && text.length - *at >= 6 && text.data[*at] == '\\' &&
		text.data[*at + 1] == 'u')
		second = parse_unit(text, *at + 2);
	if (second >= 0xDC00 && second < 0xE000)
	{
		*at += 6;
		return json_put_character(out, 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00));
	}
	/* Text of PostgreSQL cannot contain U+0000, nor halves of pairs. */
	if (first == 0 || (first >= 0xD800 && first < 0xE000))
		return (char *) memcpy(out, json->profile->replacement,
							   strlen(json->profile->replacement)) +
			   strlen(json->profile->replacement);
	return json_put_character(out, first);
}

/*
 * Replaces escape sequences in place. A sequence is never shorter than its character, except "\u"
 * at the end of the text, whose replacement is one byte longer.
 */
static PfsReadStatus
unescape(PfsJson *json, PfsText *text)
{
	static const char letters[] = "bfnrt";
	static const char meant[] = "\b\f\n\r\t";
	char *begin =
		pfs_scratch_alloc(&json->profile->texts, json->profile->budget, text->length + (size_t) 1);
	char *out = begin;

	if (begin == NULL)
		return pfs_json_refused(json);
	for (uint32_t at = 0; at < text->length;)
	{
		char c = text->data[at++];
		const char *letter;

		/* A lone backslash at the end stays as it is. */
		if (c != '\\' || at == text->length)
		{
			*out++ = c;
			continue;
		}
		if (text->data[at] == 'u')
		{
			out = put_escaped_unit(json, out, *text, &at);
			continue;
		}
		/* Other sequences mean the character itself: \" \\ \/. */
		letter = memchr(letters, text->data[at], sizeof(letters) - 1);
		*out++ = letter != NULL ? meant[letter - letters] : text->data[at];
		at++;
	}
	*text = (PfsText){ begin, (uint32_t) (out - begin) };
	return PFS_READ_OK;
}

PfsReadStatus
pfs_json_text(PfsJson *json, PfsText *text)
{
	bool escaped;
	PfsReadStatus status = scan_text(json, text, &escaped);

	if (status == PFS_READ_OK && escaped)
		status = unescape(json, text);
	/* The text is tested last, because a sequence may produce a character that must be replaced. */
	if (status == PFS_READ_OK && !pfs_text_clean(json->profile, text))
		status = pfs_json_refused(json);
	return status;
}

PfsReadStatus
pfs_json_key(PfsJson *json, PfsText *key)
{
	PfsReadStatus status = pfs_json_text(json, key);

	if (status != PFS_READ_OK)
		return status;
	if (pfs_json_peek(json) != ':')
		return pfs_json_fail(json, PFS_READ_MALFORMED, "colon was expected");
	json->at++;
	return PFS_READ_OK;
}

static bool
is_of_number(char c)
{
	return pfs_is_digit(c) || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

PfsReadStatus
pfs_json_word(PfsJson *json, PfsText *text)
{
	char c = pfs_json_peek(json);
	size_t begin = json->at;

	*text = (PfsText){ "", 0 };
	if (c == '"')
		return pfs_json_text(json, text);
	/* null, true and false, arrays and objects have no text. */
	if (!is_of_number(c))
		return pfs_json_skip(json);
	while (json->at < json->length && is_of_number(json->bytes[json->at]))
		json->at++;
	*text = (PfsText){ json->bytes + begin, (uint32_t) (json->at - begin) };
	return PFS_READ_OK;
}

/*
 * A number: its digits without sign, dot and exponent, and the power of ten by which they are
 * multiplied.
 */
typedef struct Decimal
{
	bool negative;
	uint64_t digits;
	int64_t exponent;
} Decimal;

/* Reads digits into the number. Returns false if there are none. */
static bool
take_digits(PfsJson *json, Decimal *decimal, bool is_fraction)
{
	size_t begin = json->at;

	for (; json->at < json->length && pfs_is_digit(json->bytes[json->at]); json->at++)
	{
		/* The largest number to which any digit can be appended. */
		bool fits = decimal->digits <= (UINT64_MAX - 9) / 10;

		if (fits)
			decimal->digits = decimal->digits * 10 + (uint64_t) (json->bytes[json->at] - '0');
		/*
		 * A digit that does not fit is dropped: before the point it multiplies by ten, after the
		 * point it is below the precision of 64 bits. A digit after the point that fits divides by
		 * ten.
		 */
		decimal->exponent += fits ? -is_fraction : !is_fraction;
	}
	return json->at > begin;
}

static bool
take_character(PfsJson *json, char c)
{
	bool is_there = json->at < json->length && json->bytes[json->at] == c;

	json->at += is_there;
	return is_there;
}

/* Splits a number into sign, digits and exponent without a loss of precision. */
static bool
parse_decimal(PfsJson *json, Decimal *decimal)
{
	Decimal exponent = { .negative = false };

	*decimal = (Decimal){ .negative = take_character(json, '-') };
	if (!take_digits(json, decimal, false) ||
		(take_character(json, '.') && !take_digits(json, decimal, true)))
		return false;
	if (!take_character(json, 'e') && !take_character(json, 'E'))
		return true;
	exponent.negative = take_character(json, '-');
	if (!exponent.negative)
		take_character(json, '+');
	/* A positive exponent.exponent means that the exponent itself did not fit 64 bits. */
	if (!take_digits(json, &exponent, false) || exponent.digits > INT32_MAX ||
		exponent.exponent > 0)
		return false;
	decimal->exponent += exponent.negative ? -(int64_t) exponent.digits : (int64_t) exponent.digits;
	return true;
}

PfsReadStatus
pfs_json_try_number(PfsJson *json, int64_t scale, int64_t *number, bool *is_whole)
{
	__int128 value;
	Decimal decimal;

	pfs_json_peek(json);
	if (!parse_decimal(json, &decimal))
		return PFS_READ_MALFORMED;
	/* At most 64 bits times 30 bits of the scale, so 128 bits suffice. */
	value = (__int128) decimal.digits * scale;
	*is_whole = true;
	/* The loop ends after 19 steps at most, whatever the exponent is. */
	for (; decimal.exponent > 0 && value != 0 && value <= INT64_MAX; decimal.exponent--)
		value *= 10;
	if (value > INT64_MAX && decimal.exponent > 0)
		return PFS_READ_OUT_OF_RANGE;
	/*
	 * Only the last step rounds: rounding at each step would make 1 of 0.45, by way of 0.5. The
	 * loop ends soon, because value becomes 0.
	 */
	for (; decimal.exponent < 0 && value != 0; decimal.exponent++)
	{
		__int128 rounded = (value + (decimal.exponent == -1 ? 5 : 0)) / 10;

		*is_whole = *is_whole && value % 10 == 0;
		value = rounded;
	}
	if (value > INT64_MAX)
		return PFS_READ_OUT_OF_RANGE;
	*number = decimal.negative ? -(int64_t) value : (int64_t) value;
	return PFS_READ_OK;
}

PfsReadStatus
pfs_json_number(PfsJson *json, int64_t scale, int64_t *number, bool *is_whole)
{
	size_t begin = (pfs_json_peek(json), json->at);
	PfsReadStatus status = pfs_json_try_number(json, scale, number, is_whole);

	return status == PFS_READ_OK
			   ? status
			   : pfs_json_fail_at(json, begin, status,
								  status == PFS_READ_MALFORMED ? "number was expected"
															   : "number is out of range");
}

PfsReadStatus
pfs_json_index(PfsJson *json, uint32_t limit, uint32_t *index)
{
	size_t begin = (pfs_json_peek(json), json->at);
	int64_t number = 0;
	bool is_whole;
	PfsReadStatus status = pfs_json_number(json, 1, &number, &is_whole);

	if (status == PFS_READ_OK && (!is_whole || number < 0 || number >= limit))
		return pfs_json_fail_at(json, begin, PFS_READ_MALFORMED, "index is out of range");
	*index = (uint32_t) number;
	return status;
}

/* Skips one text or byte of a value. */
static PfsReadStatus
skip_step(PfsJson *json, size_t *depth)
{
	PfsText text;
	bool escaped;
	char c = json->bytes[json->at];

	if (c == '"')
		return scan_text(json, &text, &escaped);
	if (c == '[' || c == '{')
		++*depth;
	else if (c == ']' || c == '}')
		--*depth;
	json->at++;
	return PFS_READ_OK;
}

PfsReadStatus
pfs_json_skip(PfsJson *json)
{
	char first = pfs_json_peek(json);
	size_t begin = json->at;
	size_t depth = 0;
	PfsReadStatus status = PFS_READ_OK;
	size_t paused_at = begin;

	/*
	 * Depth counts open brackets of both kinds. Their kinds are not compared: the value is not
	 * used, so "[}" passes.
	 */
	if (first == '"' || first == '[' || first == '{')
	{
		do
		{
			status = skip_step(json, &depth);
			if (json->at - paused_at > PAUSE_BYTES)
			{
				pfs_pause(json->profile->budget->pause);
				paused_at = json->at;
			}
			/* A text ends with depth 0 after one step. */
		} while (status == PFS_READ_OK && depth > 0 && json->at < json->length);
		return status != PFS_READ_OK || depth == 0 || json->may_be_cut
				   ? status
				   : pfs_json_fail(json, PFS_READ_MALFORMED, "text ends early");
	}
	/* A number, or a word of letters: true, false, null. */
	while (json->at < json->length &&
		   (is_of_number(json->bytes[json->at]) ||
			(json->bytes[json->at] >= 'a' && json->bytes[json->at] <= 'z')))
		json->at++;
	return json->at > begin ? PFS_READ_OK
							: pfs_json_fail(json, PFS_READ_MALFORMED, "value was expected");
}

PfsReadStatus
pfs_json_find(PfsJson *json, PfsJsonField *fields, int count)
{
	bool more;
	PfsReadStatus status = pfs_json_begin(json, '{', &more);

	/* SIZE_MAX marks a field that the object does not have. */
	for (int i = 0; i < count; i++)
		fields[i].at = SIZE_MAX;
	while (status == PFS_READ_OK && more)
	{
		PfsText key;

		status = pfs_json_key(json, &key);
		if (status != PFS_READ_OK)
			return status;
		pfs_json_peek(json);
		/* Of several fields with one name the last counts, as in JavaScript. */
		for (int i = 0; i < count; i++)
			if (pfs_text_equals(key, fields[i].name))
				fields[i].at = json->at;
		status = pfs_json_skip(json);
		if (status == PFS_READ_OK)
			status = pfs_json_next(json, '{', &more);
	}
	return status;
}

bool
pfs_is_json(const uint8_t *bytes, size_t length)
{
	PfsReadError error;
	PfsJson json = { .bytes = (const char *) bytes, .length = length, .error = &error };
	char first;
	char second;

	json.at = pfs_byte_order_mark((const char *) bytes, length);
	first = pfs_json_peek(&json);
	json.at++;
	if (first != '{' && first != '[')
		return false;
	second = json.at < length ? pfs_json_peek(&json) : '\0';
	/*
	 * The array of a trace begins with an object; "[" alone may begin a folded stack such as
	 * "[kernel];f 3".
	 */
	return first == '{' ? second == '"' : second == '{';
}
