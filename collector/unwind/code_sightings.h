/*
 * code_sightings.h
 *		Remembers when compiled methods of virtual machines were seen.
 *
 * A late walk reads descriptions of compiled methods a while after its sample. By then another
 * method may have taken the place of the sampled one. A virtual machine gives each compilation a
 * number of its own, so a method that was seen before the sample, and is there after it, was there
 * at the time of the sample.
 *
 * The memory is fixed. Each process has one of a few regions, in which new methods replace those
 * that were not used for the longest time. Not thread-safe.
 */
#ifndef COLLECTOR_CODE_SIGHTINGS_H
#define COLLECTOR_CODE_SIGHTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/exec_image.h"

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

/* Notes that the process had the method at a time (CLOCK_MONOTONIC). */
void code_sightings_note(CodeSightings *sightings, const ExecImage *process,
						 const CompiledCode *code, uint64_t time_ns);

/* Returns whether the method is known to have been seen at the time or before. */
bool code_sightings_had(const CodeSightings *sightings, const ExecImage *process,
						const CompiledCode *code, uint64_t time_ns);

#endif
