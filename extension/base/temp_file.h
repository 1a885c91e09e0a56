/*
 * temp_file.h
 *		Positions in temporary files of any size.
 */
#ifndef PFS_TEMP_FILE_H
#define PFS_TEMP_FILE_H

#include "profstore.h"

#include "storage/buffile.h"

/* Moves to a position, in bytes, that was written before. */
static inline void
pfs_temp_file_seek(BufFile *file, uint64 position)
{
	/*
	 * seek to the block first: an offset within a file is an off_t of one segment, and the server
	 * may keep a large file in several segments
	 */
	if (BufFileSeekBlock(file, (long) (position / BLCKSZ)) != 0 ||
		BufFileSeek(file, 0, (off_t) (position % BLCKSZ), SEEK_CUR) != 0)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not read a temporary file: %m")));
}

/* Skips bytes. */
static inline void
pfs_temp_file_skip(BufFile *file, uint64 bytes)
{
	if (BufFileSeek(file, 0, (off_t) bytes, SEEK_CUR) != 0)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not read a temporary file: %m")));
}

/* Reads at the current position. */
static inline void
pfs_temp_file_read(BufFile *file, void *data, Size bytes)
{
	if (BufFileRead(file, data, bytes) != bytes)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not read a temporary file: %m")));
}

#endif
