/*
 * code_cache.h
 *		Code objects that were read, by process, within one budget of memory.
 *
 * If the budget is used up, the owner of processes (process/owner.h) whose objects take most loses
 * those of its process that was asked for longest ago. So an owner that invents many objects, in
 * any number of processes, displaces only its own. One thread uses a cache.
 */
#ifndef COLLECTOR_CODE_CACHE_H
#define COLLECTOR_CODE_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "runtimes/common/runtime_code.h"

#define CODES_MAX 16384 /* of a process */

typedef struct CodeCache CodeCache;
typedef struct ProcessCodes ProcessCodes;

/* Objects take limit_bytes at most, with their strings and tables. 0 or -ENOMEM. */
int code_cache_create(size_t limit_bytes, CodeCache **cache);
void code_cache_free(CodeCache *cache); /* accepts NULL; every process is closed by then */

/*
 * The objects of one process of the owner, none so far. NULL on out of memory. release frees the
 * state that code_cache_charge() has charged: it is called with the context when the process is
 * displaced or closed.
 */
ProcessCodes *code_cache_open(CodeCache *cache, uint64_t owner, void (*release)(void *context),
							  void *context);
void code_cache_close(CodeCache *cache, ProcessCodes *codes);

/* Notes that the process's objects are asked for. */
void code_cache_use(ProcessCodes *codes, uint64_t now_ns);

/*
 * Charges state of the process beside its objects, in place of the bytes that were charged before.
 * If the budget is used up, the state itself may be released.
 */
void code_cache_charge(CodeCache *cache, ProcessCodes *codes, size_t bytes);

/*
 * The object, until the next call of code_cache_add() or code_cache_charge(). Without a name: it
 * could not be read.
 */
const RuntimeCode *code_cache_find(const CodeCache *cache, const ProcessCodes *codes,
								   const CodeKey *key);

/*
 * Takes over an object that the process does not have yet. The object is freed immediately if out
 * of memory or if it alone exceeds the budget.
 */
void code_cache_add(CodeCache *cache, ProcessCodes *codes, const CodeKey *key, RuntimeCode *code);

#endif
