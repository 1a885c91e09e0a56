/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * gpu_rows.h
 *		What libprofstore-gpu.so, inside a program that uses a GPU, passes to the collector.
 *
 * At the end of a window, in which the library has observed the program, it calls pfs_gpu_rows()
 * with batches of rows. A row of kind WINDOW is followed by the window's other rows, in several
 * calls if they are many. All numbers have the machine's byte order. The program may pass anything:
 * the collector trusts no row.
 */
#ifndef PFS_GPU_ROWS_H
#define PFS_GPU_ROWS_H

#include <linux/types.h>

#define PFS_GPU_ROW_VERSION 1
#define PFS_GPU_ROWS_MAX	60	/* rows of one call */
#define PFS_GPU_NAME_BYTES	512 /* longer names are cut */
#define PFS_GPU_DEVICES_MAX 64
#define PFS_GPU_UUID_BYTES	16
#define PFS_GPU_NAME_PART	40
#define PFS_GPU_NAMES_MAX	4096
#define PFS_GPU_OTHER_NAME	0 /* number of the name that stands for all kernels without one */
/* Rows that follow one window; the library merges the smallest sums if there are more. */
#define PFS_GPU_WINDOW_ROWS 6000

enum pfs_gpu_row_kind {
	PFS_GPU_ROW_KERNELS = 1, /* the sum of all launches of a kernel */
	PFS_GPU_ROW_KEPT,		 /* the kernels of one launch whose stack was sampled */
	PFS_GPU_ROW_COPIES,
	PFS_GPU_ROW_SETS,
	PFS_GPU_ROW_WINDOW,
	PFS_GPU_ROW_NAME,
	PFS_GPU_ROW_DEVICE /* the device's UUID */
};

/* The direction of copies, in the member name of rows of the kind COPIES. */
enum pfs_gpu_copy {
	PFS_GPU_COPY_OTHER,
	PFS_GPU_COPY_HTOD,
	PFS_GPU_COPY_DTOH,
	PFS_GPU_COPY_DTOD,
	PFS_GPU_COPY_HTOH,
	PFS_GPU_COPY_PTOP,
	PFS_GPU_COPY_COUNT
};

/* A window stands for at most this time; if more has passed, the rest is not reported. */
#define PFS_GPU_SINCE_MAX_NS 30000000000ULL

struct pfs_gpu_row {
	__u8 kind;	  /* enum pfs_gpu_row_kind */
	__u8 version; /* PFS_GPU_ROW_VERSION */
	__u16 device; /* number of the device in the program */
	/* number of the kernel's name, or a copy's direction; WINDOW: attempts that found a profiler */
	__u32 name;
	/*
	 * KEPT: identifies the launch in the process; WINDOW of which nothing was observed: 1 if it was
	 * thrown away
	 */
	__u32 correlation;
	__u32 stream;
	union {
		struct {
			__u64 count; /* launches or copies */
			__u64 ns;	 /* sum of their durations on the device */
			__u64 bytes;
			__u64 start_ns; /* KEPT: start of the first kernel, CLOCK_MONOTONIC */
			__u64 graph;	/* 1: the kernels belong to graphs */
			__u64 unused;
		};
		struct {
			__u64 observed_ns; /* the time in which launches were observed */
			__u64 since_ns;	   /* the time for which the window stands: since the one before */
			__u64 length_ns;   /* from its start until its last kernels were reported */
			__u64 launches;
			__u32 kept;
			__u32 rows;		 /* number of rows that follow */
			__u32 refused;	 /* records of activity that were not believed */
			__u32 unmatched; /* launches of which no kernel was reported */
		} window;
		struct {
			char text[PFS_GPU_NAME_PART]; /* a part of the name, at offset bytes */
			__u32 offset;
			__u32 length; /* of the whole name */
		} part;
		__u8 uuid[PFS_GPU_UUID_BYTES];
	};
};

#ifndef __bpf__
_Static_assert(sizeof(struct pfs_gpu_row) == 64, "a row has no padding");
#endif

#endif
