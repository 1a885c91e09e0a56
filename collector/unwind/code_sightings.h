/*
 * code_sightings.h
 *		Remembers when compiled methods of virtual machines were seen.
 *
 * A late walk reads descriptions of compiled methods a while after its sample. By then another
 * method may have taken the place of the sampled one. A virtual machine gives each compilation a
 * number of its own, so a method that was seen before the sample, and is there after it, was there
 * at the time of the sample.
 *
 * The memory is fixed. If it is full, the owner of processes (process/owner.h) with most methods
 * loses those that were not seen for the longest time, so an owner that compiles many methods, in
 * any number of processes, displaces only its own. Not thread-safe, except where noted.
 */
#ifndef COLLECTOR_CODE_SIGHTINGS_H
#define COLLECTOR_CODE_SIGHTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/exec_image.h"

#define SIGHTINGS_MAX (72 * 1024) /* limit of the methods of all owners */

typedef struct CodeSightings CodeSightings;

/* A compiled method of a process. */
typedef struct CompiledCode
{
	uint64_t address; /* of its description */
	uint32_t id;	  /* number of the compilation */
} CompiledCode;

CodeSightings *code_sightings_create(void);			/* returns NULL if out of memory */
void code_sightings_free(CodeSightings *sightings); /* accepts NULL */

/*
 * Finds the compiled method that the frame at a position has, in the form in which the kernel
 * records frames. Returns false if the frame has none.
 */
bool compiled_code_of(const uint64_t *words, size_t count, size_t at, CompiledCode *code);

/*
 * Notes that the owner's process had the method at a time (CLOCK_MONOTONIC). The method is not
 * noted if out of memory.
 */
void code_sightings_note(CodeSightings *sightings, const ExecImage *process, uint64_t owner,
						 const CompiledCode *code, uint64_t time_ns);

/* Returns whether the method is known to have been seen at the time or before. */
bool code_sightings_had(const CodeSightings *sightings, const ExecImage *process,
						const CompiledCode *code, uint64_t time_ns);

/* Returns the number of methods that were dropped because there was no room. Thread-safe. */
uint64_t code_sightings_displaced(const CodeSightings *sightings);

#endif
