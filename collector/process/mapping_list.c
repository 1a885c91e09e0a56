/*
 * mapping_list.c
 *		Mappings of one moment.
 */
#include "process/mapping_list.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"

#define MAPS_LIMIT_BYTES (64 * 1024 * 1024)
#define QUERIES_LIMIT	 (256 * 1024)

/*
 * Memory that the kernel has a file for, and nobody else: what is shared with children (PHP's
 * compiler; System V's, Java's with -XX:+UseSHM), lies in huge pages (Java's with
 * -XX:+UseLargePages), or is mapped twice to be written at another address (.NET's, Julia's).
 * Other memfds may well hold a library or a program.
 */
static bool
is_shared_memory(const ProcMapping *map)
{
	static const char *const names[] = { "/dev/zero", "/anon_hugepage", "/memfd:doublemapper",
										 "/memfd:julia-codegen" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		if (strcmp(map->name, names[i]) == 0)
			return true;
	}
	/* its key follows */
	return map->deleted && strncmp(map->name, "/SYSV", 5) == 0;
}

MappingKind
mapping_kind(const ProcMapping *map)
{
	if (strcmp(map->name, "[vdso]") == 0)
		return MAPPING_VDSO;
	if (map->inode != 0)
		return is_shared_memory(map) ? MAPPING_ANONYMOUS : MAPPING_FILE;
	/*
	 * "[anon:…]" is memory that was named with prctl; "[heap]" and "[stack]" may be executable too
	 */
	if (map->name[0] == '\0' || strncmp(map->name, "[anon", 5) == 0 ||
		strcmp(map->name, "[heap]") == 0 || strncmp(map->name, "[stack", 6) == 0)
		return MAPPING_ANONYMOUS;
	return MAPPING_OTHER;
}

static bool
same_mapping(const ProcMapping *a, const ProcMapping *b)
{
	return a->start == b->start && a->end == b->end && a->file_offset == b->file_offset &&
		   a->device == b->device && a->inode == b->inode && strcmp(a->name, b->name) == 0;
}

bool
mapping_list_inherit(MappedFileTable *files, const MappingList *older, MappingList *list)
{
	size_t matched = 0;
	size_t at = 0;

	for (size_t i = 0; i < older->count; i++)
	{
		const Mapping *from = &older->mappings[i];
		Mapping *to;

		while (at < list->count && list->mappings[at].map.start < from->map.start)
			at++;
		if (at == list->count || !same_mapping(&from->map, &list->mappings[at].map))
			continue;
		to = &list->mappings[at];
		matched++;
		if (to->file == NULL && from->file_tried)
		{
			to->file_tried = true;
			to->file = from->file;
			if (to->file != NULL)
				mapped_file_retain(files, to->file);
		}
	}
	return matched == older->count;
}

/* Replaces the names, which point into foreign memory, by copies in one block. */
static int
keep_names(MappingList *list)
{
	size_t bytes = 1;
	char *next;

	for (size_t i = 0; i < list->count; i++)
		bytes += strlen(list->mappings[i].map.name) + 1;
	list->names = malloc(bytes);
	if (list->names == NULL)
		return -ENOMEM;
	next = list->names;
	for (size_t i = 0; i < list->count; i++)
	{
		size_t length = strlen(list->mappings[i].map.name) + 1;

		memcpy(next, list->mappings[i].map.name, length);
		list->mappings[i].map.name = next;
		next += length;
	}
	return 0;
}

int
mapping_list_parse(char *text, MappingList *list)
{
	size_t capacity = 0;
	char *line = text;

	memset(list, 0, sizeof(*list));
	while (*line != '\0')
	{
		char *newline = strchr(line, '\n');
		Mapping mapping = { 0 };
		bool executable;

		if (newline != NULL)
			*newline = '\0';
		if (proc_maps_parse_line(line, &mapping.map, &executable) == 0 && executable)
		{
			if (grow_array(&list->mappings, &capacity, list->count, sizeof(Mapping)) != 0)
				return -ENOMEM;
			mapping.kind = mapping_kind(&mapping.map);
			list->mappings[list->count++] = mapping;
		}
		line = newline != NULL ? newline + 1 : line + strlen(line);
	}
	return keep_names(list);
}

/* Names in one block, each with its end, in the order of the list. */
typedef struct Names
{
	char *bytes;
	size_t used;
	size_t capacity;
} Names;

static int
append_name(Names *names, const char *name)
{
	size_t length = strlen(name) + 1;

	if (names->capacity - names->used < length)
	{
		size_t wanted = 2 * names->capacity + length + 256;
		char *grown = realloc(names->bytes, wanted);

		if (grown == NULL)
			return -ENOMEM;
		names->bytes = grown;
		names->capacity = wanted;
	}
	memcpy(names->bytes + names->used, name, length);
	names->used += length;
	return 0;
}

