/*
 * fingerprint.c
 *		Computes the SHA-256 of profiles from digests of the batch's items that they use.
 *
 * Each item of the batch is digested once, when a sample refers to it: a function and a mapping by
 * their texts, a location by the digests of these, a stack by those of its locations. A profile's
 * digest covers its samples in their order; a request's digest covers the sorted digests of its
 * profiles.
 */
#include "otlp/fingerprint.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* with 128 bits, an accidental collision of items is unlikely */
#define ITEM_DIGEST_BYTES 16

/* One step of work is this many bytes of SHA-256. */
#define BYTES_PER_STEP 4

typedef struct ItemDigest
{
	uint8_t bytes[ITEM_DIGEST_BYTES];
} ItemDigest;

typedef struct ProfileDigest
{
	uint8_t bytes[FINGERPRINT_BYTES];
} ProfileDigest;

bool
fingerprint_init(Fingerprint *fingerprint, OtlpDictionary *dictionary, Budget *budget)
{
	*fingerprint = (Fingerprint){ .dictionary = dictionary,
								  .budget = budget,
								  .of_item = EVP_MD_CTX_new(),
								  .of_profile = EVP_MD_CTX_new() };

	/* fetch the implementation once, because later initializations reuse it */
	return fingerprint->of_item != NULL && fingerprint->of_profile != NULL &&
		   EVP_DigestInit_ex(fingerprint->of_item, EVP_sha256(), NULL) == 1 &&
		   EVP_DigestInit_ex(fingerprint->of_profile, EVP_sha256(), NULL) == 1;
}

void
fingerprint_fini(Fingerprint *fingerprint)
{
	ItemDigests *const kinds[] = { &fingerprint->functions, &fingerprint->mappings,
								   &fingerprint->locations, &fingerprint->stacks,
								   &fingerprint->series };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
	{
		/* grow_array_within() charged the whole capacity of each array */
		budget_release(fingerprint->budget, kinds[i]->capacity * sizeof(ItemDigest));
		free(kinds[i]->items);
	}
	budget_release(fingerprint->budget, fingerprint->profile_capacity * sizeof(ProfileDigest));
	free(fingerprint->profiles);
	EVP_MD_CTX_free(fingerprint->of_item);
	EVP_MD_CTX_free(fingerprint->of_profile);
	memset(fingerprint, 0, sizeof(*fingerprint));
}

/* --- digests of items --- */

static void
add_bytes(Fingerprint *fingerprint, EVP_MD_CTX *to, const void *bytes, size_t length)
{
	fingerprint->has_failed |= EVP_DigestUpdate(to, bytes, length) != 1;
}

static void
add_number(Fingerprint *fingerprint, EVP_MD_CTX *to, uint64_t number)
{
	add_bytes(fingerprint, to, &number, sizeof(number));
}

/* Digests a text with its zero byte, so that "ab", "c" and "a", "bc" differ. */
static size_t
fingerprint_add_text(Fingerprint *fingerprint, EVP_MD_CTX *to, const char *text)
{
	const size_t length = strlen(text) + 1;

	add_bytes(fingerprint, to, text, length);
	return length;
}

static void
restart(Fingerprint *fingerprint, EVP_MD_CTX *context)
{
	fingerprint->has_failed |= EVP_DigestInit_ex(context, NULL, NULL) != 1;
}

/*
 * Ends the digest of the current item, which becomes the next item of its kind. bytes is the work
 * to charge.
 */
static OtlpFault
append_item(Fingerprint *fingerprint, ItemDigests *kind, size_t bytes)
{
	uint8_t digest[EVP_MAX_MD_SIZE];
	OtlpFault fault = dictionary_work(fingerprint->dictionary, 16 + bytes / BYTES_PER_STEP);

	fingerprint->has_failed |= EVP_DigestFinal_ex(fingerprint->of_item, digest, NULL) != 1;
	if (fault != FAULT_NONE)
		return fault;
	/* A failure of OpenSSL counts as lack of room, which the client may try again later. */
	if (fingerprint->has_failed ||
		grow_array_within(fingerprint->budget, &kind->items, &kind->capacity, kind->count,
						  sizeof(ItemDigest)) != 0)
		return FAULT_ROOM;
	memcpy(kind->items[kind->count++].bytes, digest, ITEM_DIGEST_BYTES);
	return FAULT_NONE;
}

static void
fingerprint_add_item(Fingerprint *fingerprint, const ItemDigests *kind, uint32_t index)
{
	add_bytes(fingerprint, fingerprint->of_item, kind->items[index].bytes, ITEM_DIGEST_BYTES);
}

