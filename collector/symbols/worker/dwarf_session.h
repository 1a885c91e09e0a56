/*
 * dwarf_session.h
 *		Reads the DWARF of one file in the worker process: functions, inlined calls and lines of an
 *		address.
 *
 * Only the worker may use it, because pages of the file are mapped, and the file determines how
 * much time and memory are used.
 */
#ifndef COLLECTOR_DWARF_SESSION_H
#define COLLECTOR_DWARF_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct DwarfSession DwarfSession;

typedef struct DwarfFrame
{
	const char *name;		  /* "" if DWARF has lines but no function, as for assembly code */
	const char *linkage_name; /* mangled; NULL if the name is not mangled */
	/* directory of the compilation, if filename is relative to it; otherwise "" */
	const char *directory;
	const char *filename;
	int32_t start_line;
	int32_t line;
	bool needs_symbol; /* the symbol table may have a better name */
} DwarfFrame;

/* The descriptors of a file; -1: none. */
typedef struct DwarfFds
{
	int file;
	int alternative; /* supplement named in .gnu_debugaltlink */
	int package;	 /* package of split units (.dwp) */
} DwarfFds;

/*
 * Opens a file. Owns the descriptors, even on failure. Returns 0; -ENODATA if the file has no
 * readable DWARF; -EFBIG if its compressed sections would take more than unpacked_max bytes;
 * -ENOMEM.
 */
int dwarf_session_open(const DwarfFds *fds, size_t unpacked_max, DwarfSession **session);
void dwarf_session_close(DwarfSession *session); /* accepts NULL */

/* Releases the pages of the mapped files; later lookups read them again. */
void dwarf_session_give_back(DwarfSession *session);

/*
 * Finds the frames of an ELF virtual address, innermost first, at most max. Strings are valid until
 * the session is closed. Returns the number of frames, 0 if DWARF does not cover the address;
 * -ENOLINK if its functions are in a split unit whose file is not known yet.
 */
int dwarf_session_lookup(DwarfSession *session, uint64_t address, DwarfFrame *frames, int max);

/* Returns true if memory was exhausted in the last lookup, so that its frames are incomplete. */
bool dwarf_session_exhausted(const DwarfSession *session);

/* The file of a split unit (.dwo). */
typedef struct DwarfWanted
{
	uint64_t id;		   /* id of the unit */
	const char *directory; /* directory of the compilation; "" if not known */
	const char *name;
} DwarfWanted;

/* Describes the file of the split unit that the last lookup needs. */
DwarfWanted dwarf_session_wanted(const DwarfSession *session);

/*
 * Adds the file of a split unit. Owns the descriptor; -1: there is no file, and its functions get
 * the names of their symbols.
 */
void dwarf_session_add_split(DwarfSession *session, uint64_t id, int fd);

#endif
