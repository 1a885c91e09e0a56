/*
 * thread_registers.h
 *		Reads the registers of a thread that is stopped by ptrace(), on both architectures, and
 *		executes single instructions.
 */
#ifndef COLLECTOR_TEST_THREAD_REGISTERS_H
#define COLLECTOR_TEST_THREAD_REGISTERS_H

#include <elf.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "unwind_types.h"

typedef struct ThreadRegisters
{
	__u64 numbered[PFS_REGISTER_COUNT]; /* registers by DWARF number */
	uint64_t thread_pointer;
} ThreadRegisters;

#ifdef PFS_ARM64
static bool
thread_registers_take(pid_t thread, const struct user_regs_struct *from, ThreadRegisters *to)
{
	struct iovec pointer = { &to->thread_pointer, sizeof(to->thread_pointer) };

	memcpy(to->numbered, from->regs, sizeof(from->regs));
	to->numbered[PFS_REGISTER_SP] = from->sp;
	to->numbered[PFS_REGISTER_PC] = from->pc;
	return ptrace(PTRACE_GETREGSET, thread, (void *) NT_ARM_TLS, &pointer) == 0;
}
#else
static bool
thread_registers_take(pid_t thread, const struct user_regs_struct *from, ThreadRegisters *to)
{
	(void) thread;
	*to = (ThreadRegisters){ { from->rax, from->rdx, from->rcx, from->rbx, from->rsi, from->rdi,
							   from->rbp, from->rsp, from->r8, from->r9, from->r10, from->r11,
							   from->r12, from->r13, from->r14, from->r15, from->rip },
							 from->fs_base };
	return true;
}
#endif

/* Returns false with errno set if the registers cannot be read. */
static bool
thread_registers_read(pid_t thread, ThreadRegisters *to)
{
	struct user_regs_struct from;
	struct iovec general = { &from, sizeof(from) };

	memset(to, 0, sizeof(*to));
	return ptrace(PTRACE_GETREGSET, thread, (void *) NT_PRSTATUS, &general) == 0 &&
		   thread_registers_take(thread, &from, to);
}

/*
 * Lets the thread execute one instruction; signals are delivered to it. Returns false if it ended,
 * or was not stopped.
 */
static inline bool
thread_step(pid_t thread)
{
	int signal_number = 0;
	int status;

	do
	{
		if (ptrace(PTRACE_SINGLESTEP, thread, NULL, signal_number) != 0 ||
			waitpid(thread, &status, __WALL) != thread || !WIFSTOPPED(status))
			return false;
		signal_number = WSTOPSIG(status);
	} while (signal_number != SIGTRAP);
	return true;
}

#endif
