/*
 * symbol_session.h
 *		One binary, open in the worker process: what DWARF and its symbol tables say of an address.
 */
#ifndef COLLECTOR_SYMBOL_SESSION_H
#define COLLECTOR_SYMBOL_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/dwarf_session.h"

typedef struct SymbolSession SymbolSession;

/* Descriptors; -1 for none. */
typedef struct SessionFiles
{
	int binary;
	int debug;		 /* its separate debug file */
	int alternative; /* supplement of the one that has DWARF */
} SessionFiles;

/*
 * Takes the descriptors, also on failure. room_bytes is the memory that the process may allocate:
 * what would unpack to half of it is left out. 0, -ENOEXEC, -ENOMEM.
 */
int symbol_session_open(const SessionFiles *files, bool with_dwarf, size_t room_bytes,
						SymbolSession **session);
void symbol_session_close(SymbolSession *session); /* accepts NULL */

/* Reads the DWARF of files that were opened without, for the lookups to come. */
void symbol_session_read_dwarf(SymbolSession *session, size_t room_bytes);

/*
 * Takes the symbol table from a file, unless there is one already; the descriptor stays the
 * caller's. 0 or as symbol_table_read().
 */
int symbol_session_load_table(SymbolSession *session, int fd);

/*
 * Writes the symbol table to an empty file. 0; -ENOENT if none was made yet; -EALREADY if it came
 * from disk; another -errno.
 */
int symbol_session_keep_table(SymbolSession *session, int fd);

/* Whether there is DWARF that was left out because it would take too much memory. */
bool symbol_session_left_out(const SymbolSession *session);

/* Gives back the pages of the files; they are read again as needed. */
void symbol_session_give_back(SymbolSession *session);

/*
 * Frames at an ELF virtual address, innermost first, at most max; strings hold until the next call.
 * Of DWARF and symbol table the one that knows more is believed, and where DWARF has lines without
 * a name the symbol gives it; where there is no DWARF Go's function table tells. Returns their
 * number, 0 where none covers the address, -ENOMEM.
 */
int symbol_session_lookup(SymbolSession *session, uint64_t address, DwarfFrame *frames, int max);

#endif
