/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * runtime.bpf.h
 *		Follows the frames that an interpreter has linked for a thread.
 *
 * A chain ends after PFS_CHAIN_MAX_FRAMES frames, after PFS_MAX_SAMPLE_NS, or at memory that cannot
 * be read. Frames found before the end are kept.
 */
#ifndef PFS_RUNTIME_BPF_H
#define PFS_RUNTIME_BPF_H

#include "chain.bpf.h"
#include "luajit.bpf.h"
#include "perl.bpf.h"
#include "php.bpf.h"
#include "python.bpf.h"
#include "ruby.bpf.h"
#include "v8.bpf.h"

/* Finds the thread's innermost frame. Returns non-zero if it has none, for the reason in status. */
static __always_inline int
pfs_begin_chain(struct pfs_scratch *scratch, __u64 thread_pointer)
{
	struct pfs_chain_walk *chain = &scratch->chain;

	/* the process has an interpreter, but the collector has not found its threads' states */
	if (!chain->runtime.is_placed)
		return pfs_chain_end(chain, PFS_CHAIN_NO_PLACE);
	switch (chain->runtime.kind)
	{
		case PFS_RUNTIME_PYTHON:
			return pfs_begin_python_chain(chain, thread_pointer);
		case PFS_RUNTIME_PHP:
			return pfs_begin_php_chain(chain, thread_pointer);
		case PFS_RUNTIME_PERL:
			return pfs_begin_perl_chain(scratch, thread_pointer);
		case PFS_RUNTIME_RUBY:
			return pfs_begin_ruby_chain(chain, thread_pointer);
		case PFS_RUNTIME_LUAJIT:
			return pfs_begin_luajit_chain(chain, thread_pointer, scratch->walk.at.pc);
		case PFS_RUNTIME_V8:
			return pfs_begin_v8_chain(chain);
		default:
			return pfs_chain_end(chain, PFS_CHAIN_NO_PLACE);
	}
}

/* Follows the chain by PFS_CHAIN_STEPS frames. Returns non-zero if it has ended. */
static __always_inline int
pfs_chain_steps(const struct pfs_scratch *scratch, __u32 first)
{
	switch (scratch->chain.runtime.kind)
	{
		case PFS_RUNTIME_PYTHON:
			return pfs_python_steps(scratch->slot, first);
		case PFS_RUNTIME_PHP:
			return pfs_php_steps(scratch->slot, first);
		case PFS_RUNTIME_PERL:
			return pfs_perl_steps(scratch->slot, first);
		case PFS_RUNTIME_RUBY:
			return pfs_ruby_steps(scratch->slot, first);
		case PFS_RUNTIME_LUAJIT:
			return pfs_luajit_steps(scratch->slot, first);
		case PFS_RUNTIME_V8:
			return pfs_v8_steps(scratch->slot, first);
		default:
			return 1;
	}
}

/* Follows the chain. first is the place of its first word. */
static __always_inline void
pfs_walk_chain(struct pfs_scratch *scratch, __u64 thread_pointer, __u32 first)
{
	struct pfs_chain_walk *chain = &scratch->chain;

	chain->found = 0;
	chain->mark_count = 0;
	chain->status = PFS_CHAIN_RUNNING;
	/* the scratch still has the words of another process's chain */
	pfs_forget_memory(chain);
	if (pfs_begin_chain(scratch, thread_pointer))
		return;
	for (int i = 0; i < PFS_CHAIN_MAX_FRAMES / PFS_CHAIN_STEPS; i++)
	{
		if (pfs_chain_steps(scratch, first))
			return;
		/* from the begin of the sample on, so the walk of the machine's stack counts, too */
		if (bpf_ktime_get_ns() - scratch->sample.time_ns > PFS_MAX_SAMPLE_NS)
		{
			chain->status = PFS_CHAIN_OUT_OF_TIME;
			return;
		}
	}
	chain->status = PFS_CHAIN_TOO_DEEP;
}

/* Fills the head of the chain's section, except the number of ends. */
static __always_inline void
pfs_describe_chain(struct pfs_chain *head, const struct pfs_chain_walk *chain, __u64 thread_pointer)
{
	head->thread_pointer = thread_pointer;
	head->first_sp = chain->first_sp;
	head->found = chain->found;
	head->mark_count = chain->mark_count;
	head->kind = chain->runtime.kind;
	head->status = chain->status;
	head->marks = chain->runtime.marks;
}

#endif
