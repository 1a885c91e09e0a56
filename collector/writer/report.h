/*
 * report.h
 *		Identifies the program about which a writer stores reports.
 */
#ifndef COLLECTOR_WRITER_REPORT_H
#define COLLECTOR_WRITER_REPORT_H

#include "base/clock.h"
#include "program/figures.h"

/* Time between two reports. */
#define WRITER_REPORT_NS (30 * NS_PER_S)

typedef struct WriterReport
{
	const char *name;	 /* name of the host, scraper or receiver; not owned; NULL: no reports */
	const char *program; /* "agent", "scrape" or "receive" */
	FiguresFill fill;	 /* called by the writer's thread */
	void *context;
} WriterReport;

#endif
