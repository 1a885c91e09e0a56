/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * user_stack.bpf.h
 *		The user side of a sample: registers, the walk, and the hand-over to user space if the
 *		walk cannot continue.
 *
 * The walk knows neither the event nor the type of program: an entry point takes a scratch and
 * begins the walk with registers, its context's or those saved on entry to the kernel; the rest
 * uses the scratch only.
 */
#ifndef PFS_USER_STACK_BPF_H
#define PFS_USER_STACK_BPF_H

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "events.h"
#include "kernel_types.h"
#include "maps.bpf.h"
#include "unwind_maps.bpf.h"

#include "unwind.bpf.h"

/*
 * Kernel stacks end with the saved registers of user mode; kernels before 5.15 have no helper that
 * finds them.
 */
#define PFS_KERNEL_STACK_BYTES 16384

/*
 * Limit of an instruction's length on all architectures. The copy of an instruction executes
 * between its address and this many bytes after it.
 */
#define PFS_INSTRUCTION_BYTES 16

#define PFS_OTHER_STACK_FRAMES 16 /* limit of frames that are followed to find another stack */

#ifdef PFS_ARM64

static __always_inline int
pfs_in_user_mode(const pfs_registers *registers)
{
	return (registers->pstate & 0xf) == 0; /* PSR_MODE_EL0t */
}

/* Returns true for 64-bit code; PSR_MODE32_BIT marks other code. */
static __always_inline int
pfs_is_64_bit(const pfs_registers *registers)
{
	return !(registers->pstate & 0x10);
}

static __always_inline void
pfs_number_registers(struct pfs_walk_state *at, const pfs_registers *registers)
{
	/*
	 * at constant offsets, because the verifier does not allow a changed pointer into the context
	 */
#pragma clang loop unroll(full)
	for (int i = 0; i < 31; i++)
		at->registers[i] = registers->regs[i];
	at->registers[PFS_REGISTER_SP] = registers->sp;
	at->registers[PFS_REGISTER_PC] = registers->pc;
}

#else

static __always_inline int
pfs_in_user_mode(const pfs_registers *registers)
{
	return (registers->cs & 3) == 3;
}

static __always_inline int
pfs_is_64_bit(const pfs_registers *registers)
{
	return registers->cs == 0x33; /* __USER_CS */
}

static __always_inline void
pfs_number_registers(struct pfs_walk_state *at, const pfs_registers *registers)
{
	at->registers[0] = registers->rax;
	at->registers[1] = registers->rdx;
	at->registers[2] = registers->rcx;
	at->registers[3] = registers->rbx;
	at->registers[4] = registers->rsi;
	at->registers[5] = registers->rdi;
	at->registers[6] = registers->rbp;
	at->registers[7] = registers->rsp;
	at->registers[8] = registers->r8;
	at->registers[9] = registers->r9;
	at->registers[10] = registers->r10;
	at->registers[11] = registers->r11;
	at->registers[12] = registers->r12;
	at->registers[13] = registers->r13;
	at->registers[14] = registers->r14;
	at->registers[15] = registers->r15;
	at->registers[16] = registers->rip;
}

#endif

/*
 * Reads the registers saved on entry from user mode at the end of the task's kernel stack; their
 * structure has the running kernel's size.
 */
static __always_inline int
pfs_saved_registers(struct task_struct *task, pfs_registers *registers)
{
	void *saved;

	/* the helper exists since Linux 5.15 */
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		saved = (void *) bpf_task_pt_regs(bpf_get_current_task_btf());
	else
		saved = (char *) BPF_CORE_READ(task, stack) + PFS_KERNEL_STACK_BYTES -
				bpf_core_type_size(struct pt_regs___saved);
	return (int) bpf_probe_read_kernel(registers, sizeof(*registers), saved);
}

/*
 * Returns true if the current task continues after a system call instruction. That address counts
 * as a return address, because the instruction may be its function's last one. The kind of entry
 * does not show this: a signal's handler, or a program after exec, begins elsewhere.
 */
