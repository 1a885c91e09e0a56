/*
 * test_programs.c
 *		The BPF programs in plain memory: samples of more than one kind, and events that interrupt
 *		the handling of another one.
 *
 * The second entry point exists in this test only. It represents a tracepoint's: it has no
 * registers, and the clock's interrupt arrives during it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "programs.h"

#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wsign-compare"
/* tests set the values that a loader sets before loading */
#define const
#include "profiler.bpf.c"
#undef const

#define PID			 4711
#define CPU			 1
#define LEVELS		 2
#define FRAMES		 20
/* so that no window of the stack contains two of them */
#define FRAME_WORDS	 (2 * PFS_WINDOW_WORDS)
#define KERNEL_DEPTH 3
#define CODE		 UINT64_C(0x400000)
#define CODE_BYTES	 UINT64_C(0x100000)
#define COPY		 UINT64_C(0x7ffff000) /* address of the copy of a probed instruction */
#define PERIOD		 UINT64_C(52631578)
#define BLOCKED_NS	 (UINT64_C(7) << 32)
#define RECORDS		 8
#define MEMORY_WORDS 512

/* The part of a machine that the programs see; one task runs. */
static struct World
{
	struct pfs_scratch scratches[2 * LEVELS];
	__u64 counters[PFS_COUNTER_COUNT];
	struct pfs_image image;
	bool image_known;
	struct pfs_unwind_process process;
	bool process_known;
	struct pfs_unwind_mapping mapping;
	struct task_struct task;
	struct mm_struct mm;
	struct uprobe_task probed;
	struct xol_area area;
	struct return_instance calls[PFS_TRACED_RETURNS + 1];
	__u16 instruction;	/* before the address at which the task continues */
	pfs_registers user; /* registers at the entry into the kernel */
	__u64 stack[FRAME_WORDS * FRAMES];
	__u64 memory[MEMORY_WORDS]; /* memory of the task, beside its stack */
	__u64 now_ns;
	__u64 read_ns;				/* duration of each read of the process's memory */
	const void *kernel_context; /* the context with which the kernel's stack was requested */
	int reads;					/* number of reads of the process's memory */
	int failing_read;			/* number of the read that fails; 0: none */
	__u64 failed_at;			/* address of the failed read */
	int interrupted_read;		/* number of the read during which the clock ticks; 0: none */
	struct
	{
		struct pfs_sample sample;
		__u64 words[PFS_RECORD_WORDS + PFS_LATE_WORDS];
		__u64 bytes;
	} records[RECORDS];
	int record_count;
	struct css_set groups;
	struct cgroup group;
	struct kernfs_node directory;
	struct pfs_wait wait; /* current wait of the task */
	bool seq_full;		  /* true: nothing can be written to the iterator's reader */
	int seq_tried;
	int seq_written;
	__u32 draws;
} world;

static struct bpf_perf_event_data tick;

void *
bpf_map_lookup_elem(void *map, const void *key)
{
	__u32 number = *(const __u32 *) key;

	if (map == &pfs_scratches)
		return number < 2 * LEVELS ? &world.scratches[number] : NULL;
	if (map == &pfs_counters)
		return &world.counters[number];
	if (map == &pfs_images)
		return world.image_known ? &world.image : NULL;
	if (map == &pfs_processes)
		return world.process_known ? &world.process : NULL;
	if (map == &pfs_mappings)
		return &world.mapping;
	if (map == &world.mapping)
		return number == 0 ? &world.mapping : NULL;
	return NULL;
}

long
bpf_map_update_elem(void *map, const void *key, const void *value, __u64 flags)
{
	assert_ptr_equal(map, &pfs_images);
	assert_int_equal(*(const __u32 *) key, PID);
	world.image = *(const struct pfs_image *) value;
	world.image_known = true;
	return 0;
}

static bool
lies_in(uintptr_t address, size_t size, uintptr_t start, size_t bytes)
{
	return address >= start && address - start <= bytes - size;
}

long
bpf_probe_read_user(void *to, __u32 size, const void *from)
{
	uintptr_t address = (uintptr_t) from;
	uintptr_t stack = (uintptr_t) world.stack;

	if (size == sizeof(world.instruction) && address == CODE + 0x10 - size)
	{
		memcpy(to, &world.instruction, size);
		return 0;
	}
	world.now_ns += world.read_ns;
	if (++world.reads == world.interrupted_read)
		assert_int_equal(pfs_on_cpu(&tick), 0);
	if (world.reads == world.failing_read)
		world.failed_at = address;
	if (world.reads == world.failing_read ||
		(!lies_in(address, size, stack, sizeof(world.stack)) &&
		 !lies_in(address, size, (uintptr_t) world.memory, sizeof(world.memory))))
		return -14;
	memcpy(to, from, size);
	return 0;
}

