/*
 * prune.c
 *		Applies drop_frames and keep_frames, as pprof does for each file that it reads.
 *
 * 1. Functions: finds which ones match.
 * 2. Locations: a location whose outermost function matches is dropped. If an inlined function
 *    matches instead, its line and the lines inlined into it are removed; the outer lines stay.
 * 3. Stacks: going from the root to the leaf, the first location with a match that comes after a
 *    location without one ends the stack.
 *
 * Lines and the locations of samples are contiguous in their arrays, so the remaining ones are
 * moved together.
 */
#include "profstore.h"

#include "catalog/pg_collation.h"
#include "regex/regex.h"
#include "utils/builtins.h"

#include "base/arrays.h"
#include "import/profile_text.h"
#include "import/prune.h"
#include "select/selector.h"

typedef enum Cut
{
	CUT_NOTHING = 0,
	CUT_INNER,
	CUT_WHOLE
} Cut;

/*
 * Compiles an expression for whole names. An invalid one is rejected here, even without functions.
 */
static text *
compile_whole(const PfsImport *import, PfsText expression, const char *field)
{
	const char *part = pfs_import_text(import, expression);
	char *whole = psprintf("^(?:%s)$", part);
	const char *problem = pfs_regex_problem(part);

	/*
	 * options such as (?i) and ***, which must come first, are valid in the part but not in the
	 * whole
	 */
	if (problem == NULL)
		problem = pfs_regex_problem(whole);
	if (problem != NULL)
		ereport(ERROR, (errcode(ERRCODE_INVALID_REGULAR_EXPRESSION),
						errmsg("invalid %s in the profile: invalid regular expression: %s", field,
							   problem),
						errhint("Import it with prune => false, which keeps all frames.")));
	return cstring_to_text(whole);
}

static bool
prune_matches(text *expression, const char *name, size_t length)
{
	return RE_compile_and_execute(expression, unconstify(char *, name), (int) length, REG_ADVANCED,
								  C_COLLATION_OID, 0, NULL);
}

/*
 * Returns the length of a name without its arguments: up to the first parenthesis that is not part
 * of the name itself.
 */
static size_t
bare_length(const char *name)
{
	static const char *const parts[] = { "(anonymous namespace)", "operator()" };
	size_t at = 0;

	while (name[at] != '\0')
	{
		size_t length = 0;

		for (int i = 0; i < (int) lengthof(parts); i++)
			if (strncmp(name + at, parts[i], strlen(parts[i])) == 0)
				length = strlen(parts[i]);
		if (length == 0 && name[at] == '(')
			break;
		at += Max(length, 1);
	}
	return at;
}

/*
 * Returns for each function whether it is dropped: drop_frames matches its whole name, and
 * keep_frames does not.
 */
static bool *
match_functions(const PfsImport *import, const PfsProfile *profile)
{
	text *drop = compile_whole(import, profile->drop_frames, "drop_frames");
	text *keep = profile->keep_frames.length == 0
					 ? NULL
					 : compile_whole(import, profile->keep_frames, "keep_frames");
	bool *matching = PFS_ARRAY0(bool, profile->function_count);

	for (uint32 i = 0; i < profile->function_count; i++)
	{
		char *name = pfs_import_text(import, profile->functions[i].name);
		/* some platforms put a dot before names */
		const char *bare = name + (*name == '.');
		size_t length = bare_length(bare);

		matching[i] = *name != '\0' && prune_matches(drop, bare, length) &&
					  (keep == NULL || !prune_matches(keep, bare, length));
		pfree(name);
	}
	return matching;
}

/*
 * Removes the outermost dropped function of each location, and the functions inlined into it.
 * Returns how far each location was cut; a location that is dropped whole keeps its lines.
 */
static Cut *
cut_locations(PfsProfile *profile, const bool *matching)
{
	Cut *cuts = PFS_ARRAY0(Cut, profile->location_count);
	uint32 line_count = 0;

	for (uint32 i = 0; i < profile->location_count; i++)
	{
		PfsProfileLocation *location = &profile->locations[i];
		const PfsProfileLine *lines = &profile->lines[location->first_line];
		uint32 cut = location->line_count; /* number of lines to remove */

		while (cut > 0 && !matching[lines[cut - 1].function])
			cut--;
		if (cut > 0)
			cuts[i] = cut == location->line_count ? CUT_WHOLE : CUT_INNER;
		/*
		 * a location that is dropped whole is shown only in stacks without another frame before it
		 */
		if (cuts[i] == CUT_WHOLE)
			cut = 0;
		location->line_count -= cut;
		memmove(&profile->lines[line_count], lines + cut,
				location->line_count * sizeof(PfsProfileLine));
		location->first_line = line_count;
		line_count += location->line_count;
	}
	profile->line_count = line_count;
	return cuts;
}

/*
 * Returns how many locations are removed at the leaf's end of a stack. locations begins with the
 * leaf.
 */
static uint32
cut_of_stack(const uint32 *locations, uint32 count, const Cut *cuts)
{
	bool found = false;

	for (uint32 i = count; i-- > 0;)
	{
		Cut cut = cuts[locations[i]];

		if (cut == CUT_NOTHING)
			found = true;
		else if (found)
			return cut == CUT_WHOLE ? i + 1 : i;
	}
	return 0;
}

void
pfs_profile_prune(const PfsImport *import, PfsProfile *profile)
{
	size_t index_count = 0;
	const Cut *cuts;

	if (profile->drop_frames.length == 0)
		return;
	cuts = cut_locations(profile, match_functions(import, profile));
	for (uint32 i = 0; i < profile->sample_count; i++)
	{
		PfsProfileSample *sample = &profile->samples[i];
		const uint32 *locations = &profile->location_indexes[sample->first_location];
		uint32 cut = cut_of_stack(locations, sample->location_count, cuts);

		sample->location_count -= cut;
		memmove(&profile->location_indexes[index_count], locations + cut,
				sample->location_count * sizeof(uint32));
		sample->first_location = index_count;
		index_count += sample->location_count;
	}
	profile->location_index_count = index_count;
}
