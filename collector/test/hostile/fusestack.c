/*
 * fusestack.c
 *		Sleeps with the stack pointer in a file of a FUSE file system that does not answer reads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "fuse_file.h"

static FuseFile fuse;

int
main(void)
{
	static const struct timespec time = { 3600, 0 };
	unsigned char *stack;
	int fd;

	if (!fuse_file_open(&fuse))
	{
		perror("fuse");
		return 1;
	}
	fd = open(fuse.path, O_RDONLY);
	if (fd < 0)
	{
		perror("open");
		return 1;
	}
	stack = mmap(NULL, FUSE_FILE_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
	if (stack == MAP_FAILED)
	{
		perror("mmap");
		return 1;
	}
	close(fd); /* at exit this close would get no answer */
	fuse_file_hold(&fuse, FUSE_READ);
#ifdef __x86_64__
	long result;

	__asm__ volatile("mov %%rsp, %%rbx; mov %[sp], %%rsp; syscall; mov %%rbx, %%rsp"
					 : "=a"(result)
					 : "a"(SYS_nanosleep), "D"(&time),
					   "S"(0L), [sp] "r"(stack + FUSE_FILE_BYTES / 4)
					 : "rcx", "r11", "rbx", "memory");
#else
	(void) nanosleep(&time, NULL);
#endif
	return 0;
}