long
bpf_probe_read_kernel(void *to, __u32 size, const void *from)
{
	memcpy(to, from, size);
	return 0;
}

__u64
bpf_ktime_get_ns(void)
{
	return world.now_ns++;
}

__u32
bpf_get_smp_processor_id(void)
{
	return CPU;
}

__u64
bpf_get_current_pid_tgid(void)
{
	return (__u64) world.task.tgid << 32 | (__u32) world.task.pid;
}

__u64
bpf_get_current_cgroup_id(void)
{
	return 1;
}

long
bpf_get_current_comm(void *to, __u32 size)
{
	memcpy(to, world.task.comm, size);
	return 0;
}

__u64
bpf_get_current_task(void)
{
	return (uintptr_t) &world.task;
}

struct task_struct *
bpf_get_current_task_btf(void)
{
	return &world.task;
}

long
bpf_task_pt_regs(struct task_struct *task)
{
	assert_ptr_equal(task, &world.task);
	return (long) (uintptr_t) &world.user;
}

long
bpf_get_stack(void *context, void *to, __u32 size, __u64 flags)
{
	__u64 *frames = to;

	world.kernel_context = context;
	assert_true(size >= KERNEL_DEPTH * sizeof(__u64));
	for (__u64 i = 0; i < KERNEL_DEPTH; i++)
		frames[i] = 0xffffffff81000000 + i;
	return KERNEL_DEPTH * sizeof(__u64);
}

long
bpf_ringbuf_output(void *ring, void *data, __u64 size, __u64 flags)
{
	assert_ptr_equal(ring, &pfs_ring);
	assert_in_range(size, sizeof(struct pfs_sample), sizeof(world.records[0]) - sizeof(__u64));
	assert_in_range(world.record_count, 0, RECORDS - 1);
	memcpy(&world.records[world.record_count].sample, data, size);
	world.records[world.record_count++].bytes = size;
	return 0;
}

__u64
bpf_ringbuf_query(void *ring, __u64 flags)
{
	return 0;
}

/* Returns random kinds, never two equal ones in a row. */
__u32
bpf_get_prandom_u32(void)
{
	return world.draws++;
}

void *
bpf_task_storage_get(void *map, struct task_struct *task, void *value, __u64 flags)
{
	assert_ptr_equal(map, &pfs_waits);
	assert_ptr_equal(task, &world.task);
	return &world.wait;
}

long
bpf_get_task_stack(struct task_struct *task, void *to, __u32 size, __u64 flags)
{
	return bpf_get_stack(task, to, size, flags);
}

long
bpf_find_vma(struct task_struct *task, __u64 address,
			 long (*judge)(struct task_struct *, struct vm_area_struct *, void *), void *context,
			 __u64 flags)
{
	return -2;
}

long
bpf_seq_write(struct seq_file *file, const void *data, __u32 size)
{
	world.seq_tried++;
	world.seq_written += !world.seq_full;
	return world.seq_full ? -75 : 0;
}

/* Runs the entry point of a tracepoint with any arguments. */
static void
on_switch(void *context)
{
	struct task_struct *task = (struct task_struct *) (uintptr_t) bpf_get_current_task();
	struct pfs_scratch *scratch = pfs_begin_sample(task);

	if (!scratch)
		return;
	scratch->sample.kind = PFS_KIND_WAIT_SLEEP;
	scratch->sample.value = BLOCKED_NS;
	scratch->sample.period = 10000000;
	pfs_walk_kernel(context, scratch);
	if (!scratch->sample.flags)
		pfs_begin_walk_of_task(scratch, task);
	pfs_finish_sample(scratch, task);
}

static void
set_registers(pfs_registers *registers, __u64 pc, bool user_mode)
{
	__u64 frame = (uintptr_t) world.stack;

	memset(registers, 0, sizeof(*registers));
#ifdef PFS_ARM64
	registers->pc = pc;
	registers->sp = frame;
	registers->regs[29] = frame;
	registers->pstate = user_mode ? 0 : 5;
#else
	registers->rip = pc;
	registers->rsp = frame;
	registers->rbp = frame;
	registers->cs = user_mode ? 0x33 : 0x10;
	registers->orig_rax = 7; /* in the middle of a system call */
#endif
}

