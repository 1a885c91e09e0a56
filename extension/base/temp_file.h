/*
 * temp_file.h
 *		Places in temporary files of any size.
 */
#ifndef PFS_TEMP_FILE_H
#define PFS_TEMP_FILE_H

#include "profstore.h"

#include "storage/buffile.h"

/* Goes to a place, in bytes, that has been written. */
static inline void
pfs_temp_file_seek(BufFile *file, uint64 position)
{
	/* the block first, since a file may be one of several that the server keeps for it */
	if (BufFileSeekBlock(file, (long) (position / BLCKSZ)) != 0 ||
		BufFileSeek(file, 0, (off_t) (position % BLCKSZ), SEEK_CUR) != 0)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not read a temporary file: %m")));
}

/* Goes on by so many bytes. */
static inline void
pfs_temp_file_skip(BufFile *file, uint64 bytes)
{
	if (BufFileSeek(file, 0, (off_t) bytes, SEEK_CUR) != 0)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not read a temporary file: %m")));
}

/* Reads what has been written at the current place. */
static inline void
pfs_temp_file_read(BufFile *file, void *data, Size bytes)
{
	if (BufFileRead(file, data, bytes) != bytes)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not read a temporary file: %m")));
}

#endif
