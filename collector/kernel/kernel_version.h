/*
 * kernel_version.h
 *		Recognizes kernels that can lock up when a BPF program reads user memory in an interrupt.
 *
 * Only this fault is recognized by version number, because it cannot be tried.
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
 * Parses the version of Linux that a kernel is built from. Distributions freeze the release
 * ("6.1.0-13-amd64", "6.2.0-39-generic") and show the patch level elsewhere: Debian in uname's
 * version (build), Ubuntu in /proc/version_signature (signature; "" without this file). Returns
 * false if the release has no version.
 */
bool kernel_version_parse(const char *release, const char *build, const char *signature,
						  KernelVersion *version);

/*
 * Returns true for versions with the fault: from 5.19 on, hardened user copies take a lock that the
 * interrupted code may hold. Fixed in 6.4, 6.1.36 and 6.3.10; other branches ended without a fix.
 */
bool kernel_version_locks_up(const KernelVersion *version);

/*
 * Returns true if this kernel has the fault and is built with hardened user copies. text receives
 * its version for messages.
 */
bool kernel_locks_up(char *text, size_t size);

#endif
