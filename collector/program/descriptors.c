/*
 * descriptors.c
 *		Raises RLIMIT_NOFILE to its hard limit.
 */
#include "program/descriptors.h"

#include <sys/resource.h>

int64_t
descriptors_raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return INT64_MAX;
	if (limit.rlim_cur < limit.rlim_max)
	{
		const struct rlimit raised = { limit.rlim_max, limit.rlim_max };

		if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
			limit = raised;
	}
	return limit.rlim_cur > INT64_MAX ? INT64_MAX : (int64_t) limit.rlim_cur;
}
