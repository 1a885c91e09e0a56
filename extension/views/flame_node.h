/*
 * flame_node.h
 *		ProfstoreFlame: a custom scan that gives the rows of a flame graph to the executor as they
 *		are packed, without a tuple for each.
 */
#ifndef PFS_FLAME_NODE_H
#define PFS_FLAME_NODE_H

#include "profstore.h"

/* Registers the node and its hook; called once when the module is loaded. */
void pfs_flame_node_init(void);

#endif
