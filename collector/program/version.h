/*
 * version.h
 *		Version and commit of the running program.
 */
#ifndef COLLECTOR_VERSION_H
#define COLLECTOR_VERSION_H

/* Returns the content of the file VERSION, for example "1.0". */
const char *collector_version(void);

/* Returns the version and, if known, the commit of the build: "1.0 (commit 0123456789ab)". */
const char *collector_build(void);

#endif
