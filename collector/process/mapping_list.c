/*
 * mapping_list.c
 *		Reads and builds lists of executable mappings.
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
#include "base/hash.h"

#define NAME_BYTES_A_MAPPING 64	 /* average bytes of names in a list; few names are longer */
#define RECENT_NAMES		 256 /* a power of two */

/*
 * Limits of reading one list, because the process determines how long the text is. Beyond them the
 * list is cut.
 */
#define TEXT_LIMIT_BYTES ((size_t) 32 * 1024 * 1024)
#define TEXT_STEP_BYTES	 ((size_t) 64 * 1024) /* longer than any line */
#define READ_LIMIT_NS	 INT64_C(100000000)	  /* CPU time */
/* number of mappings between two readings of the clock */
#define LOOKS_A_CLOCK	 64

bool
mapping_is_opcache(const char *name)
{
	static const char directory[] = "/dev/shm";
	static const char file[] = "/ZendAccelerator.";
	const char *last = strrchr(name, '/');
	size_t before = last != NULL ? (size_t) (last - name) : 0;

	return before >= sizeof(directory) - 1 &&
		   memcmp(last - (sizeof(directory) - 1), directory, sizeof(directory) - 1) == 0 &&
		   strncmp(last, file, sizeof(file) - 1) == 0;
}

/*
 * Returns true if the file is shared memory without a name of its own: memory shared with children
 * (PHP's compiler; Java with -XX:+UseSHM by System V), huge pages (Java with -XX:+UseLargePages),
 * or memory mapped twice, to be written at another address (.NET, Julia). Other memfds may contain
 * a library or a program.
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
	/* the segment's key follows "/SYSV" */
	return map->deleted && (strncmp(map->name, "/SYSV", 5) == 0 || mapping_is_opcache(map->name));
}

MappingKind
mapping_kind(const ProcMapping *map)
{
	if (strcmp(map->name, "[vdso]") == 0)
		return MAPPING_VDSO;
	/*
	 * test this before the inode: for System V the inode number is the segment's id, which may be 0
	 */
	if (is_shared_memory(map))
		return MAPPING_ANONYMOUS;
	if (map->inode != 0)
		return MAPPING_FILE;
	/* "[anon:…]" is memory named by prctl(); "[heap]" and "[stack]" may be executable, too */
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

		/* both lists are sorted by start, so one pass suffices */
		while (at < list->count && list->mappings[at].map.start < from->map.start)
			at++;
		if (at == list->count || !same_mapping(&from->map, &list->mappings[at].map))
			continue;
		to = &list->mappings[at];
		matched++;
		/* a file that did not answer is not inherited as missing: the new list tries it again */
		if (to->file == NULL && from->file_tried && !from->file_late)
		{
			to->file_tried = true;
			to->file = from->file;
			if (to->file != NULL)
				mapped_file_retain(files, to->file);
		}
	}
	return matched == older->count;
}

/* A growing list. Its names are in one block; a name that was used recently is stored once. */
typedef struct Builder
{
	MappingList *list;
	size_t capacity;
	size_t limit;
	size_t name_capacity;
	uint32_t recent[RECENT_NAMES]; /* hash table: index + 1 of a mapping with the name */
} Builder;

static Builder
builder_begin(MappingList *list, size_t limit)
{
	memset(list, 0, sizeof(*list));
	return (Builder){ .list = list, .limit = limit };
}

/* Makes room for a name and adjusts the pointers into the block, which may move. */
static int
reserve_name(Builder *builder, size_t bytes)
{
	MappingList *list = builder->list;
	size_t capacity = 2 * builder->name_capacity + bytes + 256;
	char *names;

	if (builder->name_capacity - list->name_bytes >= bytes)
		return 0;
	names = malloc(capacity);
	if (names == NULL)
		return -ENOMEM;
	if (list->name_bytes > 0)
		memcpy(names, list->names, list->name_bytes);
	/* names of mappings point into the block */
	for (size_t i = 0; i < list->count; i++)
		list->mappings[i].map.name = names + (list->mappings[i].map.name - list->names);
	free(list->names);
	list->names = names;
	builder->name_capacity = capacity;
	return 0;
}

/*
 * Stores a name in the list's block; *kept points to it. -ENOSPC if the names exceed their limit.
 */
static int
keep_name(Builder *builder, const char *name, const char **kept)
{
	MappingList *list = builder->list;
	size_t bytes = strlen(name) + 1;
	/* A collision only means that a name is stored again. */
	uint32_t *recent = &builder->recent[hash_bytes(0, name, bytes) & (RECENT_NAMES - 1)];

	if (*recent != 0 && strcmp(list->mappings[*recent - 1].map.name, name) == 0)
	{
		*kept = list->mappings[*recent - 1].map.name;
		return 0;
	}
	if (list->name_bytes + bytes > builder->limit * NAME_BYTES_A_MAPPING + PATH_MAX)
		return -ENOSPC;
	if (reserve_name(builder, bytes) != 0)
		return -ENOMEM;
	memcpy(list->names + list->name_bytes, name, bytes);
	*kept = list->names + list->name_bytes;
	list->name_bytes += bytes;
	/* builder_add() appends the mapping next, because this was its last step that can fail */
	*recent = (uint32_t) list->count + 1;
	return 0;
}

