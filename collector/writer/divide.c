/*
 * divide.c
 *		Divides the series of a batch into two pieces.
 *
 * Series are in the order in which they were added, so the series of one sender are adjacent.
 */
#include "writer/divide.h"

#include <errno.h>
#include <stdlib.h>

/*
 * Addition to the budget of a piece. A piece holds less than its batch, but its tables may grow to
 * other sizes.
 */
#define PIECE_BYTES_MORE ((size_t) 1024 * 1024)

static bool
has_counts(const Batch *batch)
{
	const BatchLoss *losses;
	const BatchUnwound *unwound;

	return batch_losses(batch, &losses) > 0 || batch_unwound(batch, &unwound) > 0;
}

/* Marks the series that have samples and returns their number. */
static uint32_t
mark_series(const Batch *batch, bool *marks)
{
	const BatchSample *samples;
	size_t count = batch_samples(batch, &samples);
	uint32_t marked = 0;

	for (size_t i = 0; i < count; i++)
	{
		/* counts each series once, at its first sample */
		marked += !marks[samples[i].series];
		marks[samples[i].series] = true;
	}
	return marked;
}

/* Finds the index of the first series of the second half; 0 if only one series has samples. */
static int
find_middle(const Batch *batch, uint32_t *middle)
{
	const BatchSeries *series;
	size_t count = batch_series(batch, &series);
	bool *marks = calloc(count + 1, sizeof(bool));
	uint32_t half;

	*middle = 0;
	if (marks == NULL)
		return -ENOMEM;
	half = mark_series(batch, marks) / 2;
	/*
	 * Stops after the series with which half of the series that have samples are in the first
	 * piece. Series without samples in between go with them.
	 */
	for (uint32_t i = 0; half > 0; i++)
	{
		half -= marks[i];
		*middle = i + 1;
	}
	free(marks);
	return 0;
}

bool
batch_is_divisible(const Batch *batch)
{
	const BatchSample *samples;
	size_t count = batch_samples(batch, &samples);

	/* samples and counts can be stored apart, even if there is one series */
	if (count > 0 && has_counts(batch))
		return true;
	for (size_t i = 1; i < count; i++)
		if (samples[i].series != samples[0].series)
			return true;
	return false;
}

/* Divides counts from samples, if the batch has both, otherwise the series in halves. */
static int
fill_pieces(const Batch *batch, Batch *first, Batch *second)
{
	const BatchSeries *series;
	uint32_t count = (uint32_t) batch_series(batch, &series);
	uint32_t middle;
	int err;

	/*
	 * The counts are divided from the samples first: they are not the fault of a series, and must
	 * not be lost with one.
	 */
	if (has_counts(batch))
	{
		err = batch_add_counts_of(first, batch);
		return err == 0 ? batch_add_series_of(second, batch, 0, count) : err;
	}
	err = find_middle(batch, &middle);
	if (err == 0)
		err = batch_add_series_of(first, batch, 0, middle);
	return err == 0 ? batch_add_series_of(second, batch, middle, count) : err;
}

int
batch_divide(const Batch *batch, Batch **first, Batch **second)
{
	size_t bytes = batch_bytes(batch) + PIECE_BYTES_MORE;
	int err;

	*first = *second = NULL;
	err = batch_create(bytes, first);
	if (err == 0)
		err = batch_create(bytes, second);
	if (err == 0)
		err = fill_pieces(batch, *first, *second);
	if (err == 0)
		return 0;
	/* batch_free() accepts NULL */
	batch_free(*first);
	batch_free(*second);
	*first = *second = NULL;
	return err;
}
