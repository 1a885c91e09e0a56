/*
 * json.h
 *		Escapes of bytes within JSON strings.
 */
#ifndef COLLECTOR_JSON_H
#define COLLECTOR_JSON_H

#include <stdbool.h>

#define JSON_ESCAPE_BYTES 7 /* backslash, u, four digits, NUL */

/*
 * Writes the escape of a quote, a backslash or a control character and returns true. Returns false
 * for other bytes, which need no escape.
 */
static inline bool
json_escape(unsigned char byte, char escape[JSON_ESCAPE_BYTES])
{
	static const char hexadecimal[] = "0123456789abcdef";
	char letter = byte == '\n' ? 'n' : byte == '\t' ? 't' : byte == '\r' ? 'r' : (char) byte;

	if (byte >= 0x20 && byte != 0x7F && byte != '"' && byte != '\\')
		return false;
	escape[0] = '\\';
	if (letter != (char) byte || byte == '"' || byte == '\\')
	{
		escape[1] = letter;
		escape[2] = '\0';
		return true;
	}
	escape[1] = 'u';
	escape[2] = escape[3] = '0';
	escape[4] = hexadecimal[byte >> 4];
	escape[5] = hexadecimal[byte & 15];
	escape[6] = '\0';
	return true;
}

#endif
