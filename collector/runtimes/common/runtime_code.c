/*
 * runtime_code.c
 *		Memory of functions of interpreters.
 */
#include "runtimes/common/runtime_code.h"

#include <stdlib.h>
#include <string.h>

void
runtime_code_fini(RuntimeCode *code)
{
	RuntimeCode *caller = code->caller;

	free(code->name);
	free(code->file);
	free(code->lines);
	*code = (RuntimeCode){ 0 };
	while (caller != NULL)
	{
		RuntimeCode *next = caller->caller;

		free(caller->name);
		free(caller->file);
		free(caller->lines);
		free(caller);
		caller = next;
	}
}

size_t
runtime_code_bytes(const RuntimeCode *code)
{
	size_t bytes = 0;

	for (const RuntimeCode *each = code; each != NULL; each = each->caller)
	{
		bytes += each->lines_bytes + (each == code ? 0 : sizeof(*each));
		if (each->name != NULL)
			bytes += strlen(each->name) + strlen(each->file) + 2;
	}
	return bytes;
}