/*
 * Appends a copy of the mapping. Returns -ENOSPC, and marks the list as cut, if the list is full.
 */
static int
builder_add(Builder *builder, const ProcMapping *map)
{
	MappingList *list = builder->list;
	Mapping mapping = { .map = *map, .kind = mapping_kind(map) };
	int result = 0;

	if (list->count >= builder->limit)
		result = -ENOSPC;
	/* room first: a name must not be stored for a mapping that is not appended */
	if (result == 0)
		result = grow_array(&list->mappings, &builder->capacity, list->count, sizeof(Mapping));
	if (result == 0)
		result = keep_name(builder, map->name, &mapping.map.name);
	if (result == 0)
		list->mappings[list->count++] = mapping;
	list->is_cut |= result == -ENOSPC;
	return result;
}

/*
 * Returns true if the middle one of three mappings is memory without a file in place of the code
 * between two parts of a file. Programs copy their code to huge pages so (PHP's
 * opcache.huge_code_pages, Node's --use-largepages).
 */
static bool
is_moved_code(const Mapping *three)
{
	const ProcMapping *before = &three[0].map;
	const ProcMapping *memory = &three[1].map;
	const ProcMapping *after = &three[2].map;

	return three[0].kind == MAPPING_FILE && three[1].kind == MAPPING_ANONYMOUS &&
		   three[2].kind == MAPPING_FILE && before->end == memory->start &&
		   memory->end == after->start && before->device == after->device &&
		   before->inode == after->inode && strcmp(before->name, after->name) == 0 &&
		   after->file_offset - before->file_offset == after->start - before->start;
}

/* Replaces memory that contains the moved code of a file by a mapping of that file. */
static void
mapping_list_restore_files(MappingList *list)
{
	for (size_t i = 0; i + 2 < list->count; i++)
	{
		const ProcMapping *before = &list->mappings[i].map;
		Mapping *moved = &list->mappings[i + 1];

		if (!is_moved_code(&list->mappings[i]))
			continue;
		moved->kind = MAPPING_FILE;
		moved->map.file_offset = before->file_offset + (moved->map.start - before->start);
		moved->map.device = before->device;
		moved->map.inode = before->inode;
		moved->map.name = before->name;
		moved->map.deleted = before->deleted;
	}
}

/* Completes the list, and shrinks the array to its used size. */
static void
builder_end(Builder *builder)
{
	MappingList *list = builder->list;
	Mapping *shrunk = NULL;

	mapping_list_restore_files(list);
	if (list->count > 0)
		shrunk = realloc(list->mappings, list->count * sizeof(Mapping));
	if (shrunk != NULL)
		list->mappings = shrunk;
}

/* Returns -ENOSPC, and marks the list as cut, if reading takes too long. */
static int
builder_check_time(Builder *builder, int64_t until_ns)
{
	if (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)
		return 0;
	builder->list->is_cut = true;
	return -ENOSPC;
}

/* Parses a line without its newline and appends the mapping if it is executable. */
static int
builder_add_line(Builder *builder, char *line)
{
	ProcMapping map;
	bool executable;

	if (proc_maps_parse_line(line, &map, &executable) != 0 || !executable)
		return 0;
	return builder_add(builder, &map);
}

int
mapping_list_parse(char *text, MappingList *list)
{
	Builder builder = builder_begin(list, MAPPINGS_MAX);
	int result = 0;

	for (char *line = text; result == 0 && *line != '\0';)
	{
		char *newline = strchr(line, '\n');

		if (newline != NULL)
			*newline = '\0';
		result = builder_add_line(&builder, line);
		line = newline != NULL ? newline + 1 : line + strlen(line);
	}
	builder_end(&builder);
	/* a list that is cut is a success; is_cut is set */
	return result == -ENOSPC ? 0 : result;
}

/*
 * Cuts off the part of the mapping before the address, which the list already contains: two
 * mappings may have merged between two queries.
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
 * Reads the list with one query for each executable mapping. That costs a fraction of reading the
 * text, for which the kernel formats all other mappings, too.
 */
