/*
 * debug_image.h
 *		ELF files in the layers of a container image, or all files of an archive: tar, also within
 *		tar, plain or compressed by gzip or zstd.
 *
 * An image that "docker save" wrote is a tar of layers, and a blob of an OCI layout is a layer. ELF
 * files are copied to files without a name; no path of an image is ever opened or created. Depth
 * and unpacked size are limited regardless of the image.
 */
#ifndef COLLECTOR_DEBUG_IMAGE_H
#define COLLECTOR_DEBUG_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

/* limit of the archives that are nested in an archive */
#define IMAGE_DEPTH		 1
#define IMAGE_FILE_BYTES (INT64_C(1) << 30)	 /* ELF files above this size are left out */
#define IMAGE_BYTES		 (INT64_C(64) << 30) /* limit of the unpacked size */
#define IMAGE_NAME_BYTES 1152				 /* a longer name loses its beginning */

typedef enum ImageEnd
{
	IMAGE_DONE,
	IMAGE_NONE, /* the file is not an archive */
	/* the archive ends early or is malformed; files before the damage were passed on */
	IMAGE_BROKEN,
	IMAGE_TOO_BIG, /* the image unpacks to more than IMAGE_BYTES */
	IMAGE_NO_ROOM, /* no memory, or no space for a temporary file */
	IMAGE_STOPPED  /* the callback stopped the walk */
} ImageEnd;

/*
 * Receives a file, which is closed after the call. name is the file's name in the archive, in
 * printable ASCII; debug_image_walk_files() passes it unchanged. Returns false to stop.
 */
typedef bool (*ImageFile)(void *context, const char *name, int fd);

/* Reads an image from the present offset of fd. */
ImageEnd debug_image_walk(int fd, ImageFile on_file, void *context);

/*
 * Like debug_image_walk(), but passes on all regular files of one archive: fd is -1 for a file of
 * more than file_bytes, and for a hard link.
 */
ImageEnd debug_image_walk_files(int fd, int64_t file_bytes, ImageFile on_file, void *context);

#endif
