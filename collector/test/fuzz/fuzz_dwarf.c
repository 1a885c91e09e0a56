/*
 * fuzz_dwarf.c
 *		DWARF of an ELF file: units, split units, entries, ranges and line tables.
 *
 * The file is given as the program, as its supplement, its package and its split units.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/worker/dwarf_session.h"

#define UNPACKED_MAX_BYTES (16U << 20)
#define ADDRESSES		   4096 /* in steps of 16: programs among the seeds begin at 0 or 4 MiB */
#define FRAMES_MAX		   64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns a descriptor of a file that has the bytes. */
static int
make_file(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", 0);

	if (fd < 0 || write(fd, data, size) != (ssize_t) size)
		abort();
	return fd;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	DwarfFrame frames[FRAMES_MAX];
	DwarfSession *session;
	int fd = make_file(data, size);
	const DwarfFds fds = { fd, dup(fd), dup(fd) };

	if (dwarf_session_open(&fds, UNPACKED_MAX_BYTES, &session) != 0)
		return 0;
	for (uint64_t i = 0; i < 2 * ADDRESSES; i++)
	{
		uint64_t address = (i < ADDRESSES ? 0 : 0x400000) + i % ADDRESSES * 16;

		/* the file may also be the file of a split unit */
		if (dwarf_session_lookup(session, address, frames, FRAMES_MAX) == -ENOLINK)
			dwarf_session_add_split(session, dwarf_session_wanted(session).id, dup(fd));
	}
	dwarf_session_close(session);
	return 0;
}
