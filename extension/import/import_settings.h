/*
 * import_settings.h
 *		The setting of the room.
 */
#ifndef PFS_IMPORT_SETTINGS_H
#define PFS_IMPORT_SETTINGS_H

#include "profstore.h"

/* Setting profstore.import_max_size: the largest decompressed profile, in kilobytes. */
extern int pfs_import_max_size_kb;

/* Called once when the module is loaded. */
void pfs_import_init(void);

#endif
