/*
 * labels.h
 *		Label sets; internal to the room.
 */
#ifndef PFS_LABELS_H
#define PFS_LABELS_H

#include "profstore.h"

#include "utils/jsonb.h"

/*
 * Checks a label set. An empty value means that the label is absent, so it goes. Raises
 * INVALID_PARAMETER_VALUE for what is no object of strings with names that labels may have.
 */
Jsonb *pfs_labels_normalize(Jsonb *labels);

#endif
