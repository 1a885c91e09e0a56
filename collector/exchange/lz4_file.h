/*
 * lz4_file.h
 *		Files packed as frames of LZ4, as profilers of Java leave their recordings (.jfr.lz4).
 */
#ifndef COLLECTOR_LZ4_FILE_H
#define COLLECTOR_LZ4_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "database/wire.h"

/* Whether the bytes begin as such a frame does. */
bool lz4_is_frame(const char *bytes, size_t length);

/*
 * Unpacks all frames, one behind the other, into the buffer. 0; or -EBADMSG for what is damaged or
 * cut, -EFBIG for more than bytes_max, -ENOMEM.
 */
int lz4_unpack(const char *bytes, size_t length, size_t bytes_max, Buffer *unpacked);

#endif
