/*
 * spool_options.c
 *		The flags of a spool.
 */
#include "spool/spool_options.h"

#include <stdlib.h>
#include <string.h>

#define SIZE_BYTES_DEFAULT ((size_t) 1 << 30)
#define AGE_MS_DEFAULT	   (INT64_C(7) * 86400000)

size_t
spool_flags(SpoolOptions *options, Flag *flags)
{
	const Flag own[] = {
		{ "spool-directory", FLAG_TEXT, &options->directory, "DIR",
		  "directory for this process alone, in which samples wait for the database; "
		  "default $STATE_DIRECTORY, or none" },
		{ "spool-size", FLAG_SIZE, &options->size_bytes, "SIZE",
		  "limit of all files in the spool directory, above which the oldest are dropped; default 1GB",
		  1024 * 1024 },
		{ "spool-age", FLAG_DURATION, &options->age_ms, "TIME",
		  "age above which samples in the spool directory are dropped; default 7d", 1000,
		  31622400000 },
	};
	const char *state = getenv("STATE_DIRECTORY"); /* set by systemd */

	/* Several directories are separated by colons; it is not known which one is meant. */
	*options =
		(SpoolOptions){ .directory = state != NULL && strchr(state, ':') == NULL ? state : "",
						.size_bytes = SIZE_BYTES_DEFAULT,
						.age_ms = AGE_MS_DEFAULT };
	return flags_append(flags, 0, own, sizeof(own) / sizeof(own[0]));
}
