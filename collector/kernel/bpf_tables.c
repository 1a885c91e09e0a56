/*
 * bpf_tables.c
 *		KernelTables in memory-mapped BPF arrays that grow on demand.
 *
 * Runs of slots are allocated from the low end (extent_pool.h), so that arrays grow no longer than
 * the largest use requires.
 */
#include "kernel/bpf_tables.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/clock.h"

#define RETIRED_NS UINT64_C(1000000000)

#define BPF_TABLE_MOST		  (1u << 26) /* limit of entries or mappings */
/* Number of doublings from the smallest size to BPF_TABLE_MOST. */
#define GROWTHS				  16
#define BPF_TABLE_MOST_CHUNKS 4096
#define CODE_A_LINE_BYTE	  128 /* bytes of code per line in ordinary programs */

#define CHUNK_BYTES ((size_t) PFS_UNWIND_CHUNK_LINES * sizeof(struct pfs_unwind_line))

/* An array of the BPF program. If a slot beyond its end is needed, a larger array replaces it. */
typedef struct GrowingArray
{
	const char *name;
	int outer; /* map of maps that contains the array */
	int fd;	   /* -1: not created yet */
	size_t item_bytes;
	uint32_t count;
	uint32_t limit;
	char *memory;
	int retired[GROWTHS]; /* previous arrays that a walk may still read */
	uint32_t retired_count;
	size_t retired_bytes;
	uint64_t retired_ns; /* time at which the last array was retired */
} GrowingArray;

typedef struct BpfTables
{
	KernelTables tables; /* must be the first field, because the operations get its address */
	BpfTableMaps maps;
	struct pfs_unwind_line **chunks; /* an element is NULL until its chunk is created */
	uint32_t chunk_limit;
	GrowingArray entries;
	GrowingArray mappings;
	struct pfs_unwind_rule *rules;
	__u64 *recent;
	_Atomic size_t bytes; /* bytes of all maps created here; any thread may read it */
} BpfTables;

static size_t
map_bytes(size_t count, size_t item_bytes)
{
	size_t page = (size_t) sysconf(_SC_PAGESIZE);

	return (count * item_bytes + page - 1) / page * page;
}

static int
map_array(int fd, size_t count, size_t item_bytes, void *result)
{
	void *memory =
		mmap(NULL, map_bytes(count, item_bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		return -errno;
	*(void **) result = memory;
	return 0;
}

static void
unmap(void *memory, size_t count, size_t item_bytes)
{
	if (memory != NULL)
		munmap(memory, map_bytes(count, item_bytes));
}

/* Creates an array of lines and stores it in the outer map. */
static int
make_chunk(BpfTables *bpf, uint32_t number)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	struct pfs_unwind_line *lines = NULL;
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "pfs_line_chunk", sizeof(uint32_t),
							sizeof(struct pfs_unwind_line), PFS_UNWIND_CHUNK_LINES, &options);
	int err;

	if (fd < 0)
		return -errno;
	err = map_array(fd, PFS_UNWIND_CHUNK_LINES, sizeof(*lines), &lines);
	if (err == 0 && bpf_map_update_elem(bpf->maps.lines, &number, &fd, BPF_ANY) != 0)
	{
		err = -errno;
		munmap(lines, CHUNK_BYTES);
	}
	close(fd); /* the outer map and our mapping keep the array alive */
	if (err == 0)
	{
		bpf->chunks[number] = lines;
		bpf->bytes += CHUNK_BYTES;
	}
	return err;
}

static void
close_retired(BpfTables *bpf, GrowingArray *array)
{
	while (array->retired_count > 0)
		close(array->retired[--array->retired_count]);
	bpf->bytes -= array->retired_bytes;
	array->retired_bytes = 0;
}

/*
 * Closes retired arrays after a grace period. Kernels before 6.7 free an inner map without waiting
 * for walks that use it; these take microseconds.
 */
static void
close_retired_in_time(BpfTables *bpf, GrowingArray *array)
{
	if (array->retired_count > 0 &&
		(uint64_t) clock_ns(CLOCK_MONOTONIC) - array->retired_ns > RETIRED_NS)
		close_retired(bpf, array);
}

/* Retires the present array, which a larger one replaces. */
static void
retire(GrowingArray *array)
{
	if (array->memory == NULL)
		return;
	unmap(array->memory, array->count, array->item_bytes);
	array->retired[array->retired_count++] = array->fd;
	array->retired_bytes += map_bytes(array->count, array->item_bytes);
	array->retired_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
}

