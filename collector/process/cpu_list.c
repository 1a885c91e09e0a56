/*
 * cpu_list.c
 *		Parser of the kernel's CPU lists.
 */
#include "process/cpu_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/proc_file.h"

static int
cpu_list_parse_cpu(const char **cursor, uint32_t *cpu)
{
	char *end;
	unsigned long number;

	if (**cursor < '0' || **cursor > '9')
		return -EINVAL;
	errno = 0;
	number = strtoul(*cursor, &end, 10);
	if (errno != 0 || number >= CPU_LIST_MAX)
		return -EINVAL;
	*cursor = end;
	*cpu = (uint32_t) number;
	return 0;
}

int
cpu_list_parse(const char *text, CpuList *list)
{
	/* "0-3,8" names CPUs 0 to 3 and 8; an empty list is valid */
	CpuList parsed = { 0 };
	const char *cursor = text;

	while (*cursor != '\0' && *cursor != '\n')
	{
		uint32_t first;
		uint32_t last;

		if (cpu_list_parse_cpu(&cursor, &first) != 0)
			return -EINVAL;
		last = first;
		if (*cursor == '-')
		{
			cursor++;
			if (cpu_list_parse_cpu(&cursor, &last) != 0 || last < first)
				return -EINVAL;
		}
		for (uint32_t cpu = first; cpu <= last; cpu++)
			parsed.bits[cpu / 64] |= UINT64_C(1) << (cpu % 64);
		/* a comma must be followed by another CPU */
		if (*cursor == ',')
		{
			cursor++;
			if (*cursor == '\0' || *cursor == '\n')
				return -EINVAL;
		}
		else if (*cursor != '\0' && *cursor != '\n')
			return -EINVAL;
	}
	if (*cursor == '\n' && cursor[1] != '\0')
		return -EINVAL;
	/* the caller's list stays as it was if the text is malformed */
	*list = parsed;
	return 0;
}

int
cpu_list_read(const char *path, CpuList *list)
{
	char *text;
	int result = proc_file_read(path, 64 * 1024, &text, NULL);

	if (result != 0)
		return result;
	result = cpu_list_parse(text, list);
	free(text);
	return result;
}

bool
cpu_list_has(const CpuList *list, uint32_t cpu)
{
	return cpu < CPU_LIST_MAX && (list->bits[cpu / 64] >> (cpu % 64) & 1) != 0;
}
