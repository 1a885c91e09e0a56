/*
 * flame_label.c
 *		Replaces parts of a name that viewers of flame graphs cannot handle.
 */
#include "tree/frames/flame_label.h"

#include "mb/pg_wchar.h"

const char *
pfs_flame_label(const char *name)
{
	static const char *const guarded[] = {
		"constructor",			"hasOwnProperty", "isPrototypeOf", "other",
		"propertyIsEnumerable", "toLocaleString", "toString",	   "valueOf"
	};
	size_t length = strlen(name);
	char *label;

	if (length == 0)
		return "[unknown]";
	for (size_t i = 0; i < lengthof(guarded); i++)
	{
		if (strcmp(name, guarded[i]) == 0)
			return psprintf("%s()", name);
	}
	if (strncmp(name, "__", 2) == 0 && strcmp(name + length - 2, "__") == 0)
		return psprintf("%s()", name);
	if (length <= PFS_LABEL_MAX_BYTES && strpbrk(name, "\n\r\t\v\f\b\x1b") == NULL)
		return name;
	length = (size_t) pg_mbcliplen(name, (int) length, PFS_LABEL_MAX_BYTES);
	label = pnstrdup(name, length);
	for (char *c = label; *c != '\0'; c++)
	{
		if ((unsigned char) *c < ' ')
			*c = ' ';
	}
	return label;
}

text *
pfs_text_with_zero(const char *string)
{
	Size length = strlen(string);
	text *result = palloc(VARHDRSZ + length + 1);

	SET_VARSIZE(result, VARHDRSZ + length);
	memcpy(VARDATA(result), string, length + 1);
	return result;
}
