/*
 * reporter.h
 *		Reports of a program about itself, which its writer stores.
 */
#ifndef COLLECTOR_REPORTER_H
#define COLLECTOR_REPORTER_H

#include <stdbool.h>
#include <stdint.h>

#include "writer/report.h"
#include "writer/target.h"

/* Belongs to the writer's thread. */
typedef struct Reporter
{
	WriterReport report;
	int64_t started_us; /* microseconds since 1970 UTC */
	int64_t due_ns;		/* CLOCK_MONOTONIC; INT64_MAX: never */
} Reporter;

void reporter_init(Reporter *reporter, const WriterReport *report);

/*
 * Sends a report; connects if there is no connection. A failure has no other effect: the next
 * report follows later, and much later if the extension has no function for reports or refuses
 * them.
 */
void reporter_send(Reporter *reporter, Target *target, bool is_last);

#endif
