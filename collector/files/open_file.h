/*
 * open_file.h
 *		Opens regular files whose paths come from other users, for reading.
 *
 * The file system of a container belongs to the processes in it: a link may lead outside, and a
 * name may be a device, whose open() has side effects, or a FIFO without a writer, whose open()
 * blocks. So a path is resolved within a root directory, the file is examined before it is opened,
 * and exactly the examined file is opened.
 */
#ifndef COLLECTOR_OPEN_FILE_H
#define COLLECTOR_OPEN_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * Opens the root directory of a process, or our own if pid is 0. Needs the right to inspect the
 * process. Returns a descriptor or -errno.
 */
int open_root(uint32_t pid);

/*
 * Opens a regular file by a path within a root directory: absolute links start at that root and
 * ".." does not leave it. Fills *status. Returns a descriptor or -errno; -ENOEXEC if it is not a
 * regular file.
 */
int open_file_inside(int root_fd, const char *path, struct stat *status);

/*
 * Like open_file_inside(), but follows links anywhere. Only for paths made by the kernel, such as
 * /proc/PID/map_files, or by the administrator.
 */
int open_file_trusted(const char *path, struct stat *status);

/*
 * Opens a path from a process's tables: the part after /proc/PID/root is resolved within that
 * root; other paths are trusted.
 */
int open_file_of_process(const char *path, struct stat *status);

/*
 * Returns true if the kernel serves the file; false if a FUSE process does, which may report any
 * times and may never answer. The call itself waits for that process.
 */
bool open_file_is_of_kernel(int fd);

/* For tests: true emulates kernels before 5.6, which lack openat2(). */
void open_file_without_openat2(bool without);

#endif
