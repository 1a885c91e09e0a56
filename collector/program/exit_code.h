/*
 * exit_code.h
 *		Exit codes of profstore-collector. They are part of its interface: collector/README.md
 *		documents them; test/e2e/exit_codes.sh and test/ci/run test them.
 */
#ifndef COLLECTOR_EXIT_CODE_H
#define COLLECTOR_EXIT_CODE_H

typedef enum ExitCode
{
	EXIT_OK = 0,
	EXIT_USAGE = 2,		/* unrecognized flag or sub-command, missing argument */
	EXIT_CONFIG = 3,	/* a value that is not accepted */
	EXIT_PRIVILEGE = 4, /* the kernel lacks a feature, or the process a capability */
	EXIT_BPF = 5,		/* the kernel refused a BPF program, or no CPU can be sampled */
	/* permanent errors: no such database, wrong password, extension missing or unfit */
	EXIT_DATABASE = 6,
	/* File errors; samples that were not stored before the end. */
	EXIT_IO = 7,
	EXIT_INTERNAL = 8,	/* out of memory, no thread; "health": a thread is stuck */
	EXIT_GATE = 9,		/* "ci": the benchmark costs more than its baseline, beyond the bound */
	EXIT_BENCHMARK = 10 /* "ci": the benchmark itself failed */
} ExitCode;

#endif
