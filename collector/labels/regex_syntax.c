/*
 * regex_syntax.c
 *		Translates an expression in one pass. Each part is written in a form that PCRE2 can read in
 *		one way only: characters as themselves or as numbers, classes by their members.
 */
#include "labels/regex_syntax.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/utf8.h"

#define REPEAT_MAX	   1000
#define CODE_POINT_MAX 0x10FFFF
#define NAME_BYTES_MAX 32

/* The kind of the item before the current position: it decides whether a repetition may follow. */
typedef enum Before
{
	BEFORE_NOTHING,
	BEFORE_ASSERTION,
	BEFORE_ATOM,
	BEFORE_REPETITION
} Before;

typedef struct Translator
{
	const char *at;
	FILE *out;
	char *error;
	Before before;
	/* product of the nested repetitions within the last atom */
	int32_t atom_repeats;
	int32_t repeats[REGEX_DEPTH_MAX + 1]; /* largest such product in each open group */
	int depth;
} Translator;

static bool
translator_fail(Translator *translator, const char *reason)
{
	snprintf(translator->error, REGEX_ERROR_BYTES, "%s", reason);
	return false;
}

static void
put_atom_end(Translator *translator, int32_t repeats)
{
	translator->before = BEFORE_ATOM;
	translator->atom_repeats = repeats;
	/* A group counts as repeated as often as its most repeated part. */
	translator->repeats[translator->depth] = MAX(translator->repeats[translator->depth], repeats);
}

static void
regex_put_character(Translator *translator, uint32_t character)
{
	/* Any other character may have a meaning in PCRE2, so it is written as a number. */
	if (character < 128 && isalnum((int) character))
		fputc((int) character, translator->out);
	else
		fprintf(translator->out, "\\x{%x}", character);
}

/* Returns the next character of a valid UTF-8 text and moves past it. */
static uint32_t
next_character(Translator *translator)
{
	const unsigned char *bytes = (const unsigned char *) translator->at;
	size_t length = utf8_length(translator->at);
	uint32_t character = bytes[0];

	/* The upper bits of the first byte encode the length. */
	if (length > 1)
		character &= 0xFFu >> (length + 1);
	for (size_t i = 1; i < length; i++)
		character = character << 6 | (bytes[i] & 0x3F);
	/* Moves on even if the byte begins no character, so that the caller's loop ends. */
	translator->at += MAX(length, 1);
	return character;
}

/* --- escapes --- */

/* Reads the number after "\x": two digits, or digits in braces. */
static bool
read_hexadecimal(Translator *translator, uint32_t *character)
{
	bool braces = *translator->at == '{';
	size_t digits = 0;

	*character = 0;
	translator->at += braces;
	while (isxdigit((unsigned char) *translator->at) && (braces || digits < 2))
	{
		char digit[2] = { *translator->at++, '\0' };

		*character = *character * 16 + (uint32_t) strtoul(digit, NULL, 16);
		digits++;
		/* Checking each digit keeps the number from overflowing. */
		if (*character > CODE_POINT_MAX)
			return translator_fail(translator, "A code point is too large");
	}
	if (braces ? digits == 0 || *translator->at != '}' : digits != 2)
		return translator_fail(translator, "\\x needs two digits, or some in braces");
	translator->at += braces;
	return true;
}

static bool
read_octal(Translator *translator, char first, uint32_t *character)
{
	bool goes_on = *translator->at >= '0' && *translator->at <= '7';

	/* RE2 reads \1 to \7 as octal only if another octal digit follows. */
	if (first != '0' && !goes_on)
		return translator_fail(translator, "Backreferences are not supported");
	*character = (uint32_t) (first - '0');
	for (int i = 0; i < 2 && *translator->at >= '0' && *translator->at <= '7'; i++)
		*character = *character * 8 + (uint32_t) (*translator->at++ - '0');
	return true;
}

