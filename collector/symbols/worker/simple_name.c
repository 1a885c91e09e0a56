/*
 * simple_name.c
 *		Shortens a name in place by leaving out the parts in brackets.
 */
#include "symbols/worker/simple_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define OPERATOR "operator"

/* Operators with brackets, longest first. */
static const char *const bracket_operators[] = { "()",	"<=>", "<<=", "<<", "<=",  "<",
												 ">>=", ">>",  ">=",  ">",	"->*", "->" };

/* The part of the name that was written so far. */
typedef struct Written
{
	char *name;
	size_t length;
	size_t begin;	  /* start of the function's name; the type of the result precedes it */
	bool in_operator; /* inside a conversion operator, whose name may contain spaces */
} Written;

static bool
is_word(char c)
{
	return isalnum((unsigned char) c) || c == '_' || c == '$';
}

static bool
name_begins_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool
name_ends_with(const Written *written, const char *suffix)
{
	size_t length = strlen(suffix);

	return written->length >= length &&
		   memcmp(written->name + written->length - length, suffix, length) == 0;
}

static void
write_bytes(Written *written, const char *bytes, size_t count)
{
	memmove(written->name + written->length, bytes, count);
	written->length += count;
}

/*
 * Returns the length of the word "operator" and the brackets of its symbol; 0 if no such operator
 * is here.
 */
static size_t
operator_length(const Written *written, const char *at)
{
	size_t length = strlen(OPERATOR);

	if (!name_begins_with(at, OPERATOR) || is_word(at[length]) ||
		(written->length > 0 && is_word(written->name[written->length - 1])))
		return 0;
	for (size_t i = 0; i < sizeof(bracket_operators) / sizeof(bracket_operators[0]); i++)
	{
		if (name_begins_with(at + length, bracket_operators[i]))
			return length + strlen(bracket_operators[i]);
	}
	return length;
}

/*
 * Returns the length of a group from its bracket to the closing one; the rest of the text if it is
 * not closed. Angle brackets inside round ones do not count, because they may be operators.
 */
static size_t
group_length(const char *at)
{
	const Written nothing = { 0 };
	size_t length = 0;
	unsigned angles = 0;
	unsigned rounds = 0;

	do
	{
		size_t operator_bytes = operator_length(&nothing, at + length);

		if (operator_bytes > 0 && !is_word(at[length - 1]))
		{
			length += operator_bytes;
			continue;
		}
		switch (at[length])
		{
			case '\0':
				return length;
			case '(':
			case '{':
			case '[':
				rounds++;
				break;
			case ')':
			case '}':
			case ']':
				rounds -= rounds > 0;
				break;
			case '<':
				angles += rounds == 0;
				break;
			case '>':
				angles -= rounds == 0 && angles > 0 && at[length - 1] != '-';
				break;
			default:
				break;
		}
		length++;
	} while (angles > 0 || rounds > 0);
	return length;
}

/* Returns the length of the qualifiers after the parameters. */
static size_t
qualifiers_length(const char *at)
{
	static const char *const qualifiers[] = { " const", " volatile", " &&", " &", " noexcept" };
	size_t length = 0;

	for (size_t i = 0; i < sizeof(qualifiers) / sizeof(qualifiers[0]); i++)
	{
		if (name_begins_with(at + length, qualifiers[i]))
			length += strlen(qualifiers[i]);
	}
	return length;
}

/* Removes the parameters that were read, and the type of the result before the function's name. */
static void
end_function(Written *written)
{
	memmove(written->name, written->name + written->begin, written->length - written->begin);
	written->length -= written->begin;
	written->begin = 0;
	written->in_operator = false;
}

/* Handles a round bracket. Returns the length of the text that it consumed. */
static size_t
read_round(Written *written, const char *at)
{
	size_t length = group_length(at);
	char before = written->length > 0 ? written->name[written->length - 1] : ' ';

	/* parameters follow a name */
	if (name_begins_with(at, "(anonymous namespace)") || name_ends_with(written, "decltype ") ||
		(!is_word(before) && strchr("}])>=<|!*+-/%^&~,\"", before) == NULL))
	{
		write_bytes(written, at, length);
		return length;
	}
	end_function(written);
	length += qualifiers_length(at + length);
	if (name_begins_with(at + length,
						 /*
						  * the parameters belong to the function that contains a lambda or a type
						  */
						 "::"))
		write_bytes(written, "()", 2);
	return length;
}

/* Handles an angle bracket: arguments of a template follow its name. */
static size_t
read_angle(Written *written, const char *at)
{
	size_t length = group_length(at);

	bool is_name = written->length > 0 && (is_word(written->name[written->length - 1]) ||
										   written->name[written->length - 1] == ']');

	if (written->in_operator && name_ends_with(written, " "))
		written->length--;
	else if (!written->in_operator && !is_name)
		write_bytes(written, at, length);
	return length;
}

void
simple_name(char *name)
{
	Written written = { .name = name };
	const char *at = name;

	while (*at != '\0' && !name_begins_with(at, " [clone "))
	{
		size_t length = operator_length(&written, at);

		if (length > 0)
		{
			written.in_operator = true;
			write_bytes(&written, at, length);
		}
		else if (*at == '(')
			length = read_round(&written, at);
		else if (*at == '<')
			length = read_angle(&written, at);
		else
		{
			length = *at == '{' || *at == '[' ? group_length(at) : 1;
			if (*at == ':')
				written.in_operator = false;
			write_bytes(&written, at, length);
			/*
			 * the type of a result ends with a space, but so do "guard variable for" and "thunk to"
			 */
			if (name_ends_with(&written, " for ") || name_ends_with(&written, " to "))
				written.begin = 0;
			else if (name_ends_with(&written, " ") && !written.in_operator)
				written.begin = written.length;
		}
		at += length;
	}
	written.name[written.length] = '\0';
}
