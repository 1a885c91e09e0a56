/*
 * store_line.c
 *		Splits calls into steps, which the writer's callback advances.
 */
#include "receive/store_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "http_server/clients.h"

#define STEP_BYTES ((size_t) 64 * 1024 * 1024)
#define ITEM_BYTES 4096 /* at least what the writer's queue adds to the memory of a batch */

/*
 * Estimated costs: a new series costs as much as FRAMES_OF_SERIES frames, a frame as much as
 * FRAME_SAMPLES samples.
 */
#define FRAMES_OF_SERIES 10
#define SAMPLES_OF_FRAME 4

void
store_line_init(StoreLine *line, Writer *writer, size_t limit_bytes, bool takes_spooled)
{
	*line =
		(StoreLine){ .writer = writer, .limit_bytes = limit_bytes, .takes_spooled = takes_spooled };
	pthread_mutex_init(&line->lock, NULL);
}

void
store_line_fini(StoreLine *line)
{
	pthread_mutex_destroy(&line->lock);
}

size_t
store_line_bytes(StoreLine *line)
{
	size_t bytes;

	pthread_mutex_lock(&line->lock);
	bytes = line->bytes;
	pthread_mutex_unlock(&line->lock);
	return bytes;
}

/* --- steps --- */

/* Returns the end of the step that begins with stack first, and the cost of the step. */
static uint32_t
step_end(const Batch *batch, uint32_t first, size_t *cost)
{
	const BatchStack *stacks;
	const size_t count = batch_stacks(batch, &stacks);
	uint32_t at = first;

	/* A stack that is deeper than STORE_STEP_COST is a step of its own. */
	for (*cost = 0; at < count && (at == first || *cost + stacks[at].depth <= STORE_STEP_COST);
		 at++)
		*cost += stacks[at].depth;
	return at;
}

/* Makes a batch of some stacks without samples; NULL if out of memory. */
static Batch *
make_step(const Batch *batch, uint32_t first, uint32_t end)
{
	Batch *step;

	if (batch_create(STEP_BYTES, &step) != 0)
		return NULL;
	if (batch_add_stacks_of(step, batch, first, end) == 0)
		return step;
	batch_free(step);
	return NULL;
}

/* Chooses the next step of a call: some of its stacks, or the whole batch. */
static void
plan_step(Call *call)
{
	const BatchStack *stacks;
	const BatchSeries *series;
	const BatchSample *samples;
	const size_t count = batch_stacks(call->batch, &stacks);

	call->step_end = step_end(call->batch, call->step_first, &call->step_cost);
	/*
	 * The whole batch follows after its last step; its transaction is short, because all its stacks
	 * are stored.
	 */
	call->is_step = call->step_end < count || (call->step_first > 0 && call->step_first < count);
	/* Series and samples are stored with the whole batch only. */
	if (!call->is_step)
		call->step_cost += FRAMES_OF_SERIES * batch_series(call->batch, &series) +
						   batch_samples(call->batch, &samples) / SAMPLES_OF_FRAME;
}

/* --- the way to the writer and back --- */

static void store_line_pump(StoreLine *line);

static void
store_line_finish(StoreLine *line, Call *call, size_t bytes)
{
	line->bytes -= bytes;
	call->storing->bytes -= bytes;
}

/* Called by the writer when a step, or the batch, has ended. */
static void
store_line_on_end(void *context, const BatchResult *result)
{
	Call *call = context;
	StoreLine *line = call->line;
	/* If the client has disconnected, the rest of the call is not stored. */
	const bool goes_on = call->is_step && batch_is_safe(result->end) &&
						 !atomic_load_explicit(&call->is_unwanted, memory_order_relaxed);
	const BatchResult unwanted = { .end = BATCH_LEFT };
	const bool was_step = call->is_step;

	pthread_mutex_lock(&line->lock);
	line->out_cost -= call->step_cost;
	if (goes_on)
	{
		call->step_first = call->step_end;
		plan_step(call);
		work_queue_put(&line->queue, call->storing, call);
	}
	else
		store_line_finish(line, call, call->batch_bytes);
	work_queue_done(call->storing, call->step_cost);
	pthread_mutex_unlock(&line->lock);
	if (!goes_on)
	{
		/* The writer frees the whole batch, but of a step only the copy. */
		if (was_step)
			batch_free(call->batch);
		/* If the last step was stored, none of the samples are, so the call was not stored. */
		call->stored(call, was_step && batch_is_safe(result->end) ? &unwanted : result);
	}
	store_line_pump(line);
}

/* Submits the next step to the writer. Returns the result of writer_submit(). */
static int
send_step(StoreLine *line, Call *call)
{
	const BatchCallback callback = { store_line_on_end, call, line->takes_spooled };
	Batch *batch =
		call->is_step ? make_step(call->batch, call->step_first, call->step_end) : call->batch;
	int err = batch != NULL ? writer_submit(line->writer, batch, &callback) : -ENOMEM;

	/* The writer owns a batch only if it accepted it. */
	if (err != 0 && call->is_step)
		batch_free(batch);
	return err;
}

/* Gives calls to the writer while it has less than STORE_LINE_COST; clients take turns. */
static void
store_line_pump(StoreLine *line)
{
	ClientWork *client;
	Call *call;

	for (;;)
	{
		BatchResult result = { .end = BATCH_LEFT };
		size_t cost;
		int err;

		pthread_mutex_lock(&line->lock);
		call = line->out_cost < STORE_LINE_COST ? work_queue_take(&line->queue, &client) : NULL;
		if (call != NULL)
			line->out_cost += call->step_cost;
		pthread_mutex_unlock(&line->lock);
		if (call == NULL)
			return;

		/* read it first, because the call may be freed once the writer has it */
		cost = call->step_cost;
		err = send_step(line, call);
		if (err == 0)
			continue;
		pthread_mutex_lock(&line->lock);
		line->out_cost -= cost;
		store_line_finish(line, call, call->batch_bytes);
		work_queue_done(client, cost);
		pthread_mutex_unlock(&line->lock);
		batch_free(call->batch);
		/* -EPIPE means that the writer stops, as BATCH_LEFT does. */
		if (err != -EPIPE)
			result.end = BATCH_PUSHED_OUT;
		call->stored(call, &result);
	}
}

int
store_line_put(StoreLine *line, Call *call, Batch *batch, CallStored stored)
{
	const size_t bytes = batch_bytes(batch);
	int err = 0;

	call->line = line;
	call->stored = stored;
	call->batch = batch;
	call->batch_bytes = bytes;
	call->storing = client_storing(call->client);
	call->step_first = 0;
	plan_step(call);
	/* One client gets at most half of the line, so that the others can store, too. */
	pthread_mutex_lock(&line->lock);
	if (bytes + ITEM_BYTES > line->limit_bytes)
		err = -EMSGSIZE;
	else if (line->bytes + bytes > line->limit_bytes ||
			 (call->storing->bytes > 0 && call->storing->bytes + bytes > line->limit_bytes / 2))
		err = -EAGAIN;
	else
	{
		line->bytes += bytes;
		call->storing->bytes += bytes;
		work_queue_put(&line->queue, call->storing, call);
	}
	pthread_mutex_unlock(&line->lock);
	if (err == 0)
		store_line_pump(line);
	return err;
}
