/*
 * test_unwind.c
 *		Walks without a kernel, compared with the C library's unwinder.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include "agent/reader/unwind_tables.h"
#include "base/clock.h"
#include "files/elf_headers.h"
#include "memory_tables.h"
#include "runtimes/runtimes.h"
#include "unwind/cfi/cfi_sections.h"
#include "unwind/extent_pool.h"
#include "unwind/late_walk.h"
#include "unwind/packed_table.h"

#define MAX_SPANS  256
#define MAX_FRAMES 128

/* This process, described to an unwinder. */
typedef struct World
{
	KernelTables *tables;
	Unwinder *unwinder;
	ExecImage process;
	UnwindSpan spans[MAX_SPANS];
	uint32_t span_count;
} World;

/* Copies the vDSO, which has no file, into a file. */
static int
vdso_open(void)
{
	const char *start = (const char *) getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header = (const Elf64_Ehdr *) (const void *) start;
	int fd = memfd_create("vdso", MFD_CLOEXEC);
	size_t size;

	assert_true(start != NULL && fd >= 0);
	size = header->e_shoff + (size_t) header->e_shentsize * header->e_shnum;
	assert_int_equal(write(fd, start, size), size);
	return fd;
}

static int
add_object(struct dl_phdr_info *info, size_t size, void *context)
{
	World *world = context;
	const char *path = info->dlpi_name[0] != '\0' ? info->dlpi_name : "/proc/self/exe";
	UnwindBinary *binary;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	(void) size;
	if (fd < 0)
		fd = vdso_open(); /* on arm64 the handler of a signal returns to the vDSO */
	binary = unwinder_binary_create(world->unwinder);
	assert_non_null(binary);
	assert_int_equal(unwinder_binary_load(world->unwinder, binary, fd, 0), 0);
	close(fd);
	for (int i = 0; i < info->dlpi_phnum; i++)
	{
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (header->p_type == PT_LOAD && (header->p_flags & PF_X))
			world->spans[world->span_count++] =
				(UnwindSpan){ info->dlpi_addr + header->p_vaddr,
							  info->dlpi_addr + header->p_vaddr + header->p_memsz, info->dlpi_addr,
							  binary };
	}
	unwinder_binary_retain(binary); /* the test's own reference is released with the unwinder */
	return 0;
}

