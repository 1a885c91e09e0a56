/*
 * unwinder.h
 *		The data of the walk: unwind tables of binaries, mappings of processes.
 *
 * A binary's table is compiled once for all processes that map the binary and for all files with
 * equal CFI. It stays in the kernel's tables while one of these binaries is held. A process may be
 * described before the tables of its binaries are loaded: its walks then end at such a binary
 * (PFS_WALK_NO_TABLE) until unwinder_binary_load() has run. Not thread-safe: the caller must
 * serialize calls.
 */
#ifndef COLLECTOR_UNWINDER_H
#define COLLECTOR_UNWINDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/exec_image.h"
#include "unwind/cfi/cfi.h"
#include "unwind/cfi/cfi_sections.h"
#include "unwind/kernel_tables.h"
#include "unwind/table_cache.h"
#include "unwind/trampolines.h"

typedef struct Unwinder Unwinder;
typedef struct UnwindBinary UnwindBinary;

typedef struct UnwinderStats
{
	uint64_t binaries;	/* number of binaries that are held */
	uint64_t processes; /* number of processes that are described */
	uint64_t lines;		/* lines in the kernel's tables, of 64 bytes */
	uint64_t entries;	/* directory entries in the kernel's tables, of 8 bytes */
	uint64_t mappings;	/* mappings in the kernel's tables, of 32 bytes */
	uint64_t rules;		/* rules in the kernel's tables, of 16 bytes */
	uint64_t loaded;	/* binaries whose table was compiled, or read from the cache */
	uint64_t cached;	/* loaded binaries whose table was read from the cache */
	/* loaded binaries that share the table of another binary with equal CFI */
	uint64_t shared;
	uint64_t parts;			   /* parts of large tables that were loaded later */
	uint64_t cache_failures;   /* tables that could not be stored in the cache */
	int cache_error;		   /* -errno of the last failure */
	uint64_t load_failures;	   /* binaries whose CFI was unreadable or found no room */
	uint64_t process_failures; /* processes for whose mappings there was no room */
	uint64_t unloaded;		   /* tables unloaded while processes mapped their binaries */
	uint64_t timeouts;		   /* reads of files or of memory that were not answered in time */
	/* Tables that were not made because their owner had used up its CPU time. */
	uint64_t put_off;
	/* Descriptions of processes whose generated code was not searched because of the same limit. */
	uint64_t generated_put_off;
	/* Reads of a process's memory that were not made because an earlier one did not return. */
	uint64_t memory_put_off;
	uint64_t stalls_displaced;	/* processes with such reads, forgotten because there was no room */
	uint64_t methods_displaced; /* compiled methods forgotten because there was no room */
	uint64_t generated_displaced; /* unloaded tables of generated code that made room for others */
	/* pieces of generated code without a table, or without some rules, because of their limits */
	uint64_t generated_refused;
	uint64_t rows_unsupported;
	uint64_t fdes_malformed;
} UnwinderStats;

/* An executable mapping of a process. */
typedef struct UnwindSpan
{
	uint64_t start; /* process addresses, half-open */
	uint64_t end;
	uint64_t bias; /* process address - bias = ELF virtual address; unused without a binary */
	UnwindBinary *binary; /* NULL: code without a table, walked by frame pointer */
	bool generated;		  /* the binary is generated code of this process */
	/*
	 * Where the file keeps labels; NULL: the span has none. The first place in the process is used;
	 * an address is moved by the bias.
	 */
	const struct pfs_label_place *labels;
} UnwindSpan;

/* Makes an unwinder over the kernel's tables, which must outlive it. Returns 0 or -ENOMEM. */
int unwinder_create(KernelTables *tables, Unwinder **unwinder);
void unwinder_free(Unwinder *unwinder); /* accepts NULL */

/*
 * Sets the cache in which tables of files are looked up and stored; NULL: none. The cache must
 * outlive the unwinder.
 */
void unwinder_use_cache(Unwinder *unwinder, TableCache *cache);
void unwinder_stats(const Unwinder *unwinder, UnwinderStats *stats);

/*
 * Returns a new binary with one reference and no table; NULL if out of memory. Release accepts
 * NULL.
 */
UnwindBinary *unwinder_binary_create(Unwinder *unwinder);
void unwinder_binary_retain(UnwindBinary *binary);
void unwinder_binary_release(Unwinder *unwinder, UnwindBinary *binary, uint64_t now_ns);

/* Returns true if the kernel's tables contain its rows. */
bool unwinder_binary_has_table(const UnwindBinary *binary);

/* Returns how many lines of 64 bytes the binary's table has in the kernel. */
uint32_t unwinder_binary_lines(const UnwindBinary *binary);

/*
 * Returns true if the binary has more than one holder. Each process that maps the binary holds it.
 */
bool unwinder_binary_is_shared(const UnwindBinary *binary);

