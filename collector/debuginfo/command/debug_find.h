/*
 * debug_find.h
 *		Shows which debug information "symbolize" would use for a build.
 */
#ifndef COLLECTOR_DEBUG_FIND_H
#define COLLECTOR_DEBUG_FIND_H

#include "symbolize/symbolize_options.h"

/*
 * Prints a line for each source of each build, in the order in which "symbolize" tries them: build
 * ID, source, "lines" or "symbols", and the place. operands are build IDs in hexadecimal, or ELF
 * files. Returns EXIT_IO, with *failure set, if a build has no source.
 */
ExitCode debug_find(const SymbolizeOptions *options, char **operands, size_t count,
					Failure *failure);

#endif
