/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * thread_labels.bpf.h
 *		Reads the labels of the current thread from the process's memory.
 *
 * If the memory is not resident or malformed the sample has no labels, which is counted. The record
 * contains the address, so that the collector can make the page resident.
 */
#ifndef PFS_THREAD_LABELS_BPF_H
#define PFS_THREAD_LABELS_BPF_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "events.h"
#include "maps.bpf.h"
#include "thread_labels.h"
#include "user_stack.bpf.h"

/*
 * Layout of Go's maps up to 1.23: offsets of the number of pairs (0) and of buckets (16); in a
 * bucket, of keys (8) and values (136).
 */
#define PFS_REGISTER_GO	   28 /* register of arm64 that holds the goroutine in Go's own code */
#define PFS_GO_MAP_BUCKETS 16
#define PFS_GO_MAP_KEYS	   8
#define PFS_GO_MAP_VALUES  136
#define PFS_GO_STRING	   16
#define PFS_LABEL_PAIR	   32

/* Like pfs_read_user(), but notes the address if it cannot be read. */
static __always_inline int
pfs_read_noted(struct pfs_scratch *scratch, __u64 at, __u64 *value)
{
	if (!pfs_read_user(at, value))
		return 0;
	scratch->missing = at;
	return 1;
}

/* Reads a string's address and length, which are stored in either order. */
static __always_inline int
pfs_read_string(struct pfs_scratch *scratch, __u64 at, int length_first, __u64 *address,
				__u64 *length)
{
	return pfs_read_noted(scratch, at + (length_first ? 8 : 0), address) ||
		   pfs_read_noted(scratch, at + (length_first ? 0 : 8), length);
}

/*
 * Adds the label whose strings are at that address; a label without a key is skipped. Returns 1 if
 * it cannot be read. A global function, which the kernel verifies once.
 */
__attribute__((noinline)) int
pfs_read_label(__u32 slot, __u32 words, __u64 key_at, __u64 value_at, int length_first)
{
	struct pfs_scratch *scratch = pfs_get_scratch(slot);
	struct pfs_labels *labels;
	struct pfs_label *label;
	__u64 key_address;
	__u64 key_length;
	__u64 value_address;
	__u64 value_length;

	if (!scratch)
		return 1;
	if (pfs_read_string(scratch, key_at, length_first, &key_address, &key_length) ||
		pfs_read_string(scratch, value_at, length_first, &value_address, &value_length))
		return 1;
	/* an unused place in a set of labels */
	if (!key_address || !key_length)
		return 0;
	/*
	 * checked here, where it is used, because kernels before 5.13 forget the bounds of spilled
	 * values
	 */
	barrier_var(words);
	if (words > PFS_FRAME_WORDS)
		return 1;
	labels = (struct pfs_labels *) &scratch->words[words];
	labels->cut += (key_length > PFS_LABEL_KEY_BYTES) + (value_length > PFS_LABEL_VALUE_BYTES);
	if (key_length > PFS_LABEL_KEY_BYTES)
		key_length = PFS_LABEL_KEY_BYTES;
	if (value_length > PFS_LABEL_VALUE_BYTES)
		value_length = PFS_LABEL_VALUE_BYTES;
	/* barriers, so that the verifier keeps the bounds of the lengths after spills */
	barrier_var(key_length);
	barrier_var(value_length);
	key_length &= 31;
	value_length &= 127;
	/* the mask is for the verifier: count is below PFS_MAX_LABELS, see pfs_add_labels() */
	label = &labels->labels[labels->count & (PFS_MAX_LABELS - 1)];
	label->key_length = (__u16) key_length;
	label->value_length = (__u16) value_length;
	/* noted before the read: if it fails, the collector makes the page resident */
	scratch->missing = key_address;
	if (bpf_probe_read_user(label->key, (__u32) key_length, (void *) key_address))
		return 1;
	scratch->missing = value_address;
	/*
	 * clamped again, because kernels before 5.13 forget the bound when the length is spilled for
	 * the call
	 */
	barrier_var(value_length);
	value_length &= 127;
	if (value_length &&
		bpf_probe_read_user(label->value, (__u32) value_length, (void *) value_address))
		return 1;
	scratch->missing = 0;
	labels->count++;
	return 0;
}

/*
 * Finds Go's goroutine that a thread runs; 0 if there is none. Returns non-zero if it cannot be
 * read.
 */
