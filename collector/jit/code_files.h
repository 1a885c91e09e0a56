/*
 * code_files.h
 *		Where a process keeps the files by which it tells of its code.
 *
 * Both are named after its number in its own pid namespace, and regular files.
 */
#ifndef COLLECTOR_CODE_FILES_H
#define COLLECTOR_CODE_FILES_H

#include <stdint.h>
#include <sys/stat.h>

/* A descriptor, whose status is told, or -errno; -EPERM: there is a file, and it does not count. */
typedef int (*CodeFileOpen)(uint32_t pid, struct stat *status);

/*
 * Opens /tmp/perf-PID.map in the process's own root. Anybody may have made a file of that name. It
 * counts if its owner is the process's user or root, and either the process has it open to
 * write it, or it was written while the process lived, and processes of the outer pid namespace do
 * not see it.
 */
int code_files_open_map(uint32_t pid, struct stat *status);

/* jit-PID.dump, wherever it lies: the process has mapped it executable, so that it is found. */
int code_files_open_dump(uint32_t pid, struct stat *status);

#endif
