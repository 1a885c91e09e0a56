/*
 * name_lines.c
 *		Collects the lines of locations in any order, and sorts them by location at the end.
 */
#include <stdlib.h>

#include "formats/clean_text.h"
#include "formats/legacy/name_lines.h"

void
pfs_name_lines_init(PfsNameLines *names, PfsProfile *profile)
{
	*names = (PfsNameLines){ .profile = profile };
	pfs_text_index_init(&names->functions, profile->budget);
}

void
pfs_name_lines_fini(PfsNameLines *names)
{
	PfsAllocator allocator = names->profile->budget->allocator;

	if (names->lines != NULL)
		allocator.realloc(allocator.context, names->lines, 0);
	pfs_text_index_fini(&names->functions);
	names->lines = NULL;
	names->count = 0;
}

static uint32_t
get_function(PfsNameLines *names, PfsText name, PfsText file)
{
	PfsProfile *profile = names->profile;
	uint32_t number = pfs_text_number(&names->functions, name);
	PfsProfileFunction *function;

	if (number == PFS_NONE || number < profile->function_count)
		return number;
	if (!PFS_GROW(profile->budget, profile->functions, profile->function_count))
		return PFS_NONE;
	function = &profile->functions[profile->function_count++];
	*function = (PfsProfileFunction){ .name = name, .filename = file };
	if (!pfs_text_clean(profile, &function->name) || !pfs_text_clean(profile, &function->filename))
		return PFS_NONE;
	function->system_name = function->name;
	return number;
}

bool
pfs_name_lines_add(PfsNameLines *names, uint32_t location, PfsText name, PfsText file, int32_t line)
{
	uint32_t function = get_function(names, name, file);

	if (function == PFS_NONE || !PFS_GROW(names->profile->budget, names->lines, names->count))
		return false;
	names->lines[names->count] = (PfsNameLine){ location, names->count, { function, line } };
	names->count++;
	return true;
}

static int
compare_lines(const void *a, const void *b)
{
	const PfsNameLine *left = a;
	const PfsNameLine *right = b;

	if (left->location != right->location)
		return left->location < right->location ? -1 : 1;
	return (left->order > right->order) - (left->order < right->order);
}

PfsReadStatus
pfs_name_lines_finish(PfsNameLines *names, PfsReadError *error)
{
	PfsProfile *profile = names->profile;
	uint32_t next = 0;

	if (names->count > 0)
		qsort(names->lines, names->count, sizeof(PfsNameLine), compare_lines);
	for (uint32_t i = 0; i < profile->location_count; i++)
	{
		PfsProfileLocation *location = &profile->locations[i];

		location->first_line = profile->line_count;
		for (; next < names->count && names->lines[next].location == i; next++)
		{
			if (location->line_count == PFS_PROFILE_MAX_LINES)
			{
				*error = pfs_error_at("location has too many lines", 0);
				return PFS_READ_TOO_LARGE;
			}
			if (!PFS_GROW(profile->budget, profile->lines, profile->line_count))
				return pfs_budget_status(profile->budget, error);
			profile->lines[profile->line_count++] = names->lines[next].line;
			location->line_count++;
		}
	}
	return PFS_READ_OK;
}
