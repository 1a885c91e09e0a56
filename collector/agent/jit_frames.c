/*
 * jit_frames.c
 *		Search for .eh_frame sections around generated code.
 */
#include "agent/jit_frames.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define PAGE_BYTES 4096
#define WINDOW_BYTES \
	((uint64_t) 64 * 1024) /* on either side; compilers take memory for both at once */

/* A CIE as LLVM begins it, behind its length: CIE 0, version 1, augmentation "zR", alignments 1 and -8, return address 16. */
static const uint8_t cie_start[] = { 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16 };

/* Code that one section speaks of. */
typedef struct Section
{
	uint64_t start;
	uint64_t end;
	UnwindBinary *binary;
} Section;

typedef struct Search
{
	Unwinder *unwinder;
	uint32_t pid;
	uint64_t start; /* of the mapping */
	uint64_t end;
	uint64_t now_ns;
	Section sections[JIT_MAX_SECTIONS]; /* by ascending start, disjoint */
	uint32_t count;
} Search;

/* Keeps the section, or releases it where another one covers the same code. */
static void
keep_section(Search *search, const Section *section)
{
	uint32_t place = search->count;

	for (uint32_t i = 0; i < search->count; i++)
	{
		if (section->start < search->sections[i].end && search->sections[i].start < section->end)
		{
			unwinder_binary_release(search->unwinder, section->binary, search->now_ns);
			return;
		}
	}
	while (place > 0 && search->sections[place - 1].start > section->start)
	{
		search->sections[place] = search->sections[place - 1];
		place--;
	}
	search->sections[place] = *section;
	search->count++;
}

/* bytes begin with a CIE at the address; the section ends with its zero word, or with the bytes. */
static void
try_section(Search *search, const uint8_t *bytes, size_t length, uint64_t address)
{
	const CfiInput input = {
		.machine = EM_X86_64,
		.eh_frame = { .data = bytes, .length = length, .address = address },
		.code_start = search->start,
		.code_end = search->end,
	};
	Section section = { .binary = unwinder_binary_create(search->unwinder) };

	if (section.binary == NULL)
		return;
	if (unwinder_binary_load_jit(search->unwinder, section.binary, &input, search->now_ns,
								 &section.start, &section.end) == 0)
		keep_section(search, &section);
	else
		unwinder_binary_release(search->unwinder, section.binary, search->now_ns);
}

static void
search_bytes(Search *search, const uint8_t *bytes, size_t length, uint64_t address)
{
	size_t at = 0;

	while (search->count < JIT_MAX_SECTIONS && at < length)
	{
		const uint8_t *found = memmem(bytes + at, length - at, cie_start, sizeof(cie_start));
		size_t place;

		if (found == NULL)
			return;
		place = (size_t) (found - bytes);
		if (place >= sizeof(uint32_t))
			try_section(search, found - sizeof(uint32_t), length - place + sizeof(uint32_t),
						address + place - sizeof(uint32_t));
		at = place + sizeof(cie_start);
	}
}

/* Reads the pages from address on that can be read, up to the first that cannot. */
static size_t
read_pages(uint32_t pid, uint64_t address, uint8_t *bytes, size_t length)
{
	struct iovec local = { bytes, length };
	struct iovec remote[WINDOW_BYTES / PAGE_BYTES];
	size_t pages = length / PAGE_BYTES;
	ssize_t result;

	for (size_t i = 0; i < pages; i++)
		remote[i] = (struct iovec){ (void *) (uintptr_t) (address + i * PAGE_BYTES), PAGE_BYTES };
	result = process_vm_readv((pid_t) pid, &local, 1, remote, pages, 0);
	return result > 0 ? (size_t) result : 0;
}

/* The window before the code may begin with memory that is none: then its later half is tried, and so on. */
static void
search_before(Search *search, uint8_t *bytes)
{
	for (uint64_t window = WINDOW_BYTES; window >= PAGE_BYTES; window /= 2)
	{
		uint64_t address = search->start - window;

		if (search->start >= window &&
			read_pages(search->pid, address, bytes, (size_t) window) == (size_t) window)
		{
			search_bytes(search, bytes, (size_t) window, address);
			return;
		}
	}
}

static void
search_after(Search *search, uint8_t *bytes)
{
	size_t length = read_pages(search->pid, search->end, bytes, WINDOW_BYTES);

	search_bytes(search, bytes, length, search->end);
}

uint32_t
jit_frames_spans(Unwinder *unwinder, uint32_t pid, uint64_t start, uint64_t end, uint64_t now_ns,
				 UnwindSpan *spans)
{
	Search search = { unwinder, pid, start, end, now_ns, { { 0 } }, 0 };
	uint8_t *bytes = malloc(WINDOW_BYTES);
	uint64_t covered = start;
	uint32_t count = 0;

	if (bytes != NULL)
	{
		search_before(&search, bytes);
		search_after(&search, bytes);
		free(bytes);
	}
	for (uint32_t i = 0; i < search.count; i++)
	{
		const Section *section = &search.sections[i];

		if (covered < section->start)
			spans[count++] = (UnwindSpan){ .start = covered, .end = section->start };
		spans[count++] = (UnwindSpan){ .start = section->start,
									   .end = section->end,
									   .binary = section->binary,
									   .generated = true };
		covered = section->end;
	}
	if (covered < end)
		spans[count++] = (UnwindSpan){ .start = covered, .end = end };
	return count;
}
