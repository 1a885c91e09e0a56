/*
 * read_at.h
 *		Reads a range of a file completely.
 */
#ifndef COLLECTOR_READ_AT_H
#define COLLECTOR_READ_AT_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/*
 * Reads length bytes at an offset. Returns 0; -EBADMSG if the file ends before the last byte;
 * otherwise -errno.
 */
static inline int
read_at(int fd, uint64_t offset, void *bytes, size_t length)
{
	size_t done = 0;

	while (done < length)
	{
		ssize_t got = pread(fd, (uint8_t *) bytes + done, length - done, (off_t) (offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return -EBADMSG;
		done += (size_t) got;
	}
	return 0;
}

#endif
