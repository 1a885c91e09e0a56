/*
 * cpu_read.c
 *		CPU time as gperftools writes it.
 *
 * Words of 4 or 8 bytes in either byte order: 0, 3, 0 (1 for Java), the period in microseconds, 0;
 * then samples: count, number of addresses, the addresses. 0, 1, 0 is the end, followed by text:
 * the memory map, or Java's names.
 *
 * 1. Samples are read. Addresses after the leaf's are return addresses.
 * 2. A second frame that nearly all samples share belongs to the profiler and is removed, as is a
 *    leaf that occurs twice.
 */
#include <string.h>

#include "formats/legacy/cpu_words.h"
#include "formats/legacy/java_names.h"
#include "formats/legacy/legacy.h"
#include "formats/legacy/legacy_text.h"
#include "formats/legacy/memory_map.h"

#define NS_PER_US INT64_C(1000)

/* Limit of the profiler's own frames. */
#define OWN_FRAMES_MAX 2

/* One in this many samples may lack the profiler's own frame. */
#define SIMILAR_SAMPLES 32

typedef struct Cpu
{
	PfsLegacyText text;
	PfsCpuWords words;
} Cpu;

static PfsReadStatus
cpu_fail(const Cpu *cpu, PfsReadStatus status, const char *message)
{
	*cpu->text.lines.error = pfs_error_at(message, cpu->words.at);
	return status;
}

/* --- step 1: samples --- */

static PfsReadStatus
cpu_add_sample(Cpu *cpu, uint64_t count, uint64_t depth, uint64_t leaf)
{
	PfsProfile *profile = cpu->text.profile;
	PfsReadStatus status = PFS_READ_OK;
	int64_t *values;

	if (pfs_add_sample(profile) == NULL)
		return pfs_line_refused(&cpu->text.lines);
	values = &profile->values[(size_t) (profile->sample_count - 1) * 2];
	if (count > INT64_MAX || __builtin_mul_overflow((int64_t) count, profile->period, &values[1]))
		return cpu_fail(cpu, PFS_READ_OUT_OF_RANGE, "count of samples is out of range");
	values[0] = (int64_t) count;
	for (uint64_t i = 0; status == PFS_READ_OK && i < depth; i++)
	{
		/* The caller has read the leaf already, to recognize the end mark. */
		uint64_t address = leaf;

		/* the sample has addresses, because the caller has checked their number */
		if (i > 0)
			pfs_cpu_word(&cpu->words, &address);
		status = pfs_legacy_add_frame(&cpu->text, address - (i > 0 && !cpu->words.is_java));
	}
	return status;
}

/* Reads samples up to the end mark, which is a sample of count 0 with the address 0. */
static PfsReadStatus
read_samples(Cpu *cpu)
{
	PfsReadStatus status = PFS_READ_OK;

	while (status == PFS_READ_OK && cpu->words.at < cpu->words.length)
	{
		uint64_t count;
		uint64_t depth;
		uint64_t leaf = 0;
		size_t begin = cpu->words.at;

		pfs_pause(cpu->text.profile->budget->pause);
		/* Errors are reported at the sample's begin. */
		cpu->text.lines.begin = begin;
		if (!pfs_cpu_word(&cpu->words, &count) || !pfs_cpu_word(&cpu->words, &depth) ||
			depth > pfs_cpu_words_left(&cpu->words))
		{
			/* Each address is a word, so depth is limited by the words that are left. */
			cpu->words.at = begin;
			return cpu_fail(cpu, PFS_READ_MALFORMED, "sample extends beyond the end");
		}
		if (depth > 0)
			pfs_cpu_word(&cpu->words, &leaf);
		if (count == 0 && depth == 1 && leaf == 0)
			break;
		status = cpu_add_sample(cpu, count, depth, leaf);
	}
	return status;
}

/* --- step 2: the profiler's own frames --- */

static bool
is_own(const PfsProfile *profile, const uint32_t *locations, const void *context)
{
	return locations[1] == *(const uint32_t *) context;
}

/*
 * Returns the location that nearly all samples have as their second frame; PFS_NONE if there is
 * none. counts must have room for a number per location.
 */
static uint32_t
find_own(const PfsProfile *profile, uint32_t *counts)
{
	/* All samples but one in SIMILAR_SAMPLES. */
	uint32_t enough = profile->sample_count - profile->sample_count / SIMILAR_SAMPLES;

	memset(counts, 0, profile->location_count * sizeof(uint32_t));
	for (uint32_t i = 0; i < profile->sample_count; i++)
	{
		const PfsProfileSample *sample = &profile->samples[i];
		uint32_t location;

		if (sample->location_count < 2)
			continue;
		location = profile->location_indexes[sample->first_location + 1];
		if (++counts[location] >= enough)
			return location;
	}
	return PFS_NONE;
}

/*
 * Removes the profiler's own frames, of which several may be nested, and leaf frames that occur
 * twice.
 */
static PfsReadStatus
drop_own_frames(Cpu *cpu)
{
	PfsProfile *profile = cpu->text.profile;
	PfsScratch scratch = { 0 };
	uint32_t *counts = pfs_scratch_alloc(&scratch, profile->budget,
										 (size_t) (profile->location_count + 1) * sizeof(uint32_t));

	if (counts == NULL)
		return pfs_line_refused(&cpu->text.lines);
	/* The second frame is searched anew after each removal, because another one follows it. */
	for (int i = 0; i < OWN_FRAMES_MAX; i++)
	{
		uint32_t own = find_own(profile, counts);

		if (own != PFS_NONE)
			pfs_legacy_drop_second(profile, is_own, &own);
	}
	pfs_scratch_free(&scratch, profile->budget);
	pfs_legacy_drop_double_leafs(profile);
	return PFS_READ_OK;
}

static PfsReadStatus
cpu_read_all(Cpu *cpu)
{
	PfsLegacyText *text = &cpu->text;
	PfsReadStatus status;

	if (cpu->words.period_us > (uint64_t) (INT64_MAX / NS_PER_US))
		return cpu_fail(cpu, PFS_READ_OUT_OF_RANGE, "period is out of range");
	pfs_legacy_set_period(text->profile, "cpu", "nanoseconds",
						  (int64_t) cpu->words.period_us * NS_PER_US);
	if (!pfs_legacy_add_type(text->profile, "samples", "count") ||
		!pfs_legacy_add_type(text->profile, "cpu", "nanoseconds"))
		return pfs_line_refused(&text->lines);
	status = read_samples(cpu);
	/* The text after the samples begins at a byte, not at a line. */
	text->lines.at = cpu->words.at;
	/* Java's profiles have no memory map of a program, and no frames of the profiler. */
	if (status == PFS_READ_OK && cpu->words.is_java)
		return pfs_java_names_read(text);
	if (status == PFS_READ_OK)
		status = drop_own_frames(cpu);
	return status == PFS_READ_OK ? pfs_legacy_finish(text) : status;
}

PfsReadStatus
pfs_cpu_read(const uint8_t *bytes, size_t length, PfsProfile *profile, PfsReadError *error)
{
	Cpu cpu;
	PfsReadStatus status;

	pfs_legacy_begin(&cpu.text, bytes, length, profile, error);
	status = pfs_cpu_words_begin(&cpu.words, bytes, length)
				 ? cpu_read_all(&cpu)
				 : cpu_fail(&cpu, PFS_READ_MALFORMED, "invalid header");
	pfs_legacy_end(&cpu.text);
	return status;
}
