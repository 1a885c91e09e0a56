/*
 * record.c
 *		A program that records itself:
 *
 *		record FILE
 *
 * Moments: deep in calls through the C library; below code without CFI that keeps a frame record,
 * in the program's text ("generated") and in memory that belongs to no file ("jit"); a function
 * that a signal interrupted, which on arm64 has its return address in the link register alone
 * ("leaf"); the handler of that signal ("handler"). On x86-64, whose processor can stop after each
 * instruction, also each instruction of a function and of the one that it calls, prologues and
 * epilogues among them ("step").
 */
#include <execinfo.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "recording.h"

#define RED_ZONE_BYTES 128 /* below the stack pointer, for code that calls nothing */

static int output;
static Recording recording;
static Recording above_generated;
static volatile int interruptible;
static volatile int interrupted;

/*
 * generated() calls its first argument, and stores the address of its frame record at its second.
 * It has no CFI, it can be copied, and its frame is larger than its record.
 */
#ifdef __aarch64__

#define SP			31
#define PC			32
#define SA_RESTORER 0x04000000 /* the kernel's value on all architectures */

/*
 * A signal's return code like that of the kernel's vDSO: no CFI, and an instruction in front, for
 * unwinders that look up return address - 1.
 */
__asm__(".text\n"
		".balign 64\n"
		"nop\n"
		".global trampoline\n"
		"trampoline:\n"
		"mov x8, #139\n"
		"svc #0\n"
		".balign 64\n");
extern void trampoline(void);

__asm__(".text\n"
		".balign 16\n"
		".global generated, generated_end\n"
		"generated:\n"
		"hint #34\n" /* bti c: the function is called by address */
		"stp x29, x30, [sp, #-96]!\n"
		"mov x29, sp\n"
		"str x29, [x1]\n"
		"blr x0\n"
		"ldp x29, x30, [sp], #96\n"
		"ret\n"
		"generated_end:\n"
		".balign 64\n");

#else

#define SP 7
#define PC 16

__asm__(".text\n"
		".balign 16\n"
		".global generated, generated_end\n"
		"generated:\n"
		"push %rbp\n"
		"mov %rsp, %rbp\n"
		"sub $80, %rsp\n"
		"mov %rbp, (%rsi)\n"
		"call *%rdi\n"
		"leave\n"
		"ret\n"
		"generated_end:\n"
		".balign 64\n");

#endif

typedef void Generated(void (*called)(void), uint64_t *volatile *record);
extern Generated generated;
extern const char generated_end[];
static uint64_t *volatile generated_record;

static void
take_registers(const ucontext_t *context)
{
	const mcontext_t *machine = &context->uc_mcontext;

#ifdef __aarch64__
	memcpy(recording.registers, machine->regs, sizeof(machine->regs));
	recording.registers[SP] = machine->sp;
	recording.registers[PC] = machine->pc;
#else
	static const int order[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
								 REG_RBP, REG_RSP, REG_R8,	REG_R9,	 REG_R10, REG_R11,
								 REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		recording.registers[i] = (uint64_t) machine->gregs[order[i]];
#endif
}

/* Reads the executable mappings, and the end of the one that contains the stack. */
static void
read_maps(uint64_t sp)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");

	recording.span_count = 0;
	while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
	{
		RecordedSpan *span = &recording.spans[recording.span_count];
		char permissions[8];
		char path[232] = "";
		uint64_t start;
		uint64_t end;
		uint64_t offset;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %231s", &start, &end,
				   permissions, &offset, path) < 4)
			continue;
		if (sp >= start && sp < end)
		{
			recording.stack_address = sp - RED_ZONE_BYTES;
			recording.stack_bytes = end - recording.stack_address;
		}
		if (permissions[2] != 'x' || recording.span_count == RECORDING_SPANS)
			continue;
		*span = (RecordedSpan){ .start = start, .end = end, .offset = offset };
		if (path[0] == '/')
			strcpy(span->path, path);
		recording.span_count++;
	}
	if (maps != NULL)
		fclose(maps);
}

static void
write_recording(const char *name, uint64_t signals)
{
	strncpy(recording.name, name, sizeof(recording.name) - 1);
	recording.signals = signals;
	read_maps(recording.registers[SP]);
	if (write(output, &recording, sizeof(recording)) != sizeof(recording) ||
		write(output, (void *) recording.stack_address, recording.stack_bytes) !=
			(ssize_t) recording.stack_bytes)
		abort();
}

__attribute__((noinline)) static void
take_backtrace(uint64_t from)
{
	void *frames[RECORDING_FRAMES];
	int count = backtrace(frames, RECORDING_FRAMES);
	int first = 0;

	/* from the interrupted address on, or from the caller of this function */
	while (first < count && from != 0 && (uint64_t) frames[first] != from)
		first++;
	if (from == 0)
		first = 1;
	recording.frame_count = 0;
	for (int i = first; i < count; i++)
		recording.frames[recording.frame_count++] = (uint64_t) frames[i];
}

__attribute__((noinline)) static void
record_here(const char *name, uint64_t signals)
{
	ucontext_t context;

	memset(&recording, 0, sizeof(recording));
	take_backtrace(0);
	getcontext(&context);
	take_registers(&context);
	write_recording(name, signals);
}

/* Records the moment that a signal interrupted. */
static void
record_interrupted(const char *name, const ucontext_t *context)
{
	memset(&recording, 0, sizeof(recording));
	take_registers(context);
	take_backtrace(recording.registers[PC]);
	write_recording(name, 0);
}

