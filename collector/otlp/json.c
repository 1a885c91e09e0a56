/*
 * json.c
 *		Reads the text once and writes protobuf at the same time. Five bytes are reserved for the
 *		length before each message; protobuf allows five bytes for any length.
 */
#include "otlp/json.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/wire_write.h"
#include "otlp/fields.h"

#define LENGTH_BYTES   5
#define NUMBER_BYTES   64 /* limit of a number's text */
#define HEX_TRACE	   32
#define HEX_SPAN	   16
#define FIRST_CAPACITY 4096

#define TOO_OLD_TEXT \
	"the request is of OTLP 1.7 or before; versions 1.8 to 1.11 of the profiles signal are supported"

typedef struct Json
{
	const uint8_t *at;
	const uint8_t *end;
	int depth;
	const char *error;
	bool no_memory;

	uint8_t *out;
	size_t length;
	size_t capacity;
	size_t limit;
	MemoryShare *memory;
} Json;

static bool
json_fail(Json *json, const char *error)
{
	if (json->error == NULL)
		json->error = error;
	return false;
}

/* --- output --- */

/* Makes room for more output, within the limit. */
static bool
reserve(Json *json, size_t bytes)
{
	size_t capacity = json->capacity;
	uint8_t *out;

	if (json->capacity - json->length >= bytes)
		return true;
	/*
	 * Text cannot become longer than JSON_GROWTH times its length; the limit guards against a
	 * mistake in that bound.
	 */
	if (bytes > json->limit - json->length)
		return json_fail(json, "the text is larger than its limit allows");
	while (capacity - json->length < bytes)
		capacity = capacity == 0 ? FIRST_CAPACITY : capacity * 2;
	/* The limit includes the reserved bytes, so length never exceeds it. */
	if (capacity > json->limit)
		capacity = json->limit;
	out = share_realloc(json->memory, json->out, capacity);
	if (out == NULL)
	{
		json->no_memory = true;
		return false;
	}
	json->out = out;
	json->capacity = capacity;
	return true;
}

static bool
put_byte(Json *json, unsigned byte)
{
	if (!reserve(json, 1))
		return false;
	json->out[json->length++] = (uint8_t) byte;
	return true;
}

static bool
put_varint(Json *json, uint64_t value)
{
	if (!reserve(json, pfs_wire_varint_bytes(value)))
		return false;
	json->length = (size_t) (pfs_wire_put_varint((char *) json->out + json->length, value) -
							 (char *) json->out);
	return true;
}

static bool
put_fixed64(Json *json, uint64_t value)
{
	value = htole64(value);
	if (!reserve(json, sizeof(value)))
		return false;
	memcpy(json->out + json->length, &value, sizeof(value));
	json->length += sizeof(value);
	return true;
}

static bool
put_tag(Json *json, const JsonField *field, unsigned wire_type)
{
	return put_varint(json, (uint64_t) field->number << PFS_WIRE_TAG_SHIFT | wire_type);
}

/* Begins a field of bytes: reserves room for the length before them. */
static bool
begin_bytes(Json *json, const JsonField *field, size_t *begun)
{
	if (!put_tag(json, field, PFS_WIRE_BYTES) || !reserve(json, LENGTH_BYTES))
		return false;
	json->length += LENGTH_BYTES;
	*begun = json->length;
	return true;
}

static void
end_bytes(Json *json, size_t begun)
{
	size_t length = json->length - begun;

	/*
	 * A varint of five bytes, whatever the length: all but the last byte have the continuation bit,
	 * so 3 becomes 83 80 80 80 00.
	 */
	for (int i = 0; i < LENGTH_BYTES; i++)
	{
		json->out[begun - LENGTH_BYTES + i] =
			(uint8_t) ((length & 0x7f) | (i < LENGTH_BYTES - 1 ? 0x80 : 0));
		length >>= 7;
	}
}

/* --- the text --- */

static int
peek(Json *json)
{
	while (json->at < json->end &&
		   (*json->at == ' ' || *json->at == '\n' || *json->at == '\r' || *json->at == '\t'))
		json->at++;
	return json->at < json->end ? *json->at : -1;
}

static bool
json_take(Json *json, int character, const char *error)
{
	if (peek(json) != character)
		return json_fail(json, error);
	json->at++;
	return true;
}

static bool
take_word(Json *json, const char *word)
{
	size_t length = strlen(word);

	if ((size_t) (json->end - json->at) < length || memcmp(json->at, word, length) != 0)
		return json_fail(json, "expected a value");
	json->at += length;
	return true;
}

