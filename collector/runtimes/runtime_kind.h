/*
 * runtime_kind.h
 *		An interpreter or virtual machine, as runtimes.c uses it: one table of functions for each.
 *
 * A new one needs its number in bpf/runtime_types.h, the walk of its frames in bpf/, a RuntimeKind,
 * and its line in the list of runtime_kind.c.
 */
#ifndef COLLECTOR_RUNTIME_KIND_H
#define COLLECTOR_RUNTIME_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/code_namer.h"
#include "code/user_frame.h"
#include "files/elf_headers.h"
#include "runtime_types.h"
#include "runtimes/common/loop_code.h"
#include "runtimes/common/runtime_code.h"
#include "runtimes/cpython/python_file.h"
#include "runtimes/hotspot/hotspot_file.h"
#include "runtimes/hotspot/hotspot_layout.h"
#include "runtimes/luajit/luajit_file.h"
#include "runtimes/perl/perl_file.h"
#include "runtimes/php/php_file.h"
#include "runtimes/ruby/ruby_file.h"
#include "runtimes/v8/v8_file.h"
#include "unwind/remote_memory.h"

typedef struct RuntimeKind RuntimeKind;

#define RUNTIME_LOOPS 6 /* compilers move rarely executed code elsewhere */

/* Facts from a file that contains an interpreter. */
typedef struct RuntimeFile
{
	const RuntimeKind *kind;
	bool is_known;				   /* its version is supported: its processes can be read */
	LoopCode loops[RUNTIME_LOOPS]; /* used only for stacks without marks that are addresses */
	LoopCode code;				   /* all code of the file, by ELF virtual address */
	union
	{
		PythonFile python;
		PhpFile php;
		PerlFile perl;
		RubyFile ruby;
		HotSpotFile hotspot;
		LuajitFile luajit;
		V8File v8;
	};
} RuntimeFile;

/* A process that runs the interpreter of a file. */
typedef struct RuntimeTarget
{
	RuntimeFile file;
	uint64_t bias;			  /* process address - ELF virtual address */
	struct pfs_runtime entry; /* the entry for the kernel's walk */
	LoopCode compiled;		  /* generated code that runs in the loop's frame */
	uint64_t stack_pointer; /* stack pointer of the sample for which place() searches; 0: unknown */
	bool is_partial;		/* place() has found the place, and is to be called for the rest */
	bool is_strange;		/* place() has read data that no known version has */
	HotSpotLayout hotspot;	/* of a HotSpot that is placed: the offsets of its tables */
	void *own;				/* the kind's data for this process; NULL until it is made */
} RuntimeTarget;

struct RuntimeKind
{
	enum pfs_runtime_kind kind;
	const char *title; /* for messages */
	const char *label; /* in brackets; the mapping of its functions has this name */
	/* frames are found without threads' states, so place() needs no thread pointer */
	bool is_threadless;

	/*
	 * Fills a zeroed RuntimeFile from the file. Returns false if the file does not contain this
	 * interpreter. name: its file name, with or without the directory.
	 */
	bool (*read_file)(const ElfSource *source, const char *name, RuntimeFile *file);

	/* Fills the entry of a process, except for image and kind, from the facts of its file. */
	void (*describe)(RuntimeTarget *target);

	/*
	 * Searches for the place of threads' states, beside the thread pointer of a sampled thread.
	 * Returns true if it has changed target->entry. is_first: the thread is the process's first
	 * one. Sets target->is_partial while further facts of the interpreter are not found yet.
	 * Sets target->is_strange if the process's version seems to be unknown. A process that starts
	 * or ends may seem so once, so the caller decides that after several attempts.
	 */
	bool (*place)(RemoteMemory *memory, RuntimeTarget *target, uint64_t thread_pointer,
				  bool is_first);

	/* Returns false if the frame's object could not be read when it was sampled. */
	bool (*key_of)(const UserFrame *frame, CodeKey *key);

	/* Adds the target's part to the key of a frame. NULL: there is none. */
	void (*qualify)(const RuntimeTarget *target, const UserFrame *frame, CodeKey *key);

	/*
	 * Returns whether target->own must be updated before keys of the walk's frames are made. NULL:
	 * never.
	 */
	bool (*needs_refresh)(RuntimeTarget *target, const CodeWalk *walk);

	/* Updates target->own, in a probe (runtime_job.h): it may change nothing else of the target. */
	void (*refresh)(RemoteMemory *memory, RuntimeTarget *target, const CodeWalk *walk);

	/*
	 * Reads at most RUNTIME_CODES_MAX objects, in a probe, as refresh() does. If memory does not
	 * answer, they remain zeroed.
	 */
	void (*read_codes)(RemoteMemory *memory, RuntimeTarget *target, CodeWanted *wanted,
					   size_t count);

	/* Returns the line of a frame, 0 if unknown. NULL: the line of its object is used. */
	int32_t (*line_of)(const RuntimeTarget *target, const RuntimeCode *code,
					   const UserFrame *frame);

	/* The chain of a fiber continues with the frames that the fiber's caller executes. */
	bool leaves_fibers;

	/* Frees target->own. NULL: there is none. */
	void (*release)(RuntimeTarget *target);

	/*
	 * Returns the bytes of target->own, which are charged to the process's owner: target->own may
	 * then be released between two calls. NULL: it is small, and is not charged.
	 */
	size_t (*own_bytes)(const RuntimeTarget *target);
};

extern const RuntimeKind hotspot_kind;
extern const RuntimeKind python_kind;
extern const RuntimeKind php_kind;
extern const RuntimeKind perl_kind;
extern const RuntimeKind ruby_kind;
extern const RuntimeKind luajit_kind;
extern const RuntimeKind v8_kind;

/* Returns the list of supported interpreters. */
const RuntimeKind *const *runtime_kinds(size_t *count);

/*
 * Returns the interpreter's facts; NULL if the file contains no interpreter, or out of memory. The
 * caller frees it.
 */
RuntimeFile *runtime_file_read(const ElfSource *source, const char *name);

#endif
