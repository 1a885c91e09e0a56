/*
 * flame_label.h
 *		Names as labels of a flame graph.
 */
#ifndef PFS_FLAME_LABEL_H
#define PFS_FLAME_LABEL_H

#include "profstore.h"

/*
 * A name as a label of a flame graph: not empty, on one line, no longer than PFS_LABEL_MAX_BYTES.
 * Names that JavaScript objects are born with get (), since they break viewers that keep labels as
 * keys; so does "other", which is read as cut. Returns name itself where nothing is to be done.
 */
#define PFS_LABEL_MAX_BYTES 1024
const char *pfs_flame_label(const char *name);

/*
 * A copy of a string as a datum, with a zero byte behind it, so that VARDATA is the string. In
 * CurrentMemoryContext.
 */
text *pfs_text_with_zero(const char *string);

#endif
