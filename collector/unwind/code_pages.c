/*
 * code_pages.c
 *		Keeps pages in an array and replaces the oldest one.
 */
#include "unwind/code_pages.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define PAGE_BYTES 4096
#define PAGES	   64
/*
 * The process may replace generated code and its descriptions, so a page is read again after this
 * time.
 */
#define KEEP_NS	   (250 * NS_PER_MS)

typedef struct CodePage
{
	uint64_t address;
	bool had; /* the page could be read */
	uint8_t bytes[PAGE_BYTES];
} CodePage;

struct CodePages
{
	ExecImage process;
	uint64_t read_ns; /* time at which the first of the pages was read */
	size_t count;
	size_t next; /* index of the page that is replaced next */
	CodePage pages[PAGES];
};

CodePages *
code_pages_create(void)
{
	return calloc(1, sizeof(CodePages));
}

void
code_pages_free(CodePages *pages)
{
	free(pages);
}

void
code_pages_begin(CodePages *pages, const ExecImage *process, uint64_t now_ns)
{
	if (exec_image_equal(&pages->process, process) && now_ns - pages->read_ns < KEEP_NS)
		return;
	pages->process = *process;
	pages->read_ns = now_ns;
	pages->count = 0;
	pages->next = 0;
}

/* Returns the page, or NULL if it cannot be read. */
static const CodePage *
find_page(CodePages *pages, RemoteMemory *memory, uint64_t address)
{
	const RemotePieces piece = { .address = address, .piece_bytes = PAGE_BYTES, .count = 1 };
	CodePage *page;

	for (size_t i = 0; i < pages->count; i++)
	{
		if (pages->pages[i].address == address)
			/*
			 * An unreadable page is remembered too, so that each walk does not wait for it again.
			 */
			return pages->pages[i].had ? &pages->pages[i] : NULL;
	}
	/* Without a read nothing is known about the page, so it must not be recorded as unreadable. */
	if (memory->stuck)
		return NULL;
	page = &pages->pages[pages->next];
	/* The array is a ring: once it is full, the page that was read first is replaced. */
	pages->next = (pages->next + 1) % PAGES;
	if (pages->count < PAGES)
		pages->count++;
	page->address = address;
	page->had = remote_memory_read(memory, &piece, page->bytes) == PAGE_BYTES;
	return page->had ? page : NULL;
}

int
code_pages_read(CodePages *pages, RemoteMemory *memory, uint64_t address, void *bytes, size_t count)
{
	uint8_t *to = bytes;

	while (count > 0)
	{
		size_t offset = address % PAGE_BYTES;
		/* the bytes may cross the end of a page */
		size_t part = PAGE_BYTES - offset < count ? PAGE_BYTES - offset : count;
		const CodePage *page = find_page(pages, memory, address - offset);

		if (page == NULL)
			return 1;
		memcpy(to, page->bytes + offset, part);
		to += part;
		address += part;
		count -= part;
	}
	return 0;
}
