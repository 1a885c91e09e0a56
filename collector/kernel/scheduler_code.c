/*
 * scheduler_code.c
 *		Finds the section of functions that only wait, by the two symbols at its ends, and the
 *		function schedule_tail.
 */
#include "kernel/scheduler_code.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/*
 * The innermost frames are those of our programs, their trampoline and the tracepoint: at most this
 * many.
 */
#define INNERMOST_LOOKED_AT 24

int
scheduler_code_read(const char *path, SchedulerCode *code)
{
	FILE *file = fopen(path, "re");
	char line[512];

	*code = (SchedulerCode){ 0 };
	if (file == NULL)
		return -errno;
	while (code->end == 0 && fgets(line, sizeof(line), file) != NULL)
	{
		uint64_t address;
		char name[128];

		if (sscanf(line, "%" SCNx64 " %*c %127s", &address, name) != 2)
			continue;
		/*
		 * Symbols of the kernel's image are sorted by address, so the next address ends
		 * schedule_tail.
		 */
		if (code->tail_start != 0 && code->tail_end == 0 && address > code->tail_start)
			code->tail_end = address;
		if (strcmp(name, "schedule_tail") == 0)
			code->tail_start = address;
		else if (strcmp(name, "__sched_text_start") == 0)
			code->start = address;
		else if (strcmp(name, "__sched_text_end") == 0)
			code->end = address;
	}
	fclose(file);
	return code->end > code->start ? 0 : -ENOENT;
}

static bool
is_in(const SchedulerCode *code, uint64_t address)
{
	return (address >= code->start && address < code->end) ||
		   (address >= code->tail_start && address < code->tail_end);
}

size_t
scheduler_code_depth(const SchedulerCode *code, const uint64_t *frames, size_t count)
{
	size_t depth = 0;

	while (depth < count && depth < INNERMOST_LOOKED_AT && !is_in(code, frames[depth]))
		depth++;
	if (depth == count || depth == INNERMOST_LOOKED_AT)
		return 0;
	/* Keep at least the outermost frame: a stack must not be empty. */
	while (depth + 1 < count && is_in(code, frames[depth]))
		depth++;
	return depth;
}