/* Digests the functions that were added to the batch since the last call. */
static OtlpFault
digest_functions(Fingerprint *fingerprint)
{
	ItemDigests *kind = &fingerprint->functions;
	const BatchFunction *functions;
	const size_t count = batch_functions(fingerprint->dictionary->batch, &functions);
	OtlpFault fault = FAULT_NONE;

	while (fault == FAULT_NONE && kind->count < count)
	{
		const BatchFunction *function = &functions[kind->count];
		size_t bytes = sizeof(uint64_t);

		restart(fingerprint, fingerprint->of_item);
		bytes += fingerprint_add_text(fingerprint, fingerprint->of_item, function->name);
		bytes += fingerprint_add_text(fingerprint, fingerprint->of_item, function->system_name);
		bytes += fingerprint_add_text(fingerprint, fingerprint->of_item, function->filename);
		add_number(fingerprint, fingerprint->of_item, (uint64_t) function->start_line);
		fault = append_item(fingerprint, kind, bytes);
	}
	return fault;
}

/* Digests the mappings that were added to the batch since the last call. */
static OtlpFault
digest_mappings(Fingerprint *fingerprint)
{
	ItemDigests *kind = &fingerprint->mappings;
	const BatchMapping *mappings;
	const size_t count = batch_mappings(fingerprint->dictionary->batch, &mappings);
	OtlpFault fault = FAULT_NONE;

	while (fault == FAULT_NONE && kind->count < count)
	{
		const BatchMapping *mapping = &mappings[kind->count];
		size_t bytes;

		restart(fingerprint, fingerprint->of_item);
		bytes = fingerprint_add_text(fingerprint, fingerprint->of_item, mapping->build_id);
		bytes += fingerprint_add_text(fingerprint, fingerprint->of_item, mapping->file);
		fault = append_item(fingerprint, kind, bytes);
	}
	return fault;
}

static OtlpFault
digest_location(Fingerprint *fingerprint, const BatchLocation *location)
{
	restart(fingerprint, fingerprint->of_item);
	if (location->mapping != BATCH_NO_MAPPING)
		fingerprint_add_item(fingerprint, &fingerprint->mappings, location->mapping);
	add_number(fingerprint, fingerprint->of_item, location->address);
	for (uint32_t i = 0; i < location->line_count; i++)
	{
		fingerprint_add_item(fingerprint, &fingerprint->functions, location->lines[i].function);
		add_number(fingerprint, fingerprint->of_item, (uint64_t) location->lines[i].line);
	}

	/* this is unambiguous, because the length modulo 24 shows whether a mapping comes first */
	return append_item(fingerprint, &fingerprint->locations,
					   location->line_count * (ITEM_DIGEST_BYTES + sizeof(uint64_t)));
}

static OtlpFault
digest_locations(Fingerprint *fingerprint)
{
	const BatchLocation *locations;
	const size_t count = batch_locations(fingerprint->dictionary->batch, &locations);
	/*
	 * A location's digest contains those of its mapping and its functions, which therefore come
	 * first.
	 */
	OtlpFault fault = digest_mappings(fingerprint);

	if (fault == FAULT_NONE)
		fault = digest_functions(fingerprint);
	while (fault == FAULT_NONE && fingerprint->locations.count < count)
		fault = digest_location(fingerprint, &locations[fingerprint->locations.count]);
	return fault;
}

/* Digests the stacks that were added to the batch since the last call, with what they refer to. */
static OtlpFault
digest_stacks(Fingerprint *fingerprint)
{
	ItemDigests *kind = &fingerprint->stacks;
	const BatchStack *stacks;
	const size_t count = batch_stacks(fingerprint->dictionary->batch, &stacks);
	OtlpFault fault = FAULT_NONE;

	/* without a new stack no sample can refer to a new location */
	if (kind->count < count)
		fault = digest_locations(fingerprint);
	while (fault == FAULT_NONE && kind->count < count)
	{
		const BatchStack *stack = &stacks[kind->count];

		/*
		 * The partition is left out, because the resource's labels and the mappings determine it.
		 */
		restart(fingerprint, fingerprint->of_item);
		for (uint32_t i = 0; i < stack->depth; i++)
			fingerprint_add_item(fingerprint, &fingerprint->locations, stack->locations[i]);
		fault = append_item(fingerprint, kind, (size_t) stack->depth * ITEM_DIGEST_BYTES);
	}
	return fault;
}

/* Digests the labels of new series; type and period are part of the profile's digest. */
static OtlpFault
digest_series(Fingerprint *fingerprint)
{
	ItemDigests *kind = &fingerprint->series;
	const BatchSeries *series;
	const size_t count = batch_series(fingerprint->dictionary->batch, &series);
	OtlpFault fault = FAULT_NONE;

	while (fault == FAULT_NONE && kind->count < count)
	{
		const BatchSeries *item = &series[kind->count];
		size_t bytes = 0;

		restart(fingerprint, fingerprint->of_item);
		for (uint32_t i = 0; i < item->label_count; i++)
		{
			bytes += fingerprint_add_text(fingerprint, fingerprint->of_item, item->labels[i].name);
			bytes += fingerprint_add_text(fingerprint, fingerprint->of_item, item->labels[i].value);
		}
		fault = append_item(fingerprint, kind, bytes);
	}
	return fault;
}

