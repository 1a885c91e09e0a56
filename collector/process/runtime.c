/*
 * runtime.c
 *		Names of interpreters and of libraries that contain a virtual machine.
 */
#include "process/runtime.h"

#include <string.h>

/* Prefixes of file names and their runtimes; a version may follow the prefix. */
static const char *const runtimes[][2] = {
	{ "libjvm", "java" },	   { "libj9vm", "java" },	{ "libcoreclr", "dotnet" },
	{ "libmonosgen", "mono" }, { "mono-sgen", "mono" }, { "mono", "mono" },
	{ "libnode", "nodejs" },   { "nodejs", "nodejs" },	{ "node", "nodejs" },
	{ "libpython", "python" }, { "python", "python" },	{ "libruby", "ruby" },
	{ "ruby", "ruby" },		   { "libphp", "php" },		{ "php-fpm", "php" },
	{ "php", "php" },		   { "libperl", "perl" },	{ "perl", "perl" },
	{ "beam.smp", "erlang" },  { "libjulia", "julia" }, { "julia", "julia" },
	{ "libluajit", "luajit" }, { "luajit", "luajit" },
};

/* Returns the runtime to which a file belongs, by the file's name; "" if none. */
static const char *
runtime_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
	{
		size_t length = strlen(runtimes[i][0]);
		char next;

		if (strncmp(name, runtimes[i][0], length) != 0)
			continue;
		/*
		 * The name ends here or goes on with a version: python3.11, ruby-3.2 or libjvm.so, but not
		 * pythonista.
		 */
		next = name[length];
		if (next == '\0' || next == '.' ||
			(next == '-' && name[length + 1] >= '0' && name[length + 1] <= '9') ||
			(next >= '0' && next <= '9'))
			return runtimes[i][1];
	}
	return "";
}

const char *
runtime_find(const char *exe, const MappingList *mappings)
{
	const char *found = runtime_of(exe);

	for (size_t i = 0; found[0] == '\0' && i < mappings->count; i++)
		if (mappings->mappings[i].kind == MAPPING_FILE)
			found = runtime_of(mappings->mappings[i].map.name);
	return found;
}
