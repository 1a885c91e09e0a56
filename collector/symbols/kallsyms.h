/*
 * kallsyms.h
 *		Kernel symbols, from /proc/kallsyms or a file of its format.
 *
 * Loaded at the first question; read again when an address lies in no symbol, since modules and BPF
 * programs come and go: 30 s after the last time at the earliest, and as long as that does not help
 * after twice the time, up to 10 min, since it takes a tenth of a second. About 37 bytes per text
 * symbol.
 */
#ifndef COLLECTOR_KALLSYMS_H
#define COLLECTOR_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KALLSYMS_RELOAD_MIN_NS INT64_C(30000000000)
#define KALLSYMS_RELOAD_MAX_NS INT64_C(600000000000)

typedef struct Kallsyms Kallsyms;

typedef struct KernelSymbol
{
	const char *name;
	const char *module; /* "" for the kernel proper; without brackets */
	uint64_t start;
} KernelSymbol;

/*
 * Keeps copies of the paths; modules is /proc/modules. reload_ns: KALLSYMS_RELOAD_MIN_NS, but for
 * tests. 0 or -ENOMEM.
 */
int kallsyms_create(const char *path, const char *modules, int64_t reload_ns, Kallsyms **kallsyms);
void kallsyms_free(Kallsyms *kallsyms); /* accepts NULL */

/*
 * The symbol's strings hold until the next call. False where nothing covers the address or
 * addresses are hidden.
 */
bool kallsyms_find(Kallsyms *kallsyms, uint64_t address, KernelSymbol *symbol);

/*
 * False where the file cannot be read or every address in it is zero (kptr_restrict, no
 * CAP_SYSLOG).
 */
bool kallsyms_has_addresses(Kallsyms *kallsyms);

/*
 * Code of the kernel came or went since. Symbols of BPF programs, whose addresses are used again,
 * are then not believed until all are read again, which their next question does.
 */
void kallsyms_outdate(Kallsyms *kallsyms);

/*
 * Looks whether modules came or went since the symbols were read: the kernel reports neither. If
 * so, symbols of modules are not believed until all are read again, which their next question does.
 */
void kallsyms_follow_modules(Kallsyms *kallsyms);

size_t kallsyms_bytes(const Kallsyms *kallsyms);

#endif
