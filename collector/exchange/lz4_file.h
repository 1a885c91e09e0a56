/*
 * lz4_file.h
 *		Unpacks files of LZ4 frames, the form in which some Java profilers write their recordings
 *		(.jfr.lz4).
 */
#ifndef COLLECTOR_LZ4_FILE_H
#define COLLECTOR_LZ4_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "database/wire.h"

/* Returns true if the bytes begin with the magic number of an LZ4 frame. */
bool lz4_is_frame(const char *bytes, size_t length);

/*
 * Decompresses all consecutive frames into the buffer. Returns 0; -EBADMSG for damaged or truncated
 * data, -EFBIG for more than bytes_max, -ENOMEM.
 */
int lz4_unpack(const char *bytes, size_t length, size_t bytes_max, Buffer *unpacked);

#endif