static __always_inline int
pfs_goes_on_behind_call(const pfs_registers *registers)
{
#ifdef PFS_ARM64
	(void) registers; /* "svc" is never a function's last instruction */
	return 0;
#else
	__u16 instruction = 0;

	/* orig_rax is -1 if the task entered the kernel by an interrupt or a fault */
	if (registers->orig_rax == ~0UL ||
		bpf_probe_read_user(&instruction, sizeof(instruction), (void *) (registers->rip - 2)))
		return 0;
	return instruction == 0x050f || instruction == 0x80cd; /* syscall, int $0x80 */
#endif
}

/*
 * Moves the address of an instruction in a copy back to the probed code. The kernel executes a
 * probed instruction as a copy, in a page of its own that no rule covers.
 */
static __always_inline void
pfs_leave_probe_copy(struct pfs_walk_state *at, struct task_struct *task)
{
	struct uprobe_task *probed;
	__u64 copy;
	__u64 offset;

	if (!bpf_core_field_exists(task->utask))
		return;
	probed = BPF_CORE_READ(task, utask);
	if (!probed)
		return;
	/* the address may be that of an earlier copy, so it counts only if the task is there */
	copy = BPF_CORE_READ(probed, xol_vaddr);
	offset = at->registers[PFS_REGISTER_PC] - copy;
	if (copy && offset <= PFS_INSTRUCTION_BYTES)
		at->registers[PFS_REGISTER_PC] = BPF_CORE_READ(probed, vaddr) + offset;
}

/*
 * Records the calls whose returns are traced. On the stack their return addresses are replaced by
 * that of a trampoline.
 */
static __always_inline void
pfs_note_traced_returns(struct pfs_walk_state *at, struct task_struct *task)
{
	struct return_instance *call;
	struct uprobe_task *probed;

	at->trampoline = 0;
	if (!bpf_core_field_exists(task->utask) ||
		!bpf_core_field_exists(((struct xol_area *) 0)->vaddr))
		return;
	probed = BPF_CORE_READ(task, utask);
	/* the list begins with the innermost call */
	call = probed ? BPF_CORE_READ(probed, return_instances) : 0;
	if (!call)
		return;
	at->trampoline = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
	for (int i = 0; i < PFS_TRACED_RETURNS; i++)
	{
		at->traced[i].address = call ? BPF_CORE_READ(call, orig_ret_vaddr) : 0;
		at->traced[i].stack = call ? BPF_CORE_READ(call, stack) : 0;
		call = call ? BPF_CORE_READ(call, next) : 0;
	}
}

/*
 * Moves a task in the trampoline to the traced function's caller, because the function has
 * returned.
 */
static __always_inline void
pfs_leave_trampoline(struct pfs_walk_state *at)
{
	if (!at->trampoline || at->pc - at->trampoline >= PFS_TRAMPOLINE_BYTES ||
		!at->traced[0].address)
		return;
	at->pc = at->traced[0].address;
	at->sp = at->traced[0].stack;
#ifndef PFS_ARM64
	at->sp += 8;
#endif
	at->registers[PFS_REGISTER_SP] = at->sp;
	at->is_return = 1;
}

/* Begins the walk of a task's user side with registers of user mode. */
static __always_inline void
pfs_begin_walk(struct pfs_walk *walk, const pfs_registers *registers, struct task_struct *task)
{
	walk->count = 0;
	walk->status = PFS_WALK_NO_REGISTERS;
	/*
	 * The scratch has the mappings, the window and the code of another sample's walk, which must
	 * not be used.
	 */
	walk->mapping.end = 0;
	walk->before.end = 0;
	walk->window.start = PFS_NO_WINDOW;
	walk->more_count = 0;
	walk->code.end = 0;
	walk->code.has_unloaded = 0;
	if (!pfs_is_64_bit(registers))
		return;
	pfs_number_registers(&walk->at, registers);
	/* before pfs_walk_enter_innermost(), which takes pc from the registers */
	pfs_leave_probe_copy(&walk->at, task);
	pfs_walk_enter_innermost(walk);
	pfs_note_traced_returns(&walk->at, task);
	pfs_leave_trampoline(&walk->at);
	walk->status = PFS_WALK_RUNNING;
}

