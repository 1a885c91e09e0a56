/*
 * kernel_version.h
 *		Kernels that can lock up when a BPF program reads user memory in an interrupt.
 *
 * The one place where a version counts: the fault is no feature that could be tried.
 */
#ifndef COLLECTOR_KERNEL_VERSION_H
#define COLLECTOR_KERNEL_VERSION_H

#include <stdbool.h>
#include <stddef.h>

typedef struct KernelVersion
{
	unsigned int major;
	unsigned int minor;
	unsigned int patch;
} KernelVersion;

/*
 * The version of Linux that a kernel is. Distributions freeze the release ("6.1.0-13-amd64",
 * "6.2.0-39-generic") and tell elsewhere which patch level it was built from: Debian in uname's
 * version, Ubuntu in /proc/version_signature ("" where there is none). False where the release has
 * no version.
 */
bool kernel_version_parse(const char *release, const char *build, const char *signature,
						  KernelVersion *version);

/*
 * From 5.19 on copying from user space with hardened user copies takes a lock that the interrupted
 * code may hold. Mended in 6.4, and in 6.1.36 and 6.3.10; the others were given up unmended.
 */
bool kernel_version_locks_up(const KernelVersion *version);

/*
 * Is this kernel one of them, and was it built with hardened user copies? text is what it calls
 * itself.
 */
bool kernel_locks_up(char *text, size_t size);

#endif
