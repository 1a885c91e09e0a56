/*
 * labels.h
 *		Label sets; internal to the room.
 */
#ifndef PFS_LABELS_H
#define PFS_LABELS_H

#include "profstore.h"

#include "utils/jsonb.h"

/*
 * Checks a label set, and removes labels with an empty value, which means that they are absent.
 * Raises INVALID_PARAMETER_VALUE unless it is an object of strings with valid label names.
 */
Jsonb *pfs_labels_normalize(Jsonb *labels);

#endif
