/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * thread_labels.h
 *		Labels that a program gives what a thread is doing, as records carry them: the part of
 *		events.h that is about them.
 *
 * Two kinds of programs keep such labels where the kernel's side can read them:
 *
 *		Go       runtime/pprof.Do: thread-local g ─► g.m ─► m.curg ─► curg.labels ─► the set
 *		others   custom labels, version 1 (polarsignals/custom-labels, custom-labels-v1.md):
 *		         thread-local custom_labels_current_set ─► the set
 *
 * A set is { address of pairs, number of pairs }, and a pair two strings: in Go 1.24 and later {
 * address, length } each, in custom labels { length, address }. Up to Go 1.23 it is a map, of which
 * the first bucket is read: eight pairs.
 */
#ifndef PFS_THREAD_LABELS_H
#define PFS_THREAD_LABELS_H

#include <linux/types.h>

enum pfs_label_kind {
	PFS_LABELS_NONE = 0,
	PFS_LABELS_GO,	   /* pairs */
	PFS_LABELS_GO_MAP, /* a map */
	PFS_LABELS_CUSTOM
};

/* Where a program's labels are: found in its file (collector/threads). */
struct pfs_label_place {
	__s32 tls_offset; /* of the word that leads there, from the thread pointer */
	__u16 m;		  /* offsets of fields of Go's structures */
	__u16 curg;
	__u16 labels;
	__u8 kind; /* enum pfs_label_kind */
	__u8 unused[5];
};

#define PFS_LABEL_KEY_BYTES	  28
#define PFS_LABEL_VALUE_BYTES 96
#define PFS_MAX_LABELS		  8

/* Strings have no end of their own, and are cut to what fits. */
struct pfs_label {
	__u16 key_length;
	__u16 value_length;
	char key[PFS_LABEL_KEY_BYTES];
	char value[PFS_LABEL_VALUE_BYTES];
};

/* Behind a record's user frames, with PFS_SAMPLE_LABELS: so many labels, and no room for others. */
struct pfs_labels {
	__u32 count;
	__u32 cut;	   /* labels that are not there, and strings that are not whole */
	__u64 missing; /* address of what could not be read, a string or less of it; 0: nothing */
	struct pfs_label labels[PFS_MAX_LABELS];
};

#ifndef __bpf__
_Static_assert(sizeof(struct pfs_label) == 128, "labels are found by their number");
_Static_assert(sizeof(struct pfs_labels) % 8 == 0, "what follows is aligned");
#endif

#endif
