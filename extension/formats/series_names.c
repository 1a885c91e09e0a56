/*
 * series_names.c
 *		Groups samples by their labels, and names profile types.
 *
 * The labels of a sample that are kept are sorted, and looked up by content among the known sets.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/seeded_hash.h"
#include "formats/series_names.h"
#include "formats/trace_ids.h"

#define FIRST_SLOTS 64

/* A set of labels, as the samples have them. */
typedef struct SampleSet
{
	uint64_t hash;
	uint32_t count;
	const PfsProfileLabel *labels; /* sorted */
} SampleSet;

typedef struct Grouping
{
	PfsMaking *making;
	const PfsProfile *profile;
	const PfsSeriesRules *rules;
	PfsProfileSets *result;
	uint64_t seed;
	SampleSet *sets;
	uint32_t capacity;
	uint32_t *slots; /* slots of a hash table: numbers of sets plus one; 0 if the slot is free */
	uint32_t slot_count;
} Grouping;

static int
compare_texts(PfsText a, PfsText b)
{
	uint32_t common = a.length < b.length ? a.length : b.length;
	int order = common == 0 ? 0 : memcmp(a.data, b.data, common);

	return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

static int
compare_labels(const void *a, const void *b)
{
	const PfsProfileLabel *left = a;
	const PfsProfileLabel *right = b;
	int order = compare_texts(left->key, right->key);

	/* Numeric labels follow texts of the same key, so the order of equal sets is unique. */
	if (order == 0)
		order = (left->numeric > right->numeric) - (left->numeric < right->numeric);
	if (order == 0)
		order = (left->number > right->number) - (left->number < right->number);
	return order != 0 ? order : compare_texts(left->text, right->text);
}

static bool
name_is_kept(const PfsSeriesRules *rules, PfsText key)
{
	/* Only kept labels separate series. */
	bool kept = rules->keeps_all;

	for (uint32_t i = 0; !kept && i < rules->kept_count; i++)
		kept = compare_texts(rules->kept[i], key) == 0;
	return kept;
}

/* Collects the kept labels of a sample, sorted. Returns their number. */
static uint32_t
get_labels(const Grouping *grouping, const PfsProfileSample *sample, PfsProfileLabel *labels)
{
	PfsTraceIds ids = { { 0 }, { 0 } };
	uint32_t count = 0;

	for (uint32_t i = 0; i < sample->label_count; i++)
	{
		const PfsProfileLabel *label = &grouping->profile->labels[sample->first_label + i];

		/*
		 * empty labels are left out, and so are labels with ids, which would make a series of each
		 * trace
		 */
		if ((label->numeric || label->text.length > 0) &&
			name_is_kept(grouping->rules, label->key) && !pfs_trace_label(label, &ids))
			labels[count++] = *label;
	}
	/* Samples may list equal labels in different orders, which must be one set. */
	if (count > 1)
		qsort(labels, count, sizeof(PfsProfileLabel), compare_labels);
	return count;
}

static uint64_t
hash_labels(const Grouping *grouping, const PfsProfileLabel *labels, uint32_t count)
{
	/* The seed is random, so that a hostile file cannot make all sets collide. */
	uint64_t hash = grouping->seed;

	for (uint32_t i = 0; i < count; i++)
	{
		hash = pfs_hash_text(hash, labels[i].key);
		hash = pfs_hash_text(hash, labels[i].text);
		hash = pfs_hash_number(hash, (uint64_t) labels[i].number);
	}
	return hash;
}

static bool
sets_is_set(const SampleSet *set, uint64_t hash, const PfsProfileLabel *labels, uint32_t count)
{
	/* Comparing hashes first saves most comparisons of labels. */
	if (set->hash != hash || set->count != count)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (compare_labels(&set->labels[i], &labels[i]) != 0)
			return false;
	return true;
}

/* Returns the slot of the set, or the free slot where it belongs. */
static uint32_t *
sets_find_slot(const Grouping *grouping, uint64_t hash, const PfsProfileLabel *labels,
			   uint32_t count)
{
	uint32_t mask = grouping->slot_count - 1;
	uint32_t at = (uint32_t) hash & mask;

	/* The table is at most half full, so the search ends at a free slot. */
	while (grouping->slots[at] != 0 &&
		   !sets_is_set(&grouping->sets[grouping->slots[at] - 1], hash, labels, count))
		at = (at + 1) & mask;
	return &grouping->slots[at];
}

/* Doubles the room for sets; the old memory stays unused in the scratch. */
static bool
sets_widen(Grouping *grouping)
{
	uint32_t capacity = grouping->capacity == 0 ? FIRST_SLOTS / 2 : grouping->capacity * 2;
	SampleSet *sets = pfs_making_alloc(grouping->making, capacity * sizeof(SampleSet));
	PfsLabels *labels = pfs_making_alloc(grouping->making, capacity * sizeof(PfsLabels));
	/* Twice as many slots as sets keep the table half empty. */
	uint32_t *slots = pfs_making_alloc(grouping->making, 2 * capacity * sizeof(uint32_t));
	uint32_t count = grouping->result->count;

	if (sets == NULL || labels == NULL || slots == NULL)
		return false;
	if (count > 0)
	{
		memcpy(sets, grouping->sets, count * sizeof(SampleSet));
		memcpy(labels, grouping->result->labels, count * sizeof(PfsLabels));
	}
	memset(slots, 0, 2 * capacity * sizeof(uint32_t));
	grouping->sets = sets;
	grouping->result->labels = labels;
	grouping->slots = slots;
	/* The number of slots is a power of two, as the mask requires. */
	grouping->slot_count = 2 * capacity;
	grouping->capacity = capacity;
	for (uint32_t i = 0; i < count; i++)
		*sets_find_slot(grouping, sets[i].hash, sets[i].labels, sets[i].count) = i + 1;
	return true;
}

static bool
name_set_add(Grouping *grouping, uint64_t hash, const PfsProfileLabel *labels, uint32_t count)
{
	/* The sample's labels are in a buffer of the caller, so the set keeps a copy. */
	PfsProfileLabel *copy = pfs_making_alloc(grouping->making, count * sizeof(PfsProfileLabel));
	uint32_t number = grouping->result->count;

	if (copy == NULL || !pfs_labels_of_sample(grouping->making, &grouping->rules->own, labels,
											  count, &grouping->result->labels[number]))
		return false;
	if (count > 0)
		memcpy(copy, labels, count * sizeof(PfsProfileLabel));
	grouping->sets[number] = (SampleSet){ hash, count, copy };
	grouping->result->count++;
	return true;
}

/* Returns the set of a sample's labels, which may be new; PFS_NONE if out of memory. */
static uint32_t
find_set(Grouping *grouping, const PfsProfileSample *sample)
{
	/* The reader of each format limits a sample's labels to this number. */
	PfsProfileLabel labels[PFS_PROFILE_MAX_LABELS];
	uint32_t count = get_labels(grouping, sample, labels);
	uint64_t hash = hash_labels(grouping, labels, count);
	uint32_t *slot;

	/* Widening moves the slots, so it precedes the search. */
	if (grouping->result->count == grouping->capacity && !sets_widen(grouping))
		return PFS_NONE;
	slot = sets_find_slot(grouping, hash, labels, count);
	if (*slot == 0)
	{
		if (!name_set_add(grouping, hash, labels, count))
			return PFS_NONE;
		*slot = grouping->result->count;
	}
	return *slot - 1;
}

/*
 * Assigns all samples to sets. Neighbouring samples often have no labels, or equal ones, so that is
 * tested first.
 */
static bool
group(Grouping *grouping)
{
	const PfsProfile *profile = grouping->profile;
	const PfsProfileSample no_labels = { 0 };
	uint32_t without = PFS_NONE;

	for (uint32_t i = 0; i < profile->sample_count; i++)
	{
		const PfsProfileSample *sample = &profile->samples[i];
		/* Samples without labels share one set, which is found once. */
		uint32_t set = sample->label_count == 0 ? without : PFS_NONE;

		pfs_pause(profile->budget->pause);
		if (set == PFS_NONE)
			set = find_set(grouping, sample);
		if (set == PFS_NONE)
			return false;
		if (sample->label_count == 0)
			without = set;
		grouping->result->set_of_sample[i] = set;
	}
	/* a profile without samples needs a set, too */
	return grouping->result->count > 0 || find_set(grouping, &no_labels) != PFS_NONE;
}

PfsReadStatus
pfs_profile_sets(PfsMaking *making, const PfsProfile *profile, const PfsSeriesRules *rules,
				 PfsProfileSets *sets, PfsReadError *error)
{
	Grouping grouping = { .making = making,
						  .profile = profile,
						  .rules = rules,
						  .result = sets,
						  .seed = pfs_hash_seed() };

	*sets = (PfsProfileSets){ 0 };
	sets->set_of_sample =
		pfs_making_alloc(making, (size_t) profile->sample_count * sizeof(uint32_t));
	if (sets->set_of_sample != NULL && group(&grouping))
		return PFS_READ_OK;
	return pfs_budget_status(making->budget, error);
}

const char *
pfs_pprof_default_name(const PfsProfile *profile)
{
	/* A name that the reader knows precedes one derived from the period type. */
	if (profile->name != NULL)
		return profile->name;
	if (pfs_text_equals(profile->period_type.type, "cpu"))
		return "process_cpu";
	if (pfs_text_equals(profile->period_type.type, "space"))
		return "memory";
	if (pfs_text_equals(profile->period_type.type, "contentions"))
		return "contention";
	return NULL;
}

bool
pfs_pprof_is_delta(const PfsProfile *profile)
{
	/* CPU time is always measured over a time, even if the file gives no duration. */
	return profile->duration_ns > 0 || pfs_text_equals(profile->period_type.type, "cpu");
}

/* Returns the length of a text after cutting it between characters of UTF-8. */
static uint32_t
cut_length(PfsText text)
{
	uint32_t length = PFS_TYPE_PART_MAX;

	if (text.length <= PFS_TYPE_PART_MAX)
		return text.length;
	/* A byte 10xxxxxx continues a character, so the cut is before the character's first byte. */
	while (length > 0 && ((uint8_t) text.data[length] & 0xC0) == 0x80)
		length--;
	return length;
}

/*
 * Writes one part of a type's name and a colon; returns the end. An empty part is replaced by
 * instead.
 */
static char *
put_part(char *at, PfsText text, const char *instead)
{
	uint32_t length;

	if (text.length == 0)
		text = (PfsText){ instead, (uint32_t) strlen(instead) };
	length = cut_length(text);
	for (uint32_t i = 0; i < length; i++)
	{
		char c = text.data[i];

		/*
		 * The name of a type has five parts between colons; characters with a meaning in selectors
		 * become "_".
		 */
		*at++ = (uint8_t) c <= ' ' || c == 0x7f || strchr(":{}\",", c) != NULL ? '_' : c;
	}
	*at++ = ':';
	return at;
}

void
pfs_profile_type_name(const PfsTypeParts *parts, char result[PFS_PROFILE_TYPE_MAX])
{
	char *at = put_part(result, parts->name, "unknown");

	at = put_part(at, parts->sample_type, "unknown");
	at = put_part(at, parts->sample_unit, "unknown");
	at = put_part(at, parts->period_type, "");
	at = put_part(at, parts->period_unit, "");
	/* at - 1 overwrites the last colon. */
	strcpy(parts->delta ? at : at - 1, parts->delta ? "delta" : "");
}

PfsText
pfs_labels_partition(const PfsLabels *labels)
{
	static const char *const names[] = { "service", "service_name" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		const PfsText *value = pfs_label_find(labels, names[i]);

		if (value != NULL && value->length > 0)
			return *value;
	}
	return (PfsText){ "import", (uint32_t) strlen("import") };
}
