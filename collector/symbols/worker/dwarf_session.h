/*
 * dwarf_session.h
 *		DWARF of one file, open in the worker process: functions, inlined calls and lines of an
 *		address.
 *
 * Only the worker uses it: pages of the file are mapped, and its time and memory are the file's.
 */
#ifndef COLLECTOR_DWARF_SESSION_H
#define COLLECTOR_DWARF_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct DwarfSession DwarfSession;

typedef struct DwarfFrame
{
	const char *name;		  /* "" if DWARF has lines but no function, as for assembly */
	const char *linkage_name; /* mangled; NULL if the name is not mangled */
	const char *directory;	  /* of the compilation, if filename is relative to it; otherwise "" */
	const char *filename;
	int32_t start_line;
	int32_t line;
	bool needs_symbol; /* the symbol table may have a better name */
} DwarfFrame;

/* Descriptors; -1: none. */
typedef struct DwarfFds
{
	int file;
	int alternative; /* supplement (.gnu_debugaltlink) */
	int package;	 /* of split units (.dwp) */
} DwarfFds;

/*
 * Opens a file. Takes the descriptors, also on failure. Returns 0; -ENODATA if the file has no
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
 * -ENOLINK if its functions are in a split unit whose file is not known yet; -ENOMEM.
 */
int dwarf_session_lookup(DwarfSession *session, uint64_t address, DwarfFrame *frames, int max);

/* The file of a split unit (.dwo). */
typedef struct DwarfWanted
{
	uint64_t id;		   /* of the unit */
	const char *directory; /* of the compilation; "" if unknown */
	const char *name;
} DwarfWanted;

/* Describes the file that the last lookup did not know. */
DwarfWanted dwarf_session_wanted(const DwarfSession *session);

/*
 * Adds the file of a split unit. Takes the descriptor; -1: there is none, and its functions have
 * their symbols' names.
 */
void dwarf_session_add_split(DwarfSession *session, uint64_t id, int fd);

#endif
