/*
 * dwarf_session.h
 *		One file's DWARF, open in the worker process: functions, inlined calls and lines at an
 *		address.
 *
 * Only the worker uses it: libdw trusts files more than a collector may.
 */
#ifndef COLLECTOR_DWARF_SESSION_H
#define COLLECTOR_DWARF_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct DwarfSession DwarfSession;

typedef struct DwarfFrame
{
	const char *name;		  /* "" where DWARF knows lines but no function, as for assembly */
	const char *linkage_name; /* mangled; NULL where the name is not */
	const char *directory;	  /* of the compilation, where filename is relative to it; else "" */
	const char *filename;
	int32_t start_line;
	int32_t line;
	bool needs_symbol; /* the symbol table may name it better */
} DwarfFrame;

/*
 * Takes both descriptors, also on failure; alt_fd is that of the supplementary file
 * (.gnu_debugaltlink) or -1. 0; -ENODATA if the file has no DWARF that can be read; -EFBIG if what
 * is compressed of it would unpack to more than unpacked_max bytes; -ENOMEM.
 */
int dwarf_session_open(int fd, int alt_fd, size_t unpacked_max, DwarfSession **session);
void dwarf_session_close(DwarfSession *session); /* accepts NULL */

/* Gives back the pages of the files; they are read again as needed. */
void dwarf_session_give_back(DwarfSession *session);

/*
 * Frames at an ELF virtual address, innermost first, at most max; strings hold until the session is
 * closed. Returns their number, 0 where DWARF does not cover the address, -ENOMEM.
 */
int dwarf_session_lookup(DwarfSession *session, uint64_t address, DwarfFrame *frames, int max);

#endif
