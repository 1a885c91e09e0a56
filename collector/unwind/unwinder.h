/*
 * unwinder.h
 *		What the walker knows: unwind tables of binaries, mappings of processes.
 *
 * A binary's table is compiled once, whichever processes map it and whichever files hold the same
 * CFI, and lies in the kernel's tables while anybody holds one of the binaries. A process may be
 * described before the tables of its binaries are there: walks then end at such a binary
 * (PFS_WALK_NO_TABLE) until unwinder_binary_load has run. Not thread-safe: the caller serializes.
 */
#ifndef COLLECTOR_UNWINDER_H
#define COLLECTOR_UNWINDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/exec_image.h"
#include "unwind/cfi.h"
#include "unwind/cfi_sections.h"
#include "unwind/kernel_tables.h"
#include "unwind/table_cache.h"
#include "unwind/trampolines.h"

typedef struct Unwinder Unwinder;
typedef struct UnwindBinary UnwindBinary;

typedef struct UnwinderStats
{
	uint64_t binaries;		   /* held now */
	uint64_t processes;		   /* described now */
	uint64_t lines;			   /* in the kernel now, of 64 bytes */
	uint64_t entries;		   /* of directories, in the kernel now, of 8 bytes */
	uint64_t mappings;		   /* in the kernel now, of 32 bytes */
	uint64_t rules;			   /* in the kernel now, of 16 bytes */
	uint64_t loaded;		   /* binaries whose table was compiled, or read from the cache */
	uint64_t cached;		   /* those of them that were read from the cache */
	uint64_t shared;		   /* those of them whose table others with the same CFI had */
	uint64_t parts;			   /* of large tables, that came after these */
	uint64_t cache_failures;   /* tables that the cache could not keep */
	int cache_error;		   /* -errno of the last of these */
	uint64_t load_failures;	   /* binaries whose CFI could not be read, or had no room */
	uint64_t process_failures; /* processes that had no room */
	uint64_t unloaded;		   /* tables that had to go while processes mapped their binaries */
	uint64_t timeouts;		   /* files, and memory, that did not answer when they were read */
	uint64_t put_off;		   /* times that a table was not made for want of CPU time */
	uint64_t rows_unsupported;
	uint64_t fdes_malformed;
} UnwinderStats;

/* Executable mapping of a process. */
typedef struct UnwindSpan
{
	uint64_t start; /* process addresses, half-open */
	uint64_t end;
	uint64_t bias; /* process address - bias = ELF virtual address; unused without a binary */
	UnwindBinary *binary; /* NULL: code without a table, walked by frame pointer */
	bool generated;		  /* the binary is of generated code, and this process's alone */
	/* where the program keeps labels, NULL: this is none that does; the first one's are used */
	const struct pfs_label_place *labels;
} UnwindSpan;

/* The tables outlive the unwinder. 0 or -ENOMEM. */
int unwinder_create(KernelTables *tables, Unwinder **unwinder);
void unwinder_free(Unwinder *unwinder); /* accepts NULL */

/* Where tables of files are looked for first, and kept. It outlives the unwinder. NULL: none. */
void unwinder_use_cache(Unwinder *unwinder, TableCache *cache);
void unwinder_stats(const Unwinder *unwinder, UnwinderStats *stats);

/*
 * A new binary with one reference, and no table yet; NULL without memory. Release accepts NULL.
 */
UnwindBinary *unwinder_binary_create(Unwinder *unwinder);
void unwinder_binary_retain(UnwindBinary *binary);
void unwinder_binary_release(Unwinder *unwinder, UnwindBinary *binary, uint64_t now_ns);

/* True where the kernel's tables hold rows of it. */
bool unwinder_binary_has_table(const UnwindBinary *binary);

/* Rows of it that the kernel's tables hold, in lines of 64 bytes. */
uint32_t unwinder_binary_lines(const UnwindBinary *binary);

/* True where others than one hold it: processes that map it. */
bool unwinder_binary_is_shared(const UnwindBinary *binary);

/*
 * Compiles the CFI of the file behind fd (borrowed), or finds it compiled in the cache, and puts it
 * into the kernel's tables. Processes that map the binary are walked through it from now on. A file
 * without any CFI is walked by frame pointer.
 *
 * 0, -ENOEXEC, -ENOMEM; -E2BIG: it would take more than a quarter of the kernel's tables; -ENOSPC:
 * there is no room now, and only then it may be called again. Failures are counted.
 */
