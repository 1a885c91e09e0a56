/*
 * debug_files.h
 *		What belongs to a binary but lies elsewhere: its separate debug file, that one's supplement
 *		(dwz).
 */
#ifndef COLLECTOR_DEBUG_FILES_H
#define COLLECTOR_DEBUG_FILES_H

#include <stdbool.h>

#include "process/patience.h"
#include "symbols/elf_file.h"
#include "symbols/file_identity.h"

/* What a file says of where the rest is. */
typedef struct DebugLinks
{
	char *link; /* name in .gnu_debuglink; NULL: none */
	uint32_t checksum;
	char *alternative; /* path in .gnu_debugaltlink; NULL: none */
	ElfBuildId alternative_id;
} DebugLinks;

/* Ended by debug_links_fini, which also accepts a zeroed one. */
void debug_links_read(DebugLinks *links, const ElfFile *file);
void debug_links_fini(DebugLinks *links);

/* What belongs to it is looked for. */
typedef struct DebugWanted
{
	const ElfBuildId *build_id;
	const DebugLinks *links;
	bool has_dwarf;
} DebugWanted;

/* Where to look. */
typedef struct DebugPlaces
{
	Patience *patience;	   /* with the file systems there */
	uint32_t root_pid;	   /* a process whose root directory is looked into first; 0: none */
	const char *name;	   /* the binary's path in there */
	dev_t device;		   /* where the binary is, and … */
	uid_t owner;		   /* … whose it is */
	const char *directory; /* such as /usr/lib/debug, in there and on the host */
	/*
	 * 0 if a file has this CRC-32, which may be a large one; -EINPROGRESS, -EAGAIN if that is not
	 * known yet
	 */
	int (*compare_checksum)(void *context, int fd, const FileIdentity *identity, uint32_t checksum);
	void *context;
} DebugPlaces;

typedef struct DebugFiles
{
	ElfFile debug;		   /* source.fd -1 where there is none */
	int alt_fd;			   /* supplement of the file with DWARF, or -1 */
	FileIdentity identity; /* of debug, zeroed if there is none */
	FileIdentity alt_identity;
} DebugFiles;

/*
 * Looks for a binary's files, in the order of GDB: by build ID, then by the name in .gnu_debuglink
 * beside the binary, in .debug beside it, and under directory. A file by name must have the same
 * build ID or, without one, the checksum of the link. Below a process's root a file counts only if
 * whoever could write the binary could write it, too: it is on the same device, and of the same
 * owner or root. Nothing found is no error. 0; -EAGAIN if a file system does not answer;
 * -EINPROGRESS if a checksum is to be asked for again; -ENOMEM. Ended by debug_files_close, which
 * also accepts what DEBUG_FILES_NONE made.
 */
int debug_files_open(DebugFiles *files, const DebugWanted *wanted, const DebugPlaces *places);
void debug_files_close(DebugFiles *files, Patience *patience);

#define DEBUG_FILES_NONE ((DebugFiles){ .debug.source.fd = -1, .alt_fd = -1 })

#endif
