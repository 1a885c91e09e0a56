/*
 * parts.c
 *		Setup of the room when the module is loaded.
 *
 * Names are registered before trees: trees get the rest of the cache's size.
 */
#include "profstore.h"

#include "dictionary/cache/cache.h"
#include "dictionary/cache/dictionary.h"
#include "dictionary/cache/doubts.h"
#include "dictionary/cache/names.h"
#include "dictionary/cache/shared_area.h"
#include "dictionary/intern/intern.h"
#include "dictionary/intern/series_classes.h"
#include "dictionary/tree/tree_cache.h"

void
pfs_dictionary_init(void)
{
	pfs_cache_init();
	pfs_names_init();
	pfs_trees_init();
	pfs_intern_init();
	pfs_doubts_init();
	pfs_shared_area_init();
	pfs_series_classes_init();
}
