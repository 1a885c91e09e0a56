/*
 * clean_text.h
 *		Texts as a database takes them: UTF-8 without zero bytes. Knows no server header.
 */
#ifndef PFS_CLEAN_TEXT_H
#define PFS_CLEAN_TEXT_H

#include "formats/profile.h"

/*
 * Replaces each byte that belongs to no character, and each zero, by the profile's replacement:
 * files come with names that were cut, and with buffers and what lay behind them. A text without
 * any stays where it is. False where memory or budget are out.
 */
bool pfs_text_clean(PfsProfile *profile, PfsText *text);

/* Bytes of the character that a text, which has some, begins with: 0 for none, or for zero. */
uint32_t pfs_character_bytes(PfsText text);

#endif
