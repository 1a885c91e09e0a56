/*
 * code_sightings.c
 *		Methods in a table of sets; a method's hash chooses its set in the process's region.
 */
#include "unwind/code_sightings.h"

#include <stdlib.h>

#include "base/hash.h"
#include "runtime_types.h"
#include "unwind_types.h"

#define REGIONS		16
#define REGION_SETS 2048
#define SET_METHODS 4

typedef struct Sighting
{
	uint64_t process; /* hash of the exec image */
	CompiledCode code;
	uint64_t first_ns;
	uint64_t used_ns; /* last time that was noted; 0: the entry is empty */
} Sighting;

struct CodeSightings
{
	uint64_t seed;
	Sighting sets[REGIONS * REGION_SETS][SET_METHODS];
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

/* Returns the first of the SET_METHODS entries that may have the method. */
static size_t
set_of(uint64_t process, const CompiledCode *code)
{
	uint64_t hash = hash_word(hash_word(process, code->address), code->id);

	return (size_t) (process % REGIONS * REGION_SETS + hash % REGION_SETS);
}

static bool
is_sighting_of(const Sighting *sighting, uint64_t process, const CompiledCode *code)
{
	return sighting->used_ns != 0 && sighting->process == process &&
		   sighting->code.address == code->address && sighting->code.id == code->id;
}

void
code_sightings_note(CodeSightings *sightings, const ExecImage *process, const CompiledCode *code,
					uint64_t time_ns)
{
	uint64_t hash = process_hash(sightings, process);
	Sighting *set = sightings->sets[set_of(hash, code)];
	Sighting *oldest = &set[0];

	for (size_t i = 0; i < SET_METHODS; i++)
	{
		/* samples do not come in the order of their times */
		if (is_sighting_of(&set[i], hash, code))
		{
			if (time_ns < set[i].first_ns)
				set[i].first_ns = time_ns;
			if (time_ns > set[i].used_ns)
				set[i].used_ns = time_ns;
			return;
		}
		if (set[i].used_ns < oldest->used_ns)
			oldest = &set[i];
	}
	*oldest = (Sighting){ hash, *code, time_ns, time_ns };
}

bool
code_sightings_had(const CodeSightings *sightings, const ExecImage *process,
				   const CompiledCode *code, uint64_t time_ns)
{
	uint64_t hash = process_hash(sightings, process);
	const Sighting *set = sightings->sets[set_of(hash, code)];

	for (size_t i = 0; i < SET_METHODS; i++)
	{
		if (is_sighting_of(&set[i], hash, code))
			return set[i].first_ns <= time_ns;
	}
	return false;
}
