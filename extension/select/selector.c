/*
 * selector.c
 *		Recursive-descent parser of selectors; selector.h has the grammar.
 */
#include "select/selector.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "regex/regex.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "base/arrays.h"
#include "select/selector_tokens.h"

/* Room for the error text of a regular expression. */
#define REGEX_PROBLEM_BYTES 128

static const char *const OPERATOR_NAMES[] = { "=", "!=", "=~", "!~", "*=", "!*=" };

/* Names of the functions over time, indexed by PfsOverTime. */
static const char *const OVER_TIME_NAMES[] = { NULL, "avg_over_time", "last_over_time",
											   "max_over_time" };

PG_FUNCTION_INFO_V1(profstore_parse_selector);

static const char *
match_operator_name(PfsMatchOperator op)
{
	return OPERATOR_NAMES[op];
}

const char *
pfs_over_time_name(PfsOverTime over_time)
{
	return OVER_TIME_NAMES[over_time];
}

/* Returns true for characters of a profile type, as profstore.parse_profile_type() accepts them. */
static bool
is_type_char(char c)
{
	return (unsigned char) c > ' ' && c != 0x7F && strchr("{}\",", c) == NULL;
}

static PfsMatchOperator
read_operator(PfsSelectorText *text)
{
	/* "=" comes last, because "=~" begins with "="; operators for substrings are for frames only */
	static const PfsMatchOperator order[] = { PFS_MATCH_SUBSTRING, PFS_MATCH_NOT_SUBSTRING,
											  PFS_MATCH_REGEX,	   PFS_MATCH_NOT_REGEX,
											  PFS_MATCH_NOT_EQUAL, PFS_MATCH_EQUAL };

	for (size_t i = text->frames ? 0 : 2; i < lengthof(order); i++)
	{
		const char *name = OPERATOR_NAMES[order[i]];

		if (strncmp(text->at, name, strlen(name)) == 0)
		{
			text->at += strlen(name);
			return order[i];
		}
	}
	pfs_selector_fail(text, text->at,
					  text->frames ? "expected =, !=, =~, !~, *= or !*="
								   : "expected =, !=, =~ or !~");
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
	/* a cancelled compilation does not mean that the expression is wrong */
	CHECK_FOR_INTERRUPTS();
	reason = palloc(REGEX_PROBLEM_BYTES);
	pg_regerror(status, &compiled, reason, REGEX_PROBLEM_BYTES);
	return reason;
}

/*
 * Makes a regular expression match the whole value. PostgreSQL accepts flags such as (?i) only at
 * the very beginning, so they are moved before the anchor. Flags that change the meaning of the
 * anchors are rejected: another syntax, comments, and lines.
 */
static const char *
anchor_regex(const PfsSelectorText *text, const char *position, const char *regex)
{
	/* check it alone, so that the anchors around it cannot close or complete it */
	const char *problem = pfs_regex_problem(regex);
	size_t flags_length = 0;

	if (problem != NULL)
		pfs_selector_fail_regex(text, position, problem);
	if (strncmp(regex, "***", 3) == 0)
		pfs_selector_fail_regex(text, position, "*** is not supported here");
	if (regex[0] == '(' && regex[1] == '?' && pfs_selector_is_letter(regex[2]))
	{
		flags_length = strcspn(regex, ")") + 1;
		if (strspn(regex + 2, "cipst") != flags_length - 3)
			pfs_selector_fail_regex(text, position,
									"only the flags c, i, p, s and t are supported here");
	}
	return psprintf("%.*s^(?:%s)$", (int) flags_length, regex, regex + flags_length);
}

static PfsMatcher
read_matcher(PfsSelectorText *text)
{
	PfsMatcher matcher;
	const char *start;

	matcher.label = pfs_selector_read_label(text);
	pfs_selector_skip_blanks(text);
	matcher.op = read_operator(text);
	pfs_selector_skip_blanks(text);
	if (!pfs_selector_at_quote(text))
		pfs_selector_fail(text, text->at, "expected a quoted value");
	start = text->at;
	matcher.value = pfs_selector_read_quoted(text);
	if (matcher.op == PFS_MATCH_REGEX || matcher.op == PFS_MATCH_NOT_REGEX)
		matcher.value = anchor_regex(text, start, matcher.value);
	return matcher;
}

