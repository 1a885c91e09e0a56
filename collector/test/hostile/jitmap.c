/*
 * jitmap.c
 *		jitmap stale|shared: runs generated code whose perf map is not its own.
 *
 * Two children run the same code, in a mount namespace with an empty /tmp. The first one, in
 * with_map(), has a map of its own. The second one, in without_map(), has none:
 *
 * "stale": the map of its pid is an hour old, as that of an earlier process would be.
 *
 * "shared": both children are process 1 of pid namespaces of their own, so the name of the first
 * one's map is the second one's, too. The first one keeps its map open.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES 4096
#define ONE_HOUR_S 3600
#define TURNS	   1000000

typedef void (*Code)(long);

/* Code that sets up a frame record and counts its argument down. */
static const uint8_t code_bytes[] = {
#ifdef __x86_64__
	0x55, 0x48, 0x89, 0xe5, /* push %rbp; mov %rsp,%rbp */
	0x48, 0xff, 0xcf,		/* 1: dec %rdi */
	0x75, 0xfb,				/* jnz 1b */
	0x5d, 0xc3,				/* pop %rbp; ret */
#else
	0xfd, 0x7b, 0xbf, 0xa9, /* stp x29, x30, [sp, #-16]! */
	0xfd, 0x03, 0x00, 0x91, /* mov x29, sp */
	0x00, 0x04, 0x00, 0xf1, /* 1: subs x0, x0, #1 */
	0xe1, 0xff, 0xff, 0x54, /* b.ne 1b */
	0xfd, 0x7b, 0xc1, 0xa8, /* ldp x29, x30, [sp], #16 */
	0xc0, 0x03, 0x5f, 0xd6, /* ret */
#endif
};

/* One counter for each function: otherwise compilers fold both into one. */
static volatile long turns_with_map;
static volatile long turns_without_map;

__attribute__((noinline)) static void
with_map(Code code)
{
	for (;; turns_with_map++)
		code(TURNS);
}

__attribute__((noinline)) static void
without_map(Code code)
{
	for (;; turns_without_map++)
		code(TURNS);
}

static void
fail(const char *what)
{
	perror(what);
	exit(1);
}

static Code
make_code(void)
{
	void *code = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		fail("mmap");
	memcpy(code, code_bytes, sizeof(code_bytes));
	__builtin___clear_cache(code, (char *) code + sizeof(code_bytes));
	return (Code) code;
}

/* Writes this process's map, which appears under its name once it is whole; leaves it open. */
static int
write_map(Code code, const char *function)
{
	char path[64];
	char unfinished[64];
	FILE *file;

	snprintf(unfinished, sizeof(unfinished), "/tmp/new-%d", getpid());
	file = fopen(unfinished, "w");
	if (file == NULL)
		fail("map");
	fprintf(file, "%lx %x %s\n", (unsigned long) code, PAGE_BYTES, function);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	if (fflush(file) != 0 || rename(unfinished, path) != 0)
		fail("map");
	return fileno(file);
}

static void
write_old_map(Code code)
{
	const struct timespec an_hour_ago = { time(NULL) - ONE_HOUR_S, 0 };
	int fd = write_map(code, "work_of_another");

	if (futimens(fd, (struct timespec[]){ an_hour_ago, an_hour_ago }) != 0)
		fail("futimens");
	close(fd);
}

/* Like fork(). The child ends with its parent. */
static pid_t
fork_with(unsigned long flags)
{
	pid_t pid = (pid_t) syscall(SYS_clone, flags | SIGCHLD, 0L, 0L, 0L, 0L);

	if (pid < 0)
		fail("clone");
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

int
main(int argc, char **argv)
{
	bool is_shared = argc == 2 && strcmp(argv[1], "shared") == 0;
	unsigned long flags = is_shared ? CLONE_NEWPID : 0;
	Code code = make_code();

	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		mount("none", "/tmp", "tmpfs", 0, NULL) != 0)
		fail("mount");
	if (fork_with(flags) == 0)
	{
		(void) write_map(code, "own_work");
		with_map(code);
	}
	while (is_shared && access("/tmp/perf-1.map", F_OK) != 0)
		usleep(1000);
	if (fork_with(flags) == 0)
	{
		if (!is_shared)
			write_old_map(code);
		without_map(code);
	}
	wait(NULL);
	return 1;
}
