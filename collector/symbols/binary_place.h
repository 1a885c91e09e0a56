/*
 * binary_place.h
 *		Location of a binary's file.
 */
#ifndef COLLECTOR_BINARY_PLACE_H
#define COLLECTOR_BINARY_PLACE_H

#include <stdint.h>
#include <sys/types.h>

typedef struct BinaryPlace
{
	const char *path; /* path that this process can open, such as /proc/PID/root/…; "": none */
	/* Path to open if the file at path is not the one with device and inode; NULL: none. */
	const char *otherwise;
	dev_t device; /* device of the expected file */
	ino_t inode;
	/* owner that is charged if the file system does not answer (process/owner.h); 0: not known */
	uint64_t owner;
} BinaryPlace;

#endif
