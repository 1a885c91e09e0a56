/*
 * library_copy.h
 *		The sub-command "gpu-library": finds libprofstore-gpu.so, and copies it to where programs in
 *		containers can load it.
 *
 * An init container runs the command, because the image has no shell to copy a file with.
 */
#ifndef COLLECTOR_LIBRARY_COPY_H
#define COLLECTOR_LIBRARY_COPY_H

#include <stddef.h>

#include "program/common_flags.h"

#define GPU_LIBRARY_FILE "libprofstore-gpu.so"

typedef struct GpuLibraryOptions
{
	const char *copy_to; /* a directory; NULL: the library is not copied */
	LogOptions log;
} GpuLibraryOptions;

#define GPU_LIBRARY_FLAGS_MAX 4

size_t gpu_library_flags(GpuLibraryOptions *options, Flag flags[GPU_LIBRARY_FLAGS_MAX]);

/*
 * Copies the file source to directory, under the library's name, so that all users can read it.
 * Replaces an existing file, also a symbolic link, as a whole: programs see the old file or the
 * complete new one. If it fails, the old file remains. Other users may be able to write into the
 * directory: no file that exists there is opened.
 */
ExitCode gpu_library_copy(const char *source, const char *directory, Failure *failure);

/*
 * Prints the path of the library, or copies it and prints the path of the copy. Logs the reason of
 * a failure: EXIT_IO.
 */
ExitCode gpu_library_run(const GpuLibraryOptions *options);

#endif
