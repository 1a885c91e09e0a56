/*
 * open_file.h
 *		Opens files that others named or left: regular ones, for reading, and nothing else.
 *
 * What stands in a container's file system belongs to whoever runs there: a link may lead out of
 * it, a name may be that of a device, whose mere opening does something, or of a pipe that nobody
 * writes to. So a path is resolved inside of a root directory, the file is looked at before it is
 * opened, and it is opened as the very file that was looked at.
 */
#ifndef COLLECTOR_OPEN_FILE_H
#define COLLECTOR_OPEN_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * The root directory of a process; of our own where pid is 0. A descriptor or -errno. It needs the
 * right to look at the process.
 */
int open_root(uint32_t pid);

/*
 * A regular file by its path inside of a root directory: absolute links begin there, and ".." does
 * not lead out of it. A descriptor, whose status is told, or -errno; -ENOEXEC where it is no
 * regular file.
 */
int open_file_inside(int root_fd, const char *path, struct stat *status);

/*
 * The same by a path that the kernel or who configured us has made: links are followed, such as
 * those of /proc/PID/map_files.
 */
int open_file_trusted(const char *path, struct stat *status);

/*
 * By a path as process tables have it: what follows /proc/PID/root is resolved inside of that
 * root, any other path is trusted.
 */
int open_file_of_process(const char *path, struct stat *status);

/*
 * Returns true if the kernel itself serves the file, and false if a program does (FUSE), which may
 * report any times, and may not answer. Asks that program.
 */
bool open_file_is_of_kernel(int fd);

/* For tests: true as on kernels before 5.6, which cannot resolve inside of a root by themselves. */
void open_file_without_openat2(bool without);

#endif
