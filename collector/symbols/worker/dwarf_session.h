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

/*
 * Opens a file. Takes both descriptors, also on failure; alt_fd is the supplementary file
 * (.gnu_debugaltlink) or -1. Returns 0; -ENODATA if the file has no readable DWARF; -EFBIG if its
 * compressed sections would take more than unpacked_max bytes; -ENOMEM.
 */
int dwarf_session_open(int fd, int alt_fd, size_t unpacked_max, DwarfSession **session);
void dwarf_session_close(DwarfSession *session); /* accepts NULL */

/* Releases the pages of the mapped files; later lookups read them again. */
void dwarf_session_give_back(DwarfSession *session);

/*
 * Finds the frames of an ELF virtual address, innermost first, at most max. Strings are valid until
 * the session is closed. Returns the number of frames, 0 if DWARF does not cover the address, or
 * -ENOMEM.
 */
int dwarf_session_lookup(DwarfSession *session, uint64_t address, DwarfFrame *frames, int max);

#endif
