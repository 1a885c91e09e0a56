/*
 * heap_read.c
 *		Heaps as text: "heap profile: 3: 300 [9: 900] @ heapprofile".
 *
 * Rows are "objects: bytes [objects: bytes] @ 0x4005d0 ...": in use, then allocated since the
 * start; the latter exist if the totals have them. Sampled heaps (heap_v2, and Go's heap with half
 * of the given rate) are scaled up to the values before sampling.
 */
#include "formats/legacy/cursor.h"
#include "formats/legacy/legacy.h"
#include "formats/legacy/legacy_text.h"
#include "formats/legacy/memory_map.h"

typedef struct Numbers
{
	int64_t used_count;
	int64_t used_bytes;
	int64_t made_count;
	int64_t made_bytes;
} Numbers;

typedef struct Heap
{
	PfsLegacyText text;
	bool is_sampled;
	bool has_made;
} Heap;

/* Reads "3: 300 [9: 900] @". */
static PfsReadStatus
take_numbers(PfsCursor *cursor, Numbers *numbers)
{
	/* The delimiters after the four numbers; allocations since the start are in brackets. */
	static const char *const behind[] = { ":", "[", ":", "]" };
	int64_t *const fields[] = { &numbers->used_count, &numbers->used_bytes, &numbers->made_count,
								&numbers->made_bytes };

	for (int i = 0; i < 4; i++)
	{
		PfsReadStatus status = pfs_take_number(cursor, fields[i]);

		if (status != PFS_READ_OK)
			return status;
		if (!pfs_take_words(cursor, behind[i]))
			return PFS_READ_MALFORMED;
	}
	return pfs_take_words(cursor, "@") ? PFS_READ_OK : PFS_READ_MALFORMED;
}

/* Reads the kind after the totals, and the sampling rate in bytes. */
static PfsReadStatus
read_kind(Heap *heap, PfsCursor cursor)
{
	PfsText kind;
	int64_t rate = 0;
	uint32_t length = 0;

	pfs_skip_blanks(&cursor);
	while (length < cursor.length && cursor.data[length] != '/' &&
		   !pfs_is_blank(cursor.data[length]))
		length++;
	kind = pfs_part(cursor, 0, length);
	cursor = pfs_part(cursor, length, cursor.length);
	if (pfs_take_words(&cursor, "/") && pfs_take_number(&cursor, &rate) != PFS_READ_OK)
		return pfs_line_fail(&heap->text.lines, PFS_READ_MALFORMED, "invalid rate of sampling");
	heap->is_sampled = true;
	/* Files of this kind give twice the rate. */
	if (pfs_text_equals(kind, "heap"))
		rate /= 2;
	else if (!pfs_text_equals(kind, "heap_v2") && !pfs_text_equals(kind, "heapz_v2"))
	{
		/* The counts of other kinds are exact. */
		heap->is_sampled = false;
		rate = 1;
		if (pfs_text_equals(kind, "growth") || pfs_text_equals(kind, "growthz") ||
			pfs_text_equals(kind, "fragmentation") || pfs_text_equals(kind, "fragmentationz"))
			heap->has_made = false;
		else if (!pfs_text_equals(kind, "heapprofile"))
			return pfs_line_fail(&heap->text.lines, PFS_READ_MALFORMED, "unknown kind of heap");
	}
	pfs_legacy_set_period(heap->text.profile, "space", "bytes", rate);
	return PFS_READ_OK;
}

/*
 * Reads the totals, which show whether the profile contains allocations since the start, and adds
 * the sample types.
 */
static PfsReadStatus
heap_read_header(Heap *heap)
{
	PfsProfile *profile = heap->text.profile;
	Numbers totals;
	PfsReadStatus status;
	PfsText line;
	bool added;

	if (!pfs_next_line(&heap->text.lines, &line) || !pfs_take_words(&line, "heap profile:") ||
		take_numbers(&line, &totals) != PFS_READ_OK)
		return pfs_line_fail(&heap->text.lines, PFS_READ_MALFORMED, "invalid totals of heap");
	/*
	 * Programs that do not count allocations since the start write the totals of the present ones,
	 * or 0.
	 */
	heap->has_made = (totals.made_count != totals.used_count && totals.made_count != 0) ||
					 (totals.made_bytes != totals.used_bytes && totals.made_bytes != 0);
	status = read_kind(heap, line);
	if (status != PFS_READ_OK)
		return status;
	if (heap->has_made)
		added = pfs_legacy_add_type(profile, "alloc_objects", "count") &&
				pfs_legacy_add_type(profile, "alloc_space", "bytes") &&
				pfs_legacy_add_type(profile, "inuse_objects", "count") &&
				pfs_legacy_add_type(profile, "inuse_space", "bytes");
	else
		added = pfs_legacy_add_type(profile, "objects", "count") &&
				pfs_legacy_add_type(profile, "space", "bytes");
	return added ? PFS_READ_OK : pfs_line_refused(&heap->text.lines);
}