int unwinder_binary_load(Unwinder *unwinder, UnwindBinary *binary, int fd, uint64_t now_ns);

/*
 * Loads a table from CFI that the caller has read already; NULL: the file has none. Of a
 * large table that the cache has these parts are loaded (NULL: all): walks end elsewhere in it
 * (PFS_WALK_NO_TABLE) until more are. If the binary has a table parts are added to it, and -ENOEXEC
 * says that the file is no longer the same.
 */
int unwinder_binary_load_sections(Unwinder *unwinder, UnwindBinary *binary,
								  const CfiSections *sections, const PackedParts *parts,
								  uint64_t now_ns);

/*
 * Adds parts to a binary's table from the cache. -ENOENT if they are not there, and have to be made
 * of the file's sections; else as unwinder_binary_load().
 */
int unwinder_binary_load_parts(Unwinder *unwinder, UnwindBinary *binary, const PackedParts *parts,
							   uint64_t now_ns);

/*
 * Takes the binary's table, if it has one, out of the kernel's tables. Walks end at the binary
 * (PFS_WALK_NO_TABLE) until it is loaded again. The room is free after EXTENT_GRACE_NS.
 */
void unwinder_binary_unload(Unwinder *unwinder, UnwindBinary *binary, uint64_t now_ns);

/* True where a table found no room for its rules. */
bool unwinder_rules_are_full(const Unwinder *unwinder);

/*
 * Gives all rules back, and unloads the tables of all described processes. Those of generated code
 * come again when their process is described anew. The caller must have released binaries that no
 * process maps. No table has room until EXTENT_GRACE_NS have passed.
 */
void unwinder_forget_rules(Unwinder *unwinder, uint64_t now_ns);

/*
 * Loads CFI of generated code, which was read from a process's memory. It is about absolute
 * addresses, from *start to *end. As unwinder_binary_load, and -ENOENT: it speaks of no code;
 * -E2BIG: all generated code together would take more than a quarter of the tables.
 */
int unwinder_binary_load_jit(Unwinder *unwinder, UnwindBinary *binary, const CfiInput *input,
							 uint64_t now_ns, uint64_t *start, uint64_t *end);

/*
 * Loads the table of an arena of trampolines (trampolines.h), about offsets in it; all arenas of
 * the same shape share one. As unwinder_binary_load.
 */
int unwinder_binary_load_trampolines(Unwinder *unwinder, UnwindBinary *binary,
									 TrampolineShape shape, uint64_t now_ns);

/*
 * Describes a process anew. Spans ascend and are disjoint; their binaries are held until the
 * process is described again or forgotten. 0, -ENOMEM; -ENOSPC: there is no room now; -E2BIG: it
 * would take more than a quarter of all mappings. On failure the process is not known at all.
 */
int unwinder_process_set(Unwinder *unwinder, const ExecImage *process, const UnwindSpan *spans,
						 uint32_t count, uint64_t now_ns);

/* Nothing happens where the process is not known, or its pid is another exec image's by now. */
void unwinder_process_forget(Unwinder *unwinder, const ExecImage *process, uint64_t now_ns);

/*
 * The binary behind an address of a process, whose ELF address it gives, if its table is not loaded
 * there yet; else NULL.
 */
const UnwindBinary *unwinder_pending(const Unwinder *unwinder, const ExecImage *process,
									 uint64_t address, uint64_t *elf_address);

/* What the walker looks up, for walks in user space. False, or NULL, where there is nothing. */
bool unwinder_find_process(const Unwinder *unwinder, const ExecImage *process,
						   struct pfs_unwind_process *entry);
const struct pfs_unwind_mapping *unwinder_mapping(const Unwinder *unwinder, uint32_t slot);
const union pfs_unwind_entry *unwinder_entry(const Unwinder *unwinder, uint32_t slot);
const struct pfs_unwind_line *unwinder_line(const Unwinder *unwinder, uint32_t number);
__u64 *unwinder_recent(const Unwinder *unwinder, uint32_t slot);
const struct pfs_unwind_rule *unwinder_rule(const Unwinder *unwinder, uint32_t number);

#endif