/* Replaces an array by one of count slots with the same contents. */
static int
replace_array(BpfTables *bpf, GrowingArray *array, uint32_t count)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	const uint32_t first = 0;
	char *memory = NULL;
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, array->name, sizeof(uint32_t),
							(uint32_t) array->item_bytes, count, &options);
	int err;

	if (fd < 0)
		return -errno;
	err = map_array(fd, count, array->item_bytes, &memory);
	/* Fill the new array before walks can find it. */
	if (err == 0 && array->memory != NULL)
		memcpy(memory, array->memory, array->count * array->item_bytes);
	if (err == 0 && bpf_map_update_elem(array->outer, &first, &fd, BPF_ANY) != 0)
		err = -errno;
	if (err != 0)
	{
		unmap(memory, count, array->item_bytes);
		close(fd);
		return err;
	}
	/* A walk may still read the old array, so it is closed later. */
	retire(array);
	array->fd = fd;
	array->memory = memory;
	array->count = count;
	bpf->bytes += map_bytes(count, array->item_bytes);
	return 0;
}

/* Returns the memory of a slot, valid until the next call; NULL if the array cannot grow. */
static void *
growing_slot(BpfTables *bpf, GrowingArray *array, uint32_t slot)
{
	uint32_t count = array->count;

	if (slot >= array->limit)
		return NULL;
	while (count <= slot)
		count *= 2;
	if (count > array->count && replace_array(bpf, array, count) != 0)
		return NULL;
	return array->memory + (size_t) slot * array->item_bytes;
}

/* Copies lines into their chunks, and creates chunks that do not exist yet. */
static int
write_lines(KernelTables *tables, uint32_t first, uint32_t count,
			const struct pfs_unwind_line *lines)
{
	BpfTables *bpf = (BpfTables *) tables;

	for (uint32_t i = 0; i < count; i++)
	{
		uint32_t chunk = (first + i) / PFS_UNWIND_CHUNK_LINES;

		if (bpf->chunks[chunk] == NULL)
		{
			int err = make_chunk(bpf, chunk);

			if (err != 0)
				return err;
		}
		bpf->chunks[chunk][(first + i) % PFS_UNWIND_CHUNK_LINES] = lines[i];
	}
	return 0;
}

static const struct pfs_unwind_line *
line(KernelTables *tables, uint32_t number)
{
	BpfTables *bpf = (BpfTables *) tables;
	uint32_t chunk = number / PFS_UNWIND_CHUNK_LINES;

	if (chunk >= bpf->chunk_limit || bpf->chunks[chunk] == NULL)
		return NULL;
	return &bpf->chunks[chunk][number % PFS_UNWIND_CHUNK_LINES];
}

static int
write_rule(KernelTables *tables, uint32_t number, const struct pfs_unwind_rule *rule)
{
	if (number >= PFS_UNWIND_RULES)
		return -ENOSPC;
	((BpfTables *) tables)->rules[number] = *rule;
	return 0;
}

static __u64 *
recent(KernelTables *tables, uint32_t slot)
{
	return &((BpfTables *) tables)->recent[slot];
}

static union pfs_unwind_entry *
entry(KernelTables *tables, uint32_t slot)
{
	BpfTables *bpf = (BpfTables *) tables;

	return growing_slot(bpf, &bpf->entries, slot);
}

static struct pfs_unwind_mapping *
mapping(KernelTables *tables, uint32_t slot)
{
	BpfTables *bpf = (BpfTables *) tables;

	return growing_slot(bpf, &bpf->mappings, slot);
}

static int
set_process(KernelTables *tables, uint32_t pid, const struct pfs_unwind_process *process)
{
	BpfTables *bpf = (BpfTables *) tables;
	int fd = bpf->maps.processes;

	close_retired_in_time(bpf, &bpf->entries);
	close_retired_in_time(bpf, &bpf->mappings);
	return bpf_map_update_elem(fd, &pid, process, BPF_ANY) == 0 ? 0 : -errno;
}

static void
bpf_tables_remove_process(KernelTables *tables, uint32_t pid)
{
	(void) bpf_map_delete_elem(((BpfTables *) tables)->maps.processes, &pid);
}

static int
set_runtime(KernelTables *tables, uint32_t pid, const struct pfs_runtime *runtime)
{
	int fd = ((BpfTables *) tables)->maps.runtimes;

	return bpf_map_update_elem(fd, &pid, runtime, BPF_ANY) == 0 ? 0 : -errno;
}

static void
remove_runtime(KernelTables *tables, uint32_t pid)
{
	(void) bpf_map_delete_elem(((BpfTables *) tables)->maps.runtimes, &pid);
}

