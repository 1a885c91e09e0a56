/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind.bpf.h
 *		The walk from the registers of a sample through its user stack, with unwind rules.
 *
 * This file is compiled twice: into the BPF programs, and into the collector (unwind/late_walk.c),
 * which walks what the kernel could not, and replays recorded processes in tests. What differs
 * stands after seven functions that the includer defines first: pfs_read_stack for a word of the
 * process's memory (0 if it was read), and pfs_get_{mapping,entry,line,rule,recent} for table
 * entries, which may answer NULL; and pfs_trusts_jit, whether the rules of generated code, which
 * comes and goes, are those of the code that was sampled. hotspot.bpf.h names four more.
 *
 * One step, for the frame at walk->at.pc:
 *
 * 1. Find the mapping: the one of the previous frame, or the one before that, otherwise by binary
 *    search in the process's run.
 * 2. Record the frame.
 * 3. Find the row: in the cache of found rules, otherwise the page by its number, the line by
 *    binary search, and the row by binary search; each of these misses the CPU's caches. For a
 *    return address the byte before it is looked up, so that a call at the end of a function finds
 *    its own function's rule.
 * 4. Apply the rule. Without a rule, or if the mapping demands it, follow the frame pointer with
 *    checks.
 *
 * The kernel verifies a step once, as a global function, and the loops around it are plain: there
 * are no tail calls, so only PFS_MAX_WALK_FRAMES limits the depth.
 */
#ifndef PFS_UNWIND_BPF_H
#define PFS_UNWIND_BPF_H

#include "hotspot.bpf.h"
#include "unwind_types.h"
#include "walk_caller.bpf.h"

#define PFS_MAX_ASM_FRAME_BYTES (16ULL << 10)
#define PFS_ARGUMENTS_BYTES		(6ULL << 20) /* arguments and environment; the kernel's limit */

/*
 * rax, rdx, rcx, rsi, rdi, r8 to r11, by DWARF number: registers that a called C function may
 * overwrite.
 */
#define PFS_ASM_FRAME_REGISTERS 0x0f37U

/*
 * Odd, so that every check refuses it; not zero, which proves a root in code with frame pointers.
 */
#define PFS_FP_UNKNOWN 1ULL

/* Prepares the walk for a frame whose registers are all known. */
static __always_inline void
pfs_walk_enter_innermost(struct pfs_walk *walk)
{
	walk->at.pc = walk->at.registers[PFS_REGISTER_PC];
	walk->at.sp = walk->at.registers[PFS_REGISTER_SP];
	walk->at.fp = walk->at.registers[PFS_REGISTER_FP];
	walk->at.bx_at = 0;
	walk->at.innermost = 1;
	walk->at.is_return = 0;
	walk->at.by_fp = 0;
	walk->at.above = 0;
}

static __always_inline int
pfs_holds(const struct pfs_unwind_mapping *mapping, __u64 address)
{
	return address >= mapping->start && address < mapping->end;
}

/* Makes walk->mapping the mapping of an address. Returns 0 if the process has none there. */
static __always_inline int
pfs_find_mapping(struct pfs_walk *walk, __u64 address)
{
	__u32 low = walk->process.first;
	__u32 high = low + walk->process.count;
	struct pfs_unwind_mapping before;

	/* a caller is mostly in the mapping of its callee */
	if (pfs_holds(&walk->mapping, address))
		return 1;
	before = walk->before;
	walk->before = walk->mapping;
	if (pfs_holds(&before, address))
	{
		walk->mapping = before;
		return 1;
	}

	/* enough for 2^16 mappings, the kernel's default limit of a process */
	for (int i = 0; i < 17 && low < high; i++)
	{
		__u32 middle = low + (high - low) / 2;
		const struct pfs_unwind_mapping *mapping = pfs_get_mapping(middle);

		if (!mapping)
			return 0;
		if (address < mapping->start)
			high = middle;
		else if (address >= mapping->end)
			low = middle + 1;
		else
		{
			walk->mapping = *mapping;
			return 1;
		}
	}
	return 0;
}

/*
 * Returns the line with the last row at or before the offset; lines are ascending, and the first
 * one starts the page.
 */