/* Reads the character after a backslash. */
static bool
read_escaped(Translator *translator, uint32_t *character)
{
	static const char letters[] = "afnrtv";
	static const char meanings[] = "\a\f\n\r\t\v";
	char c = *translator->at;
	const char *letter;

	if (c == '\0')
		return translator_fail(translator, "A backslash at the end escapes nothing");
	translator->at++;
	if (c >= '0' && c <= '7')
		return read_octal(translator, c, character);
	if (c == 'x')
		return read_hexadecimal(translator, character);
	letter = strchr(letters, c);
	if (letter != NULL)
		*character = (uint32_t) meanings[letter - letters];
	else if ((unsigned char) c < 128 && !isalnum((unsigned char) c))
		*character = (uint32_t) c;
	else
		return translator_fail(translator, "Unknown escape sequence");
	return true;
}

static bool
is_known_property(const char *name)
{
	static const char *const names[] = {
		"L",		"Lu",		"Ll",		"Lt",		  "Lm",	   "Lo",  "M",		"Mn",
		"Mc",		"Me",		"N",		"Nd",		  "Nl",	   "No",  "P",		"Pc",
		"Pd",		"Ps",		"Pe",		"Pi",		  "Pf",	   "Po",  "S",		"Sm",
		"Sc",		"Sk",		"So",		"Z",		  "Zs",	   "Zl",  "Zp",		"Cc",
		"Arabic",	"Armenian", "Cyrillic", "Devanagari", "Greek", "Han", "Hangul", "Hebrew",
		"Hiragana", "Katakana", "Latin",	"Thai",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* Translates \pN, \p{Greek} or \P{^Lu}; the position is after the p. */
static bool
translate_property(Translator *translator, bool negated)
{
	char name[NAME_BYTES_MAX];
	bool braces = *translator->at == '{';
	size_t length = 1;

	translator->at += braces;
	if (braces && *translator->at == '^')
	{
		negated = !negated;
		translator->at++;
	}
	if (braces)
		length = strcspn(translator->at, "}");
	/* The name, or the closing brace, is missing. */
	if (length >= sizeof(name) || strlen(translator->at) < length + braces)
		return translator_fail(translator, "Unknown Unicode class");
	snprintf(name, sizeof(name), "%.*s", (int) length, translator->at);
	if (!is_known_property(name))
		return translator_fail(translator, "The Unicode class is not supported");
	translator->at += length + braces;
	fprintf(translator->out, "\\%c{%s}", negated ? 'P' : 'p', name);
	return true;
}

/* --- classes --- */

/*
 * Returns the members of \d, \s, \w and their negations, for use inside a class; NULL for other
 * letters.
 */
static const char *
perl_class(char letter)
{
	switch (letter)
	{
		case 'd':
			return "0-9";
		case 'D':
			return "\\x{0}-\\x{2f}\\x{3a}-\\x{10ffff}";
		case 's':
			return "\\x{9}\\x{a}\\x{c}\\x{d}\\x{20}";
		case 'S':
			return "\\x{0}-\\x{8}\\x{b}\\x{e}-\\x{1f}\\x{21}-\\x{10ffff}";
		case 'w':
			return "0-9A-Za-z_";
		case 'W':
			return "\\W";
		default:
			return NULL;
	}
}

static bool
is_posix_class(const char *name, size_t length)
{
	static const char *const names[] = { "alnum", "alpha", "ascii", "blank", "cntrl",
										 "digit", "graph", "lower", "print", "punct",
										 "space", "upper", "word",	"xdigit" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
			return true;
	return false;
}

/* If a class such as "[:alpha:]" is at the position, copies it and sets *found. */
static bool
translate_posix(Translator *translator, bool *found)
{
	const char *end =
		strncmp(translator->at, "[:", 2) == 0 ? strstr(translator->at + 2, ":]") : NULL;
	const char *name = translator->at + 2;

	*found = end != NULL;
	if (end == NULL)
		return true;
	/* [:^alpha:] is a negated class. */
	name += *name == '^';
	if (!is_posix_class(name, (size_t) (end - name)))
		return translator_fail(translator, "Unknown character class");
	fprintf(translator->out, "%.*s", (int) (end + 2 - translator->at), translator->at);
	translator->at = end + 2;
	return true;
}

static bool
read_member(Translator *translator, uint32_t *character)
{
	if (*translator->at == '\0')
		return translator_fail(translator, "A class is not closed");
	if (*translator->at == '\\')
	{
		translator->at++;
		return read_escaped(translator, character);
	}
	*character = next_character(translator);
	return true;
}

/* Translates one character or a range of a class. */
static bool
translate_range(Translator *translator)
{
	uint32_t low;
	uint32_t high;

	if (!read_member(translator, &low))
		return false;
	fprintf(translator->out, "\\x{%x}", low);
	/* A '-' before the closing bracket is a literal. */
	if (translator->at[0] != '-' || translator->at[1] == ']' || translator->at[1] == '\0')
		return true;
	translator->at++;
	if (!read_member(translator, &high))
		return false;
	if (high < low)
		return translator_fail(translator, "The range of characters is reversed");
	fprintf(translator->out, "-\\x{%x}", high);
	return true;
}

/* Translates one member of a class: a named class, an escape, a character or a range. */
static bool
translate_member(Translator *translator)
{
	const char *perl = NULL;
	bool posix;

	/* If the class is unknown, posix is true and the error is set. */
	if (!translate_posix(translator, &posix) || posix)
		return posix && translator->error[0] == '\0';
	if (translator->at[0] == '\\' && translator->at[1] != '\0')
		perl = perl_class(translator->at[1]);
	if (perl != NULL)
	{
		fputs(perl, translator->out);
		translator->at += 2;
		return true;
	}
	if (translator->at[0] == '\\' && (translator->at[1] == 'p' || translator->at[1] == 'P'))
	{
		translator->at += 2;
		return translate_property(translator, translator->at[-1] == 'P');
	}
	return translate_range(translator);
}

/* Translates a class; the position is after the opening bracket. */
static bool
translate_class(Translator *translator)
{
	bool first = true;

	fputc('[', translator->out);
	if (*translator->at == '^')
		fputc(*translator->at++, translator->out);
	/* A ']' that comes first is a member of the class. */
	for (; *translator->at != ']' || first; first = false)
	{
		if (*translator->at == '\0')
			return translator_fail(translator, "A class is not closed");
		if (!translate_member(translator))
			return false;
	}
	translator->at++;
	fputc(']', translator->out);
	put_atom_end(translator, 1);
	return true;
}

/* --- outside of classes --- */

static void
translate_quoted(Translator *translator)
{
	/* Between \Q and \E no character has a meaning. */
	while (*translator->at != '\0' && strncmp(translator->at, "\\E", 2) != 0)
	{
		regex_put_character(translator, next_character(translator));
		put_atom_end(translator, 1);
	}
	/* A quotation without \E continues to the end of the pattern. */
	if (*translator->at != '\0')
		translator->at += 2;
}

/* Translates an escape outside of classes; the position is after the backslash. */
static bool
translate_escape(Translator *translator)
{
	char letter = *translator->at;
	const char *perl = letter == '\0' ? NULL : perl_class(letter);
	uint32_t character;

	if (letter != '\0' && strchr("AzbB", letter) != NULL)
	{
		translator->at++;
		fprintf(translator->out, "\\%c", letter);
		translator->before = BEFORE_ASSERTION;
		return true;
	}
	if (letter == 'Q')
	{
		translator->at++;
		translate_quoted(translator);
		return true;
	}
	if (letter == 'W') /* write it as a negated class, so that (?i) folds case as it does for \w */
		perl = "^0-9A-Za-z_";
	if (perl != NULL)
	{
		translator->at++;
		fprintf(translator->out, "[%s]", perl);
	}
	else if (letter == 'p' || letter == 'P')
	{
		translator->at++;
		if (!translate_property(translator, letter == 'P'))
			return false;
	}
	else if (read_escaped(translator, &character))
		regex_put_character(translator, character);
	else
		return false;
	put_atom_end(translator, 1);
	return true;
}

static bool
open_group(Translator *translator)
{
	if (translator->depth == REGEX_DEPTH_MAX)
		return translator_fail(translator, "Groups are nested too deeply");
	translator->repeats[++translator->depth] = 1;
	translator->before = BEFORE_NOTHING;
	return true;
}

static bool
translate_named_group(Translator *translator)
{
	size_t length = strcspn(translator->at, ">");
	const char *name = translator->at;

	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char) name[i]) && name[i] != '_')
			return translator_fail(translator,
								   "A group name may only contain letters, digits and underscores");
	if (length == 0 || length > NAME_BYTES_MAX || name[length] != '>' ||
		isdigit((unsigned char) name[0]))
		return translator_fail(translator,
							   "A group name is empty, too long, or begins with a digit");
	fprintf(translator->out, "(?<%.*s>", (int) length, name);
	translator->at += length + 1;
	return open_group(translator);
}

