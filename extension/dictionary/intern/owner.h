/*
 * owner.h
 *		What a transaction does to our tables as it commits; internal to the room.
 */
#ifndef PFS_OWNER_H
#define PFS_OWNER_H

/*
 * Runs a function with an active snapshot and as the owner of a table of the extension's schema:
 * the role that commits may be another one than that which told what is to be done. Locks the table
 * ROW EXCLUSIVE.
 */
void pfs_run_as_owner(const char *table, void (*run)(void));

#endif