static int
set_up(void **state)
{
	memset(&world, 0, sizeof(world));
	memset(&tick, 0, sizeof(tick));
	pfs_levels = LEVELS;
	pfs_excluded_pid = 0;
	world.now_ns = 1000;
	world.mm = (struct mm_struct){ .start_code = 1,
								   .start_stack = (uintptr_t) (world.stack + FRAME_WORDS * FRAMES),
								   .arg_start = 77,
								   .uprobes_state.xol_area = &world.area };
	world.area.vaddr = COPY;
	world.instruction = 0x050f;
	world.task = (struct task_struct){ .pid = PID,
									   .tgid = PID,
									   .mm = &world.mm,
									   .real_parent = &world.task,
									   .group_leader = &world.task,
									   .start_boottime = 5,
									   .self_exec_id = 6,
									   .cgroups = &world.groups,
									   .comm = "blocked" };
	world.groups.dfl_cgrp = &world.group;
	world.group.kn = &world.directory;
#ifdef PFS_ARM64
	world.task.thread.uw.tp_value = 0x7007;
#else
	world.task.thread.fsbase = 0x7007;
#endif
	world.process = (struct pfs_unwind_process){ 5, 6, 0, 1 };
	world.process_known = true;
	world.mapping =
		(struct pfs_unwind_mapping){ CODE, CODE + CODE_BYTES, 0, 0, PFS_MAPPING_FRAME_POINTER };
	for (int i = 0; i < FRAMES; i++)
	{
		__u64 *frame = world.stack + FRAME_WORDS * i;

		frame[0] = i + 1 < FRAMES ? (uintptr_t) (frame + FRAME_WORDS) : 0;
		frame[1] = i + 1 < FRAMES ? CODE + 0x100 * (__u64) (i + 1) : 0;
	}
	set_registers(&world.user, CODE + 0x10, true);
	/* the clock interrupts the kernel while it works for the task */
	set_registers(&tick.regs, 0, false);
	tick.sample_period = PERIOD;
	return 0;
}

static void
assert_walked(int number, enum pfs_kind kind, __u64 value)
{
	const struct pfs_sample *sample = &world.records[number].sample;

	assert_int_equal(sample->kind, kind);
	assert_int_equal(sample->value, value);
	assert_int_equal(sample->pid, PID);
	assert_int_equal(sample->kernel_count, KERNEL_DEPTH);
	assert_int_equal(sample->user_count, FRAMES);
	assert_int_equal(sample->user_status, PFS_WALK_END_OF_FRAMES);
	assert_int_equal(world.records[number].bytes,
					 sizeof(*sample) + (KERNEL_DEPTH + FRAMES) * sizeof(__u64));
	assert_int_equal(world.records[number].words[0], 0xffffffff81000000);
	assert_int_equal(PFS_FRAME_ADDRESS(world.records[number].words[KERNEL_DEPTH]), CODE + 0x10);
	for (__u64 i = 1; i < FRAMES; i++)
		assert_int_equal(PFS_FRAME_ADDRESS(world.records[number].words[KERNEL_DEPTH + i]),
						 CODE + 0x100 * i);
}

static void
assert_all_given_back(void)
{
	for (int i = 0; i < 2 * LEVELS; i++)
		assert_int_equal(world.scratches[i].taken, 0);
}

/* Each event ends in exactly one counter. */
static void
assert_adds_up(__u64 events)
{
	const __u64 *counters = world.counters;

	assert_int_equal(counters[PFS_COUNTER_EVENTS], events);
	assert_int_equal(counters[PFS_COUNTER_IDLE] + counters[PFS_COUNTER_SELF] +
						 counters[PFS_COUNTER_DROPPED] + counters[PFS_COUNTER_SAMPLES] +
						 counters[PFS_COUNTER_RING_FULL] + counters[PFS_COUNTER_NO_SCRATCH],
					 events);
}

/* One walk for two kinds: from the registers with which the task left user mode. */
static void
test_kinds(void **state)
{
	int context;

	assert_int_equal(pfs_on_cpu(&tick), 0);
	assert_ptr_equal(world.kernel_context, &tick);
	on_switch(&context);
	assert_ptr_equal(world.kernel_context, &context);
	assert_int_equal(world.record_count, 2);
	assert_walked(0, PFS_KIND_ON_CPU, PERIOD);
	assert_int_equal(world.records[0].sample.period, PERIOD);
	assert_walked(1, PFS_KIND_WAIT_SLEEP, BLOCKED_NS);
	assert_int_equal(world.records[1].sample.period, 10000000);
	assert_adds_up(2);
	assert_all_given_back();
}