/* Translates "(?i)" or "(?i:"; the position is after the question mark. */
static bool
translate_flags(Translator *translator)
{
	const char *begin = translator->at;
	size_t length = strspn(begin, "imsU-");
	const char *minus = memchr(begin, '-', length);
	char end = begin[length];

	/* RE2 accepts at most one '-', and only with a flag after it. */
	if ((end != ')' && end != ':') ||
		(minus != NULL && (memchr(minus + 1, '-', (size_t) (begin + length - minus - 1)) != NULL ||
						   minus == begin + length - 1)))
		return translator_fail(translator, "Unknown kind of group");
	translator->at += length + 1;
	translator->before = BEFORE_NOTHING;
	/* "(?)" changes nothing, so it is left out. */
	if (end == ':' || length > 0)
		fprintf(translator->out, "(?%.*s%c", (int) length, begin, end);
	return end == ')' || open_group(translator);
}

/* Translates the start of a group; the position is after the parenthesis. */
static bool
translate_group(Translator *translator)
{
	if (*translator->at != '?')
	{
		/* PCRE2 reads "(*" as the start of a verb such as (*UTF). */
		if (*translator->at == '*')
			return translator_fail(translator, "A repetition has nothing to repeat");
		fputc('(', translator->out);
		return open_group(translator);
	}
	translator->at++;
	if (strncmp(translator->at, "P<", 2) == 0)
	{
		translator->at += 2;
		return translate_named_group(translator);
	}
	/* "(?<=" and "(?<!" are lookbehinds, which translate_flags() refuses. */
	if (*translator->at == '<' && translator->at[1] != '=' && translator->at[1] != '!')
	{
		translator->at++;
		return translate_named_group(translator);
	}
	return translate_flags(translator);
}

