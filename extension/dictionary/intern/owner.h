/*
 * owner.h
 *		Changes to the extension's tables at commit; internal to the room.
 */
#ifndef PFS_OWNER_H
#define PFS_OWNER_H

/*
 * Runs a function with an active snapshot and as the owner of a table of the extension's schema,
 * because the role that commits may lack privileges. Locks the table ROW EXCLUSIVE.
 */
void pfs_run_as_owner(const char *table, void (*run)(void));

#endif
