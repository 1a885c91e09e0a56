/*
 * code_files.h
 *		Finds the files in which a process describes its generated code.
 *
 * Both are regular files named after the process's pid in its own pid namespace.
 */
#ifndef COLLECTOR_CODE_FILES_H
#define COLLECTOR_CODE_FILES_H

#include <stdint.h>
#include <sys/stat.h>

/*
 * Opens a file and fills *status. Returns a descriptor or -errno; -EPERM if the file exists but is
 * not trusted.
 */
typedef int (*CodeFileOpen)(uint32_t pid, struct stat *status);

/*
 * Opens /tmp/perf-PID.map within the process's root. Any user may have created a file of that name,
 * so it is trusted only if it belongs to the process's user or root, and either the process has it
 * open for writing, or it was written during the process's life and is not visible to processes of
 * the outer pid namespace.
 */
int code_files_open_map(uint32_t pid, struct stat *status);

/*
 * Opens jit-PID.dump. The file may be in any directory: it is found among the files that the
 * process has mapped executable.
 */
int code_files_open_dump(uint32_t pid, struct stat *status);

#endif