/*
 * Sets two values of the last sample. The size of the block follows from the last pair that has
 * objects.
 */
static PfsReadStatus
put_values(const Heap *heap, uint32_t first, int64_t count, int64_t bytes, int64_t *block)
{
	PfsProfile *profile = heap->text.profile;
	int64_t *values =
		&profile->values[(size_t) (profile->sample_count - 1) * profile->type_count + first];
	PfsReadStatus status = PFS_READ_OK;

	if (count == 0 && bytes != 0)
		return pfs_line_fail(&heap->text.lines, PFS_READ_MALFORMED, "row has bytes but no objects");
	/* Rows without objects keep the block's size of the other pair. */
	if (count != 0)
	{
		/* the quotient of these two numbers does not fit int64 */
		if (count == -1 && bytes == INT64_MIN)
			return pfs_line_fail(&heap->text.lines, PFS_READ_OUT_OF_RANGE, "value is out of range");
		*block = bytes / count;
		if (heap->is_sampled)
			status = pfs_legacy_unsample(&heap->text, profile->period, &count, &bytes);
	}
	values[0] = count;
	values[1] = bytes;
	return status;
}

/* Returns the prefix that is a list of addresses. */
static PfsText
address_list(PfsText text)
{
	uint32_t length = 0;

	while (length < text.length && (text.data[length] == ' ' || text.data[length] == 'x' ||
									pfs_is_digit(text.data[length]) ||
									(text.data[length] >= 'a' && text.data[length] <= 'f')))
		length++;
	return pfs_part(text, 0, length);
}

/* Reads a row with its values and addresses. */
static PfsReadStatus
heap_read_row(Heap *heap, PfsText line)
{
	Numbers row;
	PfsReadStatus status = take_numbers(&line, &row);
	int64_t block = 0;

	if (status != PFS_READ_OK)
		return pfs_legacy_no_row(&heap->text, status, "line is not a sample of a heap");
	if (pfs_add_sample(heap->text.profile) == NULL)
		return pfs_line_refused(&heap->text.lines);
	/* Columns of allocations since the start come first, see heap_read_header(). */
	if (heap->has_made)
		status = put_values(heap, 0, row.made_count, row.made_bytes, &block);
	if (status == PFS_READ_OK)
		status = put_values(heap, heap->has_made ? 2 : 0, row.used_count, row.used_bytes, &block);
	if (status == PFS_READ_OK && !pfs_legacy_add_block_size(heap->text.profile, block))
		status = pfs_line_refused(&heap->text.lines);
	return status == PFS_READ_OK
			   ? pfs_legacy_add_stack(&heap->text, address_list(line), PFS_RETURNS_ALL)
			   : status;
}

static PfsReadStatus
heap_read_all(Heap *heap)
{
	PfsReadStatus status = heap_read_header(heap);
	PfsText line;

	while (status == PFS_READ_OK && pfs_next_line(&heap->text.lines, &line))
	{
		if (pfs_is_memory_map(line))
			break;
		status = pfs_is_comment(line) ? pfs_legacy_read_name(&heap->text, line)
									  : heap_read_row(heap, line);
	}
	return status == PFS_READ_OK ? pfs_legacy_finish(&heap->text) : status;
}

PfsReadStatus
pfs_heap_read(const uint8_t *bytes, size_t length, PfsProfile *profile, PfsReadError *error)
{
	Heap heap;
	PfsReadStatus status;

	pfs_legacy_begin(&heap.text, bytes, length, profile, error);
	status = heap_read_all(&heap);
	pfs_legacy_end(&heap.text);
	return status;
}