/* In user mode the walk begins at the clock's own registers, and there is no kernel side. */
static void
test_user_mode(void **state)
{
	const struct pfs_sample *sample = &world.records[0].sample;

	set_registers(&tick.regs, CODE + 0x20, true);
	assert_int_equal(pfs_on_cpu(&tick), 0);
	assert_null(world.kernel_context);
	assert_int_equal(world.record_count, 1);
	assert_int_equal(sample->kernel_count, 0);
	assert_int_equal(sample->user_count, FRAMES);
	assert_int_equal(world.records[0].words[0], CODE + 0x20);
}

/* A copy of a probed instruction runs, or has run: the sample belongs to the probed code. */
static void
test_probed(void **state)
{
	for (__u64 offset = 0; offset <= PFS_INSTRUCTION_BYTES; offset += PFS_INSTRUCTION_BYTES)
	{
		set_up(state);
		world.task.utask = &world.probed;
		world.probed = (struct uprobe_task){ .vaddr = CODE + 0x10 - offset, .xol_vaddr = COPY };
		set_registers(&tick.regs, COPY + offset, true);
		assert_int_equal(pfs_on_cpu(&tick), 0);
		assert_int_equal(world.records[0].words[0], CODE + 0x10);
		assert_int_equal(world.records[0].sample.user_count, FRAMES);
		assert_int_equal(world.records[0].sample.user_status, PFS_WALK_END_OF_FRAMES);
		set_registers(&tick.regs, 0, false);
		set_registers(&world.user, COPY + offset, true);
		assert_int_equal(pfs_on_cpu(&tick), 0);
		assert_walked(1, PFS_KIND_ON_CPU, PERIOD);
	}
}

/* Other code of a task that hit a probe counts as itself. */
static void
test_not_probed(void **state)
{
	const __u64 elsewhere[] = { COPY - 1, COPY + PFS_INSTRUCTION_BYTES + 1, 0 };

	for (int i = 0; i < 3; i++)
	{
		set_up(state);
		world.task.utask = &world.probed;
		world.probed = (struct uprobe_task){ .vaddr = CODE, .xol_vaddr = elsewhere[i] ? COPY : 0 };
		set_registers(&tick.regs, elsewhere[i], true);
		assert_int_equal(pfs_on_cpu(&tick), 0);
		assert_int_equal(world.records[0].words[0], elsewhere[i]);
		assert_int_equal(world.records[0].sample.user_status, PFS_WALK_NO_MAPPING);
	}
}

#ifndef PFS_ARM64

/*
 * The address after a system call is a return address. That of a signal's handler, or of a program
 * that was just executed, is none, though the kernel was entered by a system call.
 */
static void
test_goes_on_elsewhere(void **state)
{
	static const struct
	{
		__u16 instruction;
		__u64 entered_by; /* number of the system call; ~0: an interrupt */
		bool is_return;
	} cases[] = { { 0x050f, 7, true },	/* syscall */
				  { 0x80cd, 7, true },	/* int $0x80 */
				  { 0x9090, 7, false }, /* nop; nop */
				  { 0xc3c9, 7, false }, /* leave; ret */
				  { 0x050f, ~0UL, false } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		set_up(state);
		world.instruction = cases[i].instruction;
		world.user.orig_rax = cases[i].entered_by;
		assert_int_equal(pfs_on_cpu(&tick), 0);
		assert_walked(0, PFS_KIND_ON_CPU, PERIOD);
		assert_int_equal((world.records[0].words[KERNEL_DEPTH] & PFS_FRAME_RETURN_ADDRESS) != 0,
						 cases[i].is_return);
	}
}

/* Traces the return of the frame with this number, counted from the innermost one. */
static void
trace_return(int number)
{
	struct return_instance **last = &world.probed.return_instances;
	struct return_instance *call = world.calls;
	__u64 *slot = &world.stack[FRAME_WORDS * number + 1];

	for (; *last; last = &(*last)->next)
		call++;
	*call = (struct return_instance){ (uintptr_t) slot, *slot, NULL };
	*last = call;
	*slot = COPY;
	world.task.utask = &world.probed;
}

