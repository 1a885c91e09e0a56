/*
 * failure.h
 *		Why something that the user asked for cannot be done: exit code, message, detail, hint.
 *
 * Filled in where the reason is known, logged once by whoever decides to give up.
 */
#ifndef COLLECTOR_FAILURE_H
#define COLLECTOR_FAILURE_H

#include "base/exit_code.h"

typedef struct Failure
{
	ExitCode code;
	const char *message; /* a literal in PostgreSQL's message style: lower case, no full stop */
	char detail[512];	 /* full sentences, "" for none */
	char hint[512];
} Failure;

/* Sets code and message, clears detail and hint; returns code. */
ExitCode failure_set(Failure *failure, ExitCode code, const char *message);
void failure_detail(Failure *failure, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void failure_hint(Failure *failure, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Logs at level error; module is a literal. */
void failure_log(const Failure *failure, const char *module);

#endif
