/*
 * reader_threads.c
 *		Starts and stops the reader's two threads.
 *
 * The ring thread (ring.c) empties the ring and looks up new processes; the walker thread
 * (walker.c) walks stacks and sums samples (sample_builder.c).
 */
#include <string.h>

#include "agent/reader/reader.h"
#include "agent/reader/ring.h"
#include "agent/reader/walker.h"
#include "base/log.h"

static void
tell_verdict(void *sampler, const ExecImage *image, uint32_t verdict)
{
	sampler_set_verdict(sampler, image, verdict);
}

int
reader_start(Reader *reader, Sampler *sampler)
{
	int result = reader_use_tables(reader, sampler_tables(sampler));

	if (result != 0)
		return result;
	reader->sampler = sampler;
	process_table_tell_verdicts(reader->processes, tell_verdict, sampler);
	/*
	 * Without these events the agent samples, too, but processes that end before they are read have
	 * no user stacks.
	 */
	result = past_images_listen(reader->past, reader->options.sideband_bytes);
	if (result != 0)
		log_event(LOG_WARNING, "reader", "could not listen to executions and mappings",
				  log_text("detail", strerror(-result)),
				  log_text("hint", "Stacks of processes that end within moments will be missing."));
	else
		process_table_remember(reader->processes, reader->past);
	result = pthread_create(&reader->ring_thread, NULL, reader_ring_run, reader);
	if (result != 0)
		return -result;
	result = pthread_create(&reader->walker_thread, NULL, reader_walker_run, reader);
	if (result != 0)
	{
		/* reader_stop() does nothing before started is set, so end the ring thread here. */
		atomic_store(&reader->stopping, true);
		pthread_join(reader->ring_thread, NULL);
		return -result;
	}
	reader->started = true;
	return 0;
}

void
reader_stop(Reader *reader)
{
	if (!reader->started)
		return;
	atomic_store(&reader->stopping, true);
	/* The walker thread ends once the ring thread has declared the queue complete. */
	pthread_join(reader->ring_thread, NULL);
	pthread_join(reader->walker_thread, NULL);
	reader->started = false;
}