/*
 * Compiles the CFI of the file behind fd (borrowed), or finds it in the cache, and puts it into the
 * kernel's tables. Processes that map the binary are walked with it from then on. A file without
 * any CFI is walked by frame pointer.
 *
 * Returns 0, -ENOEXEC, -ENOMEM; -E2BIG: it would take more than a quarter of the kernel's tables;
 * -ENOSPC: there is no room at present. It may be called again only after -ENOSPC. Failures are
 * counted.
 */
int unwinder_binary_load(Unwinder *unwinder, UnwindBinary *binary, int fd, uint64_t now_ns);

/*
 * Like unwinder_binary_load(), from CFI that the caller has read (NULL: the file has none). From a
 * large table in the cache only the given parts are loaded (NULL: all); elsewhere in the binary
 * walks end (PFS_WALK_NO_TABLE). If the binary has a table, the parts are added to it, and -ENOEXEC
 * means that the file has changed.
 */
int unwinder_binary_load_sections(Unwinder *unwinder, UnwindBinary *binary,
								  const CfiSections *sections, const PackedParts *parts,
								  uint64_t now_ns);

/*
 * Adds parts from the cache to a binary's table. Returns -ENOENT if the parts must be made from the
 * file's sections; otherwise like unwinder_binary_load().
 */
int unwinder_binary_load_parts(Unwinder *unwinder, UnwindBinary *binary, const PackedParts *parts,
							   uint64_t now_ns);

/*
 * Removes the binary's table, if it has one, from the kernel's tables. Walks end at the binary
 * (PFS_WALK_NO_TABLE) until the table is loaded again. The room becomes free after EXTENT_GRACE_NS.
 */
void unwinder_binary_unload(Unwinder *unwinder, UnwindBinary *binary, uint64_t now_ns);

/* Returns true if a table was refused because there was no room for its rules. */
bool unwinder_rules_are_full(const Unwinder *unwinder);

/*
 * Frees all rules, and unloads the tables of all described processes. Tables of generated code are
 * made again when their process is described again. The caller must have released all binaries that
 * no process maps. For EXTENT_GRACE_NS afterwards no table finds room.
 */
void unwinder_forget_rules(Unwinder *unwinder, uint64_t now_ns);

/*
 * Loads CFI of generated code, read from the memory of an owner's process, with absolute addresses
 * from *start to *end. If all generated code together would take more than a quarter of the tables,
 * unloads the oldest ones of the owner that would have the most (generated_tables.h); that code is
 * walked by frame pointer until its process is described again. Returns 0; -ENOENT if it describes
 * no code; -ENOMEM; -E2BIG if it alone would take more than a quarter, or would give its owner the
 * most and the owner has no other table; -ENOSPC if there is no room at present. The last two, and
 * code of which rules were refused, are counted.
 */
int unwinder_binary_load_jit(Unwinder *unwinder, UnwindBinary *binary, const CfiInput *input,
							 uint64_t owner, uint64_t now_ns, uint64_t *start, uint64_t *end);

/*
 * Loads the table of an arena of trampolines (trampolines.h), by offset in the arena. All arenas of
 * one shape share the table. Returns like unwinder_binary_load().
 */
int unwinder_binary_load_trampolines(Unwinder *unwinder, UnwindBinary *binary,
									 TrampolineShape shape, uint64_t now_ns);

/*
 * Describes a process again. Spans ascend and are disjoint; their binaries are held until the
 * process is described again or forgotten. Returns 0, -ENOMEM; -ENOSPC: no room at present; -E2BIG:
 * it would take more than a quarter of all mappings. After a failure the process is unknown.
 */
int unwinder_process_set(Unwinder *unwinder, const ExecImage *process, const UnwindSpan *spans,
						 uint32_t count, uint64_t now_ns);

/* Removes a process. Does nothing if it is unknown, or if its pid belongs to another exec image. */
void unwinder_process_forget(Unwinder *unwinder, const ExecImage *process, uint64_t now_ns);

/*
 * Returns the binary at an address of a process, and the ELF address, if the table for this address
 * is not loaded; otherwise NULL.
 */
const UnwindBinary *unwinder_pending(const Unwinder *unwinder, const ExecImage *process,
									 uint64_t address, uint64_t *elf_address);

/*
 * Look up what the walk needs, for walks in user space. Return false, or NULL, if nothing is found.
 */
bool unwinder_find_process(const Unwinder *unwinder, const ExecImage *process,
						   struct pfs_unwind_process *entry);
const struct pfs_unwind_mapping *unwinder_mapping(const Unwinder *unwinder, uint32_t slot);
const union pfs_unwind_entry *unwinder_entry(const Unwinder *unwinder, uint32_t slot);
const struct pfs_unwind_line *unwinder_line(const Unwinder *unwinder, uint32_t number);
__u64 *unwinder_recent(const Unwinder *unwinder, uint32_t slot);
const struct pfs_unwind_rule *unwinder_rule(const Unwinder *unwinder, uint32_t number);

#endif
