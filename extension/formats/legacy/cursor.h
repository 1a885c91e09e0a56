/*
 * cursor.h
 *		A place in a line: what was understood moves it on, anything else leaves it where it is.
 *		Knows no server header.
 */
#ifndef PFS_CURSOR_H
#define PFS_CURSOR_H

#include "formats/profile.h"

/* A text of which the beginning was read. */
typedef PfsText PfsCursor;

void pfs_skip_blanks(PfsCursor *cursor);

/* The words that come next, without what is blank before them. */
bool pfs_take_words(PfsCursor *cursor, const char *words);

/*
 * The decimal number that comes next, without what is blank before it: PFS_READ_MALFORMED for none,
 * PFS_READ_OUT_OF_RANGE beyond 64 bits.
 */
PfsReadStatus pfs_take_number(PfsCursor *cursor, int64_t *number);

/* Hexadecimal digits, at least one, in either case; the statuses are the same. */
PfsReadStatus pfs_take_hex(PfsCursor *cursor, uint64_t *number);

/* The text up to the next blank, without what is blank before it; "" at the end. */
PfsText pfs_take_token(PfsCursor *cursor);

/* Whether words are anywhere in a text. */
bool pfs_text_contains(PfsText text, const char *words);

#endif