/* Return addresses that uretprobes have replaced are restored to the original ones. */
static void
test_traced_returns(void **state)
{
	const struct pfs_sample *sample = &world.records[0].sample;

	trace_return(0);
	trace_return(3);
	trace_return(4);
	assert_int_equal(pfs_on_cpu(&tick), 0);
	assert_walked(0, PFS_KIND_ON_CPU, PERIOD);

	/* more of them than the walk can restore */
	set_up(state);
	for (int i = 0; i <= PFS_TRACED_RETURNS; i++)
		trace_return(i);
	assert_int_equal(pfs_on_cpu(&tick), 0);
	assert_int_equal(sample->user_status, PFS_WALK_TRACED);
	assert_int_equal(sample->user_count, PFS_TRACED_RETURNS + 1);

	/* the stack is at another depth than at the call */
	set_up(state);
	trace_return(2);
	world.calls[0].stack -= 8;
	assert_int_equal(pfs_on_cpu(&tick), 0);
	assert_int_equal(sample->user_status, PFS_WALK_TRACED);
	assert_int_equal(sample->user_count, 3);
}

/* In the trampoline the function has already returned: the innermost frame is its caller. */
static void
test_in_trampoline(void **state)
{
	const struct pfs_sample *sample = &world.records[0].sample;

	trace_return(0);
	/* the registers as the function left them */
	set_registers(&tick.regs, COPY + 5, true);
	tick.regs.rbp = (uintptr_t) &world.stack[FRAME_WORDS];
	tick.regs.rsp = (uintptr_t) &world.stack[2] - 24;
	assert_int_equal(pfs_on_cpu(&tick), 0);
	assert_int_equal(sample->user_status, PFS_WALK_END_OF_FRAMES);
	assert_int_equal(sample->user_count, FRAMES - 1);
	for (__u64 i = 1; i < FRAMES; i++)
		assert_int_equal(world.records[0].words[i - 1] & ~PFS_FRAME_BY_FRAME_POINTER,
						 (CODE + 0x100 * i) | PFS_FRAME_RETURN_ADDRESS);
}

#endif

/*
 * Entries that are not frames take no place, also when the outermost ones of a deep stack wrap
 * around.
 */
static void
test_deep_and_astray(void **state)
{
	const struct pfs_sample *sample = &world.records[0].sample;
	const __u64 *words = world.records[0].words;
	__u32 depth = 600; /* frames of two words each, so that they fit the stack */

	for (__u32 i = 0; i < depth; i++)
	{
		world.stack[2 * i] = (uintptr_t) &world.stack[2 * i + 2];
		world.stack[2 * i + 1] = CODE + 0x100 * (i + 1);
	}
	world.stack[2 * depth - 1] = UINT64_C(0x1234567000);
	set_registers(&tick.regs, CODE, true);
	assert_int_equal(pfs_on_cpu(&tick), 0);
	assert_int_equal(sample->user_count, depth);
	assert_int_equal(sample->user_status, PFS_WALK_NO_MAPPING);
	for (__u32 i = depth - PFS_ROOT_FRAMES; i < depth; i++)
		assert_int_equal(PFS_FRAME_ADDRESS(words[pfs_walk_place(i)]), CODE + 0x100 * i);
}

/* A walk that exceeds its time is handed to user space, with its state after the last frame. */
static void
test_out_of_time(void **state)
{
	const struct pfs_sample *sample = &world.records[0].sample;
	const struct pfs_late *late;
	__u32 depth = 600;

	for (__u32 i = 0; i < depth; i++)
	{
		world.stack[2 * i] = (uintptr_t) &world.stack[2 * i + 2];
		world.stack[2 * i + 1] = CODE + 0x100 * (i + 1);
	}
	set_registers(&tick.regs, CODE, true);
	world.read_ns = PFS_MAX_WALK_NS / 20;
	assert_int_equal(pfs_on_cpu(&tick), 0);
	assert_int_equal(sample->user_status, PFS_WALK_OUT_OF_TIME);
	/* on arm64 a step without a rule also reads the code */
	assert_in_range(sample->user_count, 50, depth - 100);
	assert_true(sample->flags & PFS_SAMPLE_LATE);
	late = (const void *) &world.records[0].words[pfs_walk_kept(sample->user_count)];
	assert_int_equal(late->at.pc, CODE + 0x100 * sample->user_count);
	assert_int_equal(late->at.is_return, 1);
	for (__u32 i = 0; i < sample->user_count; i++)
		assert_int_equal(PFS_FRAME_ADDRESS(world.records[0].words[pfs_walk_place(i)]),
						 CODE + 0x100 * i);
}

