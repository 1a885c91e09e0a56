/*
 * demangler.h
 *		Demangles linkage names, in the worker process.
 *
 * libiberty supports C++, Rust (legacy and v0) and D. The time that it takes depends on the name,
 * so the worker limits its CPU time.
 */
#ifndef COLLECTOR_DEMANGLER_H
#define COLLECTOR_DEMANGLER_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/worker/name_style.h"

#define DEMANGLED_KEPT 2048 /* number of names whose forms are cached */

typedef struct Demangled
{
	char *mangled; /* NULL: the slot is free */
	char *text;	   /* readable form; NULL: the name is not mangled */
	NameStyle style;
} Demangled;

/* A form that is in no slot. */
typedef struct LooseForm LooseForm;

/*
 * Limits the time of the names up to demangler_release(), or ends the limit. It is called only if
 * one of these names is not in the cache, because setting a timer is a system call.
 */
typedef void (*DemanglerLimit)(bool is_demangling);

/*
 * Cache of readable forms, by a hash of the name. Inlined functions recur, and demangling a name
 * takes as long as finding the function. The cache is bounded, and freed with the process.
 */
typedef struct Demangler
{
	uint64_t seed;
	DemanglerLimit limit; /* NULL: none */
	bool is_limited;
	LooseForm *loose;
	Demangled kept[DEMANGLED_KEPT];
} Demangler;

void demangler_init(Demangler *demangler, DemanglerLimit limit);

/*
 * Returns the readable form of a name, with the suffix of a stub: f(int)@plt. style is
 * NAME_STYLE_FULL or NAME_STYLE_SIMPLE. NULL: the name is not mangled, or memory is exhausted. The
 * form is valid until demangler_release(); equal names that are asked for in between may have forms
 * at different addresses.
 */
const char *demangler_name(Demangler *demangler, const char *name, NameStyle style);

/* Ends an answer: frees the forms that are in no slot, and ends the limit. */
void demangler_release(Demangler *demangler);

#endif
