/*
 * ruby_file.h
 *		Recognizes files that contain Ruby: its version, and the addresses that the agent needs.
 *
 * All builds export their version, stripped ones included. The loop is not exported from 3.3 on: it
 * is the function that the table of its instructions' code leads into.
 */
#ifndef COLLECTOR_RUBY_FILE_H
#define COLLECTOR_RUBY_FILE_H

#include "files/elf_headers.h"
#include "runtimes/common/loop_code.h"
#include "runtimes/ruby/ruby_layout.h"

#define RUBY_SYMBOLS_MAX 8 /* places that may be the table of symbols */

typedef struct RubyFile
{
	const RubyLayout *layout;			/* NULL: unknown version */
	uint64_t symbols[RUBY_SYMBOLS_MAX]; /* ELF virtual addresses; 0: none */
} RubyFile;

#define RUBY_LOOPS 2

/* Returns false if the file does not contain Ruby. */
bool ruby_file_read(const ElfSource *source, RubyFile *ruby, LoopCode loops[RUBY_LOOPS]);

#endif
