/*
 * publications.h
 *		Rejects publications of columnar tables: logical replication does not replicate their
 *		rows.
 */
#ifndef PFS_PUBLICATIONS_H
#define PFS_PUBLICATIONS_H

#include "profstore.h"

/*
 * Check a publication that was just created, with all its entries, or an entry that ALTER
 * PUBLICATION adds.
 */
void pfs_publication_check(Oid publication);
void pfs_published_relation_check(Oid entry);
void pfs_published_schema_check(Oid entry);

/*
 * Check tables that existing publications would include: a new columnar table in a schema; a table
 * that becomes columnar, moves to another schema, or becomes a partition.
 */
void pfs_publications_check_table(const char *name, Oid schema);
void pfs_publications_check_conversion(Oid relation_id);
void pfs_publications_check_move(Oid relation_id, Oid schema);
void pfs_publications_check_partition(Oid child, Oid parent);

#endif
