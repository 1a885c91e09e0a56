/*
 * ruby_code.h
 *		Reads Ruby's methods from the memory of the process that runs them.
 */
#ifndef COLLECTOR_RUBY_CODE_H
#define COLLECTOR_RUBY_CODE_H

#include "runtimes/common/runtime_code.h"
#include "runtimes/ruby/ruby_file.h"
#include "unwind/remote_memory.h"

/*
 * Reads objects, RUNTIME_CODES_MAX at most. bias: of the file in the process. Objects that have
 * changed since the sample, or are unreadable, have no name. Lines are an array of RubyLine.
 */
void ruby_codes_read(RemoteMemory *memory, const RubyFile *file, uint64_t bias, CodeWanted *wanted,
					 size_t count);

#endif
