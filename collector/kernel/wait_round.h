/*
 * wait_round.h
 *		Stores the ongoing waits: one round visits all threads.
 *
 * bpf/off_cpu.bpf.h describes the three steps. The threads of a round are handled in batches, so
 * that memory is bounded regardless of the number of waiting threads.
 */
#ifndef COLLECTOR_WAIT_ROUND_H
#define COLLECTOR_WAIT_ROUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/source.h"
#include "kernel/stack_reader.h"

/* Limit of the waits in a batch. Each batch makes the kernel visit all threads again. */
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

/* Attaches the iterators. Returns 0 or -errno. */
int wait_rounds_attach(WaitRounds *rounds);
void wait_rounds_detach(WaitRounds *rounds);

/* Makes all waits begin at this moment. */
void wait_rounds_forget(WaitRounds *rounds);

/*
 * Passes the ongoing waits on, and counts those whose stack could not be read. Returns false if the
 * kernel refused, which is logged.
 */
bool wait_rounds_run(WaitRounds *rounds);

#endif
