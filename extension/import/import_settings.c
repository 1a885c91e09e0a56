/*
 * import_settings.c
 *		The setting of the room, and its setup when the module is loaded.
 */
#include "profstore.h"

#include "utils/guc.h"

#include "import/import_settings.h"
#include "import/known_ids.h"

#define IMPORT_MAX_SIZE_KB_DEFAULT (64 * 1024)
#define IMPORT_MAX_SIZE_KB_MIN	   64
#define IMPORT_MAX_SIZE_KB_MAX	   (1023 * 1024)

int pfs_import_max_size_kb = IMPORT_MAX_SIZE_KB_DEFAULT;

void
pfs_import_init(void)
{
	pfs_known_ids_init();
	DefineCustomIntVariable("profstore.import_max_size",
							"Largest profile that is imported, as it is when unpacked.",
							"The memory that an import may take follows from it.",
							&pfs_import_max_size_kb, IMPORT_MAX_SIZE_KB_DEFAULT,
							IMPORT_MAX_SIZE_KB_MIN, IMPORT_MAX_SIZE_KB_MAX, PGC_SUSET, GUC_UNIT_KB,
							NULL, NULL, NULL);
}
