/*
 * uffd.c
 *		Sleeps with the stack pointer in a page that only userfaultfd could fill in, and never does.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/userfaultfd.h>

#define STACK_BYTES 16384

int
main(void)
{
	static const struct timespec time = { 3600, 0 };
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register wanted = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int) syscall(SYS_userfaultfd, O_CLOEXEC);
	unsigned char *stack;

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) != 0)
	{
		perror("userfaultfd");
		return 1;
	}
	stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	wanted.range = (struct uffdio_range){ (uint64_t) (uintptr_t) stack, STACK_BYTES };
	if (stack == MAP_FAILED || ioctl(fd, UFFDIO_REGISTER, &wanted) != 0)
	{
		perror("register");
		return 1;
	}
#ifdef __x86_64__
	long result;

	__asm__ volatile("mov %%rsp, %%rbx; mov %[sp], %%rsp; syscall; mov %%rbx, %%rsp"
					 : "=a"(result)
					 : "a"(SYS_nanosleep), "D"(&time), "S"(0L), [sp] "r"(stack + STACK_BYTES / 2)
					 : "rcx", "r11", "rbx", "memory");
#else
	(void) nanosleep(&time, NULL);
#endif
	return 0;
}
