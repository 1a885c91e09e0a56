/*
 * flags_file.h
 *		Flags in a file: a line each, "name=value" or the name of a switch, without the dashes.
 *
 *		# what a line begins with that is none
 *		db = host=db.example dbname=profiles
 *		interval = 30s
 *		exclude-self
 */
#ifndef COLLECTOR_FLAGS_FILE_H
#define COLLECTOR_FLAGS_FILE_H

#include "base/flags.h"

#define FLAGS_FILE_BYTES_MAX 65536

typedef struct FlagsFile
{
	char *text; /* what flags of kind text point into */
} FlagsFile;

/*
 * Reads the file into the flags' values. EXIT_IO where it cannot be read, EXIT_USAGE or EXIT_CONFIG
 * as flags_parse where a line is wrong; the detail says which. The values hold until
 * flags_file_fini, which is due in either case.
 */
ExitCode flags_file_read(FlagsFile *file, const char *path, const Flag *flags, size_t flag_count,
						 Failure *failure);
void flags_file_fini(FlagsFile *file);

#endif
