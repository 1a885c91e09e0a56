/*
 * name_reading.h
 *		Functions and locations by their ids, sealed and young ones; internal to the room.
 */
#ifndef PFS_NAME_READING_H
#define PFS_NAME_READING_H

#include "profstore.h"

#include "dictionary/cache/name_rows.h"

/*
 * Reads rows with these ids (ascending, distinct), as the active snapshot sees them. They come in
 * no particular order; ids without a row are passed over.
 */
void pfs_names_read(const PfsNameTable *names, const int32 *ids, uint32 count,
					PfsNameRowFn function, void *argument);

/* The same of sealed rows alone. */
void pfs_names_read_sealed(const PfsNameTable *names, const int32 *ids, uint32 count,
						   PfsNameRowFn function, void *argument);

/* The same, where nobody looks at more of a row than its id and whether it is condemned. */
void pfs_names_read_ids(const PfsNameTable *names, const int32 *ids, uint32 count,
						PfsNameRowFn function, void *argument);

/* The same of sealed rows alone: which of the ids are such. */
void pfs_names_read_sealed_ids(const PfsNameTable *names, const int32 *ids, uint32 count,
							   PfsNameRowFn function, void *argument);

/* Reads all rows; texts of sealed ones are UTF-8. */
void pfs_names_read_all(const PfsNameTable *names, PfsNameRowFn function, void *argument);

/* The greatest id that a row has; 0 where there is none. */
int32 pfs_names_greatest_id(const PfsNameTable *names);

#endif