static __always_inline int
pfs_read_goroutine(struct pfs_scratch *scratch, __u64 g, __u64 *goroutine)
{
	const struct pfs_label_place *place = &scratch->walk.process.labels;
	__u64 m = 0;
	__u64 back = 0;

	*goroutine = 0;
	if (!g)
		return 0;
	/*
	 * g may be the goroutine of the system stack (g0); its thread m leads to the goroutine that
	 * runs
	 */
	if (pfs_read_noted(scratch, g + place->m, &m))
		return 1;
	if (!m)
		return 0;
	if (pfs_read_noted(scratch, m + place->curg, goroutine))
		return 1;
	/* the pointer may not be a g, because C code on arm64 uses the register for other values */
	return *goroutine && (pfs_read_noted(scratch, *goroutine + place->m, &back) || back != m);
}

/* Finds the address of the thread's current set of labels; 0 if there is none. */
static __always_inline int
pfs_read_label_set(struct pfs_scratch *scratch, struct task_struct *task, __u64 *set)
{
	const struct pfs_label_place *place = &scratch->walk.process.labels;
	__u64 first;

	if (place->kind == PFS_LABELS_LIBRARY)
		return pfs_read_noted(scratch, place->variable, set);
#ifdef PFS_ARM64
	if (place->kind != PFS_LABELS_CUSTOM)
		first = scratch->walk.at.registers[PFS_REGISTER_GO];
	else
#endif
		if (pfs_read_noted(scratch, pfs_thread_pointer(task) + (__u64) (__s64) place->tls_offset,
						   &first))
		return 1;
	*set = first;
	if (place->kind == PFS_LABELS_CUSTOM)
		return 0;
	if (pfs_read_goroutine(scratch, first, set))
		return 1;
	return *set && pfs_read_noted(scratch, *set + place->labels, set);
}

/* Appends the labels after that many words. Returns their number of words, 0 if there are none. */
static __always_inline __u32
pfs_add_labels(struct pfs_scratch *scratch, struct task_struct *task, __u32 words)
{
	int is_map = scratch->walk.process.labels.kind == PFS_LABELS_GO_MAP;
	int length_first = scratch->walk.process.labels.kind >= PFS_LABELS_CUSTOM;
	struct pfs_labels *labels;
	__u64 set = 0;
	__u64 pairs = 0;
	__u64 count = 0;
	int failed;

	if (words > PFS_FRAME_WORDS)
		return 0;
	labels = (struct pfs_labels *) &scratch->words[words];
	labels->count = 0;
	labels->cut = 0;
	scratch->missing = 0;
	failed = pfs_read_label_set(scratch, task, &set);
	/* a map is referred to by a pointer to its header; a list lies in place */
	if (!failed && is_map && set)
		failed = pfs_read_noted(scratch, set, &set);
	if (!failed && set)
		failed = pfs_read_noted(scratch, set + (is_map ? PFS_GO_MAP_BUCKETS : 0), &pairs) ||
				 pfs_read_noted(scratch, set + (is_map ? 0 : 8), &count);
	/* an empty set has no array */
	if (!pairs)
		count = 0;
	if (count > PFS_MAX_LABELS)
	{
		labels->cut = (__u32) (count - PFS_MAX_LABELS);
		count = PFS_MAX_LABELS;
	}
	/* deleted pairs leave holes in a map */
	for (__u32 i = 0; i < PFS_MAX_LABELS && !failed && (i < count || (is_map && count)); i++)
	{
		__u64 key_at = is_map ? pairs + PFS_GO_MAP_KEYS + PFS_GO_STRING * (__u64) i
							  : pairs + PFS_LABEL_PAIR * (__u64) i;
		__u64 value_at = key_at + (is_map ? PFS_GO_MAP_VALUES - PFS_GO_MAP_KEYS : PFS_GO_STRING);

		failed = pfs_read_label(scratch->slot, words, key_at, value_at, length_first);
	}
	if (failed)
		pfs_count(PFS_COUNTER_THREAD_LABELS_FAILED);
	if (labels->cut)
		pfs_count(PFS_COUNTER_THREAD_LABELS_CUT);
	labels->missing = scratch->missing;
	/*
	 * without labels, but with a missing address the section is sent: the collector needs the
	 * address
	 */
	if ((labels->count == 0 && labels->missing == 0) || labels->count > PFS_MAX_LABELS)
		return 0;
	return (__u32) (offsetof(struct pfs_labels, labels) +
					labels->count * sizeof(struct pfs_label)) /
		   sizeof(__u64);
}

#endif
