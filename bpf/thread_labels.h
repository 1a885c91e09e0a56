/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * thread_labels.h
 *		Labels that a program attaches to its threads' work, as records carry them: a part of
 *		events.h.
 *
 * Three kinds of programs store such labels where the BPF programs can read them:
 *
 *   Go          runtime/pprof.Do: thread-local g ─► g.m ─► m.curg ─► curg.labels ─► the set
 *   others      custom labels, version 1 (polarsignals/custom-labels, custom-labels-v1.md):
 *               thread-local custom_labels_current_set ─► the set
 *   PostgreSQL  a variable of profstore's library, one for a process, which has one thread:
 *               profstore_current_labels ─► the set, as in custom labels
 *
 * A set is { address of pairs, number of pairs }, and a pair is two strings: in Go 1.24 and later {
 * address, length } each, in custom labels { length, address }. Up to Go 1.23 a set is a map, of
 * which the first bucket is read: eight pairs.
 */
#ifndef PFS_THREAD_LABELS_H
#define PFS_THREAD_LABELS_H

#include <linux/types.h>

enum pfs_label_kind {
	PFS_LABELS_NONE = 0,
	PFS_LABELS_GO,	   /* pairs */
	PFS_LABELS_GO_MAP, /* a map */
	PFS_LABELS_CUSTOM,
	PFS_LABELS_LIBRARY
};

/* Location of a program's labels, from its file (collector/threads). */
struct pfs_label_place {
	__u64 variable;	  /* PFS_LABELS_LIBRARY: address of the variable, in the file or the process */
	__s32 tls_offset; /* offset of the word that leads to them, from the thread pointer */
	__u16 m;		  /* offsets of fields of Go's structures */
	__u16 curg;
	__u16 labels;
	__u8 kind; /* enum pfs_label_kind */
	__u8 unused[5];
};

#define PFS_LABEL_KEY_BYTES	  28
#define PFS_LABEL_VALUE_BYTES 96
#define PFS_MAX_LABELS		  8

/* Strings have no terminator, and are cut to the size of their fields. */
struct pfs_label {
	__u16 key_length;
	__u16 value_length;
	char key[PFS_LABEL_KEY_BYTES];
	char value[PFS_LABEL_VALUE_BYTES];
};

/* Follows a record's user frames, with PFS_SAMPLE_LABELS; contains only the labels that exist. */
struct pfs_labels {
	__u32 count;
	__u32 cut;	   /* number of missing labels and of cut strings */
	__u64 missing; /* address near which a read failed; 0 if all reads succeeded */
	struct pfs_label labels[PFS_MAX_LABELS];
};

#ifndef __bpf__
_Static_assert(sizeof(struct pfs_label) == 128, "labels are found by their number");
_Static_assert(sizeof(struct pfs_labels) % 8 == 0, "the labels are aligned");
#endif

#endif
