/*
 * wait_round.h
 *		Stores the ongoing waits: one round through all threads.
 *
 * See bpf/off_cpu.bpf.h for the three steps. The threads of a round are handled in batches, so that
 * memory stays bounded regardless of the number of waiting threads.
 */
#ifndef COLLECTOR_WAIT_ROUND_H
#define COLLECTOR_WAIT_ROUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/source.h"
#include "kernel/stack_reader.h"

/* Limit of waits in a batch. For each batch the kernel visits all threads once more. */
#define WAIT_ROUND_BATCH_WAITS 256

struct bpf_link;

/* Belongs to one thread at a time. */
typedef struct WaitRounds
{
	const SourceHost *host;
	StackReader stacks;
	struct bpf_link *tend_link;
	struct bpf_link *confirm_link;
} WaitRounds;

int wait_rounds_init(WaitRounds *rounds, const SourceHost *host); /* returns 0 or -ENOMEM */
void wait_rounds_fini(WaitRounds *rounds);

/* Returns 0 or -errno. */
int wait_rounds_attach(WaitRounds *rounds);
void wait_rounds_detach(WaitRounds *rounds);

/* Restarts all waits at this moment. */
void wait_rounds_forget(WaitRounds *rounds);

/*
 * Passes the ongoing waits on, and counts those whose stack could not be read. Returns false if the
 * kernel refused, which is logged.
 */
bool wait_rounds_run(WaitRounds *rounds);

#endif