/*
 * Mappings that grow together between two questions are told of twice: what lies before the address
 * is in the list.
 */
static void
cut_known(ProcMapping *map, uint64_t address)
{
	if (map->start >= address)
		return;
	if (map->inode != 0)
		map->file_offset += address - map->start;
	map->start = address;
}

/*
 * One question for each executable mapping: that costs a fraction of the text, which has all others
 * too and is written and parsed letter by letter. names outlives failure.
 */
static int
query_mappings(int fd, MappingList *list, Names *names)
{
	size_t capacity = 0;
	uint64_t address = 0;
	char name[PATH_MAX];
	int result = 0;

	while (result == 0)
	{
		Mapping mapping = { 0 };

		result = proc_maps_query(fd, address, name, sizeof(name), &mapping.map);
		if (result == 0 && list->count == QUERIES_LIMIT)
			result = -EFBIG;
		if (result == 0)
			result = grow_array(&list->mappings, &capacity, list->count, sizeof(Mapping));
		if (result == 0)
			result = append_name(names, name);
		if (result != 0)
			break;
		cut_known(&mapping.map, address);
		mapping.kind = mapping_kind(&mapping.map);
		list->mappings[list->count++] = mapping;
		address = mapping.map.end;
	}
	/* who has given up his memory has an empty list, as the text is then */
	return result == -ENOENT || (result == -ESRCH && list->count == 0) ? 0 : result;
}

static int
read_by_queries(int fd, MappingList *list)
{
	Names names = { 0 };
	const char *next;
	int result = query_mappings(fd, list, &names);

	list->names = names.bytes;
	next = names.bytes;
	for (size_t i = 0; i < list->count; i++)
	{
		list->mappings[i].map.name = next;
		next += strlen(next) + 1;
	}
	return result;
}

static int
read_text(int fd, MappingList *list)
{
	char *text;
	int result = proc_file_read_from(fd, MAPS_LIMIT_BYTES, &text, NULL);

	if (result != 0)
		return result;
	result = mapping_list_parse(text, list);
	free(text);
	return result;
}

int
mapping_list_read(uint32_t pid, MappingList *list)
{
	uint64_t begin_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	char path[64];
	int result;
	int fd;

	memset(list, 0, sizeof(*list));
	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	result = read_by_queries(fd, list);
	if (result == -ENOTTY || result == -ENAMETOOLONG)
	{
		mapping_list_release(NULL, list); /* no file is opened yet */
		result = read_text(fd, list);
	}
	close(fd);
	list->begin_ns = begin_ns;
	list->end_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	return result;
}

int
mapping_list_make(const ProcMapping *maps, size_t count, MappingList *list)
{
	memset(list, 0, sizeof(*list));
	list->mappings = calloc(count + 1, sizeof(Mapping));
	if (list->mappings == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		list->mappings[i] = (Mapping){ .map = maps[i], .kind = mapping_kind(&maps[i]) };
	list->count = count;
	return keep_names(list);
}

int
mapping_list_copy(MappedFileTable *files, const MappingList *from, MappingList *list)
{
	memset(list, 0, sizeof(*list));
	list->mappings = calloc(from->count + 1, sizeof(Mapping));
	if (list->mappings == NULL)
		return -ENOMEM;
	memcpy(list->mappings, from->mappings, from->count * sizeof(Mapping));
	list->count = from->count;
	list->begin_ns = from->begin_ns;
	list->end_ns = from->end_ns;
	for (size_t i = 0; i < list->count; i++)
	{
		if (list->mappings[i].file != NULL)
			mapped_file_retain(files, list->mappings[i].file);
	}
	return keep_names(list);
}

void
mapping_list_release(MappedFileTable *files, MappingList *list)
{
	for (size_t i = 0; i < list->count; i++)
		mapped_file_release(files, list->mappings[i].file);
	free(list->mappings);
	free(list->names);
	memset(list, 0, sizeof(*list));
}

Mapping *
mapping_list_find(const MappingList *list, uint64_t address)
{
	size_t low = 0;
	size_t high = list->count;

	while (low < high)
	{
		size_t middle = low + (high - low) / 2;

		if (list->mappings[middle].map.end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < list->count && list->mappings[low].map.start <= address)
		return &list->mappings[low];
	return NULL;
}

MappedFile *
mapping_file(MappedFileTable *files, Mapping *mapping)
{
	if (!mapping->file_tried && mapping->kind == MAPPING_VDSO)
	{
		mapping->file_tried = true;
		mapping->file = mapped_file_acquire_vdso(files);
	}
	return mapping->file;
}
