/*
 * selector.c
 *		Recursive-descent parser of selectors; selector.h has the grammar.
 */
#include "select/selector.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "regex/regex.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "base/arrays.h"

/* Characters of the line that an error shows before and after its position. */
#define CONTEXT_BEFORE_CHARS 60
#define CONTEXT_AFTER_CHARS	 20

/* Room for what is wrong with a regular expression. */
#define REGEX_PROBLEM_BYTES 128

typedef struct Parser
{
	const char *text;
	const char *at; /* next byte to read */
	bool frames;	/* matchers of frames, not of labels */
	const char *argument;
} Parser;

static const char *const OPERATOR_NAMES[] = { "=", "!=", "=~", "!~", "*=", "!*=" };

/* By PfsOverTime. */
static const char *const OVER_TIME_NAMES[] = { NULL, "avg_over_time", "last_over_time",
											   "max_over_time" };

PG_FUNCTION_INFO_V1(profstore_parse_selector);

const char *
pfs_match_operator_name(PfsMatchOperator op)
{
	return OPERATOR_NAMES[op];
}

const char *
pfs_over_time_name(PfsOverTime over_time)
{
	return OVER_TIME_NAMES[over_time];
}

/*
 * The position for people: line, column, and the line itself with a caret below.
 */
static char *
describe_position(const Parser *parser, const char *position)
{
	StringInfoData detail;
	const char *line = parser->text;
	const char *shown;
	const char *end = position;
	int line_number = 1;
	int column;

	for (const char *c = parser->text; c < position; c++)
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

pg_noreturn static void
fail(const Parser *parser, const char *position, const char *reason)
{
	if (parser->frames)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR), errmsg("invalid %s: %s", parser->argument, reason),
				 errdetail_internal("%s", describe_position(parser, position)),
				 errhint("A filter is a regular expression on function names, a brace at its "
						 "beginning written \\{, or looks like {mapping=\"libc.so.6\", "
						 "function*=\"alloc\", file=~\"regex\"}.")));
	ereport(ERROR,
			(errcode(ERRCODE_SYNTAX_ERROR), errmsg("invalid %s: %s", parser->argument, reason),
			 errdetail_internal("%s", describe_position(parser, position)),
			 errhint("A selector looks like profile_type{label=\"value\", label2!=\"value\", "
					 "label3=~\"regex\", label4!~\"regex\"}.")));
}

static void
skip_blanks(Parser *parser)
{
	while (*parser->at == ' ' || *parser->at == '\t' || *parser->at == '\n' || *parser->at == '\r')
		parser->at++;
}

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* What a profile type may have in it, as profstore.parse_profile_type takes it. */
static bool
is_type_char(char c)
{
	return (unsigned char) c > ' ' && c != 0x7F && strchr("{}\",", c) == NULL;
}

