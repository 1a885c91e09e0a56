/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind_maps.bpf.h
 *		The maps that unwind.bpf.h looks up.
 *
 * Arrays that user space maps and writes with plain stores, so that entries need no system calls.
 * Lines come in chunks of 256 KiB, which are created on demand; entries and mappings are one array
 * each, which is replaced by a larger one. So memory is used in proportion to the code of the
 * system.
 */
#ifndef PFS_UNWIND_MAPS_BPF_H
#define PFS_UNWIND_MAPS_BPF_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "maps.bpf.h"
#include "unwind_types.h"

struct pfs_line_chunk {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PFS_UNWIND_CHUNK_LINES);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct pfs_unwind_line));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, PFS_UNWIND_CHUNKS);
	__type(key, __u32);
	__array(values, struct pfs_line_chunk);
} pfs_lines SEC(".maps");

/* Inner maps of different sizes need BPF_F_INNER_MAP, available since 5.10. */
struct pfs_entry_array {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PFS_UNWIND_ENTRIES_FIRST);
	__uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(union pfs_unwind_entry));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct pfs_entry_array);
} pfs_entries SEC(".maps");

struct pfs_mapping_array {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PFS_UNWIND_MAPPINGS_FIRST);
	__uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct pfs_unwind_mapping));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct pfs_mapping_array);
} pfs_mappings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PFS_UNWIND_RULES);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct pfs_unwind_rule);
} pfs_rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << PFS_RECENT_SLOT_BITS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, __u64);
} pfs_recent SEC(".maps");

/* Preallocated, because before 6.1 the kernel demands that of maps used by perf event programs. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PFS_UNWIND_PROCESSES);
	__type(key, __u32);
	__type(value, struct pfs_unwind_process);
} pfs_processes SEC(".maps");

static __always_inline const struct pfs_unwind_mapping *
pfs_get_mapping(__u32 slot)
{
	/*
	 * the outer map has one array, which the collector replaces by a larger one; NULL beyond its
	 * end
	 */
	__u32 first = 0;
	void *mappings = bpf_map_lookup_elem(&pfs_mappings, &first);

	return mappings ? bpf_map_lookup_elem(mappings, &slot) : 0;
}

static __always_inline const union pfs_unwind_entry *
pfs_get_entry(__u32 slot)
{
	__u32 first = 0;
	void *entries = bpf_map_lookup_elem(&pfs_entries, &first);

	return entries ? bpf_map_lookup_elem(entries, &slot) : 0;
}

static __always_inline const struct pfs_unwind_line *
pfs_get_line(__u32 number)
{
	__u32 chunk = number / PFS_UNWIND_CHUNK_LINES;
	__u32 line = number % PFS_UNWIND_CHUNK_LINES;
	void *lines = bpf_map_lookup_elem(&pfs_lines, &chunk);

	return lines ? bpf_map_lookup_elem(lines, &line) : 0;
}

static __always_inline const struct pfs_unwind_rule *
pfs_get_rule(__u32 number)
{
	return bpf_map_lookup_elem(&pfs_rules, &number);
}

static __always_inline __u64 *
pfs_get_recent(__u32 slot)
{
	return bpf_map_lookup_elem(&pfs_recent, &slot);
}

static __always_inline int
pfs_trusts_jit(void)
{
	/*
	 * Rules of generated code are valid only if the collector knows that the code was not replaced.
	 */
	return 0;
}

/*
 * Reads a word of the stack into walk.word. The words of a step are close together, and the next
 * step's follow them, so a window of words is read at once, beginning with the registers saved
 * below a return address, if all of it is readable. A global function, which the kernel verifies
 * once for all callers.
 */
__attribute__((noinline)) int
pfs_find_word(__u32 slot, __u64 address)
{
	struct pfs_scratch *scratch = pfs_get_scratch(slot);
	struct pfs_stack_window *window;
	__u64 offset;

	if (!scratch)
		return 1;
	window = &scratch->walk.window;
	offset = address - window->start;
	/* offset is far larger than the window if the address is below its start */
	if (offset >= sizeof(window->words) || (offset & 7))
	{
		offset = PFS_WINDOW_BEFORE;
		window->start = address - offset;
		if (bpf_probe_read_user(window->words, sizeof(window->words), (void *) window->start))
		{
			window->start = PFS_NO_WINDOW;
			return (int) bpf_probe_read_user(&scratch->walk.word, sizeof(scratch->walk.word),
											 (void *) address);
		}
	}
	/*
	 * hides the bounds from the compiler, which would otherwise remove the check that the verifier
	 * needs
	 */
	__asm__ volatile("" : "+r"(offset));
	scratch->walk.word = window->words[(offset / 8) & (PFS_WINDOW_WORDS - 1)];
	return 0;
}

static __always_inline __u32
pfs_walk_slot(const struct pfs_walk *walk)
{
	return ((const struct pfs_scratch *) walk)->slot;
}

static __always_inline int
pfs_read_stack(struct pfs_walk *walk, __u64 address, __u64 *value)
{
	/* the walk is the first member of its scratch */
	int failed = pfs_find_word(pfs_walk_slot(walk), address);

	if (!failed)
		*value = walk->word;
	return failed;
}

/* Attribute of functions that the kernel verifies once, not once for each caller. */
#define PFS_VERIFIED_ONCE __attribute__((noinline))

static __always_inline int
pfs_read_code(struct pfs_walk *walk, void *to, __u32 size, __u64 address)
{
	(void) walk;
	return (int) bpf_probe_read_user(to, size, (void *) address);
}

static __always_inline struct pfs_walk *
pfs_get_walk(__u32 slot)
{
	struct pfs_scratch *scratch = pfs_get_scratch(slot);

	return scratch ? &scratch->walk : 0;
}

static __always_inline const struct pfs_runtime *
pfs_get_runtime(const struct pfs_walk *walk)
{
	return &((const struct pfs_scratch *) walk)->chain.runtime;
}

static __always_inline int
pfs_read_user(__u64 address, __u64 *value)
{
	return (int) bpf_probe_read_user(value, sizeof(*value), (void *) address);
}

#endif
