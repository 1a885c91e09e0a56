/*
 * debug_files.h
 *		Finds a binary's separate debug file and the supplement of its DWARF (dwz).
 */
#ifndef COLLECTOR_DEBUG_FILES_H
#define COLLECTOR_DEBUG_FILES_H

#include <stdbool.h>

#include "process/patience.h"
#include "symbols/elf/elf_file.h"
#include "symbols/elf/file_identity.h"

/* A binary's references to its debug files. */
typedef struct DebugLinks
{
	char *link; /* name in .gnu_debuglink; NULL: none */
	uint32_t checksum;
	char *alternative; /* path in .gnu_debugaltlink; NULL: none */
	ElfBuildId alternative_id;
} DebugLinks;

/* Reads the references. debug_links_fini() frees them; it also accepts zeroed links. */
void debug_links_read(DebugLinks *links, const ElfFile *file);
void debug_links_fini(DebugLinks *links);

/* Describes the binary whose debug files are wanted. */
typedef struct DebugWanted
{
	const ElfBuildId *build_id;
	const DebugLinks *links;
	bool has_dwarf;
} DebugWanted;

/* Describes where to search. */
typedef struct DebugPlaces
{
	Patience *patience; /* backoff and deadlines for the file systems there */
	uint32_t root_pid;	/* process whose root directory is searched first; 0: none */
	const char *name;	/* path of the binary below that root */
	dev_t device;		/* device of the binary */
	uid_t owner;		/* owner of the binary */
	/* a directory such as /usr/lib/debug, searched below that root and on the host */
	const char *directory;
	/*
	 * Returns 0 if the file has this CRC-32; -EBADMSG if not; -EINPROGRESS or -EAGAIN if the result
	 * is not known yet, because the file may be large.
	 */
	int (*compare_checksum)(void *context, int fd, const FileIdentity *identity, uint32_t checksum);
	void *context;
} DebugPlaces;

typedef struct DebugFiles
{
	ElfFile debug;		   /* source.fd is -1 if there is none */
	int alt_fd;			   /* supplement of the file with DWARF, or -1 */
	int package_fd;		   /* package of its split units (.dwp), or -1 */
	FileIdentity identity; /* identity of debug; zeroed if there is none */
	FileIdentity alt_identity;
	FileIdentity package_identity;
} DebugFiles;

/*
 * Searches in GDB's order: by build ID, then by the name of .gnu_debuglink beside the binary, in
 * .debug beside it, and under the directory. A file found by name must have the same build ID or,
 * if it has none, the checksum of the link. A file below a process's root must be on the binary's
 * device and belong to the binary's owner or root, because a process can mount other files over its
 * directories.
 *
 * A package is looked up beside the binary and under the directory, as NAME.dwp, where NAME may
 * lose ".debug", and by build ID. Its index has the IDs of the units that it belongs to.
 *
 * A search without result succeeds. Returns 0; -EAGAIN if a file system does not answer;
 * -EINPROGRESS if the search must be repeated for a checksum; -ENOMEM. debug_files_close() closes
 * the files; it also accepts DEBUG_FILES_NONE.
 */
int debug_files_open(DebugFiles *files, const DebugWanted *wanted, const DebugPlaces *places);
void debug_files_close(DebugFiles *files, Patience *patience);

#define DEBUG_FILES_NONE ((DebugFiles){ .debug.source.fd = -1, .alt_fd = -1, .package_fd = -1 })

/*
 * Opens the file of a split unit (.dwo), which must belong to the binary's owner or root: at its
 * path, or beside the binary. Returns 0, even if there is none, with *fd -1; -EAGAIN if a file
 * system does not answer; -ENOMEM.
 */
int debug_split_open(const char *path, const DebugPlaces *places, int *fd);

#endif