/* Reads up to max_digits digits of a base; fails where there are fewer than min_digits. */
static pg_wchar
read_number(Parser *parser, const char *escape, int base, int min_digits, int max_digits)
{
	pg_wchar number = 0;
	int digits = 0;

	for (; digits < max_digits; digits++, parser->at++)
	{
		char c = (char) pg_ascii_tolower((unsigned char) *parser->at);
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
		fail(parser, escape, "incomplete escape sequence");
	return number;
}

/*
 * One escape sequence, the cursor behind its backslash. A \x or octal escape is one byte, \u and \U a code point.
 */
static void
read_escape(Parser *parser, StringInfo value)
{
	static const char names[] = "abfnrtv\\'\"";
	static const char bytes[] = "\a\b\f\n\r\t\v\\'\"";
	const char *escape = parser->at - 1;
	char letter = *parser->at;
	const char *simple = letter == '\0' ? NULL : strchr(names, letter);
	pg_wchar number;

	if (simple != NULL)
	{
		parser->at++;
		appendStringInfoChar(value, bytes[simple - names]);
		return;
	}
	if (letter == 'u' || letter == 'U')
	{
		unsigned char encoded[MAX_UNICODE_EQUIVALENT_STRING + 1];
		int digits = letter == 'u' ? 4 : 8;

		parser->at++;
		number = read_number(parser, escape, 16, digits, digits);
		if (!is_valid_unicode_codepoint(number) || (number >= 0xD800 && number <= 0xDFFF))
			fail(parser, escape, "escape sequence is no Unicode character");
		pg_unicode_to_server(number, encoded);
		appendStringInfoString(value, (const char *) encoded);
		return;
	}
	if (letter == 'x')
	{
		parser->at++;
		number = read_number(parser, escape, 16, 2, 2);
	}
	else if (is_digit(letter))
		number = read_number(parser, escape, 8, 3, 3);
	else
		fail(parser, escape, "unrecognized escape sequence");
	if (number == 0 || number > 0xFF)
		fail(parser, escape, "escape sequence is no character of text");
	appendStringInfoChar(value, (char) number);
}

/*
 * A quoted text, the cursor on its opening quote.
 */
static const char *
read_quoted(Parser *parser)
{
	const char *start = parser->at;
	char quote = *start;
	StringInfoData value;

	initStringInfo(&value);
	parser->at++;
	while (*parser->at != quote)
	{
		char c = *parser->at;

		if (c == '\0' || (c == '\n' && quote != '`'))
			fail(parser, start, "quoted text is not closed");
		if (c == '\\' && quote != '`')
		{
			parser->at++;
			read_escape(parser, &value);
		}
		else
		{
			int length = pg_mblen(parser->at);

			appendBinaryStringInfo(&value, parser->at, length);
			parser->at += length;
		}
	}
	parser->at++;
	if (!pg_verifymbstr(value.data, value.len, true))
		fail(parser, start, "escape sequences make no valid text in the database's encoding");
	return value.data;
}

static bool
at_quote(const Parser *parser)
{
	return *parser->at == '"' || *parser->at == '\'' || *parser->at == '`';
}

static const char *
read_label(Parser *parser)
{
	const char *start = parser->at;

	if (!is_letter(*start))
		fail(parser, start,
			 parser->frames ? "expected a field name or }" : "expected a label name or }");
	while (is_letter(*parser->at) || is_digit(*parser->at))
		parser->at++;
	return pnstrdup(start, (Size) (parser->at - start));
}

static PfsMatchOperator
read_operator(Parser *parser)
{
	/* "=" comes last, since it begins "=~"; substrings are for frames alone */
	static const PfsMatchOperator order[] = { PFS_MATCH_SUBSTRING, PFS_MATCH_NOT_SUBSTRING,
											  PFS_MATCH_REGEX,	   PFS_MATCH_NOT_REGEX,
											  PFS_MATCH_NOT_EQUAL, PFS_MATCH_EQUAL };

	for (size_t i = parser->frames ? 0 : 2; i < lengthof(order); i++)
	{
		const char *name = OPERATOR_NAMES[order[i]];

		if (strncmp(parser->at, name, strlen(name)) == 0)
		{
			parser->at += strlen(name);
			return order[i];
		}
	}
	fail(parser, parser->at,
		 parser->frames ? "expected =, !=, =~, !~, *= or !*=" : "expected =, !=, =~ or !~");
}

pg_noreturn static void
fail_regex(const Parser *parser, const char *position, const char *reason)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_REGULAR_EXPRESSION),
					errmsg("invalid %s: invalid regular expression: %s", parser->argument, reason),
					errdetail_internal("%s", describe_position(parser, position))));
}

const char *
pfs_regex_problem(const char *regex)
{
	size_t length = strlen(regex);
	pg_wchar *wide = palloc((length + 1) * sizeof(pg_wchar));
	int wide_length = pg_mb2wchar_with_len(regex, wide, (int) length);
	regex_t compiled;
	char *reason;
	int status = pg_regcomp(&compiled, wide, (size_t) wide_length, REG_ADVANCED, C_COLLATION_OID);

	if (status == REG_OKAY)
	{
		pg_regfree(&compiled);
		pfree(wide);
		return NULL;
	}
	/* a cancelled compilation is no fault of the expression */
	CHECK_FOR_INTERRUPTS();
	reason = palloc(REGEX_PROBLEM_BYTES);
	pg_regerror(status, &compiled, reason, REGEX_PROBLEM_BYTES);
	return reason;
}

/*
 * A regular expression that must match the whole value. PostgreSQL takes flags such as (?i) only at the very
 * beginning, so they move before the anchor. Those that give the anchors another meaning are refused: another
 * syntax, comments, and lines.
 */
static const char *
anchor_regex(const Parser *parser, const char *position, const char *regex)
{
	/* alone, so that the anchors around it cannot close or complete it */
	const char *problem = pfs_regex_problem(regex);
	size_t flags_length = 0;

	if (problem != NULL)
		fail_regex(parser, position, problem);
	if (strncmp(regex, "***", 3) == 0)
		fail_regex(parser, position, "*** is not supported here");
	if (regex[0] == '(' && regex[1] == '?' && is_letter(regex[2]))
	{
		flags_length = strcspn(regex, ")") + 1;
		if (strspn(regex + 2, "cipst") != flags_length - 3)
			fail_regex(parser, position, "only the flags c, i, p, s and t are supported here");
	}
	return psprintf("%.*s^(?:%s)$", (int) flags_length, regex, regex + flags_length);
}

static PfsMatcher
read_matcher(Parser *parser)
{
	PfsMatcher matcher;
	const char *start;

	matcher.label = read_label(parser);
	skip_blanks(parser);
	matcher.op = read_operator(parser);
	skip_blanks(parser);
	if (!at_quote(parser))
		fail(parser, parser->at, "expected a quoted value");
	start = parser->at;
	matcher.value = read_quoted(parser);
	if (matcher.op == PFS_MATCH_REGEX || matcher.op == PFS_MATCH_NOT_REGEX)
		matcher.value = anchor_regex(parser, start, matcher.value);
	return matcher;
}

