/*
 * record.c
 *		Takes a record of the ring buffer apart.
 */
#include "agent/record.h"

bool
record_parse(const void *bytes, size_t length_bytes, Record *record)
{
	const struct pfs_sample *sample = bytes;
	size_t frame_bytes;
	uint32_t user_count;

	if (length_bytes < sizeof(*sample) || sample->kernel_count > PFS_MAX_FRAMES ||
		sample->user_count > PFS_MAX_WALK_FRAMES || sample->kind >= PFS_KIND_COUNT)
		return false;
	user_count = pfs_walk_kept(sample->user_count);
	frame_bytes = ((size_t) sample->kernel_count + user_count) * sizeof(uint64_t);
	if (length_bytes < sizeof(*sample) + frame_bytes)
		return false;
	record->sample = sample;
	record->kernel_frames = (const uint64_t *) (const void *) (sample + 1);
	record->user_frames = record->kernel_frames + sample->kernel_count;
	record->late = NULL;
	if (sample->flags & PFS_SAMPLE_LATE)
	{
		size_t late_bytes = length_bytes - sizeof(*sample) - frame_bytes;

		record->late = (const void *) (record->user_frames + user_count);
		if (late_bytes < offsetof(struct pfs_late, bytes) ||
			record->late->length > late_bytes - offsetof(struct pfs_late, bytes))
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
