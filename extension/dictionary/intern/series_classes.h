/*
 * series_classes.h
 *		Tells the store which series add up together.
 */
#ifndef PFS_SERIES_CLASSES_H
#define PFS_SERIES_CLASSES_H

#include "profstore.h"

/* Called once when the module is loaded. */
void pfs_series_classes_init(void);

#endif