static void
on_signal(int number, siginfo_t *info, void *context)
{
	(void) number;
	(void) info;
	if (interrupted || !interruptible)
		return;
	record_here("handler", 1);
	record_interrupted("leaf", context);
	interrupted = 1;
}

__attribute__((noinline)) static uint64_t
leaf(uint64_t value)
{
	interruptible = 1;
	while (!interrupted)
		value = value * 6364136223846793005u + 1;
	return value;
}

/*
 * A function whose frame is large enough for offsets beyond 32 KiB: fp and lr lie at the low end.
 */
__attribute__((noinline)) static uint64_t
large_frame(uint64_t value)
{
	volatile char space[100000];

	space[value & 0xff] = (char) value;
	value = leaf(value);
	return value + (uint64_t) space[1];
}

__attribute__((noinline)) static int
recurse(int depth)
{
	volatile char space[48];

	space[0] = (char) depth;
	if (depth == 0)
		record_here("deep", 0);
	else
		recurse(depth - 1);
	return space[0];
}

static const char *generated_name;

/*
 * libgcc's unwinder ends in the code without CFI: it has recorded the callers of that code before.
 */
__attribute__((noinline)) static void
below_generated(void)
{
	ucontext_t context;

	memset(&recording, 0, sizeof(recording));
	getcontext(&context);
	take_registers(&context);
	recording.frame_count = 2; /* this function, and the code that called it */
	recording.frames[1] = (uint64_t) __builtin_return_address(0);
	recording.frames[recording.frame_count++] = generated_record[1];
	for (uint64_t i = 1; i < above_generated.frame_count; i++)
		recording.frames[recording.frame_count++] = above_generated.frames[i];
	write_recording(generated_name, 0);
}

__attribute__((noinline)) static int
call_generated(const char *name, Generated *code)
{
	volatile char space[208];

	space[0] = *name;
	generated_name = name;
	memset(&recording, 0, sizeof(recording));
	take_backtrace(0);
	above_generated = recording;
	code(below_generated, &generated_record);
	return space[0];
}

/* Copies the code to memory, as a JIT compiler would place it. */
static Generated *
copy_generated(void)
{
	size_t length = (size_t) (generated_end - (const char *) generated);
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		abort();
	memcpy(page, (const char *) generated, length);
	if (mprotect(page, 4096, PROT_READ | PROT_EXEC) != 0)
		abort();
	__builtin___clear_cache(page, page + length);
	return (Generated *) page;
}

static int
compare(const void *left, const void *right)
{
	static int calls;

	if (calls++ == 0)
		recurse(20);
	return *(const char *) left - *(const char *) right;
}

#ifdef __aarch64__

/* The C library's sigaction takes no restorer on arm64. */
static void
handle_alarm(void)
{
	struct
	{
		void (*handler)(int, siginfo_t *, void *);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} action = { on_signal, SA_SIGINFO | SA_RESTORER, trampoline, 0 };

	if (syscall(SYS_rt_sigaction, SIGALRM, &action, NULL, sizeof(action.mask)) != 0)
		abort();
}

static uint64_t
record_steps(uint64_t value)
{
	return value; /* nothing stops qemu's arm64 after an instruction */
}

#else

#define TRAP_FLAG 0x100

static volatile int stepping;

static void
handle(int number, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };

	if (sigaction(number, &action, NULL) != 0)
		abort();
}

static void
handle_alarm(void)
{
	handle(SIGALRM, on_signal);
}

static void
on_step(int number, siginfo_t *info, void *context)
{
	greg_t *flags = &((ucontext_t *) context)->uc_mcontext.gregs[REG_EFL];

	(void) number;
	(void) info;
	record_interrupted("step", context);
	*flags = stepping ? *flags | TRAP_FLAG : *flags & ~TRAP_FLAG;
}

/* A function whose stack is larger than its red zone. */
__attribute__((noinline)) static uint64_t
stepped_leaf(const uint64_t *values)
{
	volatile uint64_t room[40];
	uint64_t a = values[0];
	uint64_t b = values[1];

	room[a & 15] = b;
	return (a ^ b) + room[b & 15];
}

/*
 * A function that keeps more values over a call than the caller has registers for them, so that it
 * saves some.
 */
__attribute__((noinline)) static uint64_t
stepped(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	uint64_t values[2] = { a * c, b * d };
	uint64_t first = stepped_leaf(values);

	values[0] = first ^ a ^ c;
	return stepped_leaf(values) + first * a + b * c + d;
}

/* Records each instruction from the breakpoint to the one after the last store. */
static uint64_t
record_steps(uint64_t value)
{
	handle(SIGTRAP, on_step);
	stepping = 1;
	__asm__ volatile("int3");
	value = stepped(value, value + 1, value + 2, value + 3);
	stepping = 0;
	return value;
}

#endif

int
main(int argc, char **argv)
{
	const struct itimerval soon = { { 0, 20000 }, { 0, 20000 } };
	char letters[] = "unwind";
	uint64_t value;

	if (argc != 2 || (output = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0644)) < 0)
		return 2;
	qsort(letters, sizeof(letters) - 1, 1, compare);
	value = (uint64_t) (call_generated("generated", generated) +
						call_generated("jit", copy_generated()));
	value += record_steps(value);
	handle_alarm();
	setitimer(ITIMER_REAL, &soon, NULL);
	value += large_frame((uint64_t) argc);
	return value == 0;
}