static int
read_by_queries(int fd, Builder *builder, int64_t until_ns)
{
	uint64_t address = 0;
	char name[PATH_MAX];
	int result = 0;

	while (result == 0)
	{
		ProcMapping map = { 0 };

		result = proc_maps_query(fd, address, name, sizeof(name), &map);
		if (result != 0)
			break;
		cut_known(&map, address);
		result = builder_add(builder, &map);
		/*
		 * The kernel returns the mapping that contains the address, or the next one. Each query
		 * therefore advances, even if the process maps meanwhile.
		 */
		address = map.end;
		if (result == 0 && builder->list->count % LOOKS_A_CLOCK == 0)
			result = builder_check_time(builder, until_ns);
	}
	/*
	 * the kernel gives an exiting process without memory an empty text, so take ESRCH as an empty
	 * list
	 */
	return result == -ENOENT || (result == -ESRCH && builder->list->count == 0) ? 0 : result;
}

/* Parses the complete lines at the beginning of a text; *taken is their length. */
static int
mapping_list_take_lines(Builder *builder, char *text, size_t *taken)
{
	int result = 0;
	char *line = text;
	char *newline;

	while (result == 0 && (newline = strchr(line, '\n')) != NULL)
	{
		*newline = '\0';
		result = builder_add_line(builder, line);
		line = newline + 1;
	}
	*taken = (size_t) (line - text);
	return result;
}

/*
 * Reads the list from the text. A line longer than the buffer ends the list; the kernel does not
 * write such lines.
 */
static int
read_text(int fd, Builder *builder, int64_t until_ns)
{
	char *buffer = malloc(TEXT_STEP_BYTES + 1);
	size_t total = 0;
	size_t used = 0;
	ssize_t got = 0;
	int result = buffer == NULL ? -ENOMEM : 0;

	while (result == 0 && used < TEXT_STEP_BYTES)
	{
		size_t taken;

		got = read(fd, buffer + used, TEXT_STEP_BYTES - used);
		if (got <= 0)
			break;
		used += (size_t) got;
		total += (size_t) got;
		buffer[used] = '\0';
		result = mapping_list_take_lines(builder, buffer, &taken);
		used -= taken;
		/* the beginning of a line whose rest the next read() returns */
		memmove(buffer, buffer + taken, used);
		/* until_ns 0 has passed, so a text that is too long is cut */
		if (result == 0)
			result = builder_check_time(builder, total < TEXT_LIMIT_BYTES ? until_ns : 0);
	}
	if (result == 0 && got < 0)
		result = -errno;
	free(buffer);
	return result;
}

int
mapping_list_read(uint32_t pid, size_t limit, MappingList *list)
{
	uint64_t begin_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	int64_t until_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + READ_LIMIT_NS;
	Builder builder = builder_begin(list, limit);
	char path[64];
	int result;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	result = read_by_queries(fd, &builder, until_ns);
	/*
	 * Before Linux 6.11 there is no query. A name that is longer than the buffer fails the query,
	 * but not the text.
	 */
	if (result == -ENOTTY || result == -ENAMETOOLONG)
	{
		mapping_list_release(NULL, list); /* no file has been opened yet */
		builder = builder_begin(list, limit);
		result = read_text(fd, &builder, until_ns);
	}
	close(fd);
	builder_end(&builder);
	list->begin_ns = begin_ns;
	list->end_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	return result == -ENOSPC ? 0 : result;
}

int
mapping_list_make(const ProcMapping *maps, size_t count, MappingList *list)
{
	Builder builder = builder_begin(list, MAPPINGS_MAX);
	int result = 0;

	for (size_t i = 0; result == 0 && i < count; i++)
		result = builder_add(&builder, &maps[i]);
	builder_end(&builder);
	return result == -ENOSPC ? 0 : result;
}

int
mapping_list_copy(MappedFileTable *files, const MappingList *from, MappingList *list)
{
	memset(list, 0, sizeof(*list));
	list->mappings = calloc(from->count + 1, sizeof(Mapping));
	list->names = malloc(from->name_bytes + 1);
	if (list->mappings == NULL || list->names == NULL)
		return -ENOMEM;
	list->count = from->count;
	list->name_bytes = from->name_bytes;
	list->is_cut = from->is_cut;
	list->begin_ns = from->begin_ns;
	list->end_ns = from->end_ns;
	if (from->name_bytes > 0)
		memcpy(list->names, from->names, from->name_bytes);
	for (size_t i = 0; i < list->count; i++)
	{
		Mapping *mapping = &list->mappings[i];

		*mapping = from->mappings[i];
		mapping->map.name = list->names + (from->mappings[i].map.name - from->names);
		if (mapping->file != NULL)
			mapped_file_retain(files, mapping->file);
	}
	return 0;
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

size_t
mapping_list_bytes(const MappingList *list)
{
	return list->count * sizeof(Mapping) + list->name_bytes;
}

Mapping *
mapping_list_find(const MappingList *list, uint64_t address)
{
	size_t low = 0;
	size_t high = list->count;

	/* finds the first mapping that ends after the address */
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
