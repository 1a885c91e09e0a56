/*
 * exit_code.h
 *		Exit codes of profstore-collector: fixed, in the table of collector/README.md, and tested.
 */
#ifndef COLLECTOR_EXIT_CODE_H
#define COLLECTOR_EXIT_CODE_H

typedef enum ExitCode
{
	EXIT_OK = 0,
	EXIT_USAGE = 2,		/* unrecognized flag or sub-command, missing argument */
	EXIT_CONFIG = 3,	/* a value that cannot be used */
	EXIT_PRIVILEGE = 4, /* the kernel lacks a feature, or the process a capability */
	EXIT_BPF = 5,		/* a BPF program could not be loaded or attached */
	EXIT_DATABASE = 6,	/* permanent: no such one, wrong password, extension missing or unfit */
	EXIT_IO = 7,		/* files; samples not stored before the end */
	EXIT_INTERNAL = 8	/* out of memory, broken invariant */
} ExitCode;

#endif
