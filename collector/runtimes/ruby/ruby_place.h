/*
 * ruby_place.h
 *		Finds the word that leads to a thread's execution context in Ruby.
 *
 * The words of all places that a C library may use are read. The right word leads to an execution
 * context (from 3.0 on) or a thread (before), each of the two leads to the other, and the thread
 * leads to the thread pointer.
 */
#ifndef COLLECTOR_RUBY_PLACE_H
#define COLLECTOR_RUBY_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime_types.h"
#include "runtimes/ruby/ruby_layout.h"
#include "unwind/remote_memory.h"

/*
 * Fills the offsets into the entry. Returns false if there are none: the thread never ran Ruby, or
 * the process's memory is unreadable.
 */
bool ruby_place_find(RemoteMemory *memory, const RubyLayout *layout, uint64_t thread_pointer,
					 struct pfs_runtime *entry);

#endif