/* --- profiles --- */

static size_t
add_note(Fingerprint *fingerprint, EVP_MD_CTX *to, const BatchNote *note)
{
	const char *const texts[] = { note->default_type, note->doc_url, note->drop_frames,
								  note->keep_frames };
	size_t bytes = 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		bytes += fingerprint_add_text(fingerprint, to, texts[i] != NULL ? texts[i] : "");
	add_number(fingerprint, to, note->comment_count);
	for (uint32_t i = 0; i < note->comment_count; i++)
		bytes += fingerprint_add_text(fingerprint, to, note->comments[i]);
	return bytes;
}

OtlpFault
fingerprint_begin(Fingerprint *fingerprint, const FingerprintProfile *profile)
{
	EVP_MD_CTX *to = fingerprint->of_profile;

	restart(fingerprint, to);
	/* The length first, so that id and type cannot be shifted against each other. */
	add_number(fingerprint, to, profile->id.length);
	add_bytes(fingerprint, to, profile->id.bytes, profile->id.length);
	fingerprint_add_text(fingerprint, to, profile->type);
	add_number(fingerprint, to, (uint64_t) profile->time_us);
	add_number(fingerprint, to, (uint64_t) profile->period);
	return dictionary_work(fingerprint->dictionary,
						   add_note(fingerprint, to, profile->note) / BYTES_PER_STEP);
}

void
fingerprint_times(Fingerprint *fingerprint, const void *times, size_t bytes)
{
	add_bytes(fingerprint, fingerprint->of_profile, times, bytes);
}

OtlpFault
fingerprint_sample(Fingerprint *fingerprint, const FingerprintSample *sample)
{
	EVP_MD_CTX *to = fingerprint->of_profile;
	/* The sample's series and stack may be new in the batch, and are digested first. */
	OtlpFault fault = digest_series(fingerprint);

	if (fault == FAULT_NONE)
		fault = digest_stacks(fingerprint);
	if (fault != FAULT_NONE)
		return fault;

	/*
	 * This is unambiguous, because the record has a fixed length and ends with the number of times
	 * before it.
	 */
	add_bytes(fingerprint, to, fingerprint->series.items[sample->series].bytes, ITEM_DIGEST_BYTES);
	add_bytes(fingerprint, to, fingerprint->stacks.items[sample->stack].bytes, ITEM_DIGEST_BYTES);
	add_bytes(fingerprint, to, sample->ids->trace, sizeof(sample->ids->trace));
	add_bytes(fingerprint, to, sample->ids->span, sizeof(sample->ids->span));
	add_number(fingerprint, to, sample->value_count);
	add_number(fingerprint, to, sample->sum);
	add_number(fingerprint, to, sample->time_count);
	return fingerprint->has_failed ? FAULT_ROOM : FAULT_NONE;
}

OtlpFault
fingerprint_end(Fingerprint *fingerprint)
{
	ProfileDigest *profile;

	if (grow_array_within(fingerprint->budget, &fingerprint->profiles,
						  &fingerprint->profile_capacity, fingerprint->profile_count,
						  sizeof(ProfileDigest)) != 0)
		return FAULT_ROOM;
	profile = &fingerprint->profiles[fingerprint->profile_count++];
	fingerprint->has_failed |=
		EVP_DigestFinal_ex(fingerprint->of_profile, profile->bytes, NULL) != 1;
	return fingerprint->has_failed ? FAULT_ROOM : FAULT_NONE;
}

static int
compare_profiles(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(ProfileDigest));
}

bool
fingerprint_of_request(Fingerprint *fingerprint, uint8_t result[FINGERPRINT_BYTES])
{
	/*
	 * A client that repeats a request may send its profiles in another order. qsort() must not get
	 * NULL.
	 */
	if (fingerprint->profile_count > 0)
		qsort(fingerprint->profiles, fingerprint->profile_count, sizeof(ProfileDigest),
			  compare_profiles);
	/* of_item is free, because all items of the request have been digested */
	restart(fingerprint, fingerprint->of_item);
	add_bytes(fingerprint, fingerprint->of_item, fingerprint->profiles,
			  fingerprint->profile_count * sizeof(ProfileDigest));
	fingerprint->has_failed |= EVP_DigestFinal_ex(fingerprint->of_item, result, NULL) != 1;
	return !fingerprint->has_failed;
}
