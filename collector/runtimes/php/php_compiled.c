/*
 * php_compiled.c
 *		Finds OPcache's memory among a process's mappings, and the compiler's part of it by the
 *		description at its start.
 */
#include "runtimes/php/php_compiled.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/mapping_list.h"

#define MAPS_BYTES ((size_t) 1024 * 1024)

#define DESCRIPTION_WORDS 32 /* number of words examined at the start of shared memory */
#define PAGE_BYTES		  4096

/* Returns whether OPcache's memory may have this name. */
static bool
is_shared_name(const char *name)
{
	static const char *const starts[] = { "/dev/zero", "/anon_hugepage", "/SYSV" };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
	{
		if (strncmp(name, starts[i], strlen(starts[i])) == 0)
			return true;
	}
	return mapping_is_opcache(name);
}

/* Adds a part of shared memory to the last one of a list, or as another one. */
static size_t
php_shared_add(PhpShared *shared, size_t count, const PhpShared *part)
{
	PhpShared *last = count > 0 ? &shared[count - 1] : NULL;

	if (last != NULL && last->inode == part->inode && last->end == part->start)
	{
		last->end = part->end;
		if (part->executable.end != 0)
			last->executable = part->executable;
		return count;
	}
	if (count < PHP_SHARED_MAX)
		shared[count++] = *part;
	return count;
}

size_t
php_shared_list(char *maps, PhpShared shared[PHP_SHARED_MAX])
{
	char *rest = NULL;
	size_t count = 0;

	for (char *line = strtok_r(maps, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
	{
		PhpShared part = { 0 };
		char access[5];
		int name_at = 0;

		/* private memory with such a name is PHP's own code (opcache.huge_code_pages) */
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %*s %" SCNu64 " %n", &part.start,
				   &part.end, access, &part.inode, &name_at) != 4 ||
			name_at == 0 || part.start >= part.end || access[3] != 's' ||
			!is_shared_name(line + name_at))
			continue;
		if (access[2] == 'x')
			part.executable = (LoopCode){ .start = part.start, .end = part.end };
		count = php_shared_add(shared, count, &part);
	}
	return count;
}

/*
 * Returns whether an address and a size in the description are those of the part that is reserved
 * for the compiler: the last part of that memory, or all of another one, as System V's is.
 */
static bool
is_reserved_part(const PhpShared *shared, bool is_described, uint64_t start, uint64_t bytes)
{
	return start >= shared->start + is_described && start < shared->end &&
		   start % PAGE_BYTES == 0 && bytes == shared->end - start;
}

/* Finds the reserved part by the description at the start of one piece of memory in the list. */
static bool
php_find_reserved(RemoteMemory *memory, const PhpShared *shared, size_t count, size_t described,
				  LoopCode *compiled)
{
	uint64_t words[DESCRIPTION_WORDS];
	const RemotePieces piece = { .address = shared[described].start,
								 .piece_bytes = sizeof(words),
								 .count = 1 };

	if (remote_memory_read(memory, &piece, words) != sizeof(words))
		return false;
	for (size_t i = 0; i + 1 < DESCRIPTION_WORDS; i++)
	{
		for (size_t j = 0; j < count; j++)
		{
			if (!is_reserved_part(&shared[j], j == described, words[i], words[i + 1]))
				continue;
			*compiled = (LoopCode){ .start = words[i], .end = shared[j].end };
			return true;
		}
	}
	return false;
}

LoopCode
php_compiled_find(RemoteMemory *memory)
{
	char *maps = remote_memory_maps(memory, MAPS_BYTES);
	PhpShared shared[PHP_SHARED_MAX];
	size_t count = maps != NULL ? php_shared_list(maps, shared) : 0;
	LoopCode compiled = { 0 };

	free(maps);
	for (size_t i = 0; i < count && compiled.end == 0; i++)
		compiled = shared[i].executable;
	for (size_t i = 0; i < count && compiled.end == 0; i++)
		(void) php_find_reserved(memory, shared, count, i, &compiled);
	return compiled;
}
