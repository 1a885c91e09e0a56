/*
 * code_cache.c
 *		Objects are listed by process, processes by owner, owners in the cache.
 */
#include "runtimes/code_cache.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>
#include <utlist.h>

#include "base/hash.h"

/* An object that was read. It has no name if it was unreadable. */
typedef struct KnownCode
{
	uint64_t hash; /* hash of the key, under the cache's seed */
	CodeKey key;
	RuntimeCode code;
	size_t bytes;
	UT_hash_handle hh;
} KnownCode;

typedef struct CodeOwner CodeOwner;

struct ProcessCodes
{
	CodeOwner *owner;
	KnownCode *codes;
	size_t state_bytes; /* bytes that release frees */
	void (*release)(void *context);
	void *context;
	uint64_t used_ns;
	ProcessCodes *prev;
	ProcessCodes *next;
};

struct CodeOwner
{
	uint64_t key;
	size_t bytes; /* bytes of the objects and of the state of its processes */
	ProcessCodes *processes;
	UT_hash_handle hh;
};

struct CodeCache
{
	uint64_t seed;
	size_t limit_bytes;
	size_t used_bytes;
	CodeOwner *owners;
};

int
code_cache_create(size_t limit_bytes, CodeCache **result)
{
	CodeCache *cache = calloc(1, sizeof(*cache));

	if (cache == NULL)
		return -ENOMEM;
	cache->seed = hash_seed();
	cache->limit_bytes = limit_bytes;
	*result = cache;
	return 0;
}

void
code_cache_free(CodeCache *cache)
{
	free(cache);
}

static CodeOwner *
code_owner_get(CodeCache *cache, uint64_t key)
{
	CodeOwner *owner;

	HASH_FIND(hh, cache->owners, &key, sizeof(key), owner);
	if (owner != NULL)
		return owner;
	owner = calloc(1, sizeof(*owner));
	if (owner == NULL)
		return NULL;
	owner->key = key;
	HASH_ADD(hh, cache->owners, key, sizeof(owner->key), owner);
	return owner;
}

ProcessCodes *
code_cache_open(CodeCache *cache, uint64_t owner_key, void (*release)(void *context), void *context)
{
	CodeOwner *owner = code_owner_get(cache, owner_key);
	ProcessCodes *codes = calloc(1, sizeof(*codes));

	if (owner == NULL || codes == NULL)
	{
		free(codes);
		return NULL; /* an owner without processes is found again when its next process is opened */
	}
	codes->owner = owner;
	codes->release = release;
	codes->context = context;
	DL_APPEND(owner->processes, codes);
	return codes;
}

/* Sets the bytes of the process's state. Does not release the state. */
static void
process_codes_set_state(CodeCache *cache, ProcessCodes *codes, size_t bytes)
{
	cache->used_bytes += bytes - codes->state_bytes;
	codes->owner->bytes += bytes - codes->state_bytes;
	codes->state_bytes = bytes;
}

static void
process_codes_clear(CodeCache *cache, ProcessCodes *codes)
{
	KnownCode *known;
	KnownCode *next;

	if (codes->state_bytes > 0)
		codes->release(codes->context);
	process_codes_set_state(cache, codes, 0);
	HASH_ITER(hh, codes->codes, known, next)
	{
		HASH_DEL(codes->codes, known);
		cache->used_bytes -= known->bytes;
		codes->owner->bytes -= known->bytes;
		runtime_code_fini(&known->code);
		free(known);
	}
}

void
code_cache_close(CodeCache *cache, ProcessCodes *codes)
{
	CodeOwner *owner = codes->owner;

	process_codes_clear(cache, codes);
	DL_DELETE(owner->processes, codes);
	free(codes);
	if (owner->processes != NULL)
		return;
	HASH_DEL(cache->owners, owner);
	free(owner);
}

void
code_cache_use(ProcessCodes *codes, uint64_t now_ns)
{
	codes->used_ns = now_ns;
}

static uint64_t
code_key_hash(const CodeCache *cache, const CodeKey *key)
{
	return hash_word(hash_word(cache->seed, key->address), key->check);
}

RuntimeCode *
code_cache_find(const CodeCache *cache, const ProcessCodes *codes, const CodeKey *key)
{
	uint64_t hash = code_key_hash(cache, key);
	KnownCode *known;

	HASH_FIND(hh, codes->codes, &hash, sizeof(hash), known);
	if (known == NULL || known->key.address != key->address || known->key.check != key->check)
		return NULL;
	return &known->code;
}

/*
 * Of the owner with most bytes, clears the process that was used least recently. Returns false if
 * no owner has any.
 */
static bool
code_cache_make_room(CodeCache *cache)
{
	CodeOwner *largest = NULL;
	ProcessCodes *eldest = NULL;
	ProcessCodes *each;

	for (CodeOwner *owner = cache->owners; owner != NULL; owner = owner->hh.next)
	{
		if (owner->bytes > 0 && (largest == NULL || owner->bytes > largest->bytes))
			largest = owner;
	}
	if (largest == NULL)
		return false;
	DL_FOREACH(largest->processes, each)
	{
		if ((each->codes != NULL || each->state_bytes > 0) &&
			(eldest == NULL || each->used_ns < eldest->used_ns))
			eldest = each;
	}
	process_codes_clear(cache, eldest);
	return true;
}

void
code_cache_charge(CodeCache *cache, ProcessCodes *codes, size_t bytes)
{
	process_codes_set_state(cache, codes, bytes);
	while (cache->used_bytes > cache->limit_bytes && code_cache_make_room(cache))
		;
}

void
code_cache_add(CodeCache *cache, ProcessCodes *codes, const CodeKey *key, RuntimeCode *code)
{
	KnownCode *known = calloc(1, sizeof(*known));
	size_t bytes = sizeof(*known) + runtime_code_bytes(code);

	if (HASH_COUNT(codes->codes) >= CODES_MAX)
		process_codes_clear(cache, codes);
	while (bytes <= cache->limit_bytes && cache->used_bytes + bytes > cache->limit_bytes &&
		   code_cache_make_room(cache))
		;
	if (known == NULL || cache->used_bytes + bytes > cache->limit_bytes)
	{
		free(known);
		runtime_code_fini(code);
		return;
	}
	known->key = *key;
	known->hash = code_key_hash(cache, key);
	known->code = *code;
	known->bytes = bytes;
	cache->used_bytes += bytes;
	codes->owner->bytes += bytes;
	HASH_ADD(hh, codes->codes, hash, sizeof(known->hash), known);
}
