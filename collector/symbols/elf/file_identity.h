/*
 * file_identity.h
 *		Identity of a file and its content.
 */
#ifndef COLLECTOR_FILE_IDENTITY_H
#define COLLECTOR_FILE_IDENTITY_H

#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

/*
 * Two equal identities mean one file with unchanged content, because a change of the content
 * changes ctime. Identities are compared as bytes.
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
