/*
 * flame_node.h
 *		ProfstoreFlame: a custom scan that passes the packed rows of a flame graph to the
 *		executor column by column, without forming tuples.
 */
#ifndef PFS_FLAME_NODE_H
#define PFS_FLAME_NODE_H

#include "profstore.h"

/* Registers the node and its planner hook. Called once, when the module is loaded. */
void pfs_flame_node_init(void);

#endif
