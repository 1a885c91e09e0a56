/*
 * reporter.c
 *		Stores reports of a program when they are due.
 */
#include "writer/reporter.h"

#include <string.h>

#include "base/log.h"
#include "program/version.h"

/* Pause after the extension has refused a report. */
#define REFUSED_NS (900 * NS_PER_S)

void
reporter_init(Reporter *reporter, const WriterReport *report)
{
	*reporter = (Reporter){ .report = *report,
							.started_us = clock_ns(CLOCK_REALTIME) / 1000,
							.due_ns = report->name != NULL ? 0 : INT64_MAX };
}

static void
report_put_text(Buffer *buffer, const char *text)
{
	buffer_put_bytes(buffer, text, strlen(text));
}

/* Encodes the figures that have no label. Figures with a reason are stored in profstore.losses. */
static void
put_figures(const Figures *figures, Buffer *names, Buffer *values)
{
	size_t count = 0;

	/* the number of elements precedes them in PostgreSQL's format */
	for (size_t i = 0; i < figures->count; i++)
		count += figures->items[i].reason == NULL;
	wire_array(names, WIRE_TEXT, count);
	wire_array(values, WIRE_INT8, count);
	for (size_t i = 0; i < figures->count; i++)
		if (figures->items[i].reason == NULL)
		{
			wire_text_element(names, figures->items[i].name);
			wire_int8_element(values, (int64_t) figures->items[i].value);
		}
}

/* Stores one report with the program's present figures. */
static DbOutcome
reporter_store(const Reporter *reporter, Target *target, bool is_last, DbError *error)
{
	Figures figures = { .count = 0 };
	Buffer buffers[8] = { { NULL } };
	const Statement statement = {
		.sql = "SELECT profstore.report_collector($1, $2, $3, $4, $5, $6::bool, $7, $8)",
		.failure = "could not report to the database",
		.param_count = 8,
		.params = { { WIRE_TEXT, &buffers[0] },
					{ WIRE_TEXT, &buffers[1] },
					{ WIRE_TEXT, &buffers[2] },
					{ WIRE_TIMESTAMPTZ, &buffers[3] },
					{ WIRE_TIMESTAMPTZ, &buffers[4] },
					{ WIRE_TEXT, &buffers[5] },
					{ WIRE_TEXT_ARRAY, &buffers[6] },
					{ WIRE_INT8_ARRAY, &buffers[7] } }
	};
	DbOutcome outcome;

	reporter->report.fill(reporter->report.context, &figures);
	report_put_text(&buffers[0], reporter->report.name);
	report_put_text(&buffers[1], reporter->report.program);
	report_put_text(&buffers[2], collector_version());
	wire_timestamp_param(&buffers[3], reporter->started_us);
	wire_timestamp_param(&buffers[4], clock_ns(CLOCK_REALTIME) / 1000);
	/* as text with a cast, because the wire module has no type bool */
	report_put_text(&buffers[5], is_last ? "true" : "false");
	put_figures(&figures, &buffers[6], &buffers[7]);
	outcome = connection_execute(&target->session.connection, &statement, error);
	for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++)
		buffer_fini(&buffers[i]);
	return outcome;
}

void
reporter_send(Reporter *reporter, Target *target, bool is_last)
{
	DbError error = { "" };
	DbOutcome outcome;

	if (reporter->due_ns == INT64_MAX)
		return;
	outcome = target_open(target, &error);
	if (outcome == DB_OK)
		outcome = reporter_store(reporter, target, is_last, &error);
	/* from the end of the attempt on, so that a slow database is not asked without a pause */
	reporter->due_ns = clock_ns(CLOCK_MONOTONIC) + WRITER_REPORT_NS;
	if (outcome == DB_OK || outcome == DB_AWAY || outcome == DB_STOPPED || outcome == DB_TIMEOUT)
		return;
	reporter->due_ns = clock_ns(CLOCK_MONOTONIC) + REFUSED_NS;
	log_event(LOG_INFO, "writer", "the database does not accept reports of this collector",
			  log_text("reason", error.failure.message), log_text("detail", error.failure.detail),
			  log_text("sqlstate", error.sqlstate));
}
