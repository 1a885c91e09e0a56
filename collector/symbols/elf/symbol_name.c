/*
 * symbol_name.c
 *		Orders the names of one address.
 */
#include "symbols/elf/symbol_name.h"

#include <string.h>

bool
symbol_name_is_mark(const char *name)
{
	if (name[0] == '$')
		return strchr("adtx", name[1]) != NULL &&
			   (name[1] == '\0' || name[2] == '\0' || name[2] == '.');
	return name[0] == '.' && name[1] == 'L';
}

void
symbol_name_cut_version(char *name)
{
	char *at = strchr(name, '@');

	if (at != NULL && at != name)
		*at = '\0';
}

int
symbol_name_compare(const char *a, const char *b)
{
	size_t a_underscores = strspn(a, "_");
	size_t b_underscores = strspn(b, "_");
	size_t a_length = strlen(a);
	size_t b_length = strlen(b);

	if (a_underscores != b_underscores)
		return a_underscores < b_underscores ? -1 : 1;
	if (a_length != b_length)
		return a_length < b_length ? -1 : 1;
	return strcmp(a, b);
}