static const KernelTablesOps operations = {
	.write_lines = write_lines,
	.line = line,
	.write_rule = write_rule,
	.recent = recent,
	.entry = entry,
	.mapping = mapping,
	.set_process = set_process,
	.remove_process = bpf_tables_remove_process,
	.set_runtime = set_runtime,
	.remove_runtime = remove_runtime,
};

/*
 * Returns the power of two at or above count, and not below least: an array that doubles ends
 * exactly at its limit then.
 */
static uint32_t
power_of_two(uint64_t count, uint32_t least)
{
	uint32_t power = least;

	while (power < count && power < BPF_TABLE_MOST)
		power *= 2;
	return power;
}

void
bpf_table_limits(size_t bytes, uint64_t mappings, uint64_t code_bytes, BpfTableLimits *limits)
{
	uint64_t entries = bytes / 6 / sizeof(union pfs_unwind_entry);
	uint64_t chunks = bytes / 3 * 2 / CHUNK_BYTES;

	if (mappings == 0)
		mappings = bytes / 6 / sizeof(struct pfs_unwind_mapping);
	if (code_bytes != 0)
	{
		entries = code_bytes >> PFS_UNWIND_PAGE_BITS;
		chunks = code_bytes / CODE_A_LINE_BYTE / CHUNK_BYTES;
	}
	limits->mappings = power_of_two(mappings, PFS_UNWIND_MAPPINGS);
	limits->entries = power_of_two(entries, PFS_UNWIND_ENTRIES);
	limits->chunks = power_of_two(chunks, PFS_UNWIND_CHUNKS);
	if (limits->chunks > BPF_TABLE_MOST_CHUNKS)
		limits->chunks = BPF_TABLE_MOST_CHUNKS;
}

int
bpf_tables_create(const BpfTableMaps *maps, const BpfTableLimits *limits, KernelTables **tables)
{
	BpfTables *bpf = calloc(1, sizeof(*bpf));
	int err;

	if (bpf == NULL)
		return -ENOMEM;
	bpf->tables = (KernelTables){ &operations, limits->chunks * PFS_UNWIND_CHUNK_LINES,
								  limits->entries, limits->mappings };
	bpf->maps = *maps;
	bpf->chunk_limit = limits->chunks;
	bpf->chunks = calloc(limits->chunks, sizeof(bpf->chunks[0]));
	bpf->entries = (GrowingArray){ .name = "pfs_entries",
								   .outer = maps->entries,
								   .fd = -1,
								   .item_bytes = sizeof(union pfs_unwind_entry),
								   .limit = limits->entries };
	bpf->mappings = (GrowingArray){ .name = "pfs_mappings",
									.outer = maps->mappings,
									.fd = -1,
									.item_bytes = sizeof(struct pfs_unwind_mapping),
									.limit = limits->mappings };
	err = bpf->chunks != NULL ? 0 : -ENOMEM;
	if (err == 0)
		err = replace_array(bpf, &bpf->entries, PFS_UNWIND_ENTRIES_FIRST);
	if (err == 0)
		err = replace_array(bpf, &bpf->mappings, PFS_UNWIND_MAPPINGS_FIRST);
	if (err == 0)
		err = map_array(maps->rules, PFS_UNWIND_RULES, sizeof(*bpf->rules), &bpf->rules);
	if (err == 0)
		err =
			map_array(maps->recent, 1 << PFS_RECENT_SLOT_BITS, sizeof(*bpf->recent), &bpf->recent);
	/* Parts that were not created are NULL or -1, which bpf_tables_free() accepts. */
	if (err != 0)
	{
		bpf_tables_free(&bpf->tables);
		return err;
	}
	*tables = &bpf->tables;
	return 0;
}

size_t
bpf_tables_bytes(const KernelTables *tables)
{
	return ((const BpfTables *) tables)->bytes;
}

static void
free_array(BpfTables *bpf, GrowingArray *array)
{
	unmap(array->memory, array->count, array->item_bytes);
	if (array->fd >= 0)
		close(array->fd);
	close_retired(bpf, array);
}

void
bpf_tables_free(KernelTables *tables)
{
	BpfTables *bpf = (BpfTables *) tables;

	if (bpf == NULL)
		return;
	for (uint32_t i = 0; i < bpf->chunk_limit && bpf->chunks != NULL; i++)
		unmap(bpf->chunks[i], PFS_UNWIND_CHUNK_LINES, sizeof(struct pfs_unwind_line));
	free_array(bpf, &bpf->entries);
	free_array(bpf, &bpf->mappings);
	unmap(bpf->rules, PFS_UNWIND_RULES, sizeof(*bpf->rules));
	unmap(bpf->recent, 1 << PFS_RECENT_SLOT_BITS, sizeof(*bpf->recent));
	free(bpf->chunks);
	free(bpf);
}
