/*
 * mapped_file.h
 *		Mapped files: each file that a sampled address fell into, once, whichever processes map it.
 *
 * The walker and ring threads meet files first and must catch them while the process lives: they
 * open them. The descriptor stays open as long as a process that maps the file is known. Of each
 * file that was sampled the flusher thread opens the content soon after: what that is, an opener
 * of another room decides.
 *
 * A file is known by what fstat says (device, inode, size, mtime) and by its name in the process,
 * so an inode that is used again for another file makes another entry, and no process names the
 * files of others. The table has a mutex of its own; a file's content belongs to the flusher
 * thread alone.
 */
#ifndef COLLECTOR_MAPPED_FILE_H
#define COLLECTOR_MAPPED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "process/proc_file.h"

typedef struct MappedFileTable MappedFileTable;
typedef struct MappedFile MappedFile;

typedef struct MappedFileStats
{
	uint64_t opened;
	uint64_t unreadable; /* could not be opened, or no ELF file */
	uint64_t timeouts;	 /* times that one did not answer when it was closed */
	uint64_t refused;	 /* not opened: too many are open */
	size_t count;		 /* open now, with those that are to be closed */
} MappedFileStats;

/* Where a file can be opened here and now. */
typedef struct MappedFilePlace
{
	const char *path; /* below the process's root, if it is still that file; "": nowhere */
	dev_t device;
	ino_t inode;
	const char *descriptor; /* the path of ours, which is sure to be that file */
	uint64_t payer;			/* mapped_file_payer() */
} MappedFilePlace;

/* Makes the content of a file. All of a table's openers close alike. */
typedef struct MappedFileOpener
{
	void *context;
	/* name is what people know it by. 0 or -errno; -EAGAIN: the file does not answer. */
	int (*open)(void *context, const MappedFilePlace *place, const char *name, void **content);
	void (*close)(void *content);
} MappedFileOpener;

/* vDSO code is found in a copy of our own vDSO, which is the same for every 64-bit process. */
int mapped_file_table_create(MappedFileTable **table);
void mapped_file_table_free(MappedFileTable *table); /* accepts NULL; closes all contents */

/*
 * Limits how many files the table keeps open, and how many bytes their names take; without a call
 * nothing is limited. Each file is charged to the owner (process/owner.h) that opened it first. An
 * owner has half of both at most, and the last eighth is for
 * owners of few files.
 */
void mapped_file_table_limit(MappedFileTable *table, size_t files, size_t name_bytes);

/*
 * Any thread. While somebody holds the table who may never let it go, ending it does nothing: that
 * is left to the end of this process.
 */
MappedFileTable *mapped_file_table_hold(MappedFileTable *table);
void mapped_file_table_let_go(MappedFileTable *table);

/*
 * Opens the file behind a mapping of a process, for a caller who keeps it himself: through
 * /proc/PID/map_files, which also has deleted ones, else by name with its inode compared. A
 * descriptor, whose status is told, or -errno.
 */
int mapped_file_open(uint32_t pid, const ProcMapping *mapping, struct stat *status);

/*
 * The file behind a mapping of a process, or behind its executable, with a reference for the
 * caller. -errno if it cannot be opened any more; -EMFILE if the owner, or all together, have too
 * many.
 */
int mapped_file_acquire_mapping(MappedFileTable *table, uint64_t owner, uint32_t pid,
								const ProcMapping *mapping, MappedFile **file);
int mapped_file_acquire_executable(MappedFileTable *table, uint64_t owner, uint32_t pid,
								   const char *name, MappedFile **file);

/*
 * The file behind a mapping, with a reference, if it is open already; otherwise NULL. No file
 * system is asked.
 */
MappedFile *mapped_file_find_mapping(MappedFileTable *table, const ProcMapping *mapping);

/*
 * Like mapped_file_acquire_mapping(), but for a process that is gone: the file that is open by that
 * name; otherwise what stands under the name in the root of another process that still lives, or in
 * our own (root_pid 0); otherwise the file that is open by another name, known by device and inode,
 * which are not used again meanwhile.
 */
int mapped_file_acquire_past(MappedFileTable *table, uint64_t owner, uint32_t root_pid,
							 const ProcMapping *mapping, MappedFile **file);

/* The vDSO, with a reference; NULL where this machine has none. */
MappedFile *mapped_file_acquire_vdso(MappedFileTable *table);

/* Any thread that holds a reference. The descriptor stays the table's. */
int mapped_file_descriptor(const MappedFile *file);
uint64_t mapped_file_device(const MappedFile *file); /* st_dev */

/*
 * The owner who pays for waits on the file: the one that it is charged to, if its file system may
 * be the owner's own (FUSE, NFS). 0 if the file is on a disk, which all share.
 */
uint64_t mapped_file_payer(const MappedFile *file);

/*
 * What the file was compiled by, for who asks: NULL, nobody has looked. The owner of the processes
 * alone; compiler is copied.
 */
const char *mapped_file_compiler(const MappedFile *file);
void mapped_file_set_compiler(MappedFile *file, const char *compiler);

/*
 * Any thread. One more reference, and one less; the last one leaves the file to the sweep. With
 * _sampled code of it was sampled, so the flusher opens its content soon.
 */
void mapped_file_retain(MappedFileTable *table, MappedFile *file);
void mapped_file_retain_sampled(MappedFileTable *table, MappedFile *file);
void mapped_file_release(MappedFileTable *table, MappedFile *file); /* accepts NULL */

/*
 * Flusher thread. The first opens what was sampled, until a moment of CLOCK_MONOTONIC; the next
 * call goes on. The other frees what nobody refers to. It closes files for a quarter of a second
 * at most, and the next sweep goes on. A file stays charged to its owner until it is closed.
 *
 * If a file does not answer, the payer's other files are not opened for MAPPED_FILE_PAUSE_NS: their
 * file systems may do likewise, and opening waits for each.
 */
#define MAPPED_FILE_PAUSE_NS UINT64_C(1000000000)
void mapped_file_table_open_pending(MappedFileTable *table, const MappedFileOpener *opener,
									int64_t deadline_ns);
void mapped_file_table_sweep(MappedFileTable *table);
void mapped_file_table_stats(MappedFileTable *table, MappedFileStats *stats);

/* Files that somebody refers to: none once all who did have ended. */
size_t mapped_file_table_referenced(MappedFileTable *table);

/*
 * Flusher thread. NULL if the file is unreadable or does not answer, or if another file of its
 * payer did not answer a moment ago. Opens the file if that is still pending.
 */
void *mapped_file_content(MappedFileTable *table, MappedFile *file, const MappedFileOpener *opener);

/* As people know it: the path in the process's mount namespace. */
const char *mapped_file_name(const MappedFile *file);

#endif
