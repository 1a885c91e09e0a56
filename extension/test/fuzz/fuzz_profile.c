/*
 * fuzz_profile.c
 *		Fuzzes the readers of foreign profiles. The first byte chooses the format. If a profile is
 *		accepted, every index in it is checked, and its series and rows are made, which must not
 *		fail. Memory must stay within the budget.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/any/profile_read.h"
#include "formats/clean_text.h"
#include "formats/gunzip.h"
#include "formats/lines.h"
#include "formats/memory.h"
#include "formats/profile_rows.h"

#define MAX_UNPACKED (1 << 20)

enum
{
	FORMAT_PPROF,
	FORMAT_FOLDED,
	FORMAT_PERF_SCRIPT,
	FORMAT_ANY,
	FORMAT_COUNT
};

static void *
plain_realloc(void *context, void *pointer, size_t bytes)
{
	if (bytes == 0)
	{
		free(pointer);
		return NULL;
	}
	return realloc(pointer, bytes);
}

static void
require(bool condition)
{
	if (!condition)
		abort();
}

/* Reads every byte of a text, and checks that texts of pprof are clean. */
static void
require_text(PfsText text, bool is_clean)
{
	for (uint32_t at = 0; at < text.length;)
	{
		uint32_t length = pfs_character_bytes((PfsText){ text.data + at, text.length - at });

		require(length > 0 || !is_clean);
		at += length > 0 ? length : 1;
	}
}

static void
require_whole(const PfsProfile *profile, bool is_clean)
{
	uint32_t lines = 0;

	require(profile->type_count > 0);
	for (uint32_t i = 0; i < profile->mapping_count; i++)
		require_text(profile->mappings[i].file, is_clean);
	for (uint32_t i = 0; i < profile->function_count; i++)
		require_text(profile->functions[i].name, is_clean);
	for (uint32_t i = 0; i < profile->label_count; i++)
		require_text(profile->labels[i].key, is_clean);
	for (uint32_t i = 0; i < profile->line_count; i++)
		require(profile->lines[i].function < profile->function_count &&
				profile->lines[i].line >= 0);
	for (uint32_t i = 0; i < profile->location_count; i++)
	{
		const PfsProfileLocation *location = &profile->locations[i];

		require(location->mapping == PFS_NONE || location->mapping < profile->mapping_count);
		require(location->first_line == lines);
		lines += location->line_count;
	}
	require(lines == profile->line_count);
	for (size_t i = 0; i < profile->location_index_count; i++)
		require(profile->location_indexes[i] < profile->location_count);
	for (uint32_t i = 0; i < profile->sample_count; i++)
	{
		const PfsProfileSample *sample = &profile->samples[i];

		require(sample->first_location + sample->location_count <= profile->location_index_count);
		require(sample->first_label + sample->label_count <= profile->label_count);
	}
}

/*
 * Makes the rows of a profile, and checks that each series has one, and no two rows have equal
 * series, stack and time.
 */
static void
require_rows(const PfsProfile *profile, PfsAllocator allocator)
{
	PfsBudget budget = { .allocator = allocator, .left = SIZE_MAX };
	PfsMaking making = { .budget = &budget };
	PfsLabel own = { { "service", 7 }, { "fuzz", 4 } };
	const PfsSeriesRules rules = { .own = { &own, 1 }, .keeps_all = true };
	int64_t *stacks = calloc(profile->sample_count + 1, sizeof(int64_t));
	PfsProfileSets sets;
	PfsSampleRows rows;
	PfsReadError error;
	PfsReadStatus status;

	for (uint32_t i = 0; i < profile->sample_count; i++)
		stacks[i] = profile->samples[i].location_count;
	require(pfs_profile_sets(&making, profile, &rules, &sets, &error) == PFS_READ_OK);
	require(sets.count > 0);
	for (uint32_t i = 0; i < profile->sample_count; i++)
		require(sets.set_of_sample[i] < sets.count);
	status = pfs_profile_rows(&making, profile, &sets, stacks, 0, &rows, &error);
	require(status == PFS_READ_OK && rows.count >= sets.count * profile->type_count);
	for (uint32_t i = 0; i < rows.count; i++)
		require((uint32_t) rows.rows[i].series_id < sets.count * profile->type_count);
	pfs_scratch_free(&making.scratch, &budget);
	free(stacks);
}

static PfsReadStatus
read_profile(int format, const uint8_t *bytes, size_t length, PfsProfile *profile,
			 PfsReadError *error)
{
	switch (format)
	{
		case FORMAT_PPROF:
			return pfs_pprof_read(bytes, length, profile, error);
		case FORMAT_FOLDED:
			return pfs_folded_read((const char *) bytes, length, profile, error);
		case FORMAT_PERF_SCRIPT:
			return pfs_perf_script_read((const char *) bytes, length, profile, error);
		default:
			return pfs_profile_read(bytes, length, profile, error);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	PfsAllocator allocator = { plain_realloc, NULL };
	PfsBudget budget = { .allocator = allocator };
	PfsBytes unpacked = { NULL, 0 };
	PfsReadError error = { .message = NULL };
	PfsReadStatus status;
	PfsProfile profile;
	int format;

	if (length == 0)
		return 0;
	format = bytes[0] % FORMAT_COUNT;
	bytes++;
	length--;
	if (pfs_is_gzip(bytes, length))
	{
		status = pfs_gunzip(bytes, length, MAX_UNPACKED, allocator, NULL, &unpacked, &error);
		require(status == PFS_READ_OK || error.message != NULL);
		require(unpacked.length <= MAX_UNPACKED);
		if (status != PFS_READ_OK)
			return 0;
		bytes = unpacked.data;
		length = unpacked.length;
	}
	budget.left = 65536 + 16 * length;
	pfs_profile_init(&profile, &budget);
	status = read_profile(format, bytes, length, &profile, &error);
	require(status != PFS_READ_NO_MEMORY);
	if (status == PFS_READ_OK)
	{
		require_whole(&profile, format == FORMAT_PPROF || format == FORMAT_ANY);
		require_rows(&profile, allocator);
	}
	else
		require(error.message != NULL && error.offset <= length);
	pfs_profile_fini(&profile);
	free(unpacked.data);
	return 0;
}
