/*
 * binary_place.h
 *		Where the file of a binary is.
 */
#ifndef COLLECTOR_BINARY_PLACE_H
#define COLLECTOR_BINARY_PLACE_H

#include <stdint.h>
#include <sys/types.h>

typedef struct BinaryPlace
{
	const char *path;	   /* that this process can open, such as /proc/PID/root/…; "": none */
	const char *otherwise; /* NULL; else the path to take where that leads to another file than … */
	dev_t device;		   /* … this one */
	ino_t inode;
	uint64_t owner; /* who pays if it does not answer (process/owner.h); 0: not known */
} BinaryPlace;

#endif
