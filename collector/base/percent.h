/*
 * percent.h
 *		Percent-encoding of parts of URLs (RFC 3986).
 */
#ifndef COLLECTOR_PERCENT_H
#define COLLECTOR_PERCENT_H

#include <stdio.h>

/*
 * Writes a text in which each byte other than letters, digits, "-", "_", ".", "~" and the bytes of
 * also is replaced by a percent sign and two digits.
 */
void percent_encode(FILE *out, const char *text, const char *also);

#endif
