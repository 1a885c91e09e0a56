/*
 * record.c
 *		Splits a record of the ring buffer into its parts.
 */
#include "agent/reader/record.h"

/*
 * Finds the thread's labels at the beginning of bytes. Returns their length, or 0 if there are
 * none.
 */
static size_t
take_labels(const uint8_t *bytes, size_t length, const struct pfs_labels **labels)
{
	const struct pfs_labels *found = (const void *) bytes;
	const size_t head = offsetof(struct pfs_labels, labels);

	if (length < head || (found->count == 0 && found->missing == 0) ||
		found->count > PFS_MAX_LABELS || length - head < found->count * sizeof(struct pfs_label))
		return 0;
	for (uint32_t i = 0; i < found->count; i++)
	{
		if (found->labels[i].key_length > PFS_LABEL_KEY_BYTES ||
			found->labels[i].value_length > PFS_LABEL_VALUE_BYTES)
			return 0;
	}
	*labels = found;
	return head + found->count * sizeof(struct pfs_label);
}

/*
 * Finds the interpreter's chain at the beginning of bytes; user_count is the number of frames
 * before it. Returns the length of the chain; 0 if bytes begin with another section.
 */
static size_t
take_chain(const uint8_t *bytes, size_t length, uint32_t user_count, Record *record)
{
	const struct pfs_chain *chain = (const void *) bytes;
	size_t end_bytes;
	size_t chain_bytes;

	if (length < sizeof(*chain) || chain->found > PFS_CHAIN_MAX_WORDS ||
		(chain->end_count != 0 && chain->end_count != user_count))
		return 0;
	/* Ends have 32 bits: an odd number of them is padded, which keeps the words behind aligned. */
	end_bytes = (size_t) (chain->end_count + 1) / 2 * sizeof(uint64_t);
	chain_bytes = sizeof(*chain) + end_bytes + pfs_chain_kept(chain->found) * sizeof(uint64_t);
	if (length < chain_bytes)
		return 0;
	record->chain = chain;
	record->ends = (const uint32_t *) (const void *) (chain + 1);
	record->chain_words = (const uint64_t *) (const void *) (bytes + sizeof(*chain) + end_bytes);
	return chain_bytes;
}

static bool
is_record_kind(uint8_t kind)
{
	return kind < PFS_KIND_COUNT || kind == PFS_RECORD_GPU_KEPT || kind == PFS_RECORD_GPU_ROWS;
}

/* Finds the rows of a GPU library. Returns false if the record has another length. */
static bool
take_rows(const void *bytes, size_t length_bytes, Record *record)
{
	const struct pfs_sample *sample = bytes;

	if (sample->kernel_count != 0 || sample->user_count != 0 || sample->value == 0 ||
		sample->value > PFS_GPU_ROWS_MAX ||
		length_bytes != sizeof(*sample) + sample->value * sizeof(struct pfs_gpu_row))
		return false;
	record->rows = (const void *) (sample + 1);
	return true;
}

bool
record_parse(const void *bytes, size_t length_bytes, Record *record)
{
	const struct pfs_sample *sample = bytes;
	const uint8_t *behind;
	size_t left_bytes;
	size_t frame_bytes;
	uint32_t user_count;

	if (length_bytes < sizeof(*sample) || sample->kernel_count > PFS_MAX_FRAMES ||
		sample->user_count > PFS_MAX_WALK_WORDS || !is_record_kind(sample->kind))
		return false;
	record->rows = NULL;
	if (sample->kind == PFS_RECORD_GPU_ROWS && !take_rows(bytes, length_bytes, record))
		return false;
	/* The sample has the number of words that were found; a deep walk's record lacks its middle. */
	user_count = pfs_walk_kept(sample->user_count);
	frame_bytes = ((size_t) sample->kernel_count + user_count) * sizeof(uint64_t);
	if (length_bytes < sizeof(*sample) + frame_bytes)
		return false;
	record->sample = sample;
	record->kernel_frames = (const uint64_t *) (const void *) (sample + 1);
	record->user_frames = record->kernel_frames + sample->kernel_count;
	behind = (const uint8_t *) (record->user_frames + user_count);
	left_bytes = length_bytes - sizeof(*sample) - frame_bytes;
	record->labels = NULL;
	record->chain = NULL;
	record->late = NULL;
	/* take_rows() has checked that nothing follows the rows. */
	if (record->rows != NULL)
		return true;
	/* The sections have this order, and each begins at the end of the one before. */
	if (sample->flags & PFS_SAMPLE_LABELS)
	{
		size_t label_bytes = take_labels(behind, left_bytes, &record->labels);

		if (label_bytes == 0)
			return false;
		behind += label_bytes;
		left_bytes -= label_bytes;
	}
	if (sample->flags & PFS_SAMPLE_CHAIN)
	{
		size_t chain_bytes = take_chain(behind, left_bytes, user_count, record);

		if (chain_bytes == 0)
			return false;
		behind += chain_bytes;
		left_bytes -= chain_bytes;
	}
	if (sample->flags & PFS_SAMPLE_LATE)
	{
		/* Check the head before its length is read, and the length before the copy is used. */
		record->late = (const void *) behind;
		if (left_bytes < offsetof(struct pfs_late, bytes) ||
			record->late->length > left_bytes - offsetof(struct pfs_late, bytes))
			return false;
	}
	return true;
}

bool
record_has_user_side(const struct pfs_sample *sample)
{
	return (sample->flags & (PFS_SAMPLE_KERNEL_THREAD | PFS_SAMPLE_NO_IMAGE | PFS_SAMPLE_WORKER)) ==
		   0;
}
