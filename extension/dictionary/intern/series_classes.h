/*
 * series_classes.h
 *		Classes of series whose samples may be summed together, for the store's roll-ups.
 */
#ifndef PFS_SERIES_CLASSES_H
#define PFS_SERIES_CLASSES_H

#include "profstore.h"

/* Called once when the module is loaded. */
void pfs_series_classes_init(void);

#endif
