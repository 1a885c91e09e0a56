/*
 * module.c
 *		Loading of the module: settings and hooks of all rooms.
 */
#include "profstore.h"

#include "fmgr.h"
#include "utils/guc.h"

#include "admin/module.h"
#include "admin/worker.h"
#include "dictionary/cache/dictionary.h"
#include "dictionary/intern/answers.h"
#include "dictionary/intern/series_seen.h"
#include "import/import_settings.h"
#include "store/write/write_buffer.h"
#include "tableam/access.h"
#include "views/flame_node.h"

PG_MODULE_MAGIC;

/*
 * Each room that has settings or hooks exports one pfs_<room>_init; they run in the order of the
 * rooms. But who registers first is called last as a transaction commits: the epoch and rows of
 * series are locked when samples have been written.
 */
void
_PG_init(void)
{
	pfs_series_seen_init();
	pfs_answers_init();
	pfs_write_buffer_init();
	pfs_access_init();
	pfs_dictionary_init();
	pfs_flame_node_init();
	pfs_import_init();
	pfs_worker_init();
	MarkGUCPrefixReserved("profstore");
}
