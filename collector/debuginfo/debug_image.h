/*
 * debug_image.h
 *		ELF files in the layers of a container image: tar, also within tar, plain or compressed by
 *		gzip or zstd.
 *
 * An image that "docker save" wrote is a tar of layers, and a blob of an OCI layout is a layer. ELF
 * files are copied to files without a name; no path of an image is ever opened or made. An image
 * decides neither how deep it is followed nor how much is unpacked of it.
 */
#ifndef COLLECTOR_DEBUG_IMAGE_H
#define COLLECTOR_DEBUG_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#define IMAGE_DEPTH		 1					 /* archives within an archive */
#define IMAGE_FILE_BYTES (INT64_C(1) << 30)	 /* a larger ELF file is left out */
#define IMAGE_BYTES		 (INT64_C(64) << 30) /* unpacked */
#define IMAGE_NAME_BYTES 256

typedef enum ImageEnd
{
	IMAGE_DONE,
	IMAGE_NONE,	   /* the file is not an archive */
	IMAGE_BROKEN,  /* it ends early, or is malformed; what came before was passed on */
	IMAGE_TOO_BIG, /* it unpacks to more than IMAGE_BYTES */
	IMAGE_NO_ROOM, /* no memory, or no space for a file */
	IMAGE_STOPPED  /* by the callback */
} ImageEnd;

/*
 * Gets an ELF file, which is closed afterwards. name is that in the archive, of printable ASCII.
 * Returns false to stop.
 */
typedef bool (*ImageFile)(void *context, const char *name, int fd);

/* Reads an image from the present offset of fd. */
ImageEnd debug_image_walk(int fd, ImageFile on_file, void *context);

#endif
