/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * hotspot.bpf.h
 *		Steps over frames of code that HotSpot, the Java virtual machine, has generated.
 *
 * Such frames lie on the machine's stack, but no unwind rule covers them. HotSpot keeps its code in
 * heaps. A heap's segment map leads from an address to the description of the code there (a
 * CodeBlob), which has the size of its frames:
 *
 *		interpreter       by frame pointer; the method and the bytecode lie in the frame
 *		compiled method   by the size, except in its first and last instructions
 *		stub              by the size, or by frame pointer if it has none
 *
 * The process controls every byte that is read here, so a frame is only believed if its caller's
 * lies above it, and by the next step if its return address is in code.
 *
 * The includer defines pfs_get_walk(slot), which returns the walk, pfs_walk_slot(walk), the
 * opposite, pfs_read_code(walk, to, size, address), which reads memory of the process that is not
 * the stack, pfs_get_runtime(walk), which may return NULL, and PFS_VERIFIED_ONCE, what functions
 * are that the kernel verifies once.
 */
#ifndef PFS_HOTSPOT_BPF_H
#define PFS_HOTSPOT_BPF_H

#include "runtime_types.h"
#include "unwind_types.h"
#include "walk_caller.bpf.h"

/* Returned if no code is known at the address; differs from the results of steps. */
#define PFS_HOTSPOT_NO_BLOB 2

#ifdef PFS_ARM64

static __always_inline int
pfs_is_hotspot_code(struct pfs_walk *walk, __u64 address)
{
	(void) walk;
	(void) address;
	return 0;
}

static __always_inline int
pfs_step_over_hotspot(struct pfs_walk *walk, __u64 *frame)
{
	(void) walk;
	(void) frame;
	return PFS_HOTSPOT_NO_BLOB;
}

#else

#define PFS_SEGMENT_STEPS	 12			 /* real maps need at most two */

/* The names that the JVM gives to its code blobs: each number is the first four bytes of a name. */
#define PFS_NAME_INTERPRETER 0x65746e49U /* "Interpreter" */
#define PFS_NAME_NMETHOD	 0x74656d6eU /* "nmethod" */
#define PFS_NAME_NATIVE		 0x6974616eU /* "native nmethod" */
#define PFS_NAME_VTABLE		 0x62617476U /* "vtable chunks" */
#define PFS_NAME_ADAPTER	 0x2f433249U /* "I2C/C2I adapters" */
#define PFS_NAME_CACHE		 0x696c6e49U /* "InlineCacheBuffer" */

/* The state of a compiled method's frame: how much of it has been set up. */
enum pfs_frame_state {
	PFS_FRAME_WHOLE = 0,
	PFS_FRAME_NOT_BEGUN,  /* only the return address is on the stack */
	PFS_FRAME_PUSHED,	  /* the frame pointer is below the return address */
	PFS_FRAME_NOT_SAVED,  /* the frame has its size, but the frame pointer has not been stored */
	PFS_FRAME_BEING_LEFT, /* instructions up to the return remove code.removed bytes */
};

static __always_inline int
pfs_is_in_heap(const struct pfs_hotspot_heap *heap, __u64 address)
{
	return address >= heap->low && address < heap->high;
}

static __always_inline const struct pfs_hotspot_heap *
pfs_find_heap(const struct pfs_runtime *runtime, __u64 address)
{
	for (int i = 0; i < PFS_HOTSPOT_HEAPS; i++)
	{
		if (pfs_is_in_heap(&runtime->hotspot.heaps[i], address))
			return &runtime->hotspot.heaps[i];
	}
	return 0;
}

static __always_inline int
pfs_is_hotspot_code(struct pfs_walk *walk, __u64 address)
{
	const struct pfs_runtime *runtime = pfs_get_runtime(walk);

	return runtime && runtime->kind == PFS_RUNTIME_HOTSPOT && runtime->is_placed &&
		   pfs_find_heap(runtime, address);
}

/* Returns a field of the description, whose offset is bounded for the kernel. */
static __always_inline const void *
pfs_blob_field(const struct pfs_walk *walk, __u8 offset)
{
	return (const char *) walk->code.head + (offset & (PFS_HOTSPOT_HEAD_BYTES - 1));
}