/* Begins the walk with the registers saved when the task entered the kernel. */
static __always_inline void
pfs_begin_walk_of_task(struct pfs_scratch *scratch, struct task_struct *task)
{
	struct pfs_walk *walk = &scratch->walk;

	if (pfs_saved_registers(task, &scratch->saved))
	{
		walk->count = 0;
		walk->status = PFS_WALK_NO_REGISTERS;
		return;
	}
	pfs_begin_walk(walk, &scratch->saved, task);
	if (pfs_goes_on_behind_call(&scratch->saved))
		walk->at.is_return = 1;
}

/*
 * Notes the end of the last frame, which is its caller's stack pointer. Called before the caller's
 * step instead of after its own, because the kernel would verify it on each of the step's many
 * exits.
 */
static __always_inline void
pfs_note_end(struct pfs_scratch *scratch)
{
	__u64 end = (scratch->walk.at.sp - scratch->chain.first_sp) / 8;
	__u32 place = pfs_walk_place(scratch->walk.count - 1U);

	barrier_var(place);
	/*
	 * Before the first frame the number wraps around. Its place is that of an outer frame of a deep
	 * stack, whose end is written later.
	 */
	if (place < PFS_MAX_USER_FRAMES)
		scratch->chain.ends[place] = end < PFS_END_UNKNOWN ? (__u32) end : PFS_END_UNKNOWN;
}

/* Appends the further words of the frame that was found last. */
static __always_inline void
pfs_keep_more(struct pfs_scratch *scratch, __u32 first)
{
	struct pfs_walk *walk = &scratch->walk;

#pragma clang loop unroll(full)
	for (__u32 i = 0; i < PFS_STEP_MORE; i++)
	{
		__u32 at = first + pfs_walk_place(walk->count);

		barrier_var(at);
		if (i < walk->more_count && at < PFS_MAX_FRAMES + PFS_MAX_USER_FRAMES)
		{
			scratch->words[at] = walk->more[i];
			walk->count++;
		}
	}
	walk->more_count = 0;
}

/*
 * One step of the walk in a scratch. A global function, which the kernel verifies once for all
 * loops. first is the number of stack words before the user frames.
 */
__attribute__((noinline)) int
pfs_user_step(__u32 slot, __u32 first)
{
	struct pfs_scratch *scratch = pfs_get_scratch(slot);
	int ended;
	__u32 at;

	if (!scratch)
		return 1;
	if (pfs_has_chain(scratch->chain.runtime.kind))
		pfs_note_end(scratch);
	at = first + pfs_walk_place(scratch->walk.count);
	if (at >= PFS_MAX_FRAMES + PFS_MAX_USER_FRAMES)
		return 1;
	ended = pfs_walk_step(&scratch->walk, &scratch->words[at]);
	if (scratch->walk.more_count)
		pfs_keep_more(scratch, first);
	return ended;
}

/* Returns the thread pointer, through which interpreters find their state of the thread. */
static __always_inline __u64
pfs_thread_pointer(struct task_struct *task)
{
#ifdef PFS_ARM64
	return BPF_CORE_READ(task, thread.uw.tp_value);
#else
	return BPF_CORE_READ(task, thread.fsbase);
#endif
}

/*
 * Walks some steps. Returns non-zero if the walk has ended. The kernel verifies loops by iterating
 * them: two short nested loops are verified in a fraction of the time of a long one.
 */
#define PFS_STEPS 64

__attribute__((noinline)) int
pfs_user_steps(__u32 slot, __u32 first)
{
	for (int i = 0; i < PFS_STEPS; i++)
	{
		if (pfs_user_step(slot, first))
			return 1;
	}
	return 0;
}

/*
 * Returns the end of the copy of a stack: the end of the first thread's stack, or the limit of
 * copies for other stacks.
 */
static __always_inline __u64
pfs_stack_end(struct task_struct *task, __u64 sp)
{
	__u64 top = BPF_CORE_READ(task, mm, start_stack);

	return top > sp ? top : ~0ULL;
}

