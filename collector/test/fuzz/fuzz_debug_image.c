/*
 * fuzz_debug_image.c
 *		Any bytes as a container image: no finding of the sanitizers, and every file that is found
 *		begins like an ELF file.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "debuginfo/debug_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static bool
take(void *context, const char *name, int fd)
{
	char magic[4];

	if (strlen(name) >= IMAGE_NAME_BYTES || pread(fd, magic, sizeof(magic), 0) != sizeof(magic) ||
		memcmp(magic, "\177ELF", sizeof(magic)) != 0)
		abort();
	return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("image", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, bytes, length, 0) != (ssize_t) length ||
		lseek(fd, 0, SEEK_SET) != 0)
		return 0;
	(void) debug_image_walk(fd, take, NULL);
	return 0;
}
