/*
 * code_sightings.c
 *		Methods in a hash table; an owner's methods are listed in the order in which they were used.
 */
#include "unwind/code_sightings.h"

#include <stdatomic.h>
#include <stdlib.h>

#include <uthash.h>
#include <utlist.h>

#include "base/hash.h"
#include "runtime_types.h"
#include "unwind_types.h"

#define BUCKETS			(64 * 1024)
#define DROPPED_AT_ONCE 64 /* limit of the methods that are dropped at once */

typedef struct SightingOwner SightingOwner;

typedef struct Sighting
{
	uint64_t process; /* hash of the exec image */
	CompiledCode code;
	uint64_t first_ns;
	SightingOwner *owner;
	struct Sighting *next_in_bucket; /* or the next unused entry */
	struct Sighting *prev;			 /* in the owner's list */
	struct Sighting *next;
} Sighting;

struct SightingOwner
{
	uint64_t key;
	size_t count;
	Sighting *sightings; /* the one that was used least recently is the first */
	UT_hash_handle hh;
};

struct CodeSightings
{
	uint64_t seed;
	_Atomic uint64_t displaced;
	SightingOwner *owners; /* each has a method */
	Sighting *unused;	   /* entries whose methods were dropped */
	size_t used;		   /* the entries from this one on were never used */
	Sighting *buckets[BUCKETS];
	Sighting sightings[SIGHTINGS_MAX];
};

CodeSightings *
code_sightings_create(void)
{
	CodeSightings *sightings = calloc(1, sizeof(*sightings));

	if (sightings != NULL)
		sightings->seed = hash_seed();
	return sightings;
}

void
code_sightings_free(CodeSightings *sightings)
{
	SightingOwner *owner;
	SightingOwner *next;

	if (sightings == NULL)
		return;
	HASH_ITER(hh, sightings->owners, owner, next)
	{
		HASH_DEL(sightings->owners, owner);
		free(owner);
	}
	free(sightings);
}

bool
compiled_code_of(const uint64_t *words, size_t count, size_t at, CompiledCode *code)
{
	if (at + 1 >= count || PFS_FRAME_CONTINUES(words[at]) || PFS_FRAME_MORE(words[at]) != 1 ||
		!PFS_FRAME_CONTINUES(words[at + 1]) ||
		PFS_FRAME_INTERPRETER(words[at]) != PFS_RUNTIME_HOTSPOT ||
		PFS_HOTSPOT_FRAME(PFS_FRAME_PAYLOAD(words[at + 1])) != PFS_HOTSPOT_FRAME_COMPILED)
		return false;
	*code = (CompiledCode){ PFS_FRAME_ADDRESS(words[at]),
							PFS_HOTSPOT_ID(PFS_FRAME_PAYLOAD(words[at + 1])) };
	return true;
}

static uint64_t
process_hash(const CodeSightings *sightings, const ExecImage *process)
{
	uint64_t hash = hash_word(sightings->seed, process->pid);

	return hash_word(hash_word(hash, process->start_time_ns), process->exec_id);
}

static size_t
bucket_of(uint64_t process, const CompiledCode *code)
{
	return (size_t) (hash_word(hash_word(process, code->address), code->id) % BUCKETS);
}

static Sighting *
sighting_find(const CodeSightings *sightings, uint64_t process, const CompiledCode *code)
{
	Sighting *each = sightings->buckets[bucket_of(process, code)];

	while (each != NULL && (each->process != process || each->code.address != code->address ||
							each->code.id != code->id))
		each = each->next_in_bucket;
	return each;
}

/* Returns an owner, adding it if needed; NULL if out of memory. */
static SightingOwner *
sighting_owner_get(CodeSightings *sightings, uint64_t key)
{
	SightingOwner *owner;

	HASH_FIND(hh, sightings->owners, &key, sizeof(key), owner);
	if (owner != NULL)
		return owner;
	owner = calloc(1, sizeof(*owner));
	if (owner == NULL)
		return NULL;
	owner->key = key;
	HASH_ADD(hh, sightings->owners, key, sizeof(owner->key), owner);
	return owner;
}

