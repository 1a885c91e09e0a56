/*
 * file_binary.h
 *		Opens the content of mapped files as the symbolizer's binaries. Flusher thread.
 */
#ifndef COLLECTOR_FILE_BINARY_H
#define COLLECTOR_FILE_BINARY_H

#include "process/mapped_file.h"
#include "symbols/symbolizer.h"

/* Opens the binary of each sampled file that has none yet, until the deadline (CLOCK_MONOTONIC). */
void file_binary_open_pending(MappedFileTable *files, Symbolizer *symbolizer, int64_t deadline_ns);

/*
 * Returns the file's binary, which is freed together with the file; NULL if the file is unreadable.
 */
Binary *file_binary(MappedFileTable *files, MappedFile *file, Symbolizer *symbolizer);

#endif