/*
 * Finds the description of the code at the walk's address, and reads it, unless it is the last one
 * found. Returns non-zero if there is none. A segment's tag is the distance, in segments, towards
 * the block's first one, in several steps if the block is long; 0 means the first segment, 255 a
 * free one.
 */
PFS_VERIFIED_ONCE int
pfs_find_blob(__u32 slot)
{
	struct pfs_walk *walk = pfs_get_walk(slot);
	const struct pfs_runtime *runtime;
	const struct pfs_hotspot_heap *heap;
	__u64 address;
	__u64 segment;
	__u8 bits;
	__u8 tag = 255;

	if (!walk)
		return 1;
	runtime = pfs_get_runtime(walk);
	if (!runtime)
		return 1;
	address = walk->at.pc - walk->at.is_return;
	if (address >= walk->code.blob && address < walk->code.end)
		return 0;
	walk->code.end = 0;
	heap = pfs_find_heap(runtime, address);
	if (!heap)
		return 1;
	bits = runtime->hotspot.segment_bits & 31;
	segment = (address - heap->low) >> bits;
	for (int i = 0; i < PFS_SEGMENT_STEPS; i++)
	{
		if (pfs_read_code(walk, &tag, sizeof(tag), heap->segments + segment))
			return 1;
		if (tag == 0 || tag == 255)
			break;
		segment -= tag;
	}
	if (tag != 0)
		return 1;
	walk->code.blob = heap->low + (segment << bits) + runtime->hotspot.block_header;
	if (pfs_read_code(walk, walk->code.head, PFS_HOTSPOT_HEAD_BYTES, walk->code.blob) ||
		pfs_read_code(walk, &walk->code.name, sizeof(walk->code.name),
					  *(const __u64 *) pfs_blob_field(walk, runtime->hotspot.name)))
		return 1;
	walk->code.end = walk->code.blob + *(const __u32 *) pfs_blob_field(walk, runtime->hotspot.size);
	return 0;
}

static __always_inline __u64
pfs_blob_code(const struct pfs_walk *walk, const struct pfs_hotspot_layout *layout)
{
	if (layout->code_is_offset)
		return walk->code.blob + *(const __u32 *) pfs_blob_field(walk, layout->code);
	return *(const __u64 *) pfs_blob_field(walk, layout->code);
}

/*
 * Checks whether the instruction at a byte sets up the frame, and notes whether it is the next one
 * or further ahead. Returns non-zero if the state is decided. All bytes are checked, not only
 * starts of instructions, because the first match decides.
 */
PFS_VERIFIED_ONCE int
pfs_look_for_setup(__u32 slot)
{
	struct pfs_walk *walk = pfs_get_walk(slot);
	const __u8 *code;

	if (!walk || walk->code.next >= walk->code.ahead || walk->code.next >= PFS_SETUP_BYTES)
		return 1;
	code = walk->code.bytes + (walk->code.next++ & (PFS_CODE_BYTES - 1));
	/* push %rbp, and an instruction on a wide register */
	if (code[0] == 0x55 && code[1] == 0x48)
	{
		walk->code.state = PFS_FRAME_NOT_BEGUN;
		return 1;
	}
	/* sub $n,%rsp; then mov %rbp,n-16(%rsp) if nothing was pushed */
	if (code[0] == 0x48 && code[1] == 0x83 && code[2] == 0xec)
	{
		walk->code.state = code[4] == 0x48 && code[5] == 0x89 && code[6] == 0x6c
							   ? PFS_FRAME_NOT_BEGUN
							   : PFS_FRAME_PUSHED;
		return 1;
	}
	if (code[0] == 0x48 && code[1] == 0x81 && code[2] == 0xec)
	{
		walk->code.state = code[7] == 0x48 && code[8] == 0x89 && code[9] == 0xac
							   ? PFS_FRAME_NOT_BEGUN
							   : PFS_FRAME_PUSHED;
		return 1;
	}
	/* the next instruction stores the frame pointer */
	if (walk->code.next == 1 && code[0] == 0x48 && code[1] == 0x89 &&
		(code[2] == 0x6c || code[2] == 0xac) && code[3] == 0x24)
	{
		walk->code.state = PFS_FRAME_NOT_SAVED;
		return 1;
	}
	return 0;
}

