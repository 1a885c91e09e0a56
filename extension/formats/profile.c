/*
 * profile.c
 *		Initializes and frees a profile, and grows its arrays.
 */
#include <string.h>

#include "formats/profile.h"

/*
 * Lowest address that the loader chooses: below are programs with fixed addresses, and the kernel
 * is in the upper half.
 */
#define LOADER_FIRST (UINT64_C(1) << 32)
#define LOADER_LAST	 (UINT64_C(1) << 63)

PfsReadStatus
pfs_budget_status(const PfsBudget *budget, PfsReadError *error)
{
	error->message =
		budget->exhausted ? "profile needs more memory than its size allows" : "out of memory";
	return budget->exhausted ? PFS_READ_TOO_LARGE : PFS_READ_NO_MEMORY;
}

void
pfs_profile_init(PfsProfile *profile, PfsBudget *budget)
{
	memset(profile, 0, sizeof(*profile));
	profile->budget = budget;
	profile->replacement = PFS_REPLACEMENT;
	profile->default_type = PFS_NONE;
}

void
pfs_profile_fini(PfsProfile *profile)
{
	PfsAllocator allocator = profile->budget->allocator;
	void *arrays[] = { profile->types,	  profile->comments,
					   profile->mappings, profile->functions,
					   profile->lines,	  profile->locations,
					   profile->labels,	  profile->location_indexes,
					   profile->samples,  profile->values };

	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		if (arrays[i] != NULL)
			allocator.realloc(allocator.context, arrays[i], 0);
	pfs_scratch_free(&profile->texts, profile->budget);
	pfs_profile_init(profile, profile->budget);
}

bool
pfs_text_equals(PfsText text, const char *other)
{
	return text.length == strlen(other) && memcmp(text.data, other, text.length) == 0;
}

bool
pfs_profile_lacks_frames(const PfsProfile *profile)
{
	for (uint32_t i = 0; i < profile->sample_count; i++)
		if (profile->samples[i].location_count > 0)
			return false;
	return profile->sample_count > 0;
}

uint64_t
pfs_file_address(uint64_t address, uint64_t start, uint64_t limit, uint64_t offset)
{
	if (start < LOADER_FIRST || start >= LOADER_LAST || address < start || address >= limit)
		return address;
	return address - start + offset;
}
