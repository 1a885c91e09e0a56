/*
 * import_settings.h
 *		The setting of the room.
 */
#ifndef PFS_IMPORT_SETTINGS_H
#define PFS_IMPORT_SETTINGS_H

#include "profstore.h"

/* profstore.import_max_size: the largest profile that is imported, unpacked, in kilobytes. */
extern int pfs_import_max_size_kb;

/* Called once when the module is loaded. */
void pfs_import_init(void);

#endif
