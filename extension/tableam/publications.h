/*
 * publications.h
 *		Logical replication does not have the rows of columnar tables: what would publish them is
 *		refused.
 */
#ifndef PFS_PUBLICATIONS_H
#define PFS_PUBLICATIONS_H

#include "profstore.h"

/*
 * A publication that has just been made, with all that it was made with; an entry that ALTER
 * PUBLICATION adds.
 */
void pfs_publication_check(Oid publication);
void pfs_published_relation_check(Oid entry);
void pfs_published_schema_check(Oid entry);

/*
 * What publications may have already: a new columnar table in a schema; a table that becomes
 * columnar, that moves to another schema, or that becomes a partition.
 */
void pfs_publications_check_table(const char *name, Oid schema);
void pfs_publications_check_conversion(Oid relation_id);
void pfs_publications_check_move(Oid relation_id, Oid schema);
void pfs_publications_check_partition(Oid child, Oid parent);

#endif
