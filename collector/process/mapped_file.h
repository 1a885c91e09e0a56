/*
 * mapped_file.h
 *		Mapped files: each file that contains a sampled address is opened once for all processes
 *		that map it.
 *
 * The ring and walker threads see files first and must open them while the process lives. The
 * descriptor stays open as long as a process that maps the file is known. The flusher thread opens
 * the contents of files that contain sampled code; an opener, which another room provides, decides
 * which files have equal content.
 *
 * A file is identified by device, inode, size and mtime, and by its name in the process. So a file
 * that reuses an inode gets another entry, and no process can determine the name under which
 * another process's file is shown. The table has its own mutex; a file's content belongs to the
 * flusher thread.
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
	uint64_t unreadable; /* files that could not be opened or are no ELF files */
	uint64_t timeouts;	 /* closes that did not return in time */
	uint64_t refused;	 /* files that were not opened because too many files are open */
	size_t count;		 /* files that are open now, including files that wait to be closed */
} MappedFileStats;

/* How a file may be opened at this moment. */
typedef struct MappedFilePlace
{
	/* path below the process's root, if it still leads to this file; otherwise "" */
	const char *path;
	dev_t device;
	ino_t inode;
	const char *descriptor; /* path of our own descriptor, which always leads to this file */
	uint64_t payer;			/* mapped_file_payer() */
} MappedFilePlace;

/* Makes the content of a file. All openers of a table must use the same close function. */
typedef struct MappedFileOpener
{
	void *context;
	/* name is shown to users. Returns 0 or -errno; -EAGAIN if the file does not answer. */
	int (*open)(void *context, const MappedFilePlace *place, const char *name, void **content);
	void (*close)(void *content);
} MappedFileOpener;

/*
 * Makes a table. Code in a vDSO is looked up in a copy of our own vDSO, which is identical to that
 * of all 64-bit processes. Returns 0 or -ENOMEM.
 */
int mapped_file_table_create(MappedFileTable **table);
void mapped_file_table_free(MappedFileTable *table); /* accepts NULL; closes all contents */

/*
 * Limits the number of open files and the bytes of their names; at first neither is limited. Each
 * file is charged to the owner (process/owner.h) that opened it first. An owner may use half of
 * both limits. The last eighth is reserved for owners with few files.
 */
void mapped_file_table_limit(MappedFileTable *table, size_t files, size_t name_bytes);

/*
 * Any thread. While a thread holds the table, mapped_file_table_free() does nothing, because that
 * thread may be blocked forever; the memory is then freed when the process exits.
 */
MappedFileTable *mapped_file_table_hold(MappedFileTable *table);
void mapped_file_table_let_go(MappedFileTable *table);

/*
 * Opens the file behind a mapping for a caller that keeps the descriptor: through
 * /proc/PID/map_files, which includes deleted files; otherwise by name, with the inode compared.
 * Fills *status. Returns a descriptor or -errno.
 */
int mapped_file_open(uint32_t pid, const ProcMapping *mapping, struct stat *status);

/*
 * Get a reference to the file behind a mapping, or to the executable of a process. Return -errno if
 * the file can no longer be opened; -EMFILE if the owner, or all owners together, have too many
 * files open.
 */
int mapped_file_acquire_mapping(MappedFileTable *table, uint64_t owner, uint32_t pid,
								const ProcMapping *mapping, MappedFile **file);
int mapped_file_acquire_executable(MappedFileTable *table, uint64_t owner, uint32_t pid,
								   const char *name, MappedFile **file);

/*
 * Returns a reference to the file behind a mapping if it is already open; otherwise NULL. Does not
 * access its file system.
 */
MappedFile *mapped_file_find_mapping(MappedFileTable *table, const ProcMapping *mapping);

/*
 * Like mapped_file_acquire_mapping(), but for a process that has exited. Tries in this order: the
 * file that is open under that name; the name within the root of process root_pid, or within our
 * own root if that is 0; a file that is open under another name with the same device and inode,
 * which cannot have been reused while it is open.
 */
int mapped_file_acquire_past(MappedFileTable *table, uint64_t owner, uint32_t root_pid,
							 const ProcMapping *mapping, MappedFile **file);

/* Returns a reference to the vDSO; NULL if this machine has none. */
MappedFile *mapped_file_acquire_vdso(MappedFileTable *table);

/* An open file, passed to a visitor, which must not keep it and must not wait. */
typedef struct VisitedFile
{
	uint64_t device;
	uint64_t inode;
	uint64_t owner; /* the one charged for the file */
	int fd;
	const char *name; /* like mapped_file_name() */
} VisitedFile;

/*
 * Any thread. Calls the visitor for each entry if the last component of its name begins with
 * prefix. A file with several names has several entries.
 */
void mapped_file_table_visit(MappedFileTable *table, const char *prefix,
							 void (*visitor)(void *context, const VisitedFile *file),
							 void *context);

/* Any thread that holds a reference. The descriptor belongs to the table. */
int mapped_file_descriptor(const MappedFile *file);
uint64_t mapped_file_device(const MappedFile *file); /* st_dev */

/*
 * Returns the owner that pays for waits on the file: the one charged for it, if its file system may
 * be the owner's own (FUSE, NFS). Returns 0 for files on disks, which all owners share.
 */
uint64_t mapped_file_payer(const MappedFile *file);

/*
 * Get or set the compiler of the file; NULL: it has not been determined. Only for the thread that
 * owns the process table. The text is copied.
 */
const char *mapped_file_compiler(const MappedFile *file);
void mapped_file_set_compiler(MappedFile *file, const char *compiler);

/*
 * Any thread. Add and drop a reference; the sweep closes files without references. _sampled records
 * that code of the file was sampled, so that the flusher opens its content soon.
 */
void mapped_file_retain(MappedFileTable *table, MappedFile *file);
void mapped_file_retain_sampled(MappedFileTable *table, MappedFile *file);
void mapped_file_release(MappedFileTable *table, MappedFile *file); /* accepts NULL */

/*
 * Flusher thread. _open_pending() opens the contents of sampled files until deadline_ns
 * (CLOCK_MONOTONIC); the next call continues. _sweep() closes files without references for up to
 * 250 ms; the next sweep continues. A file stays charged to its owner until it is closed.
 *
 * If a file does not answer, the payer's other files are not opened for MAPPED_FILE_PAUSE_NS,
 * because their file systems may block, too, and each open would wait.
 */
#define MAPPED_FILE_PAUSE_NS UINT64_C(1000000000)
void mapped_file_table_open_pending(MappedFileTable *table, const MappedFileOpener *opener,
									int64_t deadline_ns);
void mapped_file_table_sweep(MappedFileTable *table);
void mapped_file_table_stats(MappedFileTable *table, MappedFileStats *stats);

/* Returns the number of files with references; 0 once all holders have released theirs. */
size_t mapped_file_table_referenced(MappedFileTable *table);

/*
 * Flusher thread. Returns the file's content, which is opened if it was not yet. Returns NULL if
 * the file is unreadable or does not answer, or if another file of its payer did not answer within
 * the last MAPPED_FILE_PAUSE_NS.
 */
void *mapped_file_content(MappedFileTable *table, MappedFile *file, const MappedFileOpener *opener);

/*
 * Returns the file's path in the mount namespace of its process, which is the path that users know.
 */
const char *mapped_file_name(const MappedFile *file);

#endif
