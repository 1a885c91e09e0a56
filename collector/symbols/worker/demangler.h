/*
 * demangler.h
 *		Demangles linkage names, in the worker process.
 *
 * libiberty supports C++, Rust (legacy and v0) and D. The time that it takes depends on the name,
 * so the worker limits its CPU time.
 */
#ifndef COLLECTOR_DEMANGLER_H
#define COLLECTOR_DEMANGLER_H

#include <stdint.h>

#include "symbols/worker/name_style.h"

#define DEMANGLED_KEPT 2048 /* number of names whose forms are cached */

typedef struct Demangled
{
	char *mangled; /* NULL: the slot is free */
	char *text;	   /* full demangled form; NULL: the name is not mangled */
} Demangled;

/*
 * Cache of demangled forms, by a hash of the name. Inlined functions recur, and demangling a name
 * takes as long as finding the function. The cache is bounded, and freed with the process.
 */
typedef struct Demangler
{
	uint64_t seed;
	Demangled kept[DEMANGLED_KEPT];
} Demangler;

void demangler_init(Demangler *demangler);

/*
 * Returns the readable form of a name, with the suffix of a stub: f(int)@plt. style is
 * NAME_STYLE_FULL or NAME_STYLE_SIMPLE. NULL: the name is not mangled. The caller frees it.
 */
char *demangler_name(Demangler *demangler, const char *name, NameStyle style);

#endif