static int
compare_spans(const void *left, const void *right)
{
	const UnwindSpan *a = left;
	const UnwindSpan *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

static int
setup_world(void **state)
{
	World *world = calloc(1, sizeof(*world));

	world->tables = memory_tables_create();
	assert_non_null(world->tables);
	assert_int_equal(unwinder_create(world->tables, &world->unwinder), 0);
	dl_iterate_phdr(add_object, world);
	qsort(world->spans, world->span_count, sizeof(UnwindSpan), compare_spans);
	world->process = (ExecImage){ (uint32_t) getpid(), 1, 1 };
	assert_int_equal(unwinder_process_set(world->unwinder, &world->process, world->spans,
										  world->span_count, 0),
					 0);
	*state = world;
	return 0;
}

static int
teardown_world(void **state)
{
	World *world = *state;

	unwinder_free(world->unwinder);
	memory_tables_free(world->tables);
	free(world);
	return 0;
}

static int
read_own_memory(void *context, uint64_t address, uint64_t *value)
{
	(void) context;
	memcpy(value, (const void *) (uintptr_t) address, sizeof(*value));
	return 0;
}

typedef struct Walked
{
	World *world;
	LateRead read;
	void *context;
	uint64_t frames[MAX_FRAMES];
	size_t count;
	int status;
	void *oracle[MAX_FRAMES];
	int oracle_count;
} Walked;

static void
innermost(const ucontext_t *context, struct pfs_walk_state *at)
{
#ifdef __aarch64__
	memset(at, 0, sizeof(*at));
	memcpy(at->registers, context->uc_mcontext.regs, sizeof(context->uc_mcontext.regs));
	at->registers[PFS_REGISTER_SP] = context->uc_mcontext.sp;
	at->registers[PFS_REGISTER_PC] = context->uc_mcontext.pc;
#else
	static const int order[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
								 REG_RBP, REG_RSP, REG_R8,	REG_R9,	 REG_R10, REG_R11,
								 REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };

	memset(at, 0, sizeof(*at));
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		at->registers[i] = (uint64_t) context->uc_mcontext.gregs[order[i]];
#endif
	at->pc = at->registers[PFS_REGISTER_PC];
	at->sp = at->registers[PFS_REGISTER_SP];
	at->fp = at->registers[PFS_REGISTER_FP];
	at->innermost = 1;
}

/*
 * Walks from here by the unwinder's tables, and runs the C library's unwinder, which reads the same
 * CFI with code of its own.
 */
__attribute__((noinline)) static void
walk_here(Walked *walked)
{
	struct pfs_walk_state at;
	ucontext_t context;

	walked->oracle_count = backtrace(walked->oracle, MAX_FRAMES);
	getcontext(&context);
	innermost(&context, &at);
	walked->count =
		late_walk(walked->world->unwinder,
				  &(LateWalk){ &walked->world->process, &at, walked->read, walked->context, false },
				  walked->frames, MAX_FRAMES, &walked->status);
}

__attribute__((noinline)) static int
recurse(Walked *walked, int depth)
{
	volatile char space[64];

	space[0] = (char) depth;
	if (depth == 0)
		walk_here(walked);
	else
		recurse(walked, depth - 1);
	return space[0];
}

static int
call_back(const void *left, const void *right)
{
	Walked *walked = *(Walked *const *) left;

	if (walked->count == 0)
		recurse(walked, 5);
	return left < right;
}

/* Frames are equal except the innermost, whose address is that of each walk's call. */
static void
assert_same_frames(const Walked *walked)
{
	assert_int_equal(walked->status, PFS_WALK_END_OF_STACK);
	assert_true(walked->oracle_count > 8);
	assert_int_equal(walked->count, walked->oracle_count);
	for (size_t i = 1; i < walked->count; i++)
		assert_int_equal(PFS_FRAME_ADDRESS(walked->frames[i]), (uintptr_t) walked->oracle[i]);
}

static void
assert_same_stack(const Walked *walked)
{
	assert_same_frames(walked);
	for (size_t i = 1; i < walked->count; i++)
		assert_true(walked->frames[i] & PFS_FRAME_RETURN_ADDRESS);
}

static void
test_walk(void **state)
{
	Walked walked = { .world = *state, .read = read_own_memory };
	Walked *pair[2] = { &walked, &walked };

	recurse(&walked, 20);
	assert_same_stack(&walked);

	/* through the C library's own frames */
	walked.count = 0;
	qsort(pair, 2, sizeof(pair[0]), call_back);
	assert_same_stack(&walked);
}

static Walked *volatile signal_walked;

static void
on_signal(int signal_number)
{
	(void) signal_number;
	walk_here(signal_walked);
}

/* The frame that a signal interrupted is found beyond the trampoline. */
static void
test_walk_over_signal(void **state)
{
	Walked walked = { .world = *state, .read = read_own_memory };
	size_t without_call[2] = { 0 };
	unsigned interrupted = 0;

	signal_walked = &walked;
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	signal(SIGUSR1, SIG_DFL);
	assert_same_frames(&walked);
	/* the trampoline, which did not call the handler, and then the interrupted frame */
	for (size_t i = 1; i < walked.count; i++)
	{
		if ((walked.frames[i] & PFS_FRAME_RETURN_ADDRESS) == 0)
			without_call[interrupted++ & 1] = i;
	}
	assert_int_equal(interrupted, 2);
	assert_int_equal(without_call[1], without_call[0] + 1);
}

typedef struct FailingRead
{
	int reads_left;
} FailingRead;

static int
read_some(void *context, uint64_t address, uint64_t *value)
{
	FailingRead *failing = context;

	return failing->reads_left-- > 0 ? read_own_memory(NULL, address, value) : -1;
}

/* Unreadable memory ends the walk, with the frames so far and the reason. */
static void
test_read_failures(void **state)
{
	Walked whole = { .world = *state, .read = read_own_memory };

	recurse(&whole, 10);
	for (int reads = 0;; reads++)
	{
		FailingRead failing = { reads };
		Walked walked = { .world = *state, .read = read_some, .context = &failing };

		recurse(&walked, 10);
		assert_true(walked.count >= 1);
		if (walked.status == PFS_WALK_END_OF_STACK)
		{
			assert_int_equal(walked.count, whole.count);
			break;
		}
		assert_int_equal(walked.status, PFS_WALK_READ_FAILED);
		assert_true(walked.count < whole.count);
		for (size_t i = 1; i < walked.count; i++)
			assert_int_equal(PFS_FRAME_ADDRESS(walked.frames[i]), (uintptr_t) walked.oracle[i]);
	}
}

/*
 * In code with frame pointers a zero ends the stack; a frame pointer that points downwards is
 * invalid, and proves nothing.
 */
static void
test_frame_pointers(void **state)
{
	World *world = *state;
	const UnwindSpan code = { .start = 0x400000, .end = 0x500000 };
	uint64_t stack[] = { 0, 0, 0, 0x400200, 0, 0x400300 };
	const uint64_t sp = 0x7000;
	LateMemory memory = { (const uint8_t *) stack, sizeof(stack), sp, UINT64_MAX, 0, 0 };
	struct pfs_walk_state at = { .pc = 0x400100, .sp = sp, .fp = sp + 16, .innermost = 1 };
	uint64_t frames[MAX_FRAMES];
	size_t count;
	int status;

	assert_int_equal(unwinder_process_set(world->unwinder, &world->process, &code, 1, 0), 0);
	stack[2] = sp + 32;
	count = late_walk(world->unwinder,
					  &(LateWalk){ &world->process, &at, late_memory_read, &memory, false }, frames,
					  MAX_FRAMES, &status);
	assert_int_equal(status, PFS_WALK_END_OF_FRAMES);
	assert_int_equal(count, 3);
	assert_int_equal(PFS_FRAME_ADDRESS(frames[2]), 0x400300);

	stack[2] = 8; /* a register that the caller used for another value */
	count = late_walk(world->unwinder,
					  &(LateWalk){ &world->process, &at, late_memory_read, &memory, false }, frames,
					  MAX_FRAMES, &status);
	assert_int_equal(status, PFS_WALK_BAD_FRAME);
	assert_int_equal(count, 2);
}

static const UnwindSpan *
span_at(const World *world, uint64_t address)
{
	for (uint32_t i = 0; i < world->span_count; i++)
	{
		if (address >= world->spans[i].start && address < world->spans[i].end)
			return &world->spans[i];
	}
	fail_msg("no code at %#" PRIx64, address);
	return NULL;
}

/* A stack whose words are return addresses that encode their own position. */
#define TOLD_START UINT64_C(0x10000000)
#define TOLD_WORDS 4096

void *__tls_get_addr(void *); /* defined in the dynamic loader */

/*
 * Returns which word of the stack, counted from 1, the rule takes for the return address; 0: none.
 */
static uint64_t
told_caller(const Unwinder *unwinder, const ExecImage *process, uint64_t pc)
{
	static uint64_t stack[TOLD_WORDS];
	const uint64_t sp = 0x7000;
	LateMemory memory = { (const uint8_t *) stack, sizeof(stack), sp, UINT64_MAX, 0, 0 };
	struct pfs_walk_state at = { .pc = pc, .sp = sp, .fp = sp + 1024, .innermost = 1 };
	uint64_t frames[2];
	int status;

	for (uint64_t i = 0; i < TOLD_WORDS; i++)
		stack[i] = TOLD_START + 16 * i + 8; /* an address with a call before it */
	if (late_walk(unwinder, &(LateWalk){ process, &at, late_memory_read, &memory, false }, frames,
				  2, &status) < 2)
		return 0;
	return (PFS_FRAME_ADDRESS(frames[1]) - TOLD_START) / 16 + 1;
}

/* Gives the span to a binary of the unwinder, and a mapping to the return addresses. */
static UnwindBinary *
load_span(Unwinder *unwinder, const ExecImage *process, const UnwindSpan *span, const char *path,
		  uint64_t now_ns)
{
	UnwindBinary *binary = unwinder_binary_create(unwinder);
	UnwindSpan spans[] = { { .start = TOLD_START, .end = TOLD_START + 16 * TOLD_WORDS },
						   { span->start, span->end, span->bias, binary } };
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_int_equal(unwinder_binary_load(unwinder, binary, fd, now_ns), 0);
	assert_int_equal(unwinder_process_set(unwinder, process, spans, 2, now_ns), 0);
	close(fd);
	return binary;
}

/* Returns a sum over the code, which differs between two tables. */
static uint64_t
told_callers(const Unwinder *unwinder, const ExecImage *process, const UnwindSpan *span)
{
	uint64_t sum = 0;

	for (uint64_t pc = span->start; pc < span->end; pc += 4)
		sum = sum * 31 + told_caller(unwinder, process, pc);
	return sum;
}

/* Results from one table are not used for the table that replaces it in the arrays. */
static void
test_place_of_another_table(void **state)
{
	const World *world = *state;
	const ExecImage process = { 1, 1, 1 };
	Dl_info libc;
	Dl_info loader;
	KernelTables *tables[2] = { memory_tables_create(), memory_tables_create() };
	Unwinder *unwinders[2];
	const UnwindSpan *spans[2];
	struct pfs_unwind_process entry;
	UnwindBinary *first;
	UnwindBinary *second[2];
	uint32_t directory;

	assert_int_not_equal(dladdr((const void *) gnu_get_libc_version, &libc), 0);
	assert_int_not_equal(dladdr((const void *) __tls_get_addr, &loader), 0);
	spans[0] = span_at(world, (uint64_t) (uintptr_t) gnu_get_libc_version);
	spans[1] = span_at(world, (uint64_t) (uintptr_t) __tls_get_addr);
	assert_int_equal(unwinder_create(tables[0], &unwinders[0]), 0);
	assert_int_equal(unwinder_create(tables[1], &unwinders[1]), 0);

	first = load_span(unwinders[0], &process, spans[0], libc.dli_fname, 0);
	(void) told_callers(unwinders[0], &process, spans[0]);
	assert_true(unwinder_find_process(unwinders[0], &process, &entry));
	directory = unwinder_mapping(unwinders[0], entry.first + 1)->directory;
	unwinder_binary_unload(unwinders[0], first, 1);
	for (int i = 0; i < 2; i++)
		second[i] =
			load_span(unwinders[i], &process, spans[1], loader.dli_fname, 2 * EXTENT_GRACE_NS);
	assert_true(unwinder_find_process(unwinders[0], &process, &entry));
	assert_int_equal(unwinder_mapping(unwinders[0], entry.first + 1)->directory, directory);
	assert_int_equal(told_callers(unwinders[0], &process, spans[1]),
					 told_callers(unwinders[1], &process, spans[1]));
	unwinder_binary_release(unwinders[0], first, 0);
	for (int i = 0; i < 2; i++)
	{
		unwinder_binary_release(unwinders[i], second[i], 0);
		unwinder_free(unwinders[i]);
		memory_tables_free(tables[i]);
	}
}

#ifdef __x86_64__

/*
 * This program in an unwinder of its own, and a walk from an invented position with an invented
 * stack.
 */
typedef struct MadeWalk
{
	KernelTables *tables;
	Unwinder *unwinder;
	UnwindBinary *binary;
	LateMemory memory;
	uint64_t frames[4];
	int status;
} MadeWalk;

static const ExecImage made_process = { 1, 1, 1 };

static void
made_walk_begin(MadeWalk *made, const World *world, uint64_t pc)
{
	made->tables = memory_tables_create();
	assert_int_equal(unwinder_create(made->tables, &made->unwinder), 0);
	made->binary =
		load_span(made->unwinder, &made_process, span_at(world, pc), "/proc/self/exe", 0);
}

/* Returns the number of frames. */
static size_t
made_walk(MadeWalk *made, struct pfs_walk_state *at)
{
	const LateWalk walk = { &made_process, at, late_memory_read, &made->memory, false };

	return late_walk(made->unwinder, &walk, made->frames, 4, &made->status);
}

static void
made_walk_end(MadeWalk *made)
{
	unwinder_binary_release(made->unwinder, made->binary, 0);
	unwinder_free(made->unwinder);
	memory_tables_free(made->tables);
}

/* A function in the middle of others, which no rule covers. */
extern const char without_cfi[];
__asm__(".pushsection .text\n"
		".skip 64, 0x90\n"
		"without_cfi:\n"
		".skip 64, 0x90\n"
		".popsection\n");

/* A frame pointer that points to the arguments' array has no caller. */
static void
test_argument_is_no_caller(void **state)
{
	const uint64_t pc = (uint64_t) (uintptr_t) without_cfi + 32;
	const uint64_t sp = 0x7000;
	const uint64_t arguments = 0x7f00;
	uint64_t stack[] = { 0, 2, arguments, arguments + 8, 0, 0 };
	struct pfs_walk_state at = { .pc = pc, .sp = sp, .fp = sp + 16, .innermost = 1 };
	MadeWalk made = { .memory = { (const uint8_t *) stack, sizeof(stack), sp, UINT64_MAX, 0, 0 } };

	made_walk_begin(&made, *state, pc);
	at.arguments = arguments;
	assert_int_equal(made_walk(&made, &at), 1);
	assert_int_equal(made.status, PFS_WALK_NO_RULE);

	/* elsewhere it may be code that is not known yet */
	stack[3] = arguments - 8;
	assert_int_equal(made_walk(&made, &at), 1);
	assert_int_equal(made.status, PFS_WALK_NO_MAPPING);
	stack[3] = arguments + 8;
	at.arguments = 0;
	assert_int_equal(made_walk(&made, &at), 1);
	assert_int_equal(made.status, PFS_WALK_NO_MAPPING);
	made_walk_end(&made);
}

/*
 * A multiplication written by hand, as in libcrypto: the frame lies after an array of r9 words.
 * DW_CFA_def_cfa_expression: breg7 8; breg9 0; lit8; mul; plus; deref; plus_uconst 8.
 */
extern const char behind_array[];
__asm__(".pushsection .text\n"
		"behind_array:\n"
		".cfi_startproc\n"
		".cfi_escape 0x0f, 10, 0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22, 0x06, 0x23, 8\n"
		"nop; nop; ret\n"
		".cfi_endproc\n"
		".popsection\n");

static void
test_frame_behind_array(void **state)
{
	const uint64_t pc = (uint64_t) (uintptr_t) behind_array;
	const uint64_t sp = 0x7000;
	uint64_t stack[64] = { [1 + 5] = 0x7000 + 40 * 8, [40] = TOLD_START + 8 };
	struct pfs_walk_state at = { .pc = pc, .sp = sp, .registers[9] = 5, .innermost = 1 };
	MadeWalk made = { .memory = { (const uint8_t *) stack, sizeof(stack), sp, UINT64_MAX, 0, 0 } };

	made_walk_begin(&made, *state, pc);
	assert_int_equal(made_walk(&made, &at), 2);
	assert_int_equal(PFS_FRAME_ADDRESS(made.frames[1]), TOLD_START + 8);
	at.innermost = 0; /* r9 is unknown in a caller */
	assert_int_equal(made_walk(&made, &at), 1);
	assert_int_equal(made.status, PFS_WALK_NO_RULE);
	made_walk_end(&made);
}

extern void (*const __init_array_start[])(void);
extern void (*const __fini_array_start[])(void);

/*
 * The code that start files put before the first constructor and after the last destructor has no
 * CFI.
 */
static void
test_start_code(void **state)
{
	static const uint8_t enter[] = { 0x48, 0x89, 0xe5 }; /* mov %rsp, %rbp */
	const World *world = *state;
	const ExecImage process = { 1, 1, 1 };
	uint64_t first = (uint64_t) (uintptr_t) __init_array_start[0];
	uint64_t last = (uint64_t) (uintptr_t) __fini_array_start[0];
	const uint8_t *entered = memmem(__fini_array_start[0], 64, enter, sizeof(enter));
	KernelTables *tables = memory_tables_create();
	Unwinder *unwinder;
	UnwindBinary *binary;

	assert_non_null(entered);
	assert_int_equal(unwinder_create(tables, &unwinder), 0);
	binary = load_span(unwinder, &process, span_at(world, first), "/proc/self/exe", 0);
	assert_int_equal(told_caller(unwinder, &process, first), 1);
	assert_int_equal(told_caller(unwinder, &process, last), 1);
	assert_int_equal(told_caller(unwinder, &process, (uint64_t) (uintptr_t) entered), 2);
	unwinder_binary_release(unwinder, binary, 0);
	unwinder_free(unwinder);
	memory_tables_free(tables);
}

/* The dynamic loader, which begins a process, has no caller; no CFI says so, and rarely a name. */
static void
test_loader_start(void **state)
{
	const World *world = *state;
	const ExecImage process = { 1, 1, 1 };
	uint64_t base = getauxval(AT_BASE);
	uint64_t entry = base + ((const Elf64_Ehdr *) (uintptr_t) base)->e_entry;
	const uint64_t within[] = { entry, entry + 3, entry + 8 }; /* before, at and after a call */
	const UnwindSpan *span = span_at(world, entry);
	const uint8_t stack[4096] = { 0 };
	LateMemory memory = { stack, sizeof(stack), 0x7000, UINT64_MAX, 0, 0 };
	KernelTables *tables = memory_tables_create();
	Unwinder *unwinder;
	UnwindBinary *binary;
	Dl_info loader;

	assert_int_not_equal(dladdr((const void *) (uintptr_t) entry, &loader), 0);
	assert_int_equal(unwinder_create(tables, &unwinder), 0);
	binary = load_span(unwinder, &process, span, loader.dli_fname, 0);
	for (size_t i = 0; i < sizeof(within) / sizeof(within[0]); i++)
	{
		struct pfs_walk_state at = { .pc = within[i], .sp = 0x7000, .fp = 0x7400, .innermost = 1 };
		uint64_t frames[4];
		int status;

		assert_int_equal(late_walk(unwinder,
								   &(LateWalk){ &process, &at, late_memory_read, &memory, false },
								   frames, 4, &status),
						 1);
		assert_int_equal(status, PFS_WALK_END_OF_STACK);
	}
	unwinder_binary_release(unwinder, binary, 0);
	unwinder_free(unwinder);
	memory_tables_free(tables);
}

#endif

/*
 * Code in a file that is not a program, such as JIT compilers' shared memory, is walked like
 * private memory.
 */
static void
test_shared_memory(void **state)
{
	static const char text[4096];
	KernelTables *kernel = memory_tables_create();
	ProcMapping map = { .name = "/memfd:code" };
	struct stat file;
	ExecImage process = { (uint32_t) getpid(), 1, 1 };
	struct pfs_late late = { .at = { .innermost = 1 } };
	int fd = memfd_create("code", MFD_CLOEXEC);
	DescribedMapping mapping = { 0 };
	UnwindTables *tables;
	MappedFileTable *files;
	uint64_t frames[MAX_FRAMES];
	void *code;
	int status;

	assert_int_equal(write(fd, text, sizeof(text)), sizeof(text));
	code = mmap(NULL, sizeof(text), PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	assert_int_equal(fstat(fd, &file), 0);
	map.inode = file.st_ino;
	map.start = (uint64_t) (uintptr_t) code;
	map.end = map.start + sizeof(text);
	assert_int_equal(mapped_file_table_create(&files), 0);
	if (mapped_file_acquire_mapping(files, 0, process.pid, &map, &mapping.file) != 0)
		skip(); /* not permitted to read /proc/PID/map_files */
	mapping.start = map.start;
	mapping.end = map.end;
	assert_int_equal(unwind_tables_create(files, kernel, NULL, &tables), 0);
	assert_int_equal(unwind_tables_describe(tables, &process, 0, &mapping, 1, 0), 0);
	late.at.pc = map.start + 16;
	assert_int_equal(unwind_tables_walk(tables, &process, 1, &late, 1, false, frames, NULL,
										MAX_FRAMES, &status),
					 1);
	assert_int_equal(status, PFS_WALK_END_OF_FRAMES);
	unwind_tables_free(tables);
	mapped_file_release(files, mapping.file);
	mapped_file_table_free(files);
	memory_tables_free(kernel);
	munmap(code, sizeof(text));
	close(fd);
}

/* Data of an interpreter that were written last. */
static struct pfs_runtime published;

static int
note_runtime(KernelTables *tables, uint32_t pid, const struct pfs_runtime *runtime)
{
	published = *runtime;
	return 0;
}

/* Maps pages of a file into this process, and describes the mapping. Returns its bias. */
static uint64_t
map_pages(MappedFileTable *files, int fd, const Elf64_Phdr *code, uint64_t first, uint8_t *address,
		  DescribedMapping *mapping)
{
	uint64_t offset = (code->p_offset & ~UINT64_C(4095)) + first;
	uint64_t length = code->p_offset + code->p_filesz - offset;
	ProcMapping map = { .name = "/usr/bin/php" };
	struct stat file;

	assert_ptr_equal(mmap(address, length, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, (off_t) offset),
					 address);
	assert_int_equal(fstat(fd, &file), 0);
	map.inode = file.st_ino;
	map.start = (uint64_t) (uintptr_t) address;
	map.end = map.start + ((length + 4095) & ~UINT64_C(4095));
	*mapping = (DescribedMapping){ map.start, map.end, offset, NULL };
	assert_int_equal(mapped_file_acquire_mapping(files, 0, (uint32_t) getpid(), &map,
												 &mapping->file),
					 0);
	return map.start - offset + code->p_offset - code->p_vaddr;
}

/*
 * If a part of an interpreter's code is mapped a second time, at lower addresses, the data are
 * found by the mapping that has all of the code; without such a mapping, by the part.
 */
static void
test_second_mapping(void **state)
{
	const size_t room = (size_t) 64 << 20;
	KernelTables *kernel = memory_tables_create();
	KernelTablesOps noting = *kernel->ops;
	ExecImage process = { (uint32_t) getpid(), 1, 1 };
	int fd = open("/usr/bin/php", O_RDONLY | O_CLOEXEC);
	DescribedMapping mappings[2];
	ElfSource source = { .fd = fd };
	Elf64_Phdr code = { 0 };
	uint64_t biases[2];
	uint64_t loop;
	UnwindTables *tables;
	MappedFileTable *files;
	Runtimes *runtimes;
	ElfHeaders headers;
	struct stat file;
	uint8_t *pages;

	if (fd < 0)
		skip();
	assert_int_equal(fstat(fd, &file), 0);
	source.size_bytes = (uint64_t) file.st_size;
	assert_int_equal(elf_headers_read(&headers, &source), 0);
	for (uint32_t i = 0; i < headers.segment_count && (code.p_flags & PF_X) == 0; i++)
		assert_true(elf_headers_segment(&headers, i, &code));
	assert_in_range(code.p_filesz, 1 << 20, room / 2);
	pages = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(pages, MAP_FAILED);
	noting.set_runtime = note_runtime;
	kernel->ops = &noting;
	assert_int_equal(mapped_file_table_create(&files), 0);
	assert_int_equal(unwind_tables_create(files, kernel, NULL, &tables), 0);
	assert_int_equal(runtimes_create(1 << 20, &runtimes), 0);
	runtimes_use_tables(runtimes, kernel);
	unwind_tables_use_runtimes(tables, runtimes);
	biases[0] = map_pages(files, fd, &code, 1 << 16, pages, &mappings[0]);
	biases[1] = map_pages(files, fd, &code, 0, pages + room / 2, &mappings[1]);

	assert_int_equal(unwind_tables_describe(tables, &process, 0, mappings, 2, 0), 0);
	assert_int_equal(published.kind, PFS_RUNTIME_PHP);
	loop = published.php.loop_start - biases[1];
	assert_in_range(loop, code.p_vaddr, code.p_vaddr + code.p_memsz);

	process.exec_id++;
	assert_int_equal(unwind_tables_describe(tables, &process, 0, mappings, 1, 0), 0);
	assert_int_equal(published.php.loop_start, biases[0] + loop);
	unwind_tables_free(tables);
	runtimes_free(runtimes);
	for (int i = 0; i < 2; i++)
		mapped_file_release(files, mappings[i].file);
	mapped_file_table_free(files);
	memory_tables_free(kernel);
	munmap(pages, room);
	close(fd);
}

/* CFI of LLVM's compilers: each frame in the first half of the next page has 32 bytes. */
static const uint8_t generated_cfi[] = {
#ifdef PFS_ARM64
	0x10, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x7c, 30, 1, 0x1b, /* CIE */
	0x0c, 31, 0,													 /* CFA = sp */
	0x14, 0, 0, 0, 0x18, 0, 0, 0,									 /* FDE of this CIE */
	/* 0x800 bytes of code, 0xfe4 bytes after this field: the next page */
	0xe4, 0x0f, 0, 0, 0, 8, 0, 0, 0, 0x0e, 32, 0x9e, 2, 0, 0, 0, 0, 0, 0,
	0, /* CFA = sp + 32, return address at CFA - 8 */
#else
	0x14, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, /* CIE */
	0x0c, 7, 8, 0x90, 1, 0, 0,	  /* CFA = rsp + 8, return address at CFA - 8 */
	0x1c, 0, 0, 0, 0x1c, 0, 0, 0, /* FDE of this CIE */
	/* from 0xfe0 bytes after this field: the next page; 0x800 bytes */
	0xe0, 0x0f, 0, 0, 0, 8, 0, 0, 0, 0x0e, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* CFA = rsp + 32 */
#endif
};

/*
 * Generated code with CFI beside it, in LLVM's layout, is walked by that CFI, but only while it is
 * known to be unchanged.
 */
static void
test_generated_code(void **state)
{
	KernelTables *kernel = memory_tables_create();
	ExecImage process = { (uint32_t) getpid(), 1, 1 };
	uint8_t *pages =
		mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	DescribedMapping mapping = { 0 };
	struct pfs_late *late = calloc(1, sizeof(*late));
	uint64_t stack[8] = { 0 };
	UnwindTables *tables;
	MappedFileTable *files;
	uint64_t frames[MAX_FRAMES];
	uint64_t code;
	int status;

	assert_ptr_not_equal(pages, MAP_FAILED);
	memcpy(pages, generated_cfi, sizeof(generated_cfi));
	code = (uint64_t) (uintptr_t) pages + 4096;
	assert_int_equal(mprotect(pages + 4096, 4096, PROT_NONE), 0); /* the code itself is not read */
	mapping.start = code;
	mapping.end = code + 4096;
	assert_int_equal(mapped_file_table_create(&files), 0);
	assert_int_equal(unwind_tables_create(files, kernel, NULL, &tables), 0);
	assert_int_equal(unwind_tables_describe(tables, &process, 0, &mapping, 1, 0), 0);

	stack[3] = code + 200;
	stack[7] = code + 0x900; /* code that the CFI does not cover */
	late->at = (struct pfs_walk_state){ .pc = code + 100, .sp = 0x7000, .innermost = 1 };
	late->address = 0x7000;
	late->chunks = 1;
	late->length = sizeof(stack);
	memcpy(late->bytes, stack, sizeof(stack));
	assert_int_equal(unwind_tables_walk(tables, &process, 1, late, 1, true, frames, NULL,
										MAX_FRAMES, &status),
					 3);
	assert_int_equal(PFS_FRAME_ADDRESS(frames[1]), code + 200);
	assert_int_equal(PFS_FRAME_ADDRESS(frames[2]), code + 0x900);
	assert_int_equal(unwind_tables_walk(tables, &process, 1, late, 1, false, frames, NULL,
										MAX_FRAMES, &status),
					 1);
	assert_int_equal(status, PFS_WALK_NO_TABLE);
	unwind_tables_free(tables);
	mapped_file_table_free(files);
	memory_tables_free(kernel);
	munmap(pages, 3 * 4096);
	free(late);
}

/*
 * Memory that resembles thousands of sections, each of which claims to cover all that follows: most
 * are not even parsed.
 */
static void
test_many_sections(void **state)
{
	static const uint8_t section[64] = {
		0x14,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		1,
		'z',
		'R',
		0,
		1,
		0x78,
		16,
		1,
		0, /* CIE, plain addresses */
		0x0c,
		7,
		8,
		0x90,
		1,
		0,
		0, /* CFA = rsp + 8, return address at CFA - 8 */
		/* FDE of this CIE; the next line has its start */
		0x24,
		0,
		0,
		0,
		0x1c,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		16,
	};
	const size_t length = 960 * 1024;
	KernelTables *kernel = memory_tables_create();
	ExecImage process = { (uint32_t) getpid(), 1, 1 };
	uint8_t *pages = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	DescribedMapping mapping = { .start = 0x10000000, .end = 0x10001000 };
	UnwindTables *tables;
	MappedFileTable *files;
	int64_t begin_ns;

	(void) state;
	assert_ptr_not_equal(pages, MAP_FAILED);
	for (size_t at = 0; at < length; at += sizeof(section))
	{
		uint64_t code = mapping.start + at % 4096;

		memcpy(pages + at, section, sizeof(section));
		memcpy(pages + at + 32, &code, sizeof(code));
	}
	assert_int_equal(mprotect(pages, length, PROT_READ), 0);
	assert_int_equal(mapped_file_table_create(&files), 0);
	assert_int_equal(unwind_tables_create(files, kernel, NULL, &tables), 0);
	begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	assert_int_equal(unwind_tables_describe(tables, &process, 0, &mapping, 1, 0), 0);
	assert_in_range(clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns, 0, INT64_C(5000000000));
	unwind_tables_free(tables);
	mapped_file_table_free(files);
	memory_tables_free(kernel);
	munmap(pages, length);
}

/* A copy of memory provides all of its bytes and none beyond. */
static void
test_late_memory(void **state)
{
	uint8_t bytes[24] = { 0 };
	LateMemory memory = { bytes, sizeof(bytes), 1000, UINT64_MAX, 0, 0 };
	uint64_t value;

	bytes[16] = 7;
	assert_int_equal(late_memory_read(&memory, 1016, &value), 0);
	assert_int_equal(value, 7);
	assert_int_not_equal(late_memory_read(&memory, 1017, &value), 0);
	assert_int_not_equal(late_memory_read(&memory, 999, &value), 0);
	assert_int_not_equal(late_memory_read(&memory, UINT64_MAX, &value), 0);
	memory.length = 7;
	assert_int_not_equal(late_memory_read(&memory, 1000, &value), 0);
}

/* A page of the copy that was not resident affects only walks that need it. */
static void
test_late_memory_holes(void **state)
{
	static uint8_t bytes[4 * PFS_LATE_CHUNK_BYTES];
	LateMemory memory = { bytes, sizeof(bytes), 0x10000, 0x5, 0x90000, 0x3 };
	const uint64_t second = memory.address + PFS_LATE_CHUNK_BYTES;
	const uint64_t third = second + PFS_LATE_CHUNK_BYTES;
	const uint64_t other = memory.other_address;
	uint64_t value;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t) (i / PFS_LATE_CHUNK_BYTES + 1);
	assert_int_equal(late_memory_read(&memory, second - 8, &value), 0);
	assert_int_equal(value, UINT64_C(0x0101010101010101));
	assert_int_not_equal(late_memory_read(&memory, second - 4, &value), 0);
	assert_int_not_equal(late_memory_read(&memory, second, &value), 0);
	assert_int_not_equal(late_memory_read(&memory, third - 8, &value), 0);
	assert_int_equal(late_memory_read(&memory, third, &value), 0);
	assert_int_equal(value, UINT64_C(0x0202020202020202));
	assert_int_not_equal(late_memory_read(&memory, third + PFS_LATE_CHUNK_BYTES, &value), 0);

	/* in the second piece */
	assert_int_equal(late_memory_read(&memory, other + PFS_LATE_CHUNK_BYTES - 4, &value), 0);
	assert_int_equal(value, UINT64_C(0x0404040403030303));
	assert_int_not_equal(late_memory_read(&memory, other + 2 * PFS_LATE_CHUNK_BYTES - 4, &value),
						 0);
	memory.length -= PFS_LATE_CHUNK_BYTES;
	assert_int_equal(late_memory_read(&memory, other, &value), 0);
	assert_int_not_equal(late_memory_read(&memory, other + PFS_LATE_CHUNK_BYTES, &value), 0);
	memory.chunks = 0;
	assert_int_not_equal(late_memory_read(&memory, third, &value), 0);
}

/*
 * Another image with an equal pid is not this process, and forgetting the old one leaves the new
 * one as it is.
 */
static void
test_images_of_a_pid(void **state)
{
	World *world = *state;
	ExecImage later = { world->process.pid, 1, 2 };
	struct pfs_unwind_process entry;
	UnwinderStats before;
	UnwinderStats after;

	unwinder_stats(world->unwinder, &before);
	assert_true(unwinder_find_process(world->unwinder, &world->process, &entry));
	assert_false(unwinder_find_process(world->unwinder, &later, &entry));
	assert_int_equal(unwinder_process_set(world->unwinder, &later, world->spans, world->span_count,
										  0),
					 0);
	assert_false(unwinder_find_process(world->unwinder, &world->process, &entry));
	unwinder_process_forget(world->unwinder, &world->process, 0);
	assert_true(unwinder_find_process(world->unwinder, &later, &entry));
	unwinder_stats(world->unwinder, &after);
	assert_int_equal(after.mappings, before.mappings);
	unwinder_process_forget(world->unwinder, &later, 0);
	unwinder_stats(world->unwinder, &after);
	assert_int_equal(after.mappings, 0);
	assert_int_equal(after.processes, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_walk, setup_world, teardown_world),
		cmocka_unit_test_setup_teardown(test_walk_over_signal, setup_world, teardown_world),
		cmocka_unit_test_setup_teardown(test_read_failures, setup_world, teardown_world),
		cmocka_unit_test_setup_teardown(test_frame_pointers, setup_world, teardown_world),
		cmocka_unit_test_setup_teardown(test_place_of_another_table, setup_world, teardown_world),
#ifdef __x86_64__
		cmocka_unit_test_setup_teardown(test_start_code, setup_world, teardown_world),
		cmocka_unit_test_setup_teardown(test_loader_start, setup_world, teardown_world),
		cmocka_unit_test_setup_teardown(test_argument_is_no_caller, setup_world, teardown_world),
		cmocka_unit_test_setup_teardown(test_frame_behind_array, setup_world, teardown_world),
#endif
		cmocka_unit_test(test_shared_memory),
		cmocka_unit_test(test_second_mapping),
		cmocka_unit_test(test_generated_code),
		cmocka_unit_test(test_many_sections),
		cmocka_unit_test(test_late_memory),
		cmocka_unit_test(test_late_memory_holes),
		cmocka_unit_test_setup_teardown(test_images_of_a_pid, setup_world, teardown_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
