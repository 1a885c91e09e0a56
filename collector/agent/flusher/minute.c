/*
 * minute.c
 *		Logs the lines of minute.h.
 */
#include "agent/flusher/minute.h"

#include <string.h>

#include "base/log.h"

double
share_percent(uint64_t part, uint64_t whole)
{
	return whole == 0 ? 100 : (double) (part * 1000 / whole) / 10;
}

void
minute_log_flaws(Minute *minute, uint64_t samples)
{
	for (Loss loss = 0; loss < LOSS_COUNT; loss++)
	{
		uint64_t count = minute->losses[loss];

		if (count > 0)
			/* Below one percent of the samples a reason is of interest to developers only. */
			log_event(count * 100 >= samples ? LOG_INFO : LOG_DEBUG, "agent",
					  "profiles are incomplete", log_text("reason", loss_facts(loss)->reason),
					  log_number("count", (int64_t) count),
					  log_number("samples", (int64_t) samples),
					  log_text("meaning", loss_facts(loss)->meaning));
	}
	memset(minute->losses, 0, sizeof(minute->losses));
}

void
minute_report(Minute *minute, const MinuteTotals *totals)
{
	const MinuteTotals *before = &minute->reported;
	uint64_t samples = totals->samples - before->samples;

	log_event(LOG_INFO, "agent", "sampled", log_number("samples", (int64_t) samples),
			  log_number("rows_stored", (int64_t) (totals->rows - before->rows)),
			  log_real("whole_stacks_percent",
					   share_percent(totals->complete - before->complete,
									 totals->user_samples - before->user_samples)));
	minute_log_flaws(minute, samples);
	minute->reported = *totals;
}
