/*
 * mapping_list.c
 *		Mappings of one moment.
 */
#include "agent/mapping_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

MappingKind
mapping_kind(const ProcMapping *map)
{
	if (strcmp(map->name, "[vdso]") == 0)
		return MAPPING_VDSO;
	if (map->inode != 0)
		return MAPPING_FILE;
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
mapping_list_inherit(ImageTable *images, const MappingList *older, MappingList *list)
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
		if (to->image == NULL && from->image_tried)
		{
			to->image_tried = true;
			to->image = from->image;
			if (to->image != NULL)
				image_retain(images, to->image);
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
mapping_list_copy(ImageTable *images, const MappingList *from, MappingList *list)
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
		if (list->mappings[i].image != NULL)
			image_retain(images, list->mappings[i].image);
	}
	return keep_names(list);
}

void
mapping_list_release(ImageTable *images, MappingList *list)
{
	for (size_t i = 0; i < list->count; i++)
		image_release(images, list->mappings[i].image);
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

Image *
mapping_open(ImageTable *images, uint32_t pid, Mapping *mapping)
{
	if (!mapping->image_tried)
	{
		mapping->image_tried = true;
		if (mapping->kind == MAPPING_VDSO)
			mapping->image = image_acquire_vdso(images);
		else if (mapping->kind == MAPPING_FILE &&
				 image_acquire_mapping(images, pid, &mapping->map, &mapping->image) != 0)
			mapping->image = NULL;
	}
	return mapping->image;
}
