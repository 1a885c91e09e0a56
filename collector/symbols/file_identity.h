/*
 * file_identity.h
 *		Which file it is.
 */
#ifndef COLLECTOR_FILE_IDENTITY_H
#define COLLECTOR_FILE_IDENTITY_H

#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

/*
 * The same file for as long as these are equal: a change of the content changes ctime. Compared by
 * bytes.
 */
typedef struct FileIdentity
{
	dev_t device;
	ino_t inode;
	off_t size_bytes;
	struct timespec changed;
} FileIdentity;

static inline FileIdentity
file_identity_of(const struct stat *status)
{
	FileIdentity identity;

	memset(&identity, 0, sizeof(identity));
	identity.device = status->st_dev;
	identity.inode = status->st_ino;
	identity.size_bytes = status->st_size;
	identity.changed = status->st_ctim;
	return identity;
}

#endif
