/*
 * worker_sandbox.c
 *		Gives up rights, in an order in which each step still has the rights that it needs.
 */
#include "symbols/worker/worker_sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child.h"
#include "base/log.h"

#if defined(__x86_64__)
#define OUR_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the worker's filter of system calls does not know this architecture"
#endif

/*
 * Allowed system calls: those on the worker's memory, its time and its descriptors. newfstatat is
 * fstat() of newer C libraries; it may query a path, but opens nothing.
 */
/* clang-format off */
static const uint16_t allowed_calls[] = {
	SYS_read, SYS_pread64, SYS_write, SYS_writev, SYS_lseek,
	SYS_close, SYS_fstat, SYS_fstatfs, SYS_fcntl, SYS_dup, SYS_mmap,
	SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise, SYS_brk,
	SYS_recvmsg, SYS_recvfrom, SYS_sendto, SYS_sendmsg, SYS_setsockopt,
	SYS_setitimer, SYS_getpriority, SYS_setpriority, SYS_futex, SYS_sched_yield,
	SYS_clock_gettime, SYS_gettimeofday, SYS_sysinfo, SYS_getrandom, SYS_getpid,
	SYS_gettid, SYS_tgkill, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn,
	SYS_restart_syscall, SYS_exit, SYS_exit_group, SYS_newfstatat,
};
/* clang-format on */

#define ALLOWED_CALLS (sizeof(allowed_calls) / sizeof(allowed_calls[0]))

/*
 * Calls that could harm other processes of user nobody: each is allowed only with one value of one
 * argument.
 */
typedef struct Narrowed
{
	uint16_t call;
	uint8_t argument;
	uint32_t value;
} Narrowed;

#define NARROWED_CALLS	  4
#define NARROWED_COMMANDS 5 /* number of filter commands for each of these calls */

/*
 * Denies all access to files by name with Landlock. Failure is ignored, because the filter allows
 * no call that opens files.
 */
static void
forbid_files(void)
{
	struct landlock_ruleset_attr attributes = { .handled_access_fs =
													(LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1 };
	int fd = (int) syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0);

	if (fd < 0)
		return;
	(void) syscall(SYS_landlock_restrict_self, fd, 0);
	close(fd);
}

static bool
drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	(void) prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &header, none) == 0;
}

/*
 * Appends a check to the filter: the call fails with EPERM unless its argument has the value.
 * Returns the number of commands.
 */
static unsigned short
narrow_call(struct sock_filter program[NARROWED_COMMANDS], const Narrowed *narrowed)
{
	const struct sock_filter commands[NARROWED_COMMANDS] = {
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, narrowed->call, 0, 4),
		/* compare only the low half of the argument, because the kernel reads no more of an int */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
				 offsetof(struct seccomp_data, args) + 8U * narrowed->argument),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, narrowed->value, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};

	memcpy(program, commands, sizeof(commands));
	return NARROWED_COMMANDS;
}

/*
 * Installs a filter in which all system calls that are not listed fail with EPERM. Returns false if
 * the kernel supports filters but refuses this one.
 */
static bool
filter_calls(void)
{
	const Narrowed narrowed[NARROWED_CALLS] = {
		{ SYS_tgkill, 0, (uint32_t) getpid() },
		{ SYS_setpriority, 0, PRIO_PROCESS },
		{ SYS_setpriority, 1, 0 },
		{ SYS_fcntl, 1, F_GETFD }, /* libelf needs it; F_SETOWN and F_SETSIG could send signals */
	};
	struct sock_filter program[5 + NARROWED_CALLS * NARROWED_COMMANDS + 2 * ALLOWED_CALLS];
	struct sock_fprog filter = { .filter = program };
	unsigned short at = 0;

	program[at++] = (struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
												  offsetof(struct seccomp_data, arch));
	program[at++] =
		(struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCHITECTURE, 1, 0);
	program[at++] = (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	program[at++] =
		(struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < NARROWED_CALLS; i++)
		at += narrow_call(&program[at], &narrowed[i]);
	for (size_t i = 0; i < ALLOWED_CALLS; i++)
	{
		program[at++] =
			(struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed_calls[i], 0, 1);
		program[at++] = (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	program[at++] = (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	filter.len = at;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0 || errno == ENOSYS ||
		   errno == EINVAL;
}

bool
worker_sandbox_enter(void)
{
	/*
	 * The new network namespace is empty. Root enters it before its capabilities are gone, because
	 * a chroot, and some systems, allow no user namespace. Failure of both ways is ignored,
	 * because the filter allows no system call for networks.
	 */
	bool left_network = unshare(CLONE_NEWNET) == 0;
	int err = child_change_user();

	if (err != 0)
		log_event(LOG_WARNING, "symbols", "symbol worker still runs as root, without capabilities",
				  log_text("detail", strerror(-err)),
				  log_text("hint", "Grant the agent CAP_SETUID, CAP_SETGID and CAP_KILL."));
	if (!left_network)
		(void) unshare(CLONE_NEWUSER | CLONE_NEWNET);
	(void) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return false;
	forbid_files();
	return drop_capabilities() && filter_calls();
}
