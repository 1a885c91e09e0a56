/*
 * code_cache.h
 *		Caches code objects by process, within one budget of memory.
 *
 * If the budget is used up, the owner of processes (process/owner.h) with most bytes loses the
 * objects of its process that was used least recently. So an owner that invents many objects, in
 * any number of processes, displaces only its own. Not thread-safe.
 */
#ifndef COLLECTOR_CODE_CACHE_H
#define COLLECTOR_CODE_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "runtimes/common/runtime_code.h"

#define CODES_MAX 16384 /* limit for one process */

typedef struct CodeCache CodeCache;
typedef struct ProcessCodes ProcessCodes;

/*
 * Creates a cache whose objects take at most limit_bytes, including strings and tables. Returns 0
 * or -ENOMEM.
 */
int code_cache_create(size_t limit_bytes, CodeCache **cache);
void code_cache_free(CodeCache *cache); /* accepts NULL; all processes must have been closed */

/*
 * Opens an empty list of objects for one process of the owner. Returns NULL if out of memory.
 * release frees the state that code_cache_charge() has charged: it is called with the context when
 * the process is displaced or closed.
 */
ProcessCodes *code_cache_open(CodeCache *cache, uint64_t owner, void (*release)(void *context),
							  void *context);
void code_cache_close(CodeCache *cache, ProcessCodes *codes);

/* Marks the process as used at this time. */
void code_cache_use(ProcessCodes *codes, uint64_t now_ns);

/*
 * Charges the process's state other than objects, in place of the bytes charged before. If the
 * budget is used up, the state itself may be released.
 */
void code_cache_charge(CodeCache *cache, ProcessCodes *codes, size_t bytes);

/*
 * Returns the object, which is valid until the next call of code_cache_add() or
 * code_cache_charge(). It has no name if it was unreadable.
 */
RuntimeCode *code_cache_find(const CodeCache *cache, const ProcessCodes *codes, const CodeKey *key);

/*
 * Takes over an object that the process does not have yet. The object is freed immediately if out
 * of memory or if it alone exceeds the budget.
 */
void code_cache_add(CodeCache *cache, ProcessCodes *codes, const CodeKey *key, RuntimeCode *code);

#endif