/*
 * Follows one of the instructions that leave a method. Returns non-zero if it is the return, or
 * does not belong to these.
 */
PFS_VERIFIED_ONCE int
pfs_follow_leaving(__u32 slot)
{
	struct pfs_walk *walk = pfs_get_walk(slot);
	const __u8 *code;
	__u32 bytes = 0;

	if (!walk || walk->code.next > PFS_LEAVING_BYTES)
		return 1;
	code = walk->code.bytes + (walk->code.next & (PFS_CODE_BYTES - 1));
	if (code[0] == 0xc3) /* ret */
	{
		walk->code.state = PFS_FRAME_BEING_LEFT;
		return 1;
	}
	if (code[0] == 0x5d && !walk->code.popped) /* pop %rbp */
	{
		walk->code.popped = 1;
		bytes = 1;
	}
	else if (code[0] == 0x48 && code[1] == 0x83 && code[2] == 0xc4 && code[3] < 0x80 &&
			 !walk->code.popped) /* add $n,%rsp */
	{
		walk->code.removed += code[3];
		bytes = 4;
	}
	else if (code[0] == 0x48 && code[1] == 0x81 && code[2] == 0xc4 && !walk->code.popped)
	{
		walk->code.removed += code[3] | (__u32) code[4] << 8 | (__u32) code[5] << 16;
		bytes = 7;
	}
	else if (code[0] == 0xc5 && code[1] == 0xf8 && code[2] == 0x77) /* vzeroupper */
		bytes = 3;
	else if (code[0] == 0x85 && code[1] == 0x05) /* test of the polling page, up to JDK 9 */
		bytes = 6;
	/* test of the polling page through a register, from JDK 10 on */
	else if (code[0] == 0x4d && code[1] == 0x8b && code[2] == 0x97)
		bytes = 7;
	else if (code[0] == 0x41 && code[1] == 0x85 && code[2] == 0x02)
		bytes = 3;
	else if (code[0] == 0x49 && code[1] == 0x3b &&
			 code[2] == 0xa7) /* polling word compared with the stack pointer, from JDK 16 on */
		bytes = 7;
	else if (code[0] == 0x49 && code[1] == 0x3b && code[2] == 0x67)
		bytes = 4;
	else if (code[0] == 0x0f && code[1] == 0x87)
		bytes = 6;
	walk->code.next += bytes;
	return bytes == 0;
}

/* Returns whether the frame is the innermost one, whose registers are known. */
static __always_inline int
pfs_is_leaf(const struct pfs_walk *walk)
{
	return walk->at.innermost && !walk->at.is_return;
}

/* Determines the state of a compiled method's frame at the walk's address. */
static __always_inline void
pfs_find_frame_state(struct pfs_walk *walk, const struct pfs_hotspot_layout *layout, __u64 start)
{
	__u64 setup = start + *(const __u16 *) pfs_blob_field(walk, layout->frame_complete);
	__u32 slot = pfs_walk_slot(walk);

	walk->code.state = PFS_FRAME_WHOLE;
	walk->code.bytes[0] = 0;
	if (walk->at.is_return)
		return;
	if (pfs_read_code(walk, walk->code.bytes, PFS_CODE_BYTES, walk->at.pc))
		return;
	walk->code.next = 0;
	if (walk->at.pc < setup)
	{
		__u64 left = setup - walk->at.pc;

		walk->code.ahead = left < PFS_SETUP_BYTES ? (__u32) left : PFS_SETUP_BYTES;
		for (int i = 0; i < PFS_SETUP_BYTES; i++)
		{
			if (pfs_look_for_setup(slot))
				break;
		}
		return;
	}
	walk->code.removed = 0;
	walk->code.popped = 0;
	for (int i = 0; i < PFS_LEAVING_STEPS; i++)
	{
		if (pfs_follow_leaving(slot))
			break;
	}
}

