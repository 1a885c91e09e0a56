/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * replay.c
 *		What unwind.bpf.h asks of its surroundings, in user space.
 */
#include "replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#define LINE_LIMIT	  (1 << 20)
#define MAPPING_LIMIT (1 << 17)
#define RULE_LIMIT	  (1 << 14)

typedef struct PageEntry {
	struct pfs_unwind_page_key key;
	struct pfs_unwind_page page;
	UT_hash_handle hh;
} PageEntry;

typedef struct ProcessEntry {
	uint32_t pid;
	struct pfs_unwind_process process;
	UT_hash_handle hh;
} ProcessEntry;

struct Replay {
	KernelTables tables; /* first: the operations get its address */
	struct pfs_unwind_line *lines;
	struct pfs_unwind_mapping *mappings;
	struct pfs_unwind_rule *rules;
	PageEntry *pages;
	ProcessEntry *processes;
};

/* The walk that is running: the walker's functions take no context, as in BPF. */
static _Thread_local struct {
	Replay *replay;
	ReplayRead read;
	void *context;
} current;

static int
pfs_read_user(__u64 address, __u64 *value)
{
	uint64_t word;
	int result = current.read(current.context, address, &word);

	if (result == 0)
		*value = word;
	return result;
}

static const struct pfs_unwind_mapping *
pfs_get_mapping(uint32_t slot)
{
	return slot < MAPPING_LIMIT ? &current.replay->mappings[slot] : NULL;
}

static const struct pfs_unwind_page *
pfs_get_page(const struct pfs_unwind_page_key *key)
{
	PageEntry *entry;

	HASH_FIND(hh, current.replay->pages, key, sizeof(*key), entry);
	return entry != NULL ? &entry->page : NULL;
}

static const struct pfs_unwind_line *
pfs_get_line(uint32_t number)
{
	return number < LINE_LIMIT ? &current.replay->lines[number] : NULL;
}

static const struct pfs_unwind_rule *
pfs_get_rule(uint32_t number)
{
	return number < RULE_LIMIT ? &current.replay->rules[number] : NULL;
}

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#include "unwind.bpf.h"

static int
write_lines(KernelTables *tables, uint32_t first, uint32_t count,
			const struct pfs_unwind_line *lines)
{
	memcpy(((Replay *) tables)->lines + first, lines, count * sizeof(*lines));
	return 0;
}

static int
write_rule(KernelTables *tables, uint32_t number, const struct pfs_unwind_rule *rule)
{
	((Replay *) tables)->rules[number] = *rule;
	return 0;
}

static int
set_page(KernelTables *tables, const struct pfs_unwind_page_key *key,
		 const struct pfs_unwind_page *page)
{
	Replay *replay = (Replay *) tables;
	PageEntry *entry;

	HASH_FIND(hh, replay->pages, key, sizeof(*key), entry);
	if (entry == NULL)
	{
		entry = calloc(1, sizeof(*entry));
		if (entry == NULL)
			return -ENOMEM;
		entry->key = *key;
		HASH_ADD(hh, replay->pages, key, sizeof(entry->key), entry);
	}
	entry->page = *page;
	return 0;
}

static void
remove_page(KernelTables *tables, const struct pfs_unwind_page_key *key)
{
	Replay *replay = (Replay *) tables;
	PageEntry *entry;

	HASH_FIND(hh, replay->pages, key, sizeof(*key), entry);
	if (entry != NULL)
	{
		HASH_DEL(replay->pages, entry);
		free(entry);
	}
}

static struct pfs_unwind_mapping *
mapping(KernelTables *tables, uint32_t slot)
{
	return &((Replay *) tables)->mappings[slot];
}

static void
remove_process(KernelTables *tables, uint32_t pid)
{
	Replay *replay = (Replay *) tables;
	ProcessEntry *entry;

	HASH_FIND(hh, replay->processes, &pid, sizeof(pid), entry);
	if (entry != NULL)
	{
		HASH_DEL(replay->processes, entry);
		free(entry);
	}
}

static int
set_process(KernelTables *tables, uint32_t pid, const struct pfs_unwind_process *process)
{
	Replay *replay = (Replay *) tables;
	ProcessEntry *entry = calloc(1, sizeof(*entry));

	if (entry == NULL)
		return -ENOMEM;
	remove_process(tables, pid);
	entry->pid = pid;
	entry->process = *process;
	HASH_ADD(hh, replay->processes, pid, sizeof(entry->pid), entry);
	return 0;
}

static const KernelTablesOps operations = {
	.write_lines = write_lines,
	.write_rule = write_rule,
	.set_page = set_page,
	.remove_page = remove_page,
	.mapping = mapping,
	.set_process = set_process,
	.remove_process = remove_process,
};

int
replay_create(Replay **result)
{
	Replay *replay = calloc(1, sizeof(*replay));

	if (replay == NULL)
		return -ENOMEM;
	replay->tables = (KernelTables){ &operations, LINE_LIMIT, MAPPING_LIMIT };
	replay->lines = calloc(LINE_LIMIT, sizeof(*replay->lines));
	replay->mappings = calloc(MAPPING_LIMIT, sizeof(*replay->mappings));
	replay->rules = calloc(RULE_LIMIT, sizeof(*replay->rules));
	if (replay->lines == NULL || replay->mappings == NULL || replay->rules == NULL)
	{
		replay_free(replay);
		return -ENOMEM;
	}
	*result = replay;
	return 0;
}

void
replay_free(Replay *replay)
{
	PageEntry *page;
	PageEntry *next_page;
	ProcessEntry *process;
	ProcessEntry *next_process;

	if (replay == NULL)
		return;
	HASH_ITER(hh, replay->pages, page, next_page)
	{
		HASH_DEL(replay->pages, page);
		free(page);
	}
	HASH_ITER(hh, replay->processes, process, next_process)
	{
		HASH_DEL(replay->processes, process);
		free(process);
	}
	free(replay->lines);
	free(replay->mappings);
	free(replay->rules);
	free(replay);
}

KernelTables *
replay_tables(Replay *replay)
{
	return &replay->tables;
}

size_t
replay_walk(Replay *replay, uint32_t pid, const uint64_t *registers, ReplayRead read, void *context,
			uint64_t *frames, size_t capacity, int *status)
{
	struct pfs_walk walk;
	ProcessEntry *entry;

	memset(&walk, 0, sizeof(walk));
	current.replay = replay;
	current.read = read;
	current.context = context;

	HASH_FIND(hh, replay->processes, &pid, sizeof(pid), entry);
	if (entry == NULL)
	{
		*status = PFS_WALK_NO_PROCESS;
		return 0;
	}
	walk.process = entry->process;
	memcpy(walk.registers, registers, sizeof(walk.registers));
	pfs_walk_enter_innermost(&walk);
	while (walk.count < capacity && pfs_walk_step(&walk, &frames[walk.count]) == 0)
		;
	*status = walk.status == PFS_WALK_RUNNING ? PFS_WALK_TOO_DEEP : walk.status;
	return walk.count;
}