static bool
close_group(Translator *translator)
{
	int32_t repeats = translator->repeats[translator->depth];

	if (translator->depth == 0)
		return translator_fail(translator, "A closing parenthesis has no opening one");
	translator->depth--;
	fputc(')', translator->out);
	put_atom_end(translator, repeats);
	return true;
}

/* Checks that the item before can be repeated. */
static bool
begin_repetition(Translator *translator)
{
	switch (translator->before)
	{
		case BEFORE_ATOM:
			translator->before = BEFORE_REPETITION;
			return true;
		case BEFORE_ASSERTION:
			return translator_fail(translator, "Repeated assertions are not supported");
		case BEFORE_REPETITION:
			return translator_fail(translator, "A repetition must not be repeated");
		case BEFORE_NOTHING:
			break;
	}
	return translator_fail(translator, "A repetition has nothing to repeat");
}

static void
put_lazy(Translator *translator)
{
	if (*translator->at == '?')
		fputc(*translator->at++, translator->out);
}

/*
 * Reads a number without leading zeros; false if there is none. Numbers above the limit become
 * limit + 1.
 */
static bool
read_count(const char **at, int32_t *count)
{
	const char *begin = *at;

	*count = 0;
	/* The value stays near the limit, so that it cannot overflow. */
	for (; **at >= '0' && **at <= '9'; ++*at)
		*count = MIN(*count * 10 + (**at - '0'), REPEAT_MAX + 1);
	return *at > begin && (*begin != '0' || *at == begin + 1);
}

