/*
 * version.h
 *		What is running here.
 */
#ifndef COLLECTOR_VERSION_H
#define COLLECTOR_VERSION_H

/* As the file VERSION says it: "1.0". */
const char *collector_version(void);

/* With the commit that the program was built from, if it is known: "1.0 (commit 0123456789ab)". */
const char *collector_build(void);

#endif