/* A tick may interrupt another event's walk at any point; neither sees data of the other. */
static void
test_nested(void **state)
{
	int context;
	int reads;

	on_switch(&context);
	reads = world.reads;
	assert_true(reads >= FRAMES);
	for (int i = 1; i <= reads; i++)
	{
		set_up(state);
		world.interrupted_read = i;
		on_switch(&context);
		assert_int_equal(world.record_count, 2);
		assert_walked(0, PFS_KIND_ON_CPU, PERIOD);
		assert_walked(1, PFS_KIND_WAIT_SLEEP, BLOCKED_NS);
		assert_adds_up(2);
		assert_all_given_back();
	}
}

/* With more nested events than scratch areas, the inner one is lost and counted. */
static void
test_nested_too_deep(void **state)
{
	int context;

	pfs_levels = 1;
	world.interrupted_read = FRAMES;
	on_switch(&context);
	assert_int_equal(world.record_count, 1);
	assert_walked(0, PFS_KIND_WAIT_SLEEP, BLOCKED_NS);
	assert_int_equal(world.counters[PFS_COUNTER_NO_SCRATCH], 1);
	assert_adds_up(2);
	assert_all_given_back();
	/* the next event gets the area again */
	assert_int_equal(pfs_on_cpu(&tick), 0);
	assert_walked(1, PFS_KIND_ON_CPU, PERIOD);
	assert_adds_up(3);
}

/* Stores a string's two words, in the order of Go or of custom labels. */
static void
put_string(__u64 *words, const char *text, bool length_first)
{
	words[length_first] = text != NULL ? (uintptr_t) text : 0;
	words[!length_first] = text != NULL ? strlen(text) : 0;
}

/* Puts a string into the task's memory. */
static const char *
task_text(size_t word, const char *text)
{
	return strcpy((char *) &world.memory[word], text);
}

#define TLS		   0
#define GO_G	   10
#define GO_M	   20
#define GO_CURG	   30
#define SET		   60
#define PAIRS	   100
#define TEXTS	   400
#define ADDRESS(i) ((uintptr_t) &world.memory[i])

/* Gives the task labels of this kind: a=one, an empty one, and b=two. */
static void
set_labels(enum pfs_label_kind kind, uint64_t count)
{
	const char *const texts[][2] = { { task_text(TEXTS, "a"), task_text(TEXTS + 1, "one") },
									 { NULL, NULL },
									 { task_text(TEXTS + 2, "b"), task_text(TEXTS + 3, "two") } };
	bool custom = kind >= PFS_LABELS_CUSTOM;
	bool is_map = kind == PFS_LABELS_GO_MAP;

	world.process.labels = (struct pfs_label_place){
		.variable = kind == PFS_LABELS_LIBRARY ? ADDRESS(TLS) : 0,
		.tls_offset = 8,
		.m = 16,
		.curg = 24,
		.labels = 32,
		.kind = kind,
	};
#ifdef PFS_ARM64
	world.task.thread.uw.tp_value = kind == PFS_LABELS_LIBRARY ? 0 : ADDRESS(TLS) - 8;
	world.user.regs[28] = ADDRESS(GO_G);
#else
	world.task.thread.fsbase = kind == PFS_LABELS_LIBRARY ? 0 : ADDRESS(TLS) - 8;
#endif
	world.memory[TLS] = custom ? ADDRESS(SET) : ADDRESS(GO_G);
	world.memory[GO_G + 2] = ADDRESS(GO_M);
	world.memory[GO_M + 3] = ADDRESS(GO_CURG);
	world.memory[GO_CURG + 2] = ADDRESS(GO_M);
	world.memory[GO_CURG + 4] = is_map ? ADDRESS(SET + 10) : ADDRESS(SET);
	world.memory[SET + 10] = ADDRESS(SET);
	world.memory[SET] = is_map ? count : ADDRESS(PAIRS);
	world.memory[SET + 1] = count;
	world.memory[SET + 2] = ADDRESS(PAIRS);
	for (size_t i = 0; i < 3; i++)
	{
		__u64 *key = &world.memory[is_map ? PAIRS + 1 + 2 * i : PAIRS + 4 * i];

		put_string(key, texts[i][0], custom);
		put_string(key + (is_map ? 16 : 2), texts[i][1], custom);
	}
}