/*
 * Moves to the caller, whose stack pointer is sp. The return address is right below sp, the frame
 * pointer at fp_at; 0: the frame pointer is unchanged.
 */
static __always_inline int
pfs_leave_hotspot_frame(struct pfs_walk *walk, __u64 sp, __u64 fp_at)
{
	__u64 fp = walk->at.fp;
	__u64 pc;

	if (sp <= walk->at.sp || sp - walk->at.sp > PFS_MAX_FRAME_BYTES || (sp & 7))
		return pfs_walk_end(walk, PFS_WALK_BAD_FRAME);
	if (pfs_read_stack(walk, sp - 8, &pc))
		return pfs_walk_end(walk, PFS_WALK_READ_FAILED);
	if (fp_at && pfs_read_stack(walk, fp_at, &fp))
		return pfs_walk_end(walk, PFS_WALK_READ_FAILED);
	if (pc == 0)
		return pfs_walk_end(walk, PFS_WALK_BAD_FRAME);
	walk->at.by_fp = 0;
	walk->at.bx_at = PFS_BX_LOST;
	return pfs_walk_to_caller(walk, pc, sp, fp);
}

/* Stores the frame for pfs_walk_step(), which needs only these words. */
static __always_inline void
pfs_put_hotspot(struct pfs_walk *walk, __u64 address, __u64 payload)
{
	walk->code.frame = PFS_FRAME_ADDRESS(address) | 1ULL << 60 | (__u64) PFS_RUNTIME_HOTSPOT << 56;
	walk->more[0] = 15ULL << 60 | PFS_FRAME_PAYLOAD(payload);
	walk->more_count = 1;
}

/*
 * Moves from a compiled method to its caller. The state of the frame says where the return address
 * and the saved frame pointer are.
 */
static __always_inline int
pfs_step_over_compiled(struct pfs_walk *walk, const struct pfs_hotspot_layout *layout)
{
	__u64 start = pfs_blob_code(walk, layout);
	__u64 size = (__u64) * (const __u32 *) pfs_blob_field(walk, layout->frame_size) * 8;
	__u64 sp = walk->at.sp;
	__u64 at = 0;
	__u32 id = 0;

	(void) pfs_read_code(walk, &id, sizeof(id), walk->code.blob + layout->compile_id);
	pfs_find_frame_state(walk, layout, start);
	if (walk->at.is_return)
		at = PFS_HOTSPOT_AT_RETURN;
	else if (walk->code.bytes[0] == 0xeb || walk->code.bytes[0] == 0xe9)
		at = PFS_HOTSPOT_AT_JUMP;
	pfs_put_hotspot(walk, walk->code.blob, PFS_HOTSPOT_COMPILED(at, walk->at.pc - start, id));
	switch (walk->code.state)
	{
		case PFS_FRAME_NOT_BEGUN:
			return pfs_leave_hotspot_frame(walk, sp + 8, 0);
		case PFS_FRAME_PUSHED:
			return pfs_leave_hotspot_frame(walk, sp + 16, sp);
		case PFS_FRAME_NOT_SAVED:
			return pfs_leave_hotspot_frame(walk, sp + size, 0);
		case PFS_FRAME_BEING_LEFT:
			sp += walk->code.removed;
			if (walk->code.popped)
				return pfs_leave_hotspot_frame(walk, sp + 16, sp);
			return pfs_leave_hotspot_frame(walk, sp + 8, 0);
		default:
			return pfs_leave_hotspot_frame(walk, sp + size, sp + size - 16);
	}
}

/*
 * Returns the offset of the bytecode from the start of the method's constant part; 0 if it does not
 * belong to the method. A native method has no bytecode, and the address 0.
 */
static __always_inline __u64
pfs_bytecode_place(const struct pfs_hotspot_layout *layout, __u64 constant, __u64 bytecode)
{
	__u64 place = bytecode - constant;

	if (bytecode == 0 && pfs_is_object(constant))
		return layout->constant_bytes;
	return place >= layout->constant_bytes && place < (1ULL << PFS_HOTSPOT_PLACE_BITS) ? place : 0;
}

