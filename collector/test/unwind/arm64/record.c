/*
 * record.c
 *		An arm64 program that records itself, to be run by qemu-aarch64:
 *
 *		record FILE
 *
 * Four moments: deep in calls through the C library; below a function without CFI that keeps a frame record at the low end of its
 * frame; a leaf function that a signal interrupted, whose return address is in the link register alone; the handler of that signal.
 */
#include <execinfo.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "recording.h"

#define SP			31
#define PC			32
#define SA_RESTORER 0x04000000 /* the kernel's, for all architectures */

static int output;
static Recording recording;
static volatile int interrupted;

/* As the kernel's vDSO has it: no CFI, and an instruction in front, for unwinders that look up return address - 1. */
__asm__(".text\n"
		".balign 64\n"
		"nop\n"
		".global trampoline\n"
		"trampoline:\n"
		"mov x8, #139\n"
		"svc #0\n"
		".balign 64\n");
extern void trampoline(void);

/* Calls its argument. No CFI; its frame is larger than its record. */
__asm__(".text\n"
		".balign 16\n"
		"generated:\n"
		"stp x29, x30, [sp, #-96]!\n"
		"mov x29, sp\n"
		"adrp x9, generated_record\n"
		"str x29, [x9, :lo12:generated_record]\n"
		"blr x0\n"
		"ldp x29, x30, [sp], #96\n"
		"ret\n"
		".balign 64\n");
extern void generated(void (*called)(void));
uint64_t *volatile generated_record;
static Recording above_generated;

/* The executable mappings, and the end of the one that holds the stack. */
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
			recording.stack_address = sp;
			recording.stack_bytes = end - sp;
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

static void
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
	memset(&recording, 0, sizeof(recording));
	take_backtrace(0);
	__asm__ volatile("mov %0, sp\n"
					 "adr %1, .\n"
					 "mov %2, x29\n"
					 "mov %3, x30\n"
					 : "=&r"(recording.registers[SP]), "=&r"(recording.registers[PC]),
					   "=&r"(recording.registers[29]), "=&r"(recording.registers[30]));
	write_recording(name, signals);
}

static void
on_signal(int number, siginfo_t *info, void *context)
{
	const mcontext_t *machine = &((ucontext_t *) context)->uc_mcontext;

	(void) number;
	(void) info;
	if (interrupted)
		return;
	record_here("handler", 1);
	memset(&recording, 0, sizeof(recording));
	memcpy(recording.registers, machine->regs, sizeof(machine->regs));
	recording.registers[SP] = machine->sp;
	recording.registers[PC] = machine->pc;
	take_backtrace(machine->pc);
	write_recording("leaf", 0);
	interrupted = 1;
}

__attribute__((noinline)) static uint64_t
leaf(uint64_t value)
{
	while (!interrupted)
		value = value * 6364136223846793005u + 1;
	return value;
}

/* Large enough for offsets beyond 32 KiB: fp and lr lie at the low end. */
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

/* libgcc's unwinder ends in the code without CFI: what is above it, it saw before. */
__attribute__((noinline)) static void
below_generated(void)
{
	memset(&recording, 0, sizeof(recording));
	take_backtrace(0);
	__asm__ volatile("mov %0, sp\n"
					 "adr %1, .\n"
					 "mov %2, x29\n"
					 "mov %3, x30\n"
					 : "=&r"(recording.registers[SP]), "=&r"(recording.registers[PC]),
					   "=&r"(recording.registers[29]), "=&r"(recording.registers[30]));
	recording.frame_count = 2; /* this function, and the code that called it */
	recording.frames[1] = (uint64_t) __builtin_return_address(0);
	recording.frames[recording.frame_count++] = generated_record[1];
	for (uint64_t i = 1; i < above_generated.frame_count; i++)
		recording.frames[recording.frame_count++] = above_generated.frames[i];
	write_recording("generated", 0);
}

__attribute__((noinline)) static int
call_generated(int depth)
{
	volatile char space[208];

	space[0] = (char) depth;
	memset(&recording, 0, sizeof(recording));
	take_backtrace(0);
	above_generated = recording;
	generated(below_generated);
	return space[0];
}

static int
compare(const void *left, const void *right)
{
	static int calls;

	if (calls++ == 0)
		recurse(20);
	return *(const char *) left - *(const char *) right;
}

/* The C library's sigaction takes no restorer on arm64. */
static void
handle_with_trampoline(int number)
{
	struct
	{
		void (*handler)(int, siginfo_t *, void *);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} action = { on_signal, SA_SIGINFO | SA_RESTORER, trampoline, 0 };

	if (syscall(SYS_rt_sigaction, number, &action, NULL, sizeof(action.mask)) != 0)
		abort();
}

int
main(int argc, char **argv)
{
	const struct itimerval soon = { { 0, 20000 }, { 0, 20000 } };
	char letters[] = "unwind";
	uint64_t value;

	if (argc != 2 || (output = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0644)) < 0)
		return 2;
	qsort(letters, sizeof(letters) - 1, 1, compare);
	value = (uint64_t) call_generated(argc);
	handle_with_trampoline(SIGALRM);
	setitimer(ITIMER_REAL, &soon, NULL);
	value += large_frame((uint64_t) argc);
	return value == 0;
}
