/*
 * plain_name.c
 *		Removes suffixes one after another, because gcc appends several.
 */
#include "insight/statistic/plain_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* Length of "::h0123456789abcdef". */
#define RUST_HASH_LENGTH 19

static const char *const clone_suffixes[] = { ".isra", ".constprop", ".part", ".cold",
											  ".llvm", ".lto_priv",	 ".clone" };

/*
 * Returns the length of the name without one suffix of a clone at its end; length if there is none.
 */
static size_t
cut_clone(const char *name, size_t length)
{
	size_t end = length;

	/* Reads the number of a clone, ".12", backwards. */
	while (end > 0 && isdigit((unsigned char) name[end - 1]))
		end--;
	if (end < length && end > 0 && name[end - 1] == '.')
		end--;
	else
		end = length;
	/* the suffix .cold may lack a number; all others have one */
	if (end == length)
		return length > 5 && memcmp(name + length - 5, ".cold", 5) == 0 ? length - 5 : length;
	for (size_t i = 0; i < sizeof(clone_suffixes) / sizeof(clone_suffixes[0]); i++)
	{
		size_t suffix = strlen(clone_suffixes[i]);

		if (end > suffix && memcmp(name + end - suffix, clone_suffixes[i], suffix) == 0)
			return end - suffix;
	}
	return length;
}

static size_t
cut_rust_hash(const char *name, size_t length)
{
	if (length <= RUST_HASH_LENGTH || memcmp(name + length - RUST_HASH_LENGTH, "::h", 3) != 0)
		return length;
	for (size_t i = length - RUST_HASH_LENGTH + 3; i < length; i++)
		if (!isxdigit((unsigned char) name[i]))
			return length;
	return length - RUST_HASH_LENGTH;
}

/* Returns whether the number of a lambda begins here: "#12}" after "{lambda(". */
static bool
is_lambda_number(const char *name, size_t length, size_t at)
{
	size_t end = at + 1;

	/* Only after a closing parenthesis, as in "{lambda(int)#12}". */
	if (name[at] != '#' || at == 0 || name[at - 1] != ')')
		return false;
	while (end < length && isdigit((unsigned char) name[end]))
		end++;
	return end > at + 1 && end < length && name[end] == '}';
}

size_t
pfs_plain_name(const char *name, size_t length, char *plain)
{
	size_t written = 0;
	size_t shorter;

	/* One name may have several suffixes, as in "f.isra.0.cold". */
	while ((shorter = cut_clone(name, length)) < length)
		length = shorter;
	length = cut_rust_hash(name, length);
	for (size_t i = 0; i < length; i++)
	{
		if (is_lambda_number(name, length, i))
		{
			/* The loop ends before the brace, which is copied next. */
			while (name[i + 1] != '}')
				i++;
			continue;
		}
		plain[written++] = name[i];
	}
	plain[written] = '\0';
	return written;
}
