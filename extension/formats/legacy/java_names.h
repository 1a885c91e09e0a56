/*
 * java_names.h
 *		Names of addresses at the end of a Java profile. Includes no server header.
 *
 * A line is "0x7f23 Class.method (File.java:12)", "0x7f23 function (/path/lib.so)", or names a stub
 * that the virtual machine generated, or its state.
 */
#ifndef PFS_JAVA_NAMES_H
#define PFS_JAVA_NAMES_H

#include "formats/legacy/legacy_text.h"

/*
 * Reads the remaining lines, gives locations their names, and removes their addresses, which are
 * meaningless outside of the process.
 */
PfsReadStatus pfs_java_names_read(PfsLegacyText *text);

#endif
