/*
 * runtime_kind.c
 *		The list of the interpreters that are known.
 */
#include "runtimes/runtime_kind.h"

#include <stdlib.h>

static const RuntimeKind *const kinds[] = { &python_kind, &ruby_kind, &php_kind, &perl_kind,
											&hotspot_kind };

RuntimeFile *
runtime_file_read(const ElfSource *source, const char *name)
{
	RuntimeFile *file = calloc(1, sizeof(*file));

	for (size_t i = 0; file != NULL && i < sizeof(kinds) / sizeof(kinds[0]); i++)
	{
		if (kinds[i]->read_file(source, name, file))
		{
			file->kind = kinds[i];
			return file;
		}
	}
	free(file);
	return NULL;
}
