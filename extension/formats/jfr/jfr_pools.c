/*
 * jfr_pools.c
 *		Reads pools. They form a chain from the last to the first. Each position must be before the
 *		previous one, so the chain ends.
 */
#include "formats/jfr/jfr_pools.h"

#include <stdlib.h>

/* Lists the keys of a pool and the positions of their values, and skips the values. */
static PfsReadStatus
read_pool(PfsJfrBytes *in, const PfsJfrTypes *types, PfsJfrPools *pools)
{
	uint64_t class_id;
	uint64_t count;
	uint32_t class_index;
	PfsReadStatus status = pfs_jfr_number(in, &class_id);

	if (status == PFS_READ_OK)
		status = pfs_jfr_number(in, &count);
	if (status != PFS_READ_OK)
		return status;
	/* A class that the metadata lacks is PFS_NONE; skipping its first value fails. */
	class_index = pfs_id_find(&types->ids, class_id);
	for (uint64_t i = 0; status == PFS_READ_OK && i < count; i++)
	{
		PfsJfrConstant constant = { .class_index = class_index };

		status = pfs_jfr_number(in, &constant.key);
		if (status != PFS_READ_OK)
			return status;
		constant.offset = in->at;
		if (!PFS_GROW(in->profile->budget, pools->constants, pools->count))
			return pfs_jfr_refused(in);
		pools->constants[pools->count++] = constant;
		status = pfs_jfr_skip_value(in, types, class_index);
	}
	return status;
}

/* Reads one event of pools; *back is the distance to the previous one. */
static PfsReadStatus
pools_read_event(PfsJfrBytes *in, const PfsJfrTypes *types, PfsJfrPools *pools, uint64_t *back)
{
	uint64_t head[7]; /* size, type, start, duration, distance to the previous one, mask, count */
	PfsReadStatus status = PFS_READ_OK;

	for (int i = 0; status == PFS_READ_OK && i < 7; i++)
		status = pfs_jfr_number(in, &head[i]);
	if (status != PFS_READ_OK)
		return status;
	/* The distance is negative, stored as a number without sign. */
	*back = -head[4];
	for (uint64_t i = 0; status == PFS_READ_OK && i < head[6]; i++)
		status = read_pool(in, types, pools);
	return status;
}

static int
compare_constants(const void *a, const void *b)
{
	const PfsJfrConstant *left = a;
	const PfsJfrConstant *right = b;

	if (left->class_index != right->class_index)
		return left->class_index < right->class_index ? -1 : 1;
	return (left->key > right->key) - (left->key < right->key);
}

PfsReadStatus
pfs_jfr_pools_read(PfsJfrBytes *in, const PfsJfrTypes *types, PfsJfrPools *pools)
{
	size_t begin = in->at;
	uint64_t back = 0;
	PfsReadStatus status;

	do
	{
		begin -= (size_t) back;
		in->at = begin;
		status = pools_read_event(in, types, pools, &back);
		/* The distance to the previous pool must not lead before the chunk's begin. */
		if (status == PFS_READ_OK && back > begin)
			status = pfs_jfr_fail(in, "constant pools lie outside the chunk");
	} while (status == PFS_READ_OK && back != 0);
	if (status == PFS_READ_OK && pools->count > 0)
		/* Constants are found by class and key. If a key occurs twice, either may be found. */
		qsort(pools->constants, pools->count, sizeof(PfsJfrConstant), compare_constants);
	return status;
}

void
pfs_jfr_pools_free(PfsJfrPools *pools, PfsBudget *budget)
{
	if (pools->constants != NULL)
		budget->allocator.realloc(budget->allocator.context, pools->constants, 0);
	*pools = (PfsJfrPools){ .constants = NULL };
}

PfsJfrConstant *
pfs_jfr_constant(const PfsJfrPools *pools, uint32_t class_index, uint64_t key)
{
	PfsJfrConstant wanted = { .class_index = class_index, .key = key };

	if (pools->count == 0)
		return NULL;
	return bsearch(&wanted, pools->constants, pools->count, sizeof(PfsJfrConstant),
				   compare_constants);
}