/*
 * Finds the rest of a stack elsewhere. Go's programs switch from a goroutine's stack to another one
 * and back, with valid frame pointers: the first frame record outside of the copied range is on the
 * other stack. Returns 0 if frame pointers are invalid or stay inside.
 */
static __always_inline __u64
pfs_other_stack(__u64 fp, __u64 low, __u64 high)
{
	__u64 caller_fp;

	for (int i = 0; i < PFS_OTHER_STACK_FRAMES; i++)
	{
		if (fp == 0 || (fp & 7) || pfs_read_user(fp, &caller_fp))
			return 0;
		/*
		 * Accepts the record only if it looks like one: its caller's record is a little above it.
		 */
		if (fp < low || fp >= high)
			return caller_fp > fp && caller_fp - fp < PFS_MAX_FP_FRAME_BYTES ? fp : 0;
		fp = caller_fp;
	}
	return 0;
}

/*
 * Appends one page to the copies if it is resident: page i of the stack, or from PFS_LATE_SPAN on
 * of the other stack. words is the number before the hand-over. A global function, like
 * pfs_user_step(); otherwise the loops that call it would be verified for every number of copies.
 */
__attribute__((noinline)) int
pfs_copy_page(__u32 slot, __u32 words, __u32 page)
{
	struct pfs_scratch *scratch = pfs_get_scratch(slot);
	struct pfs_late *late;
	__u64 address;
	__u64 length;
	int other = page >= PFS_LATE_SPAN;

	if (!scratch || words > PFS_RECORD_WORDS)
		return 1;
	late = (struct pfs_late *) &scratch->words[words];
	length = late->length;
	/* PFS_LATE_CHUNKS pages of the stack at most, so that those of the other stack have room */
	if (length > sizeof(late->bytes) - PFS_LATE_CHUNK_BYTES ||
		(!other && length >= PFS_LATE_CHUNKS * PFS_LATE_CHUNK_BYTES))
		return 1;
	page &= PFS_LATE_SPAN - 1;
	address = (other ? late->other_address : late->address) + (__u64) page * PFS_LATE_CHUNK_BYTES;
	if (bpf_probe_read_user(&late->bytes[length], PFS_LATE_CHUNK_BYTES, (void *) address))
		return 0;
	if (other)
		late->other_chunks |= 1ULL << page;
	else
		late->chunks |= 1ULL << page;
	late->length = length + PFS_LATE_CHUNK_BYTES;
	return 0;
}

/*
 * Returns the number of classes that the process's HotSpot has unloaded, by which a later walk sees
 * whether code may have been replaced since the sample.
 */
static __always_inline __u64
pfs_sampled_unloads(const struct pfs_scratch *scratch)
{
	const struct pfs_runtime *runtime = &scratch->chain.runtime;
	__u64 unloaded;

	if (runtime->kind != PFS_RUNTIME_HOTSPOT || !runtime->hotspot.unloaded ||
		pfs_read_user(runtime->hotspot.unloaded, &unloaded))
		return PFS_UNLOADED_UNKNOWN;
	return unloaded;
}

/*
 * Copies the stack, from the walk's position on, to the end of the record, for a walk in user
 * space. Pages that are not resident are skipped; the first one may be missing if it is being
 * faulted in. Returns the bytes of the hand-over.
 */
static __always_inline __u64
pfs_hand_over(struct pfs_scratch *scratch, struct task_struct *task, __u32 words)
{
	const __u64 page_mask = ~(__u64) (PFS_LATE_CHUNK_BYTES - 1);
	struct pfs_late *late;
	__u64 end = pfs_stack_end(task, scratch->walk.at.sp);
	__u64 low = scratch->walk.at.sp & page_mask;
	__u64 other;

	if (words > PFS_RECORD_WORDS)
		return 0;
	other = pfs_other_stack(scratch->walk.at.fp, low, low + PFS_LATE_SPAN * PFS_LATE_CHUNK_BYTES);
	late = (struct pfs_late *) &scratch->words[words];
	late->at = scratch->walk.at;
	late->thread_pointer = pfs_thread_pointer(task);
	late->address = low;
	late->chunks = 0;
	late->other_address = other & page_mask;
	late->other_chunks = 0;
	late->unloaded = pfs_sampled_unloads(scratch);
	late->length = 0;
	/* a page that is not resident does not end the loop; a full copy does */
	for (__u32 i = 0; i < PFS_LATE_SPAN && low + i * PFS_LATE_CHUNK_BYTES < end; i++)
	{
		if (pfs_copy_page(scratch->slot, words, i))
			break;
	}
	for (__u32 i = 0; i < PFS_LATE_OTHER_CHUNKS && other; i++)
	{
		if (pfs_copy_page(scratch->slot, words, PFS_LATE_SPAN + i))
			break;
	}
	if (late->length > sizeof(late->bytes))
		return 0;
	return sizeof(*late) - sizeof(late->bytes) + late->length;
}

