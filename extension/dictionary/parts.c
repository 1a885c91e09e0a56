/*
 * parts.c
 *		What the room sets up when the module is loaded.
 *
 * Names come before trees: what they leave of the cache's size is the trees'.
 */
#include "profstore.h"

#include "dictionary/cache.h"
#include "dictionary/dictionary.h"
#include "dictionary/doubts.h"
#include "dictionary/intern.h"
#include "dictionary/names.h"
#include "dictionary/series_classes.h"
#include "dictionary/shared_trees.h"
#include "dictionary/tree_cache.h"

void
pfs_dictionary_init(void)
{
	pfs_cache_init();
	pfs_names_init();
	pfs_trees_init();
	pfs_intern_init();
	pfs_doubts_init();
	pfs_shared_trees_init();
	pfs_series_classes_init();
}
