/*
 * selector_tokens.c
 *		Tokens of selectors, with the escapes of PromQL.
 */
#include "select/selector_tokens.h"

#include "mb/pg_wchar.h"

/* Number of characters that an error shows before the position, and after it. */
#define CONTEXT_BEFORE_CHARS 60
#define CONTEXT_AFTER_CHARS	 20

/*
 * Describes a position for an error's detail: line and column, then the line with a caret below.
 */
static char *
describe_position(const PfsSelectorText *text, const char *position)
{
	StringInfoData detail;
	const char *line = text->text;
	const char *shown;
	const char *end = position;
	int line_number = 1;
	int column;

	for (const char *c = text->text; c < position; c++)
	{
		if (*c == '\n')
		{
			line = c + 1;
			line_number++;
		}
	}
	column = pg_mbstrlen_with_len(line, (int) (position - line)) + 1;
	shown = line;
	for (int skip = column - 1 - CONTEXT_BEFORE_CHARS; skip > 0; skip--)
		shown += pg_mblen(shown);
	for (int i = 0; i < CONTEXT_AFTER_CHARS && *end != '\0' && *end != '\n'; i++)
		end += pg_mblen(end);

	initStringInfo(&detail);
	appendStringInfo(&detail, "Line %d, column %d:\n", line_number, column);
	appendBinaryStringInfo(&detail, shown, (int) (end - shown));
	appendStringInfoChar(&detail, '\n');
	for (const char *c = shown; c < position; c += pg_mblen(c))
	{
		if (*c == '\t')
			appendStringInfoChar(&detail, '\t');
		else
			appendStringInfoSpaces(&detail, Max(pg_dsplen(c), 0));
	}
	appendStringInfoChar(&detail, '^');
	return detail.data;
}

pg_noreturn void
pfs_selector_fail(const PfsSelectorText *text, const char *position, const char *reason)
{
	if (text->frames)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR), errmsg("invalid %s: %s", text->argument, reason),
				 errdetail_internal("%s", describe_position(text, position)),
				 errhint(
					 "Matchers of frames look like {mapping=\"libc.so.6\", function*=\"alloc\", "
					 "file=~\"regex\"}. A regular expression that begins with a brace is written "
					 "with a backslash before it.")));
	ereport(ERROR,
			(errcode(ERRCODE_SYNTAX_ERROR), errmsg("invalid %s: %s", text->argument, reason),
			 errdetail_internal("%s", describe_position(text, position)),
			 errhint("A selector looks like profile_type{label=\"value\", label2!=\"value\", "
					 "label3=~\"regex\", label4!~\"regex\"}.")));
}

pg_noreturn void
pfs_selector_fail_regex(const PfsSelectorText *text, const char *position, const char *reason)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_REGULAR_EXPRESSION),
					errmsg("invalid %s: invalid regular expression: %s", text->argument, reason),
					errdetail_internal("%s", describe_position(text, position))));
}

PfsSelectorText
pfs_selector_text(const char *text, const char *argument, bool frames)
{
	PfsSelectorText cursor = { .text = text, .at = text, .frames = frames, .argument = argument };

	if (strlen(text) > PFS_SELECTOR_MAX_BYTES)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("%s is too long", argument),
						errdetail("It has %zu bytes, at most %d are allowed.", strlen(text),
								  PFS_SELECTOR_MAX_BYTES)));
	initStringInfo(&cursor.quoted);
	return cursor;
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

void
pfs_selector_skip_blanks(PfsSelectorText *text)
{
	while (*text->at == ' ' || *text->at == '\t' || *text->at == '\n' || *text->at == '\r')
		text->at++;
}

/* Reads up to max_digits digits of a base; raises an error if there are fewer than min_digits. */
static pg_wchar
token_read_number(PfsSelectorText *text, const char *escape, int base, int min_digits,
				  int max_digits)
{
	pg_wchar number = 0;
	int digits = 0;

	for (; digits < max_digits; digits++, text->at++)
	{
		char c = (char) pg_ascii_tolower((unsigned char) *text->at);
		int digit;

		if (is_digit(c))
			digit = c - '0';
		else if (c >= 'a' && c <= 'f')
			digit = c - 'a' + 10;
		else
			break;
		if (digit >= base)
			break;
		number = number * (pg_wchar) base + (pg_wchar) digit;
	}
	if (digits < min_digits)
		pfs_selector_fail(text, escape, "incomplete escape sequence");
	return number;
}

/*
 * Appends one escape sequence to text->quoted. The cursor stands after its backslash. A \x or octal
 * escape is one byte, \u and \U a code point.
 */
static void
read_escape(PfsSelectorText *text)
{
	static const char names[] = "abfnrtv\\'\"";
	static const char bytes[] = "\a\b\f\n\r\t\v\\'\"";
	const char *escape = text->at - 1;
	char letter = *text->at;
	const char *simple = letter == '\0' ? NULL : strchr(names, letter);
	pg_wchar number;

	if (simple != NULL)
	{
		text->at++;
		appendStringInfoChar(&text->quoted, bytes[simple - names]);
		return;
	}
	if (letter == 'u' || letter == 'U')
	{
		unsigned char encoded[MAX_UNICODE_EQUIVALENT_STRING + 1];
		int digits = letter == 'u' ? 4 : 8;

		text->at++;
		number = token_read_number(text, escape, 16, digits, digits);
		if (!is_valid_unicode_codepoint(number) || (number >= 0xD800 && number <= 0xDFFF))
			pfs_selector_fail(text, escape, "escape sequence is not a valid Unicode code point");
		pg_unicode_to_server(number, encoded);
		appendStringInfoString(&text->quoted, (const char *) encoded);
		return;
	}
	if (letter == 'x')
	{
		text->at++;
		number = token_read_number(text, escape, 16, 2, 2);
	}
	else if (is_digit(letter))
		number = token_read_number(text, escape, 8, 3, 3);
	else
		pfs_selector_fail(text, escape, "unrecognized escape sequence");
	if (number == 0 || number > 0xFF)
		pfs_selector_fail(text, escape, "escape sequence is not a valid character");
	appendStringInfoChar(&text->quoted, (char) number);
}

const char *
pfs_selector_read_label(PfsSelectorText *text)
{
	const char *start = text->at;

	if (!pfs_selector_is_letter(*start))
		pfs_selector_fail(text, start,
						  text->frames ? "expected a field name or }"
									   : "expected a label name or }");
	while (pfs_selector_is_letter(*text->at) || is_digit(*text->at))
		text->at++;
	return pnstrdup(start, (Size) (text->at - start));
}

const char *
pfs_selector_read_quoted(PfsSelectorText *text)
{
	const char *start = text->at;
	char quote = *start;

	resetStringInfo(&text->quoted);
	text->at++;
	while (*text->at != quote)
	{
		char c = *text->at;

		if (c == '\0' || (c == '\n' && quote != '`'))
			pfs_selector_fail(text, start, "quoted text is not closed");
		if (c == '\\' && quote != '`')
		{
			text->at++;
			read_escape(text);
		}
		else
		{
			int length = pg_mblen(text->at);

			appendBinaryStringInfo(&text->quoted, text->at, length);
			text->at += length;
		}
	}
	text->at++;
	if (!pg_verifymbstr(text->quoted.data, text->quoted.len, true))
		pfs_selector_fail(text, start,
						  "escape sequences do not give valid text in the database's encoding");
	return pnstrdup(text->quoted.data, (Size) text->quoted.len);
}