/*
 * Returns the number of classes that were unloaded, which is read once in a walk. If it cannot be
 * read it is a number that the process cannot reach, so that the methods have no names.
 */
static __always_inline __u64
pfs_unloaded_classes(struct pfs_walk *walk, const struct pfs_hotspot_layout *layout)
{
	if (!layout->unloaded)
		return 0;
	if (!walk->code.has_unloaded)
	{
		walk->code.has_unloaded = 1;
		if (pfs_read_code(walk, &walk->code.unloaded, sizeof(walk->code.unloaded),
						  layout->unloaded))
			walk->code.unloaded = ~0ULL;
	}
	return walk->code.unloaded;
}

/* A frame of the interpreter. */
struct pfs_interpreted {
	__u64 method;
	__u64 constant; /* ConstMethod of the method */
	__u64 place;	/* address of the bytecode, which is in ConstMethod */
	__u64 sp;		/* stack pointer of the caller */
};

/*
 * Reads the frame at the frame pointer, all of whose words are set. The interpreter keeps the
 * bytecode's address in a register, and saves it before calls.
 */
static __always_inline int
pfs_read_interpreted(struct pfs_walk *walk, const struct pfs_hotspot_layout *layout,
					 struct pfs_interpreted *frame)
{
	__u64 fp = walk->at.fp;
	__u64 bytecode;

	if (pfs_read_stack(walk, fp - layout->bytecode_slot, &bytecode) ||
		pfs_read_stack(walk, fp - 24, &frame->method) || pfs_read_stack(walk, fp - 8, &frame->sp) ||
		!pfs_is_object(frame->method) ||
		pfs_read_code(walk, &frame->constant, sizeof(frame->constant),
					  frame->method + layout->method_constant))
		return 1;
	frame->place = 0;
	if (pfs_is_leaf(walk) && walk->at.registers[13])
		frame->place = pfs_bytecode_place(layout, frame->constant, walk->at.registers[13]);
	if (!frame->place)
		frame->place = pfs_bytecode_place(layout, frame->constant, bytecode);
	return !frame->place;
}

/*
 * Reads a frame that the interpreter is still building by pushing one word after the other. The
 * first word is the caller's stack pointer, which was in a register. The method is in another
 * register.
 */
static __always_inline int
pfs_read_new_interpreted(struct pfs_walk *walk, const struct pfs_hotspot_layout *layout,
						 struct pfs_interpreted *frame)
{
	frame->method = walk->at.registers[PFS_REGISTER_BX];
	frame->sp = walk->at.registers[13];
	frame->place = layout->constant_bytes;
	return (walk->at.fp != walk->at.sp && pfs_read_stack(walk, walk->at.fp - 8, &frame->sp)) ||
		   !pfs_is_object(frame->method) ||
		   pfs_read_code(walk, &frame->constant, sizeof(frame->constant),
						 frame->method + layout->method_constant);
}

/* Returns non-zero if the frame pointer does not lead to a frame of the interpreter. */
static __always_inline int
pfs_find_interpreted(struct pfs_walk *walk, const struct pfs_hotspot_layout *layout,
					 struct pfs_interpreted *frame)
{
	__u64 below = walk->at.fp - walk->at.sp;

	if (below > PFS_MAX_FP_FRAME_BYTES)
		return 1;
	if (below < layout->bytecode_slot && pfs_is_leaf(walk))
		return pfs_read_new_interpreted(walk, layout, frame);
	return pfs_read_interpreted(walk, layout, frame);
}

/*
 * At a method's entry and exit the frame pointer is the caller's, so the words below it describe
 * the caller; if the caller was compiled, they describe nothing.
 */
