/*
 * lz4_file.h
 *		Files compressed as LZ4 frames, in which some Java profilers write their recordings
 *		(.jfr.lz4).
 */
#ifndef COLLECTOR_LZ4_FILE_H
#define COLLECTOR_LZ4_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "database/wire.h"

/* Returns whether the bytes begin with an LZ4 frame's magic number. */
bool lz4_is_frame(const char *bytes, size_t length);

/*
 * Decompresses all consecutive frames into the buffer. Returns 0; -EBADMSG for damaged or truncated
 * data, -EFBIG for more than bytes_max, -ENOMEM.
 */
int lz4_unpack(const char *bytes, size_t length, size_t bytes_max, Buffer *unpacked);

#endif
