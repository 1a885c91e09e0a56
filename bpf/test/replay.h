/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * replay.h
 *		The BPF walker in user space: the same C (unwind.bpf.h) over plain arrays and a recorded process's memory.
 *
 * No root, no kernel, deterministic, and a debugger can step through it. Reads of memory can be made to fail, as
 * paged-out stacks make them fail in the kernel.
 */
#ifndef PFS_REPLAY_H
#define PFS_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/kernel_tables.h"

#define REPLAY_REGISTERS 33 /* DWARF numbers; enough for every architecture */

typedef struct Replay Replay;

/* Reads 8 bytes of the process's memory: 0, or non-zero where they cannot be read. */
typedef int (*ReplayRead)(void *context, uint64_t address, uint64_t *value);

/* 0 or -ENOMEM. */
int replay_create(Replay **replay);
void replay_free(Replay *replay);

/* The tables that the walker reads, to be filled by an Unwinder. */
KernelTables *replay_tables(Replay *replay);

/*
 * Walks one user stack from its registers (by DWARF number). frames takes up to capacity frames as the kernel records them,
 * with PFS_FRAME_* bits. Returns their number; *status is an enum pfs_walk_status.
 */
size_t replay_walk(Replay *replay, uint32_t pid, const uint64_t *registers, ReplayRead read,
				   void *context, uint64_t *frames, size_t capacity, int *status);

#endif