/*
 * Translates "{2}", "{2,}" or "{2,5}"; the position is after the brace. *found is false if it is a
 * literal brace.
 */
static bool
translate_counts(Translator *translator, bool *found)
{
	const char *at = translator->at;
	int32_t least = 0;
	int32_t most = 0;
	bool open = false;

	*found = read_count(&at, &least);
	most = least;
	if (*found && *at == ',')
	{
		at++;
		open = *at == '}';
		*found = open || read_count(&at, &most);
	}
	if (!*found || *at != '}')
	{
		*found = false;
		return true;
	}
	if (!begin_repetition(translator))
		return false;
	/* RE2 limits the product of nested repetitions. */
	if (least > REPEAT_MAX || most > REPEAT_MAX || most < least ||
		MAX(most, 1) * translator->atom_repeats > REPEAT_MAX)
		return translator_fail(translator, "An expression is repeated more than 1000 times");
	translator->at = at + 1;
	fprintf(translator->out, open ? "{%d,}" : "{%d,%d}", least, most);
	put_lazy(translator);
	/* An outer repetition multiplies this one. */
	translator->repeats[translator->depth] =
		MAX(translator->repeats[translator->depth], MAX(most, 1) * translator->atom_repeats);
	return true;
}

static bool
translate_brace(Translator *translator)
{
	bool found;

	if (!translate_counts(translator, &found))
		return false;
	if (!found)
	{
		fputs("\\{", translator->out);
		put_atom_end(translator, 1);
	}
	return true;
}

/* Translates the item at the current position. */
static bool
translate_one(Translator *translator)
{
	char c = *translator->at;

	if ((unsigned char) c >= 128)
	{
		regex_put_character(translator, next_character(translator));
		put_atom_end(translator, 1);
		return true;
	}
	translator->at++;
	switch (c)
	{
		case '\\':
			return translate_escape(translator);
		case '[':
			return translate_class(translator);
		case '(':
			return translate_group(translator);
		case ')':
			return close_group(translator);
		case '{':
			return translate_brace(translator);
		case '*':
		case '+':
		case '?':
			fputc(c, translator->out);
			/* PCRE2 would read a second '+' as a possessive repetition, which RE2 does not have. */
			if (!begin_repetition(translator))
				return false;
			put_lazy(translator);
			return true;
		case '|':
			fputc(c, translator->out);
			translator->before = BEFORE_NOTHING;
			return true;
		case '^':
		case '$':
			fputc(c, translator->out);
			translator->before = BEFORE_ASSERTION;
			return true;
		case '.':
			fputc(c, translator->out);
			break;
		default:
			regex_put_character(translator, (uint32_t) c);
	}
	put_atom_end(translator, 1);
	return true;
}

char *
regex_translate(const char *pattern, char error[REGEX_ERROR_BYTES])
{
	Translator translator = { .at = pattern, .error = error, .repeats = { 1 } };
	char *text = NULL;
	size_t length;
	bool good = true;

	error[0] = '\0';
	if (strlen(pattern) > REGEX_BYTES_MAX || !utf8_valid(pattern))
	{
		translator_fail(&translator, "It is longer than 16 kB or not UTF-8");
		return NULL;
	}
	translator.out = open_memstream(&text, &length);
	if (translator.out == NULL)
	{
		translator_fail(&translator, "Out of memory");
		return NULL;
	}
	while (good && *translator.at != '\0')
		good = translate_one(&translator);
	if (good && translator.depth > 0)
		good = translator_fail(&translator, "A parenthesis is not closed");
	/* fclose() writes the last bytes, so it may fail with out of memory. */
	if (fclose(translator.out) != 0)
		good = translator_fail(&translator, "Out of memory");
	if (good)
		return text;
	free(text);
	return NULL;
}
