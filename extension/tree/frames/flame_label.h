/*
 * flame_label.h
 *		Names as labels of flame graphs.
 */
#ifndef PFS_FLAME_LABEL_H
#define PFS_FLAME_LABEL_H

#include "profstore.h"

/*
 * Makes a label of a name: not empty, on one line, not longer than PFS_LABEL_MAX_BYTES. Names of
 * properties that all JavaScript objects have get a suffix "()", because they break viewers that
 * use labels as keys; so does "other", which is the label of cut nodes. Returns name itself if it
 * needs no change.
 */
#define PFS_LABEL_MAX_BYTES 1024
const char *pfs_flame_label(const char *name);

/*
 * Copies a string to a datum, with a zero byte after it, so that VARDATA is the string. In
 * CurrentMemoryContext.
 */
text *pfs_text_with_zero(const char *string);

#endif