static const struct pfs_labels *
labels_of(int number)
{
	return (const void *) &world.records[number].words[KERNEL_DEPTH + FRAMES];
}

static void
assert_label(const struct pfs_label *label, const char *key, const char *value)
{
	assert_int_equal(label->key_length, strlen(key));
	assert_memory_equal(label->key, key, strlen(key));
	assert_int_equal(label->value_length, strlen(value));
	assert_memory_equal(label->value, value, strlen(value));
}

/* For each kind: whatever cannot be read, the sample and its stack are recorded. */
static void
test_labels(void **state)
{
	for (enum pfs_label_kind kind = PFS_LABELS_GO; kind <= PFS_LABELS_LIBRARY; kind++)
	{
		int plain;
		int reads;

		set_up(state);
		assert_int_equal(pfs_on_cpu(&tick), 0);
		plain = world.reads;
		set_up(state);
		set_labels(kind, 3);
		assert_int_equal(pfs_on_cpu(&tick), 0);
		reads = world.reads;
		assert_int_equal(world.records[0].sample.flags, PFS_SAMPLE_LABELS);
		assert_int_equal(labels_of(0)->count, 2);
		assert_int_equal(labels_of(0)->cut, 0);
		assert_int_equal(labels_of(0)->missing, 0);
		assert_label(&labels_of(0)->labels[0], "a", "one");
		assert_label(&labels_of(0)->labels[1], "b", "two");
		assert_int_equal(world.records[0].bytes,
						 sizeof(struct pfs_sample) + (KERNEL_DEPTH + FRAMES) * sizeof(__u64) +
							 offsetof(struct pfs_labels, labels) + 2 * sizeof(struct pfs_label));
		for (int i = plain + 1; i <= reads; i++)
		{
			set_up(state);
			set_labels(kind, 3);
			world.failing_read = i;
			assert_int_equal(pfs_on_cpu(&tick), 0);
			assert_int_equal(world.record_count, 1);
			assert_int_equal(world.records[0].sample.user_count, FRAMES);
			assert_int_equal(world.counters[PFS_COUNTER_THREAD_LABELS_FAILED], 1);
			assert_int_equal(world.records[0].sample.flags, PFS_SAMPLE_LABELS);
			assert_int_equal(labels_of(0)->missing, world.failed_at);
			if (labels_of(0)->count > 0)
				assert_label(&labels_of(0)->labels[0], "a", "one");
			assert_all_given_back();
		}
	}
}

/* Incomplete and empty sets: more labels than are read, long strings, threads without labels. */
static void
test_labels_cut(void **state)
{
	char text[PFS_LABEL_VALUE_BYTES + 9];

	set_labels(PFS_LABELS_CUSTOM, PFS_MAX_LABELS + 5);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	put_string(&world.memory[PAIRS + 2], task_text(TEXTS + 10, text), true);
	assert_int_equal(pfs_on_cpu(&tick), 0);
	assert_int_equal(labels_of(0)->cut, 5 + 1);
	assert_int_equal(labels_of(0)->labels[0].value_length, PFS_LABEL_VALUE_BYTES);
	assert_int_equal(world.counters[PFS_COUNTER_THREAD_LABELS_CUT], 1);
	assert_int_equal(world.counters[PFS_COUNTER_THREAD_LABELS_FAILED], 0);

	set_up(state);
	set_labels(PFS_LABELS_CUSTOM, 3);
	world.memory[TLS] = 0;
	assert_int_equal(pfs_on_cpu(&tick), 0);
	assert_walked(0, PFS_KIND_ON_CPU, PERIOD);

	/* on the runtime's stack no goroutine runs; an invalid pointer to another m yields no labels */
	set_labels(PFS_LABELS_GO, 3);
	world.memory[GO_M + 3] = 0;
	assert_int_equal(pfs_on_cpu(&tick), 0);
	assert_walked(1, PFS_KIND_ON_CPU, PERIOD);
	assert_int_equal(world.counters[PFS_COUNTER_THREAD_LABELS_FAILED], 0);
	set_labels(PFS_LABELS_GO, 3);
	world.memory[GO_CURG + 2] = ADDRESS(SET);
	assert_int_equal(pfs_on_cpu(&tick), 0);
	assert_walked(2, PFS_KIND_ON_CPU, PERIOD);
	assert_int_equal(world.counters[PFS_COUNTER_THREAD_LABELS_FAILED], 1);
}

