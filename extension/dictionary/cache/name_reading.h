/*
 * name_reading.h
 *		Reads functions and locations by id, sealed and young ones; internal to the room.
 */
#ifndef PFS_NAME_READING_H
#define PFS_NAME_READING_H

#include "profstore.h"

#include "dictionary/cache/name_rows.h"

/*
 * Reads the rows with these ids (ascending, distinct) that the active snapshot sees, in no
 * particular order. Ids without a row are skipped.
 */
void pfs_names_read(const PfsNameTable *names, const int32 *ids, uint32 count,
					PfsNameRowFn function, void *argument);

/* Like pfs_names_read(), but reads sealed rows only. */
void pfs_names_read_sealed(const PfsNameTable *names, const int32 *ids, uint32 count,
						   PfsNameRowFn function, void *argument);

/* Like pfs_names_read(), but of a row only the id and is_condemned are set. */
void pfs_names_read_ids(const PfsNameTable *names, const int32 *ids, uint32 count,
						PfsNameRowFn function, void *argument);

/* Like pfs_names_read_ids(), but reads sealed rows only: finds out which ids are sealed. */
void pfs_names_read_sealed_ids(const PfsNameTable *names, const int32 *ids, uint32 count,
							   PfsNameRowFn function, void *argument);

/* Reads all rows. The texts of sealed ones are UTF-8. */
void pfs_names_read_all(const PfsNameTable *names, PfsNameRowFn function, void *argument);

/* Returns the greatest id of all rows; 0 if there are none. */
int32 pfs_names_greatest_id(const PfsNameTable *names);

#endif