/* Takes the method out of its owner's list. Frees the owner if the list is empty then. */
static void
sighting_unlink(CodeSightings *sightings, Sighting *sighting)
{
	SightingOwner *owner = sighting->owner;

	DL_DELETE(owner->sightings, sighting);
	if (--owner->count > 0)
		return;
	HASH_DEL(sightings->owners, owner);
	free(owner);
}

static void
sighting_give_back(CodeSightings *sightings, Sighting *sighting)
{
	sighting->next_in_bucket = sightings->unused;
	sightings->unused = sighting;
}

static void
sighting_drop(CodeSightings *sightings, Sighting *sighting)
{
	Sighting **link = &sightings->buckets[bucket_of(sighting->process, &sighting->code)];

	while (*link != sighting)
		link = &(*link)->next_in_bucket;
	*link = sighting->next_in_bucket;
	sighting_unlink(sightings, sighting);
	sighting_give_back(sightings, sighting);
	atomic_fetch_add(&sightings->displaced, 1);
}

/*
 * Drops the least recently used methods of the owner with most of them, several at once, because
 * the search for that owner visits all owners.
 */
static void
code_sightings_make_room(CodeSightings *sightings)
{
	SightingOwner *largest = sightings->owners;
	size_t drops;

	for (SightingOwner *owner = largest; owner != NULL; owner = owner->hh.next)
	{
		if (owner->count > largest->count)
			largest = owner;
	}
	drops = (largest->count + 1) / 2;
	if (drops > DROPPED_AT_ONCE)
		drops = DROPPED_AT_ONCE;
	/* the owner is freed with its last method */
	for (size_t i = 0; i < drops; i++)
		sighting_drop(sightings, largest->sightings);
}

/* Returns an entry that is in no list, making room if needed. */
static Sighting *
sighting_take(CodeSightings *sightings)
{
	Sighting *sighting;

	if (sightings->used < SIGHTINGS_MAX)
		return &sightings->sightings[sightings->used++];
	if (sightings->unused == NULL)
		code_sightings_make_room(sightings);
	sighting = sightings->unused;
	sightings->unused = sighting->next_in_bucket;
	return sighting;
}

static void
sighting_use(Sighting *sighting, uint64_t time_ns)
{
	SightingOwner *owner = sighting->owner;

	/* samples do not come in the order of their times */
	if (time_ns < sighting->first_ns)
		sighting->first_ns = time_ns;
	DL_DELETE(owner->sightings, sighting);
	DL_APPEND(owner->sightings, sighting);
}

void
code_sightings_note(CodeSightings *sightings, const ExecImage *process, uint64_t owner_key,
					const CompiledCode *code, uint64_t time_ns)
{
	uint64_t hash = process_hash(sightings, process);
	Sighting *sighting = sighting_find(sightings, hash, code);
	Sighting **bucket = &sightings->buckets[bucket_of(hash, code)];
	SightingOwner *owner;

	if (sighting != NULL)
	{
		sighting_use(sighting, time_ns);
		return;
	}
	/* before the owner is looked up, because making room may free owners */
	sighting = sighting_take(sightings);
	owner = sighting_owner_get(sightings, owner_key);
	if (owner == NULL)
	{
		sighting_give_back(sightings, sighting);
		return;
	}
	*sighting = (Sighting){ .process = hash,
							.code = *code,
							.first_ns = time_ns,
							.owner = owner,
							.next_in_bucket = *bucket };
	*bucket = sighting;
	DL_APPEND(owner->sightings, sighting);
	owner->count++;
}

bool
code_sightings_had(const CodeSightings *sightings, const ExecImage *process,
				   const CompiledCode *code, uint64_t time_ns)
{
	const Sighting *sighting = sighting_find(sightings, process_hash(sightings, process), code);

	return sighting != NULL && sighting->first_ns <= time_ns;
}

uint64_t
code_sightings_displaced(const CodeSightings *sightings)
{
	return atomic_load(&sightings->displaced);
}