static __always_inline const struct pfs_unwind_line *
pfs_find_line(struct pfs_unwind_page page, __u32 offset)
{
	__u32 low = page.first_line;
	__u32 high = low + page.line_count;

	/* enough for the 4,096 rows, in 256 lines, that a page may have */
	for (int i = 0; i < 8 && high - low > 1; i++)
	{
		__u32 middle = low + (high - low) / 2;
		const struct pfs_unwind_line *line = pfs_get_line(middle);

		if (!line)
			return 0;
		if (line->rows[0].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return pfs_get_line(low);
}

/* Returns the page of an ELF address from the directory of the current mapping. */
static __always_inline struct pfs_unwind_page
pfs_find_page(const struct pfs_walk *walk, __u64 elf_address)
{
	const union pfs_unwind_entry *entry = pfs_get_entry(walk->mapping.directory);
	__u64 page = elf_address >> PFS_UNWIND_PAGE_BITS;
	union pfs_unwind_entry found = { .word = 0 };

	/* a page without lines: the directory does not cover the address */
	if (!entry || page < entry->head.low_page)
		return found.page;
	page -= entry->head.low_page;
	if (page >= entry->head.page_count)
		return found.page;
	entry = pfs_get_entry(walk->mapping.directory + 1 + (__u32) page);
	if (entry)
		/* volatile: one load of the whole word, which the collector may be writing */
		found.word = *(const volatile __u64 *) &entry->word;
	return found.page;
}

/* Returns the number of the rule in the table; 0 if there is none. */
static __always_inline __u32
pfs_look_up_rule(const struct pfs_walk *walk, __u64 elf_address)
{
	__u32 offset = (__u32) elf_address & ((1U << PFS_UNWIND_PAGE_BITS) - 1);
	struct pfs_unwind_page page = pfs_find_page(walk, elf_address);
	const struct pfs_unwind_line *line;
	__u32 at = 0;

	if (page.line_count == 0)
		return 0;
	if (page.line_count & PFS_UNWIND_NOT_LOADED)
		return PFS_UNWIND_UNKNOWN_RULE;
	line = pfs_find_line(page, offset);
	if (!line || line->rows[0].offset > offset)
		return 0;
	/* binary search among 16 rows; at becomes the last row at or before the offset */
	for (__u32 step = PFS_UNWIND_LINE_ROWS / 2; step > 0; step /= 2)
	{
		if (line->rows[(at + step) & (PFS_UNWIND_LINE_ROWS - 1)].offset <= offset)
			at += step;
	}
	return line->rows[at & (PFS_UNWIND_LINE_ROWS - 1)].rule;
}

/* Returns NULL if the rows of the address are not loaded. */
static __always_inline const struct pfs_unwind_rule *
pfs_find_rule(const struct pfs_walk *walk, __u64 address)
{
	__u64 elf_address = address - walk->mapping.bias;
	__u64 table = pfs_mapping_table(&walk->mapping);
	__u64 place = (table << PFS_RECENT_ADDRESS_BITS | elf_address) * PFS_RECENT_FACTOR &
				  ((1ULL << PFS_RECENT_PLACE_BITS) - 1);
	__u64 tag = place & ((1ULL << PFS_RECENT_TAG_BITS) - 1);
	volatile __u64 *recent = 0;
	__u64 found = 0;
	__u32 rule;

	/* an address beyond the bits of a place is looked up without the cache */
	if (table != 0 && elf_address >> PFS_RECENT_ADDRESS_BITS == 0)
		recent = pfs_get_recent((__u32) (place >> PFS_RECENT_TAG_BITS));
	if (recent)
		found = *recent;
	rule = found & ((1U << PFS_RECENT_RULE_BITS) - 1);
	/* an empty slot, or one that has the rule of another place */
	if (rule == 0 || found >> PFS_RECENT_RULE_BITS != tag)
	{
		rule = pfs_look_up_rule(walk, elf_address);
		if (recent && rule != 0 && rule != PFS_UNWIND_UNKNOWN_RULE)
			*recent = tag << PFS_RECENT_RULE_BITS | rule;
	}
	return pfs_get_rule(rule);
}

/*
 * Follows the frame record at fp: caller's fp, then return address. In code built with frame
 * pointers a zero ends the stack; in other code the frame pointer is a guess, and any implausible
 * value ends the walk as unknown.
 */
static __always_inline int
pfs_step_by_frame_pointer(struct pfs_walk *walk)
{
	int proven = pfs_mapping_kind(&walk->mapping) == PFS_MAPPING_FRAME_POINTER;
	__u64 fp = walk->at.fp;
	__u64 caller_fp;
	__u64 pc;

	if (fp == 0)
		return pfs_walk_end(walk, proven ? PFS_WALK_END_OF_FRAMES : PFS_WALK_NO_RULE);
	/* a frame record is above the stack pointer, and not farther than any frame is large */
	if (fp < walk->at.sp || fp - walk->at.sp > PFS_MAX_FP_FRAME_BYTES || (fp & 7))
		return pfs_walk_end(walk, proven ? PFS_WALK_BAD_FRAME : PFS_WALK_NO_RULE);
	if (pfs_read_stack(walk, fp, &caller_fp) || pfs_read_stack(walk, fp + 8, &pc))
		return pfs_walk_end(walk, PFS_WALK_READ_FAILED);
	if (pc == 0)
		return pfs_walk_end(walk, proven ? PFS_WALK_END_OF_FRAMES : PFS_WALK_NO_RULE);
	/*
	 * The caller's record must be above. Such a value is no frame pointer, but this step is still
	 * right.
	 */
	if (caller_fp != 0 && caller_fp <= fp)
		caller_fp = PFS_FP_UNKNOWN;
	walk->at.by_fp = 1;
	/* the function may have saved rbx anywhere */
	walk->at.bx_at = PFS_BX_LOST;
	return pfs_walk_to_caller(walk, pc, fp + 16, caller_fp);
}

/*
 * Restores the registers that the kernel saved before a signal's handler. The trampoline to which
 * the handler returns made no call: the address is that of its first instruction, and is not
 * decremented.
 */
static __always_inline int
pfs_step_over_signal(struct pfs_walk *walk, __u64 *frame)
{
#ifndef PFS_ARM64
	/* uc_mcontext: r8 ... r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, here by DWARF number */
	static const __u8 slots[PFS_REGISTER_COUNT] = { 13, 12, 14, 11, 9, 8, 10, 15, 0,
													1,	2,	3,	4,	5, 6, 7,  16 };
#endif
	__u64 base = walk->at.sp + PFS_SIGNAL_REGISTERS;

	/* the frame was marked as a return address by the step of the signal's handler */
	if (!walk->at.innermost)
		*frame &= ~PFS_FRAME_RETURN_ADDRESS;
#ifdef PFS_ARM64
	for (int i = 0; i < PFS_REGISTER_COUNT; i++)
	{
		if (pfs_read_stack(walk, base + 8 * (__u64) i, &walk->at.registers[i]))
			return pfs_walk_end(walk, PFS_WALK_READ_FAILED);
	}
#else
	for (int i = 0; i < PFS_REGISTER_COUNT; i++)
	{
		if (pfs_read_stack(walk, base + 8 * (__u64) slots[i], &walk->at.registers[i]))
			return pfs_walk_end(walk, PFS_WALK_READ_FAILED);
	}
#endif
	pfs_walk_enter_innermost(walk);
	return 0;
}

/*
 * Handles code without a rule. On arm64 this includes the signal trampoline: the vDSO has no CFI
 * for it, and unwinders recognize its instructions, "mov x8, #__NR_rt_sigreturn; svc #0".
 */
static __always_inline int
pfs_step_without_rule(struct pfs_walk *walk, __u64 *frame)
{
#ifdef PFS_ARM64
	__u64 instructions;

	if (pfs_read_stack(walk, walk->at.pc, &instructions) == 0 &&
		instructions == 0xd4000001d2801168ULL)
		return pfs_step_over_signal(walk, frame);
#else
	(void) frame;
#endif
	return pfs_step_by_frame_pointer(walk);
}

#ifndef PFS_ARM64
static __always_inline int
pfs_register_bx(struct pfs_walk *walk, __u64 *value)
{
	*value = walk->at.registers[PFS_REGISTER_BX];
	if (walk->at.bx_at == 0)
		return 1;
	return walk->at.bx_at != PFS_BX_LOST && !pfs_read_stack(walk, walk->at.bx_at, value);
}
#endif

/* Returns the value of a register in this frame; false if it is unknown. */
static __always_inline int
pfs_register(struct pfs_walk *walk, __u32 number, __u64 *value)
{
#ifndef PFS_ARM64
	if (number == PFS_REGISTER_BX)
		return pfs_register_bx(walk, value);
#endif
	if (number == PFS_REGISTER_SP)
		*value = walk->at.sp;
	else if (number == PFS_REGISTER_FP)
		*value = walk->at.fp;
	else if (walk->at.innermost && number < PFS_REGISTER_COUNT)
		*value = walk->at.registers[number];
	else
		return 0;
	return 1;
}

/*
 * Returns true if the frame of hand-written code depends on this register, and the code has called
 * the sampled function, so that the register is known. C code never has such a rule.
 */
static __always_inline int
pfs_holds_asm_frame(const struct pfs_walk *walk, __u32 number)
{
#ifdef PFS_ARM64
	(void) walk;
	(void) number;
	return 0;
#else
	return walk->at.above && number < 16 && (PFS_ASM_FRAME_REGISTERS >> number & 1);
#endif
}

/*
 * Restores the stack pointer on arm64. The position of a frame record there does not determine the
 * size of its frame, so after a step by frame pointer the caller's stack pointer is only a lower
 * bound. The caller's frame pointer leads to its own record, and the rule contains the distance
 * from there to the CFA.
 */
static __always_inline int
pfs_lost_sp(const struct pfs_walk *walk, const struct pfs_unwind_rule *rule)
{
#ifdef PFS_ARM64
	return walk->at.by_fp && rule->cfa_register == PFS_REGISTER_SP;
#else
	(void) walk;
	(void) rule;
	return 0;
#endif
}

/* Computes the CFA of a frame by its rule. Returns 0, or the status with which the walk ends. */
static __always_inline int
pfs_rule_cfa(struct pfs_walk *walk, const struct pfs_unwind_rule *rule, __u64 *cfa)
{
	__u64 limit = PFS_MAX_FRAME_BYTES;
	__u64 base;

	if (pfs_lost_sp(walk, rule))
	{
		if (rule->fp != PFS_FP_AT_CFA)
			return PFS_WALK_NO_RULE;
		base = walk->at.fp - (__u64) (rule->fp_offset * PFS_UNWIND_UNIT + (__s64) rule->cfa_offset);
	}
	else if (pfs_holds_asm_frame(walk, rule->cfa_register))
	{
		base = walk->at.registers[rule->cfa_register & 15];
		limit = PFS_MAX_ASM_FRAME_BYTES;
	}
	else if (!pfs_register(walk, rule->cfa_register, &base))
		return PFS_WALK_NO_RULE;
	*cfa = base + (__u64) (__s64) rule->cfa_offset;
	/* a lazy PLT entry has pushed the number of its relocation from this byte on */
	if (rule->kind == PFS_UNWIND_PLT && (walk->at.pc & 15) >= (__u64) (__s64) rule->plt_threshold)
		*cfa += 8;
	if (rule->flags & PFS_UNWIND_CFA_DEREF)
	{
		if (PFS_UNWIND_INDEX(rule->flags))
		{
			if (!pfs_register(walk, PFS_UNWIND_INDEX(rule->flags), &base))
				return PFS_WALK_NO_RULE;
			*cfa += 8 * base;
		}
		if (pfs_read_stack(walk, *cfa, cfa))
			return PFS_WALK_READ_FAILED;
		*cfa += (__u64) (__s64) rule->cfa_add;
	}

	/* the caller's frame may be on another stack, so it need not be above */
	if (rule->flags & PFS_UNWIND_OTHER_STACK)
		return (*cfa & 7) ? PFS_WALK_BAD_FRAME : 0;
	/*
	 * stacks grow downwards: a caller's frame is above, except for leaf code that has pushed
	 * nothing
	 */
	if (*cfa < walk->at.sp || *cfa - walk->at.sp > limit || (*cfa & 7) ||
		(*cfa == walk->at.sp && !(rule->flags & PFS_UNWIND_RA_IN_REGISTER)))
		return PFS_WALK_BAD_FRAME;
	return 0;
}

/* Moves to the caller by a rule. Returns non-zero if the walk has ended. */
static __always_inline int
pfs_step_by_rule(struct pfs_walk *walk, const struct pfs_unwind_rule *rule)
{
	__u64 fp = walk->at.fp;
	__u64 cfa;
	__u64 pc;
	int status = pfs_rule_cfa(walk, rule, &cfa);

	if (status)
		return pfs_walk_end(walk, status);

	if (rule->flags & PFS_UNWIND_RA_IN_REGISTER)
	{
		if (!pfs_register(walk, (__u32) (__s32) rule->ra_register, &pc))
			return pfs_walk_end(walk, PFS_WALK_NO_RULE);
	}
	else
	{
		__s64 offset = rule->kind == PFS_UNWIND_PLT ? -8 : rule->ra_offset * PFS_UNWIND_UNIT;

		if (pfs_read_stack(walk, cfa + (__u64) offset, &pc))
			return pfs_walk_end(walk, PFS_WALK_READ_FAILED);
	}

	/* the caller cannot be left by its frame pointer; its rule may do without */
	if (rule->fp == PFS_FP_LOST)
		fp = PFS_FP_UNKNOWN;
	else if (rule->fp != PFS_FP_SAME)
	{
		__u64 base = rule->fp == PFS_FP_AT_CFA ? cfa : walk->at.fp;

		__s64 offset = rule->fp_offset * PFS_UNWIND_UNIT;

		if (pfs_read_stack(walk, base + (__u64) offset, &fp))
			return pfs_walk_end(walk, PFS_WALK_READ_FAILED);
	}
	if (pc == 0)
		return pfs_walk_end(walk, PFS_WALK_BAD_FRAME);
	/* 0: the function does not save rbx, which stays where it was */
	if (rule->bx_offset == PFS_BX_LOST)
		walk->at.bx_at = PFS_BX_LOST;
	else if (rule->bx_offset)
		walk->at.bx_at = cfa + (__u64) (__s64) rule->bx_offset;
	walk->at.by_fp = 0;
	return pfs_walk_to_caller(walk, pc, cfa, fp);
}

/*
 * Returns the address by whose rule a frame is left. It is the frame's, except in code that PHP's
 * JIT compiler has made: that code is jumped to from the interpreter's loop, and runs in the loop's
 * frame.
 */
static __always_inline __u64
pfs_rule_address(const struct pfs_walk *walk)
{
	__u64 address = walk->at.pc - walk->at.is_return;
#ifndef PFS_ARM64
	const struct pfs_runtime *runtime = pfs_get_runtime(walk);
	__u64 other = 0;

	if (runtime && runtime->kind == PFS_RUNTIME_PHP)
		other = pfs_php_rule_address(&runtime->php, address);
	if (other)
		return other;
#endif
	return address;
}

/*
 * Returns true if the frame is not a caller but an argument of the process. Code without rules may
 * keep the array of arguments in the frame pointer (musl 1.2.5's start code does when it calls
 * main), so that an argument is read as the return address. The walk then ends for lack of a rule.
 */
static __always_inline int
pfs_is_argument(const struct pfs_walk_state *at)
{
	return at->by_fp && at->arguments && at->pc - at->arguments < PFS_ARGUMENTS_BYTES;
}

/* Returns the frame at the walk's position in the format of records. */
static __always_inline __u64
pfs_walk_frame(const struct pfs_walk_state *at)
{
	__u64 frame = PFS_FRAME_ADDRESS(at->pc);

	if (at->is_return)
		frame |= PFS_FRAME_RETURN_ADDRESS;
	if (at->by_fp)
		frame |= PFS_FRAME_BY_FRAME_POINTER;
	return frame;
}

/*
 * Walks one frame. Returns 0 to continue; otherwise walk->status says how the walk ended. A frame
 * that is not counted is not written, because its slot belongs to another frame of a deep stack.
 * Further words of the frame are left in walk->more, not counted.
 */
static __always_inline int
pfs_walk_step(struct pfs_walk *walk, __u64 *frame)
{
	__u64 address = pfs_rule_address(walk);
	int is_mapped = pfs_find_mapping(walk, address);
	int is_hotspot =
		(!is_mapped || pfs_mapping_kind(&walk->mapping) == PFS_MAPPING_FRAME_POINTER) &&
		pfs_is_hotspot_code(walk, address);
	const struct pfs_unwind_rule *rule;
	__u32 kind;

	/*
	 * an address outside of code is not a frame, except the innermost one, which is the CPU's real
	 * position
	 */
	if (is_mapped || is_hotspot || walk->at.innermost)
	{
		*frame = pfs_walk_frame(&walk->at);
		walk->count++;
	}
	if (is_hotspot)
	{
		int result = pfs_step_over_hotspot(walk, frame);

		if (result != PFS_HOTSPOT_NO_BLOB)
			return result;
	}
	if (!is_mapped)
		return pfs_walk_end(walk,
							pfs_is_argument(&walk->at) ? PFS_WALK_NO_RULE : PFS_WALK_NO_MAPPING);

	/* HotSpot's code and code outside of mappings have been handled */
	kind = pfs_mapping_kind(&walk->mapping);
	if (kind == PFS_MAPPING_PENDING || (kind == PFS_MAPPING_JIT && !pfs_trusts_jit()))
		return pfs_walk_end(walk, PFS_WALK_NO_TABLE);
	if (kind == PFS_MAPPING_FRAME_POINTER)
		return pfs_step_without_rule(walk, frame);

	rule = pfs_find_rule(walk, address);
	/*
	 * pfs_get_rule() returns NULL for PFS_UNWIND_UNKNOWN_RULE, the rule of pages that are not
	 * loaded
	 */
	if (!rule)
		return pfs_walk_end(walk, PFS_WALK_NO_TABLE);
	if (rule->kind == PFS_UNWIND_INVALID)
		return pfs_step_without_rule(walk, frame);
	if (rule->kind == PFS_UNWIND_END_OF_STACK)
		return pfs_walk_end(walk, PFS_WALK_END_OF_STACK);
	if (rule->kind == PFS_UNWIND_SIGNAL)
		return pfs_step_over_signal(walk, frame);
	return pfs_step_by_rule(walk, rule);
}

#endif
