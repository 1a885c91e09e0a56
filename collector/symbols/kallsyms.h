/*
 * kallsyms.h
 *		Kernel symbols, from /proc/kallsyms or a file of its format.
 *
 * The symbols are loaded at the first lookup. They are read again when an address has no symbol,
 * because modules and BPF programs come and go: at the earliest after 30 s. While reading again
 * does not help, the pause doubles up to 10 min, because a reading takes 0.1 s. A text symbol takes
 * about 37 bytes.
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
	const char *module; /* "" for the kernel itself; without brackets */
	uint64_t start;
} KernelSymbol;

/*
 * Copies the paths; modules is /proc/modules. reload_ns is KALLSYMS_RELOAD_MIN_NS except in tests.
 * Returns 0 or -ENOMEM.
 */
int kallsyms_create(const char *path, const char *modules, int64_t reload_ns, Kallsyms **kallsyms);
void kallsyms_free(Kallsyms *kallsyms); /* accepts NULL */

/*
 * Finds the symbol that covers an address. Its strings are valid until the next call. Returns false
 * if there is none or addresses are hidden.
 */
bool kallsyms_find(Kallsyms *kallsyms, uint64_t address, KernelSymbol *symbol);

/*
 * Returns false if the file cannot be read or every address in it is zero (kptr_restrict, no
 * CAP_SYSLOG).
 */
bool kallsyms_has_addresses(Kallsyms *kallsyms);

/*
 * Records that code of BPF programs was loaded or unloaded. Other programs may reuse its addresses,
 * so symbols of BPF programs do not count until all symbols are read again, which happens at the
 * next lookup of such an address.
 */
void kallsyms_outdate(Kallsyms *kallsyms);

/*
 * Checks whether modules were loaded or unloaded since the symbols were read, which the kernel does
 * not report. If so, symbols of modules do not count until all symbols are read again, which
 * happens at the next lookup of such an address.
 */
void kallsyms_follow_modules(Kallsyms *kallsyms);

size_t kallsyms_bytes(const Kallsyms *kallsyms);

#endif