static int
json_hex_digit(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool
take_hex4(Json *json, uint32_t *unit)
{
	*unit = 0;
	if (json->end - json->at < 4)
		return json_fail(json, "unterminated string");
	/* any bytes may stand here, for example the closing quotation mark */
	for (int i = 0; i < 4; i++)
	{
		int digit = json_hex_digit(*json->at++);

		if (digit < 0)
			return json_fail(json, "expected four hexadecimal digits");
		*unit = *unit << 4 | (uint32_t) digit;
	}
	return true;
}

static bool
json_append_character(Json *json, uint32_t c)
{
	if (c < 0x80)
		return put_byte(json, c);
	if (c < 0x800)
		return put_byte(json, 0xC0 | c >> 6) && put_byte(json, 0x80 | (c & 0x3F));
	if (c < 0x10000)
		return put_byte(json, 0xE0 | c >> 12) && put_byte(json, 0x80 | (c >> 6 & 0x3F)) &&
			   put_byte(json, 0x80 | (c & 0x3F));
	return put_byte(json, 0xF0 | c >> 18) && put_byte(json, 0x80 | (c >> 12 & 0x3F)) &&
		   put_byte(json, 0x80 | (c >> 6 & 0x3F)) && put_byte(json, 0x80 | (c & 0x3F));
}

/* Reads the code after "\u". Half of a surrogate pair without the other half is invalid. */
static bool
take_unicode(Json *json, bool is_kept)
{
	uint32_t unit;
	uint32_t low;

	if (!take_hex4(json, &unit))
		return false;
	/* A character beyond U+FFFF is two escapes in JSON: \ud83d\ude00 is U+1F600. */
	if (unit >= 0xD800 && unit < 0xDC00 && json->end - json->at >= 6 && json->at[0] == '\\' &&
		json->at[1] == 'u')
	{
		const uint8_t *before = json->at;

		json->at += 2;
		if (!take_hex4(json, &low))
			return false;
		if (low >= 0xDC00 && low < 0xE000)
			unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
		else
			/* the second escape is a character of its own, and is read by the next call */
			json->at = before;
	}
	/* PostgreSQL's UTF-8 has no halves of pairs */
	if (unit >= 0xD800 && unit < 0xE000)
		unit = 0xFFFD;
	return !is_kept || json_append_character(json, unit);
}

/* Reads an escape sequence after its backslash; writes its character to the output if is_kept. */
static bool
take_escape(Json *json, bool is_kept)
{
	static const char letters[] = "\"\\/bfnrt";
	static const char meant[] = "\"\\/\b\f\n\r\t";
	const char *letter;
	int c;

	if (json->at >= json->end)
		return json_fail(json, "unterminated string");
	c = *json->at++;
	if (c == 'u')
		return take_unicode(json, is_kept);
	/* strchr() would find the terminating zero byte of letters */
	letter = c != 0 ? strchr(letters, c) : NULL;
	if (letter == NULL)
		return json_fail(json, "invalid escape sequence");
	return !is_kept || put_byte(json, (uint8_t) meant[letter - letters]);
}

/* Reads a string; writes its bytes to the output if is_kept. */
static bool
take_string(Json *json, bool is_kept)
{
	if (!json_take(json, '"', "expected a string"))
		return false;
	while (json->at < json->end)
	{
		/* Copies the bytes up to the next quotation mark or escape at once. */
		const uint8_t *begin = json->at;

		while (json->at < json->end && *json->at != '"' && *json->at != '\\' && *json->at >= 0x20)
			json->at++;
		if (is_kept)
		{
			size_t length = (size_t) (json->at - begin);

			if (!reserve(json, length))
				return false;
			memcpy(json->out + json->length, begin, length);
			json->length += length;
		}
		/* the text ends inside the string */
		if (json->at == json->end)
			break;
		if (*json->at < 0x20)
			return json_fail(json, "control character in a string");
		if (*json->at++ == '"')
			return true;
		if (!take_escape(json, is_kept))
			return false;
	}
	return json_fail(json, "unterminated string");
}

/* Reads the characters of a number, with or without quotes. */
static bool
take_number_text(Json *json, char text[NUMBER_BYTES])
{
	bool is_quoted = peek(json) == '"';
	size_t length = 0;

	json->at += is_quoted;
	/*
	 * The characters only; strtod() and strtoull() decide if they are a number. A number of
	 * NUMBER_BYTES characters or more fails there or at the next character.
	 */
	while (json->at < json->end && length < NUMBER_BYTES - 1 && *json->at != '\0' &&
		   strchr("0123456789+-.eE", *json->at) != NULL)
		text[length++] = (char) *json->at++;
	text[length] = '\0';
	if (length == 0)
		return json_fail(json, "expected a number");
	return !is_quoted || json_take(json, '"', "unexpected characters after a number");
}

/*
 * Reads an integer. A number with a point or an exponent is converted from a double, which must be
 * an integer.
 */
static bool
take_integer(Json *json, uint64_t *value)
{
	char text[NUMBER_BYTES];
	char *end;
	double real;

	if (!take_number_text(json, text))
		return false;
	errno = 0;
	/*
	 * Unsigned numbers need strtoull(), negative ones strtoll(), which refuses what is below -2^63.
	 */
	*value = text[0] == '-' ? (uint64_t) strtoll(text, &end, 10) : strtoull(text, &end, 10);
	if (errno == 0 && *end == '\0')
		return true;
	real = strtod(text, &end);
	/*
	 * 3e0 and 3.0 are integers in JSON. The bounds, a little inside of -2^63 and 2^64, keep the
	 * conversion defined.
	 */
	if (*end != '\0' || !(real > -9.2e18 && real < 1.8e19))
		return json_fail(json, "number is not a 64-bit integer");
	*value = real < 0 ? (uint64_t) (int64_t) real : (uint64_t) real;
	/* a fraction is lost by the conversion, and then the numbers differ */
	return real < 0
			   ? (double) (int64_t) *value == real || json_fail(json, "number is not an integer")
			   : (double) *value == real || json_fail(json, "number is not an integer");
}

static bool json_skip_value(Json *json);

static bool
enter(Json *json)
{
	json->at++;
	return ++json->depth <= JSON_DEPTH_MAX || json_fail(json, "values are nested too deeply");
}

/*
 * Called after an element. Sets *goes_on if another element follows; otherwise reads the closing
 * character.
 */
static bool
more(Json *json, int closing, bool *goes_on)
{
	int c = peek(json);

	*goes_on = c == ',';
	if (c != ',' && c != closing)
		return json_fail(json, "expected a comma or the end of a list");
	json->at++;
	/* enter() counted the object or list that ends here */
	json->depth -= !*goes_on;
	return true;
}

/* Skips the rest of an object or list up to its closing bracket. */
static bool
skip_members(Json *json, int closing)
{
	bool goes_on = true;

	if (!enter(json))
		return false;
	if (peek(json) == closing)
	{
		json->at++;
		json->depth--;
		return true;
	}
	while (goes_on)
	{
		/* an object has pairs, a list only values */
		if (closing == '}' &&
			(!take_string(json, false) || !json_take(json, ':', "expected a colon")))
			return false;
		if (!json_skip_value(json) || !more(json, closing, &goes_on))
			return false;
	}
	return true;
}

/* Skips a value of any type, but checks its syntax. */
static bool
json_skip_value(Json *json)
{
	char text[NUMBER_BYTES];

	switch (peek(json))
	{
		case '{':
			return skip_members(json, '}');
		case '[':
			return skip_members(json, ']');
		case '"':
			return take_string(json, false);
		case 't':
			return take_word(json, "true");
		case 'f':
			return take_word(json, "false");
		case 'n':
			return take_word(json, "null");
		default:
			return take_number_text(json, text);
	}
}

/* --- values --- */

static bool take_message(Json *json, const JsonMessage *message);

static int
base64_digit(int c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

/* Decodes the output, beginning at begun, in place; the result is shorter. */
static bool
decode_base64(Json *json, size_t begun)
{
	size_t to = begun;
	uint32_t bits = 0;
	int count = 0;

	for (size_t i = begun; i < json->length; i++)
	{
		int digit = base64_digit(json->out[i]);

		if (json->out[i] == '=')
			continue;
		if (digit < 0)
			return json_fail(json, "bytes are not valid base64");
		/*
		 * 6 bits for each digit. Upper bits are shifted out, but only the lowest 12 bits are ever
		 * used.
		 */
		bits = bits << 6 | (uint32_t) digit;
		count += 6;
		if (count >= 8)
		{
			count -= 8;
			json->out[to++] = (uint8_t) (bits >> count);
		}
	}
	json->length = to;
	return true;
}

static bool
decode_hex(Json *json, size_t begun)
{
	size_t to = begun;

	/* in place: the result is half as long */
	for (size_t i = begun; i + 1 < json->length; i += 2)
	{
		int high = json_hex_digit(json->out[i]);
		int low = json_hex_digit(json->out[i + 1]);

		if (high < 0 || low < 0)
			return json_fail(json, "an id is not hexadecimal");
		json->out[to++] = (uint8_t) (high << 4 | low);
	}
	json->length = to;
	return true;
}

/*
 * Writes a field of text or bytes. An id that has exactly the right number of hexadecimal digits is
 * hexadecimal, otherwise base64.
 */
static bool
json_take_bytes(Json *json, const JsonField *field)
{
	size_t begun;
	size_t length;
	bool good;

	if (!begin_bytes(json, field, &begun) || !take_string(json, true))
		return false;
	length = json->length - begun;
	/*
	 * OTLP's JSON has trace and span ids in hexadecimal, although protobuf's JSON has base64. 16
	 * bytes are 32 digits or 24 characters of base64, so the length decides.
	 */
	if (field->kind == JSON_BASE64)
		good = decode_base64(json, begun);
	else if (field->kind == JSON_ID && (length == HEX_TRACE || length == HEX_SPAN))
		good = decode_hex(json, begun);
	else
		good = field->kind != JSON_ID || decode_base64(json, begun);
	if (good)
		end_bytes(json, begun);
	return good;
}

static bool
take_bool(Json *json, const JsonField *field)
{
	bool value = peek(json) == 't';

	return take_word(json, value ? "true" : "false") && put_tag(json, field, PFS_WIRE_VARINT) &&
		   put_varint(json, value);
}

/* Writes a number as a field of 64 bits. */
static bool
take_double(Json *json, const JsonField *field)
{
	char text[NUMBER_BYTES];
	char *end;
	double value;
	uint64_t bits;

	if (peek(json) == '"' && json->end - json->at >= 2 && strchr("NI-", json->at[1]) != NULL)
		/* "NaN" and "Infinity" are skipped, because they cannot be labels */
		return json_skip_value(json);
	if (!take_number_text(json, text))
		return false;
	value = strtod(text, &end);
	if (*end != '\0')
		return json_fail(json, "expected a number");
	memcpy(&bits, &value, sizeof(bits));
	return put_tag(json, field, PFS_WIRE_64_BITS) && put_fixed64(json, bits);
}

static bool
json_take_number(Json *json, const JsonField *field)
{
	uint64_t value;

	if (!take_integer(json, &value))
		return false;
	/* numbers of a list are packed: take_list() wrote one tag for all */
	if (field->kind == JSON_FIXED64)
		return (field->repeated || put_tag(json, field, PFS_WIRE_64_BITS)) &&
			   put_fixed64(json, value);
	return (field->repeated || put_tag(json, field, PFS_WIRE_VARINT)) && put_varint(json, value);
}

/* Reads a temporality. Unknown names, which may come from other versions, are ignored. */
static bool
take_temporality(Json *json, const JsonField *field)
{
	static const char cumulative[] = "AGGREGATION_TEMPORALITY_CUMULATIVE";
	const size_t begun = json->length;
	bool is_cumulative;

	if (peek(json) != '"')
		return json_take_number(json, field);
	if (!take_string(json, true))
		return false;
	is_cumulative = json->length - begun == strlen(cumulative) &&
					memcmp(json->out + begun, cumulative, strlen(cumulative)) == 0;
	/* the name was written to the output only to resolve its escapes */
	json->length = begun;
	return !is_cumulative ||
		   (put_tag(json, field, PFS_WIRE_VARINT) && put_varint(json, TEMPORALITY_CUMULATIVE));
}

static bool
take_enum(Json *json, const JsonField *field)
{
	const size_t begun = json->length;
	size_t length;

	if (peek(json) != '"')
		return json_take_number(json, field);
	if (!take_string(json, true))
		return false;
	length = json->length - begun;
	json->length = begun; /* drop the name; its bytes stay readable after the output */
	for (uint64_t i = 0; field->names[i] != NULL; i++)
		if (strlen(field->names[i]) == length &&
			memcmp(json->out + begun, field->names[i], length) == 0)
			return put_tag(json, field, PFS_WIRE_VARINT) && put_varint(json, i);
	return json_fail(json, "unrecognized name of an enum value");
}

static bool
take_submessage(Json *json, const JsonField *field)
{
	size_t begun;

	if (!begin_bytes(json, field, &begun) || !take_message(json, field->message))
		return false;
	end_bytes(json, begun);
	return true;
}

/* Writes one value of a field, by the field's kind. */
static bool
take_one(Json *json, const JsonField *field)
{
	switch (field->kind)
	{
		case JSON_STRING:
		case JSON_BASE64:
		case JSON_ID:
			return json_take_bytes(json, field);
		case JSON_NUMBER:
		case JSON_UNSIGNED:
		case JSON_FIXED64:
			return json_take_number(json, field);
		case JSON_BOOL:
			return take_bool(json, field);
		case JSON_DOUBLE:
			return take_double(json, field);
		case JSON_ENUM:
			return take_enum(json, field);
		case JSON_TEMPORALITY:
			return take_temporality(json, field);
		case JSON_MESSAGE:
			return take_submessage(json, field);
		case JSON_TOO_OLD:
			break;
	}
	return json_fail(json, TOO_OLD_TEXT);
}

/* Writes a list: packed for numbers, otherwise one field for each element. */
static bool
take_list(Json *json, const JsonField *field)
{
	/* protobuf packs numbers; texts and messages get a tag each */
	bool is_packed =
		field->kind == JSON_NUMBER || field->kind == JSON_UNSIGNED || field->kind == JSON_FIXED64;
	bool goes_on = true;
	size_t begun = 0;

	if (peek(json) != '[')
		return json_fail(json, "expected a list");
	if (!enter(json) || (is_packed && !begin_bytes(json, field, &begun)))
		return false;
	/* an empty list; a packed one becomes a field of length 0 */
	if (peek(json) == ']')
	{
		json->at++;
		json->depth--;
		goes_on = false;
	}
	while (goes_on)
		if (!take_one(json, field) || !more(json, ']', &goes_on))
			return false;
	if (is_packed)
		end_bytes(json, begun);
	return true;
}

/* Compares a key with a name in lowerCamelCase, or in snake_case. */
static bool
json_is_name(const uint8_t *key, size_t length, const char *name)
{
	for (size_t i = 0; i < length; i++)
	{
		char c = (char) key[i];

		/* time_unix_nano equals timeUnixNano: the letter after "_" becomes upper case */
		if (c == '_' && i + 1 < length && key[i + 1] >= 'a' && key[i + 1] <= 'z')
			c = (char) (key[++i] - 'a' + 'A');
		if (*name == '\0' || *name++ != c)
			return false;
	}
	return *name == '\0';
}

/* Writes the next member of a message. Unknown members, and members that are null, are skipped. */
static bool
take_member(Json *json, const JsonMessage *message)
{
	const JsonField *field = message->fields;
	const uint8_t *key;
	size_t length;

	peek(json);
	key = json->at + 1;
	if (!take_string(json, false))
		return false;
	/* Between the quotation marks. A key with escapes equals no name and is skipped. */
	length = (size_t) (json->at - key) - 1;
	if (!json_take(json, ':', "expected a colon"))
		return false;
	while (field->name != NULL && !json_is_name(key, length, field->name))
		field++;
	if (field->name == NULL)
		return json_skip_value(json);
	/* null means that the member is absent, for fields of every kind */
	if (peek(json) == 'n')
		return take_word(json, "null");
	return field->repeated ? take_list(json, field) : take_one(json, field);
}

/* Writes the members of an object as the fields of a message. */
static bool
take_message(Json *json, const JsonMessage *message)
{
	bool goes_on = true;

	if (peek(json) != '{')
		return json_fail(json, "expected an object");
	if (!enter(json))
		return false;
	if (peek(json) == '}')
	{
		json->at++;
		json->depth--;
		return true;
	}
	while (goes_on)
		if (!take_member(json, message) || !more(json, '}', &goes_on))
			return false;
	return true;
}

uint8_t *
json_to_protobuf(Span text, const JsonMessage *message, MemoryShare *memory, size_t *length,
				 const char **error, size_t *offset)
{
	Json json = { .at = text.bytes,
				  .end = text.bytes + text.length,
				  .limit = FIRST_CAPACITY + JSON_GROWTH * text.length,
				  .memory = memory };
	/* The result must not be NULL for an empty object, so there is room for at least one byte. */
	bool good = reserve(&json, 1) && take_message(&json, message);

	if (good && peek(&json) >= 0)
		good = json_fail(&json, "unexpected characters after the end");
	/* lack of memory is no fault of the text */
	*error = json.no_memory ? NULL : json.error;
	*offset = (size_t) (json.at - text.bytes);
	*length = json.length;
	if (good)
		return json.out;
	share_realloc(memory, json.out, 0);
	return NULL;
}
