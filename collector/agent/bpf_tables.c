/*
 * bpf_tables.c
 *		KernelTables over memory-mapped BPF arrays.
 */
#include "agent/bpf_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#define CHUNK_BYTES ((size_t) PFS_UNWIND_CHUNK_LINES * sizeof(struct pfs_unwind_line))

typedef struct BpfTables
{
	KernelTables tables; /* first: the operations get its address */
	BpfTableMaps maps;
	struct pfs_unwind_line *chunks[PFS_UNWIND_CHUNKS]; /* NULL: not made yet */
	union pfs_unwind_entry *entries;
	struct pfs_unwind_mapping *mappings;
	struct pfs_unwind_rule *rules;
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

/* A new array for lines, put where the walker finds it. */
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
	close(fd); /* the outer map and our mapping hold it */
	if (err == 0)
		bpf->chunks[number] = lines;
	return err;
}

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

	if (chunk >= PFS_UNWIND_CHUNKS || bpf->chunks[chunk] == NULL)
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

static union pfs_unwind_entry *
entry(KernelTables *tables, uint32_t slot)
{
	return slot < PFS_UNWIND_ENTRIES ? &((BpfTables *) tables)->entries[slot] : NULL;
}

static struct pfs_unwind_mapping *
mapping(KernelTables *tables, uint32_t slot)
{
	return slot < PFS_UNWIND_MAPPINGS ? &((BpfTables *) tables)->mappings[slot] : NULL;
}

static int
set_process(KernelTables *tables, uint32_t pid, const struct pfs_unwind_process *process)
{
	int fd = ((BpfTables *) tables)->maps.processes;

	return bpf_map_update_elem(fd, &pid, process, BPF_ANY) == 0 ? 0 : -errno;
}

static void
remove_process(KernelTables *tables, uint32_t pid)
{
	(void) bpf_map_delete_elem(((BpfTables *) tables)->maps.processes, &pid);
}

static const KernelTablesOps operations = {
	.write_lines = write_lines,
	.line = line,
	.write_rule = write_rule,
	.entry = entry,
	.mapping = mapping,
	.set_process = set_process,
	.remove_process = remove_process,
};

int
bpf_tables_create(const BpfTableMaps *maps, KernelTables **tables)
{
	BpfTables *bpf = calloc(1, sizeof(*bpf));
	int err;

	if (bpf == NULL)
		return -ENOMEM;
	bpf->tables = (KernelTables){ &operations, PFS_UNWIND_CHUNKS * PFS_UNWIND_CHUNK_LINES,
								  PFS_UNWIND_ENTRIES, PFS_UNWIND_MAPPINGS };
	bpf->maps = *maps;
	err = map_array(maps->entries, PFS_UNWIND_ENTRIES, sizeof(*bpf->entries), &bpf->entries);
	if (err == 0)
		err =
			map_array(maps->mappings, PFS_UNWIND_MAPPINGS, sizeof(*bpf->mappings), &bpf->mappings);
	if (err == 0)
		err = map_array(maps->rules, PFS_UNWIND_RULES, sizeof(*bpf->rules), &bpf->rules);
	if (err != 0)
	{
		bpf_tables_free(&bpf->tables);
		return err;
	}
	*tables = &bpf->tables;
	return 0;
}

static void
unmap(void *memory, size_t count, size_t item_bytes)
{
	if (memory != NULL)
		munmap(memory, map_bytes(count, item_bytes));
}

void
bpf_tables_free(KernelTables *tables)
{
	BpfTables *bpf = (BpfTables *) tables;

	if (bpf == NULL)
		return;
	for (uint32_t i = 0; i < PFS_UNWIND_CHUNKS; i++)
		unmap(bpf->chunks[i], PFS_UNWIND_CHUNK_LINES, sizeof(struct pfs_unwind_line));
	unmap(bpf->entries, PFS_UNWIND_ENTRIES, sizeof(*bpf->entries));
	unmap(bpf->mappings, PFS_UNWIND_MAPPINGS, sizeof(*bpf->mappings));
	unmap(bpf->rules, PFS_UNWIND_RULES, sizeof(*bpf->rules));
	free(bpf);
}