/* Reads the matchers and their closing brace. The cursor stands after the opening one. */
static void
read_matchers(PfsSelectorText *text, PfsSelector *selector)
{
	uint32 capacity = 0;

	pfs_selector_skip_blanks(text);
	while (*text->at != '}')
	{
		CHECK_FOR_INTERRUPTS();
		PFS_RESERVE(selector->matchers, capacity, (uint64) selector->matcher_count + 1);
		selector->matchers[selector->matcher_count++] = read_matcher(text);
		pfs_selector_skip_blanks(text);
		if (*text->at == ',')
			text->at++;
		else if (*text->at != '}')
			pfs_selector_fail(text, text->at, "expected , or }");
		pfs_selector_skip_blanks(text);
	}
	text->at++;
}

/* Reads the function around a selector. The cursor stands after its opening parenthesis. */
static PfsOverTime
read_over_time(PfsSelectorText *text)
{
	for (int i = PFS_OVER_TIME_AVERAGE; i <= PFS_OVER_TIME_MAX; i++)
	{
		size_t length = strlen(OVER_TIME_NAMES[i]);

		if (strncmp(text->at, OVER_TIME_NAMES[i], length) == 0 && text->at[length] == '(')
		{
			text->at += length + 1;
			pfs_selector_skip_blanks(text);
			return (PfsOverTime) i;
		}
	}
	return PFS_OVER_TIME_UNSAID;
}

PfsSelector *
pfs_selector_parse(const char *text, const char *argument)
{
	PfsSelector *selector = palloc0(sizeof(PfsSelector));
	PfsSelectorText cursor = pfs_selector_text(text, argument, false);
	bool braces = false;
	bool wrapped;
	const char *start;

	pfs_selector_skip_blanks(&cursor);
	selector->over_time = read_over_time(&cursor);
	wrapped = selector->over_time != PFS_OVER_TIME_UNSAID;
	start = cursor.at;
	while (is_type_char(*cursor.at) && !(wrapped && (*cursor.at == '(' || *cursor.at == ')')))
		cursor.at++;
	if (cursor.at > start)
		selector->profile_type = pnstrdup(start, (Size) (cursor.at - start));
	pfs_selector_skip_blanks(&cursor);
	if (*cursor.at == '{')
	{
		cursor.at++;
		read_matchers(&cursor, selector);
		pfs_selector_skip_blanks(&cursor);
		braces = true;
	}
	else if (selector->profile_type == NULL)
		pfs_selector_fail(&cursor, cursor.at,
						  *cursor.at == '\0' && !wrapped ? "text is empty"
														 : "expected a profile type or {");
	if (wrapped)
	{
		if (*cursor.at != ')')
			pfs_selector_fail(&cursor, cursor.at, braces ? "expected )" : "expected { or )");
		cursor.at++;
		pfs_selector_skip_blanks(&cursor);
	}
	if (*cursor.at != '\0')
		pfs_selector_fail(&cursor, cursor.at,
						  wrapped  ? "unexpected text after )"
						  : braces ? "unexpected text after }"
								   : "expected {");
	return selector;
}

PfsSelector *
pfs_frame_matchers_parse(const char *text, const char *argument)
{
	PfsSelector *selector = palloc0(sizeof(PfsSelector));
	PfsSelectorText cursor = pfs_selector_text(text, argument, true);

	pfs_selector_skip_blanks(&cursor);
	if (*cursor.at != '{')
		return NULL;
	cursor.at++;
	read_matchers(&cursor, selector);
	pfs_selector_skip_blanks(&cursor);
	if (*cursor.at != '\0')
		pfs_selector_fail(&cursor, cursor.at, "unexpected text after }");
	return selector;
}

/*
 * parse_selector(selector text, OUT profile_type text, OUT labels text[], OUT operators text[], OUT
 * "values" text[])
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
		operators[i] = CStringGetTextDatum(match_operator_name(matcher->op));
		texts[i] = CStringGetTextDatum(matcher->value);
	}
	nulls[0] = selector->profile_type == NULL;
	values[0] = nulls[0] ? (Datum) 0 : CStringGetTextDatum(selector->profile_type);
	for (int i = 0; i < 3; i++)
		values[i + 1] = PointerGetDatum(
			construct_array(columns[i], selector->matcher_count, TEXTOID, -1, false, TYPALIGN_INT));
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls));
}
