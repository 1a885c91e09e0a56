/*
 * runtimes.h
 *		Interpreters of sampled processes: the places of their stacks, and the names of their code.
 *
 * 1. A process is described, and one of its files is an interpreter. The kernel's walk gets its
 *    layout, but not yet the place of threads' states.
 * 2. A sample contains a thread's pointer. The memory beside it is searched for the word that leads
 *    to the state of exactly that thread. The word has the same distance in all threads of the
 *    process.
 * 3. From then on samples contain the interpreter's frames. They are merged with the machine's
 *    frames, and unknown code is read.
 *
 * Only the reader's walker thread may call these functions, except runtimes_stats().
 */
#ifndef COLLECTOR_RUNTIMES_H
#define COLLECTOR_RUNTIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/code_namer.h"
#include "events.h"
#include "process/exec_image.h"
#include "runtimes/runtime_kind.h"
#include "runtimes/stack_fold.h"
#include "runtimes/stack_merge.h"
#include "unwind/kernel_tables.h"

typedef struct Runtimes Runtimes;

typedef struct RuntimesStats
{
	uint64_t processes; /* processes with an interpreter, at present */
	uint64_t attached;	/* processes with an interpreter, since the start */
	/* attached processes in which the place of the threads' states was found */
	uint64_t placed;
	uint64_t unknown; /* attached processes with an unknown version of the interpreter */
	/* attached processes in which several attempts did not find the threads' states */
	uint64_t unplaced;
	uint64_t merged;	/* samples whose stacks were merged */
	uint64_t unmatched; /* frames of interpreters that had no place in the machine's stack */
	uint64_t codes;		/* code objects read */
	uint64_t stale;		/* code objects that had changed since the sample */
	uint64_t put_off;	/* code objects not read because their owner had used up its allowance */
	uint64_t timeouts;	/* times that a process's memory did not answer */
} RuntimesStats;

/* Names take at most limit_bytes. Returns 0 or -ENOMEM. */
int runtimes_create(size_t limit_bytes, Runtimes **runtimes);
void runtimes_free(Runtimes *runtimes); /* accepts NULL */

/*
 * Sets the tables of the kernel's walk, which must outlive all samples. To be called before the
 * first sample.
 */
void runtimes_use_tables(Runtimes *runtimes, KernelTables *tables);

/*
 * Makes a namer that names frames of interpreters itself, and all other frames by another namer.
 * The other namer and its table of objects must outlive it.
 */
CodeNamer runtimes_namer(Runtimes *runtimes, const CodeNamer *other);

/*
 * Notes that an owner's process maps the file, with this bias (process address - ELF virtual
 * address).
 */
void runtimes_attach(Runtimes *runtimes, const ExecImage *image, uint64_t owner,
					 const RuntimeFile *file, uint64_t bias, uint64_t now_ns);
void runtimes_forget(Runtimes *runtimes, const ExecImage *image);

/* Returns whether something of the process's place is unknown, and a search is due. */
bool runtimes_seeks(const Runtimes *runtimes, const ExecImage *image, uint64_t thread_pointer,
					uint64_t now_ns);

/*
 * Returns the interpreter whose own code, or generated code, has frames on the process's stacks, in
 * the form for the kernel's walk; valid until the process is forgotten. NULL: there is none.
 */
const struct pfs_runtime *runtimes_machine(const Runtimes *runtimes, const ExecImage *image);

/*
 * Returns the address whose unwind rule applies to a frame at an address, mostly the same address.
 */
uint64_t runtimes_rule_address(const Runtimes *runtimes, const ExecImage *image, uint64_t address);

/*
 * Searches for the place of threads' states, beside the thread pointer of a sampled thread, or on
 * its stack (stack_pointer 0: unknown). is_first: the thread is the process's first one.
 */
void runtimes_seek(Runtimes *runtimes, const ExecImage *image, uint64_t thread_pointer,
				   uint64_t stack_pointer, bool is_first, uint64_t now_ns);

/* Merges a sample's stacks. Returns false if the machine's stack is to be used unchanged. */
bool runtimes_merge(Runtimes *runtimes, const ExecImage *image, const MachineStack *machine,
					const ChainStack *chain, MergedStack *merged);

/* Removes the runtime's own frames between frames of its code from a stack. */
void runtimes_fold(const Runtimes *runtimes, const ExecImage *image, FoldedStack *stack);

/* May be called by any thread. */
void runtimes_stats(const Runtimes *runtimes, RuntimesStats *stats);

#endif
