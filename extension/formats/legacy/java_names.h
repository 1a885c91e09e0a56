/*
 * java_names.h
 *		Names of addresses at the end of a profile of Java. Knows no server header.
 *
 * "0x7f23 Class.method (File.java:12)", "0x7f23 function (/path/lib.so)", a stub that the machine
 * generated, or a state of it.
 */
#ifndef PFS_JAVA_NAMES_H
#define PFS_JAVA_NAMES_H

#include "formats/legacy/legacy_text.h"

/*
 * Reads the lines that are left, gives locations their names, and takes their addresses, which mean
 * nothing beyond the process.
 */
PfsReadStatus pfs_java_names_read(PfsLegacyText *text);

#endif
