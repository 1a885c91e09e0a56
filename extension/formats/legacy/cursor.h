/*
 * cursor.h
 *		A position in a line. Functions advance it over text that they recognize, and otherwise
 *		leave it unchanged. Includes no server header.
 */
#ifndef PFS_CURSOR_H
#define PFS_CURSOR_H

#include "formats/profile.h"

/* The rest of a line from the position on. */
typedef PfsText PfsCursor;

void pfs_skip_blanks(PfsCursor *cursor);

/* Skips blanks and these words; false if they do not follow. */
bool pfs_take_words(PfsCursor *cursor, const char *words);

/*
 * Skips blanks and reads a decimal number. Returns PFS_READ_MALFORMED if there is none,
 * PFS_READ_OUT_OF_RANGE beyond 64 bits.
 */
PfsReadStatus pfs_take_number(PfsCursor *cursor, int64_t *number);

/* Reads at least one hexadecimal digit, in either case; returns what pfs_take_number() returns. */
PfsReadStatus pfs_take_hex(PfsCursor *cursor, uint64_t *number);

/* Skips blanks and returns the text up to the next blank; "" at the end. */
PfsText pfs_take_token(PfsCursor *cursor);

/* Returns true if the text contains the words. */
bool pfs_text_contains(PfsText text, const char *words);

#endif
