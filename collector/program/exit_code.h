/*
 * exit_code.h
 *		Exit codes of profstore-collector. They are part of its interface: collector/README.md
 *		documents them and test/e2e/exit_codes.sh tests them.
 */
#ifndef COLLECTOR_EXIT_CODE_H
#define COLLECTOR_EXIT_CODE_H

typedef enum ExitCode
{
	EXIT_OK = 0,
	EXIT_USAGE = 2,		/* unrecognized flag or sub-command, missing argument */
	EXIT_CONFIG = 3,	/* a value that cannot be used */
	EXIT_PRIVILEGE = 4, /* a value that is not accepted */
	EXIT_BPF = 5,		/* a BPF program could not be loaded or attached */
	EXIT_DATABASE = 6,	/* the kernel refused a BPF program, or no CPU can be sampled */
	/* permanent errors: no such database, wrong password, extension missing or unfit */
	EXIT_IO = 7,
	EXIT_INTERNAL = 8 /* file errors; samples not stored at the end */
} ExitCode;

#endif
