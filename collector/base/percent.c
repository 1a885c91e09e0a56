/*
 * percent.c
 *		Percent-encoding of parts of URLs.
 */
#include "base/percent.h"

#include <stdbool.h>
#include <string.h>

/* Does not use isalnum(), which depends on the locale. */
static bool
is_unreserved(unsigned char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
		   (byte >= '0' && byte <= '9') || strchr("-_.~", byte) != NULL;
}

void
percent_encode(FILE *out, const char *text, const char *also)
{
	for (; *text != '\0'; text++)
	{
		unsigned char byte = (unsigned char) *text;

		fprintf(out, is_unreserved(byte) || strchr(also, byte) != NULL ? "%c" : "%%%02X", byte);
	}
}
