/*
 * mapped_file.h
 *		Mapped files: each file that a sampled address fell into, once, whichever processes map it.
 *
 * The thread that reads samples meets files first and must catch them while the process lives: it
 * opens them, and the descriptor stays here for as long as a process that maps the file is known.
 * The flusher thread, which owns the symbolizer, makes a Binary soon after of each that was sampled. An image is
 * known by what fstat says (device, inode, size, mtime), so an inode that is used again for
 * another file makes another image.
 *
 * The table has a mutex of its own; an image's binary belongs to the flusher thread alone.
 */
#ifndef COLLECTOR_IMAGE_H
#define COLLECTOR_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/proc_file.h"
#include "symbols/symbolizer.h"

typedef struct ImageTable ImageTable;
typedef struct Image Image;

typedef struct ImageStats
{
	uint64_t opened;
	uint64_t unreadable; /* could not be opened, or no ELF file */
	size_t count;		 /* in the table now */
} ImageStats;

/* vDSO code is found in a copy of our own vDSO, which is the same for every 64-bit process. */
int image_table_create(ImageTable **table);
void image_table_free(ImageTable *table); /* accepts NULL; releases all binaries */

/*
 * Reader thread. The image behind a mapping of a process, or behind its executable, with a
 * reference for the caller. -errno where the file cannot be opened any more. The file is looked
 * for under /proc/PID/map_files, which also has deleted ones, then by name under /proc/PID/root
 * with its inode compared.
 */
int image_acquire_mapping(ImageTable *table, uint32_t pid, const ProcMapping *mapping,
						  Image **image);
int image_acquire_executable(ImageTable *table, uint32_t pid, const char *name, Image **image);

/*
 * Reader thread. The same for a mapping of a process that is gone: a file that is known already, by device and inode (which
 * are not used again while it is open), else what stands under its name in the root of another process that still lives,
 * or in our own (root_pid 0).
 */
int image_acquire_past(ImageTable *table, uint32_t root_pid, const ProcMapping *mapping,
					   Image **image);

/* Any thread that holds a reference. A descriptor of the file, the image's own. */
int image_descriptor(const Image *image);

/* The vDSO, with a reference; NULL where this machine has none. */
Image *image_acquire_vdso(ImageTable *table);

/*
 * Either thread. One more reference, and one less; the last one leaves the image to the sweep. With _sampled code of it
 * was sampled, so the flusher makes a Binary of it soon.
 */
void image_retain(ImageTable *table, Image *image);
void image_retain_sampled(ImageTable *table, Image *image);
void image_release(ImageTable *table, Image *image); /* accepts NULL */

/* Flusher thread. Opens what was sampled; frees what nobody refers to. */
void image_table_open_pending(ImageTable *table, Symbolizer *symbolizer);
void image_table_sweep(ImageTable *table);
void image_table_stats(ImageTable *table, ImageStats *stats);

/* Files that somebody refers to: none once all who did have ended. */
size_t image_table_referenced(ImageTable *table);

/* Flusher thread. NULL where the file is unreadable. Opens the image if it is still pending. */
Binary *image_binary(ImageTable *table, Image *image, Symbolizer *symbolizer);

/* As people know it: the path in the process's mount namespace. */
const char *image_name(const Image *image);

#endif