/* Returns the collector's description of the sample's image; NULL if there is none yet. */
static __always_inline const struct pfs_unwind_process *
pfs_described(const struct pfs_sample *sample)
{
	__u32 pid = sample->pid;
	const struct pfs_unwind_process *process = bpf_map_lookup_elem(&pfs_processes, &pid);

	return process && process->start_time_ns == sample->start_time_ns &&
				   process->exec_id == sample->exec_id
			   ? process
			   : 0;
}

/* Keeps registers of the innermost frame, by which some interpreters' frames are found. */
static __always_inline void
pfs_note_leaf(struct pfs_scratch *scratch)
{
	struct pfs_chain_walk *chain = &scratch->chain;
	const struct pfs_walk_state *at = &scratch->walk.at;

#ifdef PFS_ARM64
	chain->leaf_link = at->registers[PFS_REGISTER_LR];
#else
	chain->leaf_pc = at->pc;
	chain->leaf_bx = at->registers[PFS_REGISTER_BX];
	chain->leaf_dx = at->registers[PFS_REGISTER_DX];
	chain->leaf_r14 = at->registers[PFS_REGISTER_R14];
#endif
}

/* Walks the user stack into the scratch, after the kernel's frames. The walk has begun. */
static __always_inline void
pfs_walk_user(struct pfs_scratch *scratch)
{
	struct pfs_sample *sample = &scratch->sample;
	struct pfs_walk *walk = &scratch->walk;
	const struct pfs_unwind_process *process;

	/* 32-bit code, or registers that could not be read */
	if (walk->status != PFS_WALK_RUNNING)
	{
		sample->user_status = walk->status;
		return;
	}

	walk->at.arguments = sample->arg_start;
	scratch->chain.first_sp = walk->at.sp;
	pfs_note_leaf(scratch);
	process = pfs_described(sample);
	if (!process)
	{
		/* a walk that cannot start still has the innermost frame */
		if (sample->kernel_count < PFS_FRAME_WORDS)
			scratch->words[sample->kernel_count] = pfs_walk_frame(&walk->at);
		walk->count = 1;
		walk->status = PFS_WALK_NO_PROCESS;
	}
	else
	{
		/* copied, because the collector may replace the map's entry during the walk */
		walk->process = *process;
		for (int i = 0; i < PFS_MAX_WALK_FRAMES / PFS_STEPS; i++)
		{
			if (pfs_user_steps(scratch->slot, sample->kernel_count))
				break;
			if (bpf_ktime_get_ns() - sample->time_ns > PFS_MAX_WALK_NS)
			{
				walk->status = PFS_WALK_OUT_OF_TIME;
				break;
			}
		}
		if (walk->status == PFS_WALK_RUNNING)
			walk->status = PFS_WALK_TOO_DEEP;
	}
	sample->user_status = walk->status;
	sample->user_count = walk->count;
}

/* Returns true if the collector can continue the walk: the kernel lacked a table, or time. */
static __always_inline int
pfs_walk_is_late(const struct pfs_sample *sample)
{
	return sample->user_status == PFS_WALK_NO_PROCESS ||
		   sample->user_status == PFS_WALK_NO_MAPPING || sample->user_status == PFS_WALK_NO_TABLE ||
		   sample->user_status == PFS_WALK_OUT_OF_TIME;
}

#endif