static __always_inline int
pfs_step_over_interpreted(struct pfs_walk *walk, const struct pfs_hotspot_layout *layout)
{
	__u64 fp = walk->at.fp;
	struct pfs_interpreted frame;

	if (pfs_find_interpreted(walk, layout, &frame))
	{
		pfs_put_hotspot(walk, walk->code.blob, PFS_HOTSPOT_STUB(walk->code.name));
		return pfs_leave_hotspot_frame(walk, walk->at.sp + 8, 0);
	}
	pfs_put_hotspot(walk, frame.method,
					PFS_HOTSPOT_INTERPRETED(frame.place,
											pfs_hotspot_check(frame.constant,
															  pfs_unloaded_classes(walk, layout))));
	/* the caller's frame may have grown by the arguments, and then ends after them */
	if (frame.sp <= fp + 8 || frame.sp - fp > PFS_MAX_FRAME_BYTES || (frame.sp & 7))
		return pfs_walk_end(walk, PFS_WALK_BAD_FRAME);
	if (pfs_leave_hotspot_frame(walk, fp + 16, fp))
		return 1;
	walk->at.sp = frame.sp;
	return 0;
}

/* Steps over a stub. Adapters and tables of methods have not changed the stack. */
static __always_inline int
pfs_step_over_stub(struct pfs_walk *walk, const struct pfs_hotspot_layout *layout)
{
	__u32 name = walk->code.name;
	__u64 size = (__u64) * (const __u32 *) pfs_blob_field(walk, layout->frame_size) * 8;
	__u64 sp = walk->at.sp;
	__u64 fp = walk->at.fp;

	pfs_put_hotspot(walk, walk->code.blob, PFS_HOTSPOT_STUB(walk->code.name));
	if (name == PFS_NAME_VTABLE || name == PFS_NAME_ADAPTER || name == PFS_NAME_CACHE)
		return pfs_leave_hotspot_frame(walk, sp + 8, 0);
	/*
	 * A stub that still saves registers has not set up its whole frame; then the frame pointer
	 * already marks the end of the frame, closer to the stack pointer than the frame's size.
	 */
	if (size && !(pfs_is_leaf(walk) && fp >= sp && fp - sp < size - 16))
		return pfs_leave_hotspot_frame(walk, sp + size, sp + size - 16);
	if (pfs_is_leaf(walk) && !pfs_read_code(walk, walk->code.bytes, 4, walk->at.pc))
	{
		if (walk->code.bytes[0] == 0x55 || walk->code.bytes[0] == 0xc3) /* push %rbp, ret */
			return pfs_leave_hotspot_frame(walk, sp + 8, 0);
		if (walk->code.bytes[0] == 0x48 && walk->code.bytes[1] == 0x8b &&
			walk->code.bytes[2] == 0xec) /* mov %rsp,%rbp */
			return pfs_leave_hotspot_frame(walk, sp + 16, sp);
	}
	if (fp < sp || fp - sp > PFS_MAX_FP_FRAME_BYTES)
		return pfs_leave_hotspot_frame(walk, sp + 8, 0);
	return pfs_leave_hotspot_frame(walk, fp + 16, fp);
}

/* A global function, so that the kernel verifies it only once. */
PFS_VERIFIED_ONCE int
pfs_hotspot_step(__u32 slot)
{
	struct pfs_walk *walk = pfs_get_walk(slot);
	const struct pfs_runtime *runtime;
	if (!walk)
		return 1;
	runtime = pfs_get_runtime(walk);
	if (!runtime || pfs_find_blob(slot))
		return PFS_HOTSPOT_NO_BLOB;
	if (walk->code.name == PFS_NAME_INTERPRETER)
		return pfs_step_over_interpreted(walk, &runtime->hotspot);
	if (walk->code.name == PFS_NAME_NMETHOD || walk->code.name == PFS_NAME_NATIVE)
		return pfs_step_over_compiled(walk, &runtime->hotspot);
	return pfs_step_over_stub(walk, &runtime->hotspot);
}

/*
 * Steps over the frame at the walk's address, like pfs_walk_step(). Returns PFS_HOTSPOT_NO_BLOB if
 * no code is known there.
 */
static __always_inline int
pfs_step_over_hotspot(struct pfs_walk *walk, __u64 *frame)
{
	int result = pfs_hotspot_step(pfs_walk_slot(walk));

	if (result != PFS_HOTSPOT_NO_BLOB)
		*frame = walk->code.frame;
	return result;
}

#endif

#endif
