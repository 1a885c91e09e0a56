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
	/* path to open if the first one leads to another file than device and inode; or NULL */
	const char *otherwise;
	dev_t device; /* of the expected file */
	ino_t inode;
	uint64_t owner; /* charged if its file system does not answer (process/owner.h); 0: unknown */
} BinaryPlace;

#endif