/* A task that is excluded releases the scratch area as well. */
static void
test_left_out(void **state)
{
	int context;

	for (int i = 0; i < 3; i++)
	{
		pfs_excluded_pid = PID;
		on_switch(&context);
		pfs_excluded_pid = 0;
		world.image = (struct pfs_image){ 5, 6, 1, PFS_VERDICT_DROP };
		world.image_known = true;
		pfs_drops = 1;
		on_switch(&context);
		assert_int_equal(pfs_on_cpu(&tick), 0);
	}
	pfs_drops = 0;
	world.task.pid = 0;
	world.task.tgid = 0;
	on_switch(&context);
	assert_int_equal(world.record_count, 0);
	assert_int_equal(world.counters[PFS_COUNTER_SELF], 3);
	assert_int_equal(world.counters[PFS_COUNTER_DROPPED], 6);
	assert_int_equal(world.counters[PFS_COUNTER_IDLE], 1);
	assert_adds_up(10);
	assert_all_given_back();
}

/*
 * The process is not described yet: the record contains everything that a later walk of any kind
 * needs.
 */
static void
test_late(void **state)
{
	int context;
	const struct pfs_sample *sample = &world.records[0].sample;
	const struct pfs_late *late = (const void *) &world.records[0].words[KERNEL_DEPTH + 1];

	world.process_known = false;
	on_switch(&context);
	assert_int_equal(world.record_count, 1);
	assert_int_equal(sample->kind, PFS_KIND_WAIT_SLEEP);
	assert_int_equal(sample->user_count, 1);
	assert_int_equal(sample->flags, PFS_SAMPLE_LATE);
	assert_int_equal(late->at.pc, CODE + 0x10);
	assert_int_equal(late->at.sp, (uintptr_t) world.stack);
	assert_int_equal(late->at.arguments, world.mm.arg_start);
	assert_int_equal(late->thread_pointer, 0x7007);
	assert_in_range(world.counters[PFS_COUNTER_TIME_NS], 1, UINT64_MAX);
	assert_int_equal(world.counters[PFS_COUNTER_LATE_NS], world.counters[PFS_COUNTER_TIME_NS]);

	world.process_known = true;
	on_switch(&context);
	assert_in_range(world.counters[PFS_COUNTER_LATE_NS], 1,
					world.counters[PFS_COUNTER_TIME_NS] - 1);
}

/*
 * Of ongoing waits one in two is kept. If there is no room for a record, the kernel calls the
 * program for the thread once more: the random decision must stay the same.
 */
static void
test_drawn_once_a_round(void **state)
{
	struct bpf_iter_meta meta = { 0 };
	struct bpf_iter__task context = { .meta = &meta, .task = &world.task };
	int kept = 0;

	for (__u64 seed = 1; seed <= 64; seed++)
	{
		set_up(state);
		pfs_wait_period = 10000000;
		pfs_watch_one_in = 1;
		pfs_tend_one_in = 2;
		pfs_tend_seed = seed << 32;
		world.now_ns = 1000000000;
		world.wait.known = 1;
		world.seq_full = true;
		assert_int_equal(pfs_tend_waits(&context), 0);
		if (world.seq_tried == 0)
			continue;
		kept++;
		world.seq_full = false;
		assert_int_equal(pfs_tend_waits(&context), 0);
		assert_int_equal(world.seq_written, 2);
		assert_int_not_equal(world.wait.mark, 0);
	}
	assert_in_range(kept, 16, 48);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_kinds, set_up),
		cmocka_unit_test_setup(test_user_mode, set_up),
		cmocka_unit_test_setup(test_probed, set_up),
		cmocka_unit_test_setup(test_not_probed, set_up),
#ifndef PFS_ARM64
		cmocka_unit_test_setup(test_goes_on_elsewhere, set_up),
		cmocka_unit_test_setup(test_traced_returns, set_up),
		cmocka_unit_test_setup(test_in_trampoline, set_up),
#endif
		cmocka_unit_test_setup(test_deep_and_astray, set_up),
		cmocka_unit_test_setup(test_out_of_time, set_up),
		cmocka_unit_test_setup(test_nested, set_up),
		cmocka_unit_test_setup(test_nested_too_deep, set_up),
		cmocka_unit_test_setup(test_left_out, set_up),
		cmocka_unit_test_setup(test_late, set_up),
		cmocka_unit_test_setup(test_labels, set_up),
		cmocka_unit_test_setup(test_labels_cut, set_up),
		cmocka_unit_test_setup(test_drawn_once_a_round, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
