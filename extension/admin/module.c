/*
 * module.c
 *		Loading of the module: settings and hooks of all rooms.
 */
#include "profstore.h"

#include "fmgr.h"
#include "utils/guc.h"

#include "admin/module.h"
#include "admin/query_labels.h"
#include "admin/worker.h"
#include "dictionary/cache/dictionary.h"
#include "dictionary/intern/answers.h"
#include "dictionary/intern/series_seen.h"
#include "import/import_settings.h"
#include "store/write/write_buffer.h"
#include "tableam/access.h"
#include "tableam/nodes/custom_agg.h"
#include "tableam/nodes/custom_nodes.h"
#include "tableam/nodes/custom_scan.h"
#include "views/flame_node.h"

PG_MODULE_MAGIC;

/*
 * Calls the pfs_<room>_init() of each room that has settings or hooks, in the order of the rooms.
 * Callbacks of a commit run in reverse order of registration, so those of the dictionary, which
 * lock the epoch and rows of series, run after the samples are written.
 */
void
_PG_init(void)
{
	pfs_series_seen_init();
	pfs_answers_init();
	pfs_write_buffer_init();
	pfs_access_init();
	pfs_custom_nodes_init();
	pfs_custom_scan_init();
	pfs_custom_agg_init();
	pfs_dictionary_init();
	pfs_flame_node_init();
	pfs_import_init();
	pfs_worker_init();
	pfs_query_labels_init();
	MarkGUCPrefixReserved("profstore");
}
