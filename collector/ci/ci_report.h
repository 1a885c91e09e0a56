/*
 * ci_report.h
 *		The verdict as text for people: a summary in Markdown, a page in HTML.
 */
#ifndef COLLECTOR_CI_REPORT_H
#define COLLECTOR_CI_REPORT_H

#include "ci/verdict.h"
#include "database/wire.h"

typedef struct ReportFacts
{
	const char *benchmark;
	const char *baseline; /* NULL: nothing was compared */
	const char *ref;
	const char *version; /* "" if not known */
	const char *machine;
	const char *job;
	double increase; /* bound, as a part */
	uint64_t lost;	 /* records of samples */
	bool has_kernel; /* kernel code was sampled */
	bool is_sampled;
	bool is_accepted;		/* these runs begin a new baseline */
	size_t runs;			/* number of runs of this job's head */
	double cpu_ns;			/* mean of these */
	const char *flame_page; /* page of the flame graph of both sides; NULL: none */
} ReportFacts;

/* Append to the buffer, whose "failed" is set on out of memory. */
void report_markdown(Buffer *buffer, const ReportFacts *facts, const Verdict *verdict);

/* The page refers to no other file or host. */
void report_html(Buffer *buffer, const ReportFacts *facts, const Verdict *verdict);

#endif
