/*
 * fuzz_perf_map.c
 *		Any text as lines of a perf map, and as the names in them.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "jit/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	char *rest = text;
	char *line;

	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	while ((line = strsep(&rest, "\n")) != NULL)
	{
		PerfMapLine parsed;
		CodeName name;

		if (!perf_map_parse_line(line, &parsed))
			continue;
		name = perf_map_name(parsed.name);
		if (parsed.end <= parsed.start || name.name[0] == '\0' || name.start_line < 0 ||
			name.line < 0 || strlen(name.name) + strlen(name.file) > size + sizeof("(anonymous)"))
			abort();
	}
	free(text);
	return 0;
}