/*
 * The matchers and their closing brace, the cursor behind the opening one.
 */
static void
read_matchers(Parser *parser, PfsSelector *selector)
{
	uint32 capacity = 0;

	skip_blanks(parser);
	while (*parser->at != '}')
	{
		PFS_RESERVE(selector->matchers, capacity, (uint64) selector->matcher_count + 1);
		selector->matchers[selector->matcher_count++] = read_matcher(parser);
		skip_blanks(parser);
		if (*parser->at == ',')
			parser->at++;
		else if (*parser->at != '}')
			fail(parser, parser->at, "expected , or }");
		skip_blanks(parser);
	}
	parser->at++;
}

/* The function around a selector, the cursor behind its parenthesis. */
static PfsOverTime
read_over_time(Parser *parser)
{
	for (int i = PFS_OVER_TIME_AVERAGE; i <= PFS_OVER_TIME_MAX; i++)
	{
		size_t length = strlen(OVER_TIME_NAMES[i]);

		if (strncmp(parser->at, OVER_TIME_NAMES[i], length) == 0 && parser->at[length] == '(')
		{
			parser->at += length + 1;
			skip_blanks(parser);
			return (PfsOverTime) i;
		}
	}
	return PFS_OVER_TIME_UNSAID;
}

PfsSelector *
pfs_selector_parse(const char *text, const char *argument)
{
	PfsSelector *selector = palloc0(sizeof(PfsSelector));
	Parser parser = { .text = text, .at = text, .frames = false, .argument = argument };
	bool braces = false;
	bool wrapped;
	const char *start;

	skip_blanks(&parser);
	selector->over_time = read_over_time(&parser);
	wrapped = selector->over_time != PFS_OVER_TIME_UNSAID;
	start = parser.at;
	while (is_type_char(*parser.at) && !(wrapped && (*parser.at == '(' || *parser.at == ')')))
		parser.at++;
	if (parser.at > start)
		selector->profile_type = pnstrdup(start, (Size) (parser.at - start));
	skip_blanks(&parser);
	if (*parser.at == '{')
	{
		parser.at++;
		read_matchers(&parser, selector);
		skip_blanks(&parser);
		braces = true;
	}
	else if (selector->profile_type == NULL)
		fail(&parser, parser.at,
			 *parser.at == '\0' && !wrapped ? "text is empty" : "expected a profile type or {");
	if (wrapped)
	{
		if (*parser.at != ')')
			fail(&parser, parser.at, braces ? "expected )" : "expected { or )");
		parser.at++;
		skip_blanks(&parser);
	}
	if (*parser.at != '\0')
		fail(&parser, parser.at,
			 wrapped  ? "unexpected text after )"
			 : braces ? "unexpected text after }"
					  : "expected {");
	return selector;
}

PfsSelector *
pfs_frame_matchers_parse(const char *text, const char *argument)
{
	PfsSelector *selector = palloc0(sizeof(PfsSelector));
	Parser parser = { .text = text, .at = text, .frames = true, .argument = argument };

	skip_blanks(&parser);
	if (*parser.at != '{')
		return NULL;
	parser.at++;
	read_matchers(&parser, selector);
	skip_blanks(&parser);
	if (*parser.at != '\0')
		fail(&parser, parser.at, "unexpected text after }");
	return selector;
}

/*
 * parse_selector(selector text, OUT profile_type text, OUT labels text[], OUT operators text[], OUT "values" text[])
 */
PGDLLEXPORT Datum
profstore_parse_selector(PG_FUNCTION_ARGS)
{
	PfsSelector *selector = pfs_selector_parse(text_to_cstring(PG_GETARG_TEXT_PP(0)), "selector");
	Size bytes = (Size) Max(selector->matcher_count, 1) * sizeof(Datum);
	Datum *labels = palloc(bytes);
	Datum *operators = palloc(bytes);
	Datum *texts = palloc(bytes);
	Datum *columns[] = { labels, operators, texts };
	Datum values[4];
	bool nulls[4] = { false };
	TupleDesc descriptor;

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	for (int i = 0; i < selector->matcher_count; i++)
	{
		const PfsMatcher *matcher = &selector->matchers[i];

		labels[i] = CStringGetTextDatum(matcher->label);
		operators[i] = CStringGetTextDatum(pfs_match_operator_name(matcher->op));
		texts[i] = CStringGetTextDatum(matcher->value);
	}
	nulls[0] = selector->profile_type == NULL;
	values[0] = nulls[0] ? (Datum) 0 : CStringGetTextDatum(selector->profile_type);
	for (int i = 0; i < 3; i++)
		values[i + 1] = PointerGetDatum(
			construct_array(columns[i], selector->matcher_count, TEXTOID, -1, false, TYPALIGN_INT));
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls));
}
