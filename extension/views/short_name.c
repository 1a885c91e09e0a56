/*
 * short_name.c
 *		Short names of functions, for narrow displays.
 *
 * A name that fits is unchanged. Of any other name
 *
 * 1. a hash of Rust at the end is removed (::h and 16 digits);
 * 2. brackets after a name, with their contents, become "...": arguments of templates, generics
 *    and functions. Brackets that are themselves a name stay with their contents: the receiver of a
 *    method in Go, an anonymous namespace, a type and its trait in Rust, the symbol of an operator;
 * 3. if the name is still too long, characters in its middle become "...".
 *
 * Brackets are found byte by byte: in server encodings no byte of a multibyte character is ASCII.
 */
#include "profstore.h"

#include <ctype.h>

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

#define ELLIPSIS		"..."
#define ELLIPSIS_LENGTH 3
#define MIN_WIDTH		8

static const char HASH_BEGIN[] = "::h";
#define HASH_DIGITS 16

PG_FUNCTION_INFO_V1(profstore_short_name);

static size_t
length_without_hash(const char *name, size_t length)
{
	size_t hash_length = strlen(HASH_BEGIN) + HASH_DIGITS;
	const char *hash = name + length - hash_length;

	if (length <= hash_length || strncmp(hash, HASH_BEGIN, strlen(HASH_BEGIN)) != 0 ||
		strspn(hash + strlen(HASH_BEGIN), "0123456789abcdef") < HASH_DIGITS)
		return length;
	return length - hash_length;
}

static bool
is_opening(char c)
{
	return c == '<' || c == '(' || c == '[';
}

static bool
is_closing(char c)
{
	return c == '>' || c == ')' || c == ']';
}

static bool
is_name_char(char c)
{
	return IS_HIGHBIT_SET(c) || isalnum((unsigned char) c) || c == '_' || c == '$';
}

/* Returns the bracket that closes the one at the start, or NULL. The > of -> closes nothing. */
static const char *
find_closing(const char *begin, const char *end)
{
	int depth = 0;

	for (const char *at = begin; at < end; at++)
	{
		if (is_opening(*at))
			depth++;
		else if (is_closing(*at) && !(*at == '>' && (at[-1] == '-' || at[-1] == '=')))
		{
			depth--;
			if (depth == 0)
				return at;
		}
	}
	return NULL;
}

/*
 * Returns the length of "operator" and its symbol if they are at this position, at which a name may
 * begin; 0 otherwise.
 */
static size_t
operator_length(const char *name, const char *at, const char *end)
{
	static const char word[] = "operator";
	size_t length = strlen(word);
	size_t symbol;

	if ((size_t) (end - at) <= length || strncmp(at, word, length) != 0 ||
		(at > name && is_name_char(at[-1])))
		return 0;
	if (strncmp(at + length, "()", 2) == 0 || strncmp(at + length, "[]", 2) == 0)
		return length + 2;
	symbol = strspn(at + length, "<>=!+-*/&|^~%,");
	return symbol == 0 ? 0 : Min(length + symbol, (size_t) (end - at));
}

/*
 * Returns whether the bracket has arguments of the preceding name, rather than being a name itself.
 */
static bool
holds_arguments(const char *name, const char *at)
{
	if (at == name)
		return false;
	return is_name_char(at[-1]) || is_closing(at[-1]) || at[-1] == '}' || at[-1] == ' ' ||
		   (*at == '<' && at[-1] == ':');
}

/*
 * Appends a name without its arguments. If a bracket is never closed, the rest is appended
 * unchanged: a search after it would take quadratic time.
 */
static void
append_without_arguments(StringInfo to, const char *name, const char *end)
{
	const char *at = name;

	while (at < end)
	{
		size_t symbol = operator_length(name, at, end);
		const char *closing;

		appendBinaryStringInfo(to, at, (int) symbol);
		at += symbol;
		/* a bracket after an operator's symbol is not part of the name */
		if (at == end || !is_opening(*at) || (symbol == 0 && !holds_arguments(name, at)))
		{
			if (symbol == 0)
				appendStringInfoChar(to, *at++);
			continue;
		}
		closing = find_closing(at, end);
		if (closing == NULL)
		{
			appendBinaryStringInfo(to, at, (int) (end - at));
			return;
		}
		if (closing - at - 1 > ELLIPSIS_LENGTH)
			appendStringInfo(to, "%c" ELLIPSIS "%c", *at, *closing);
		else
			appendBinaryStringInfo(to, at, (int) (closing + 1 - at));
		at = closing + 1;
	}
}

/*
 * short_name(name text, width int4)
 */
PGDLLEXPORT Datum
profstore_short_name(PG_FUNCTION_ARGS)
{
	text *name = PG_GETARG_TEXT_PP(0);
	int width = PG_GETARG_INT32(1);
	const char *bytes = VARDATA_ANY(name);
	int length = (int) VARSIZE_ANY_EXHDR(name);
	int characters;
	StringInfoData shorter;

	if (width < MIN_WIDTH)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("width must be at least %d", MIN_WIDTH)));
	if (pg_mbstrlen_with_len(bytes, length) <= width)
		PG_RETURN_TEXT_P(name);

	bytes = text_to_cstring(name);
	initStringInfo(&shorter);
	append_without_arguments(&shorter, bytes, bytes + length_without_hash(bytes, (size_t) length));
	characters = pg_mbstrlen_with_len(shorter.data, shorter.len);
	if (characters > width)
	{
		int tail = (width - ELLIPSIS_LENGTH) / 2;
		int tail_at = pg_mbcharcliplen(shorter.data, shorter.len, characters - tail);
		int head = pg_mbcharcliplen(shorter.data, shorter.len, width - ELLIPSIS_LENGTH - tail);

		PG_RETURN_TEXT_P(cstring_to_text(
			psprintf("%.*s" ELLIPSIS "%s", head, shorter.data, shorter.data + tail_at)));
	}
	PG_RETURN_TEXT_P(cstring_to_text_with_len(shorter.data, shorter.len));
}
