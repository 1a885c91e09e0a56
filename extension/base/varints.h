/*
 * varints.h
 *		Numbers of varying length, appended to a StringInfo as codec/bytes.h reads them.
 */
#ifndef PFS_VARINTS_H
#define PFS_VARINTS_H

#include "profstore.h"

#include "lib/stringinfo.h"

#include "codec/bytes.h"

static inline void
pfs_append_varint(StringInfo bytes, uint64 value)
{
	for (; value >= 0x80; value >>= 7)
		appendStringInfoCharMacro(bytes, (char) (value | 0x80));
	appendStringInfoCharMacro(bytes, (char) value);
}

/* Appends a signed number; numbers near zero are short. */
static inline void
pfs_append_signed(StringInfo bytes, int64 value)
{
	pfs_append_varint(bytes, pfs_zigzag(value));
}

#endif
