/*
 * unnamed_keys.c
 *		Splits system_name of a function without a symbol.
 */
#include "tree/frames/unnamed_keys.h"

#define KEY_BYTES 13

static bool
is_key(const char *text)
{
	return strchr("onb", *text) != NULL && strspn(text + 1, "0123456789abcdef") >= KEY_BYTES - 1;
}

PfsUnnamedKeys
pfs_unnamed_keys(const PfsFunction *function)
{
	PfsUnnamedKeys keys = { 0 };
	size_t name_length = strlen(function->name);
	const char *start = strrchr(function->name, '+');
	const char *at = function->system_name + name_length;

	if (start == NULL || strncmp(function->system_name, function->name, name_length) != 0 ||
		*at != '#')
		return keys;
	for (at++; *at != '\0' && is_key(at) && keys.count < PFS_UNNAMED_KEYS_MAX; at += KEY_BYTES)
		keys.keys[keys.count++] =
			psprintf("\001%.*s%.*s", (int) (start - function->name), function->name, KEY_BYTES, at);
	return keys;
}
