/*
 * symbol_session.h
 *		One binary that is open in the worker process, with its DWARF and symbol tables.
 */
#ifndef COLLECTOR_SYMBOL_SESSION_H
#define COLLECTOR_SYMBOL_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/worker/dwarf_session.h"

typedef struct SymbolSession SymbolSession;

/* The descriptors of a binary; -1: none. */
typedef struct SessionFiles
{
	int binary;
	int debug;		 /* its separate debug file */
	int alternative; /* supplement of the file that has DWARF */
	int package;	 /* package of its split units */
} SessionFiles;

/*
 * Opens a binary. Owns the descriptors, even on failure. room_bytes is the memory that the process
 * may allocate: debug information that would unpack to more than half of it is left out. Returns 0,
 * -ENOEXEC or -ENOMEM.
 */
int symbol_session_open(const SessionFiles *files, bool with_dwarf, size_t room_bytes,
						SymbolSession **session);
void symbol_session_close(SymbolSession *session); /* accepts NULL */

/* Opens the DWARF of files that were opened without it, for later lookups. */
void symbol_session_read_dwarf(SymbolSession *session, size_t room_bytes);

/*
 * Reads the symbol table from a file, unless the session has one; the caller keeps the descriptor.
 * Returns 0 or an error of symbol_table_read().
 */
int symbol_session_load_table(SymbolSession *session, int fd);

/*
 * Writes the symbol table to an empty file. Returns 0; -ENOENT if none was made yet; -EALREADY if
 * it came from disk; another -errno.
 */
int symbol_session_keep_table(SymbolSession *session, int fd);

/* Returns true if there is DWARF that was left out to save memory. */
bool symbol_session_left_out(const SymbolSession *session);

/* Returns false if a separate debug file that is used was changed since it was opened. */
bool symbol_session_is_unchanged(const SymbolSession *session);

/* Releases the pages of the files; later lookups read them again. */
void symbol_session_give_back(SymbolSession *session);

/*
 * Finds the frames of an ELF virtual address, innermost first, at most max. Strings are valid until
 * the next call. DWARF or symbol table is used, whichever has more frames or names; if DWARF has
 * lines without a name, the symbol gives the name; without DWARF, Go's function table is used. If
 * none covers the address, its function is named by its start (unnamed_functions.h). Returns the
 * number of frames, 0 if nothing covers the address; -ENOLINK as dwarf_session_lookup().
 */
int symbol_session_lookup(SymbolSession *session, uint64_t address, DwarfFrame *frames, int max);

/* Returns true if DWARF did not fit into memory in the last lookup, so frames are incomplete. */
bool symbol_session_exhausted(const SymbolSession *session);

/* Returns the DWARF of the session; NULL if it was not read. */
DwarfSession *symbol_session_dwarf(SymbolSession *session);

#endif
