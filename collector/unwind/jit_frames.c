/*
 * jit_frames.c
 *		Searches for trampolines, and for .eh_frame sections of generated code.
 */
#include "unwind/jit_frames.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/trampolines.h"

#define MAX_LOOKS	   16 /* limit of searches for trampolines; each examines 1 MiB */
#define PAGE_BYTES	   4096
#define MAPS_BYTES	   ((size_t) 16 * 1024 * 1024)
#define MAX_DATA_BYTES ((size_t) 1024 * 1024) /* limit for one process */
/*
 * Limit of the CFI entries and instructions that are examined for one process, because its memory
 * may look like thousands of sections.
 */
#define MAX_STEPS	   (UINT64_C(8) << 20)
#define ATTEMPT_STEPS  256 /* number of steps that trying a section costs in addition */
/* Size of the window on either side of code; compilers allocate code and CFI together. */
#define WINDOW_BYTES   ((uint64_t) 64 * 1024)

/*
 * The first bytes of LLVM's CIE after its length: CIE 0, version 1, augmentation "zR". The next
 * bytes are the alignments, one byte each, which on AArch64 depend on LLVM's version, and the
 * register of the return address.
 */
static const uint8_t cie_start[] = { 0, 0, 0, 0, 1, 'z', 'R', 0 };

#define CIE_RETURN_REGISTER (sizeof(cie_start) + 2)

#ifdef PFS_ARM64
#define MACHINE			EM_AARCH64
#define RETURN_REGISTER PFS_REGISTER_LR
#else
#define MACHINE			EM_X86_64
#define RETURN_REGISTER PFS_REGISTER_PC
#endif

/* Memory that was read, up to the first unreadable page. */
typedef struct Piece
{
	uint64_t address;
	size_t offset; /* position in bytes at which the piece begins */
	size_t length;
} Piece;

struct JitMemory
{
	RemoteMemory remote;
	uint64_t owner;		 /* owner of the process, who is charged for the tables */
	uint64_t steps_left; /* 0: no further section is tried */
	uint32_t mappings_left;
	uint32_t looks_left;
	uint32_t arenas_left;
	Piece pieces[JIT_MAX_PIECES];
	uint32_t count;
	uint8_t *bytes;
	size_t length;
};

/* The code that one section describes. */
typedef struct Section
{
	uint64_t start;
	uint64_t end;
	UnwindBinary *binary;
} Section;

typedef struct Search
{
	Unwinder *unwinder;
	JitMemory *memory;
	uint64_t start; /* start of the mapping */
	uint64_t end;
	uint64_t now_ns;
	Section sections[JIT_MAX_SECTIONS]; /* ascending by start, disjoint */
	uint32_t count;
} Search;

/*
 * Reads pages, beginning at address, up to the first unreadable one. Returns the number of bytes.
 */
static size_t
read_pages(JitMemory *memory, uint64_t address, uint8_t *bytes, size_t length)
{
	size_t done = 0;

	while (done < length)
	{
		/*
		 * process_vm_readv() transfers whole pieces only. With pieces of one page, a request that
		 * ends at an unreadable page still returns the pages before it.
		 */
		size_t wanted = length - done < WINDOW_BYTES ? length - done : WINDOW_BYTES;
		const RemotePieces pages = { address + done, PAGE_BYTES, PAGE_BYTES, wanted / PAGE_BYTES };
		size_t result = remote_memory_read(&memory->remote, &pages, bytes + done);

		done += result;
		if (result < wanted)
			break;
	}
	return done;
}

/*
 * Parses a line of /proc/PID/maps. Returns true for read-only memory without a file, in which
 * compilers leave their data.
 */
static bool
is_read_only_data(const char *line, uint64_t *start, uint64_t *end)
{
	unsigned long long first;
	unsigned long long last;
	unsigned long long inode;
	char access[5];
	int name = 0;

	/*
	 * %n is not counted by sscanf(). It stays 0 if the line is shorter than expected. Any text at
	 * line[name] is a path or a name such as "[vvar]".
	 */
	if (sscanf(line, "%llx-%llx %4s %*x %*x:%*x %llu %n", &first, &last, access, &inode, &name) !=
			4 ||
		name == 0 || line[name] != '\0' || inode != 0 || strcmp(access, "r--p") != 0 ||
		last <= first)
		return false;
	*start = first;
	*end = last;
	return true;
}

static void
jit_memory_read_piece(JitMemory *memory, uint64_t start, uint64_t end)
{
	size_t length = (size_t) (end - start);
	size_t result;

	/*
	 * a mapping that exceeds the budget is left out completely, because half a section is of no use
	 */
	if (memory->count == JIT_MAX_PIECES || end - start > MAX_DATA_BYTES - memory->length)
		return;
	result = read_pages(memory, start, memory->bytes + memory->length, length);
	if (result == 0)
		return;
	memory->pieces[memory->count++] = (Piece){ start, memory->length, result };
	memory->length += result;
}

static void
read_pieces(JitMemory *memory)
{
	char *text = memory->bytes != NULL ? remote_memory_maps(&memory->remote, MAPS_BYTES) : NULL;
	char *rest = NULL;

	if (text == NULL)
		return;
	for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
	{
		uint64_t start;
		uint64_t end;

		if (is_read_only_data(line, &start, &end))
			jit_memory_read_piece(memory, start, end);
	}
	free(text);
}

JitMemory *
jit_memory_read(Patience *patience, uint32_t pid, uint64_t owner)
{
	JitMemory *memory = calloc(1, sizeof(*memory));

	if (memory == NULL)
		return NULL;
	memory->remote = (RemoteMemory){ .patience = patience, .pid = pid };
	memory->owner = owner;
	/* without memory for the pieces only the neighbourhood of code is searched */
	memory->bytes = malloc(MAX_DATA_BYTES);
	read_pieces(memory);
	memory->steps_left = MAX_STEPS;
	memory->mappings_left = JIT_MAX_MAPPINGS;
	memory->looks_left = MAX_LOOKS;
	memory->arenas_left = JIT_MAX_ARENAS;
	return memory;
}

void
jit_memory_free(JitMemory *memory)
{
	if (memory == NULL)
		return;
	free(memory->bytes);
	free(memory);
}

bool
jit_memory_is_stuck(const JitMemory *memory)
{
	return memory->remote.stuck;
}

uint64_t
jit_memory_steps_left(const JitMemory *memory)
{
	return memory->steps_left;
}

uint64_t
jit_memory_spent_ns(const JitMemory *memory)
{
	return memory->remote.spent_ns;
}

/* Adds the section to the search's results, or releases it if another one covers the same code. */
static void
keep_section(Search *search, const Section *section)
{
	uint32_t place = search->count;

	for (uint32_t i = 0; i < search->count; i++)
	{
		/* The search may meet a section twice: next to its code, and among the read-only pieces. */
		if (section->start < search->sections[i].end && search->sections[i].start < section->end)
		{
			unwinder_binary_release(search->unwinder, section->binary, search->now_ns);
			return;
		}
	}
	/* insertion sort, because JIT_MAX_SECTIONS is small */
	while (place > 0 && search->sections[place - 1].start > section->start)
	{
		search->sections[place] = search->sections[place - 1];
		place--;
	}
	search->sections[place] = *section;
	search->count++;
}

/*
 * Tries to load bytes that begin with a CIE as a section; the section ends at a zero word or at the
 * end of the bytes.
 */
static void
try_section(Search *search, const uint8_t *bytes, size_t length, uint64_t address)
{
	const CfiInput input = {
		.machine = MACHINE,
		.eh_frame = { .data = bytes, .length = length, .address = address },
		.code_start = search->start,
		.code_end = search->end,
		.steps_left = &search->memory->steps_left,
	};
	Section section = { .binary = unwinder_binary_create(search->unwinder) };

	if (section.binary == NULL)
		return;
	if (unwinder_binary_load_jit(search->unwinder, section.binary, &input, search->memory->owner,
								 search->now_ns, &section.start, &section.end) == 0)
		keep_section(search, &section);
	else
		unwinder_binary_release(search->unwinder, section.binary, search->now_ns);
}

/* Tries each place in the bytes that looks like the CIE of a compiler. */
static void
search_bytes(Search *search, const uint8_t *bytes, size_t length, uint64_t address)
{
	size_t at = 0;

	while (search->count < JIT_MAX_SECTIONS && at < length &&
		   search->memory->steps_left >= ATTEMPT_STEPS)
	{
		const uint8_t *found = memmem(bytes + at, length - at, cie_start, sizeof(cie_start));
		size_t place;

		if (found == NULL)
			return;
		/* Refused places cost steps too, because memory may be filled with cie_start. */
		search->memory->steps_left -= ATTEMPT_STEPS;
		place = (size_t) (found - bytes);
		/* the four bytes before cie_start are the CIE's length, with which the section begins */
		if (place >= sizeof(uint32_t) && length - place > CIE_RETURN_REGISTER &&
			found[CIE_RETURN_REGISTER] == RETURN_REGISTER)
			try_section(search, found - sizeof(uint32_t), length - place + sizeof(uint32_t),
						address + place - sizeof(uint32_t));
		at = place + sizeof(cie_start);
	}
}

/*
 * Searches the window before the code. If the start of the window is not mapped, tries its later
 * half, then the later quarter, and so on.
 */
static void
search_before(Search *search, uint8_t *bytes)
{
	for (uint64_t window = WINDOW_BYTES; window >= PAGE_BYTES; window /= 2)
	{
		uint64_t address = search->start - window;

		/*
		 * read_pages() stops at the first unreadable page. Only a complete read includes the bytes
		 * directly before the code.
		 */
		if (search->start >= window &&
			read_pages(search->memory, address, bytes, (size_t) window) == (size_t) window)
		{
			search_bytes(search, bytes, (size_t) window, address);
			return;
		}
	}
}

static void
search_after(Search *search, uint8_t *bytes)
{
	size_t length = read_pages(search->memory, search->end, bytes, WINDOW_BYTES);

	search_bytes(search, bytes, length, search->end);
}

/* Adds a span with a binary, preceded by a span for the gap before it. */
static uint32_t
jit_span_add(UnwindSpan *spans, uint64_t covered, const UnwindSpan *span)
{
	uint32_t count = 0;

	if (covered < span->start)
		spans[count++] = (UnwindSpan){ .start = covered, .end = span->start };
	spans[count++] = *span;
	return count;
}

/* Adds spans up to the last arena of trampolines; *covered becomes its end. */
static uint32_t
arena_spans(Unwinder *unwinder, JitMemory *memory, uint64_t *covered, uint64_t end, uint64_t now_ns,
			UnwindSpan *spans)
{
	TrampolineArena arenas[JIT_MAX_ARENAS];
	size_t found = trampolines_find(&memory->remote, *covered, end, &memory->looks_left, arenas,
									memory->arenas_left);
	uint32_t count = 0;

	for (size_t i = 0; i < found; i++)
	{
		/* The table of an arena has offsets from the arena's start, which therefore is the bias. */
		UnwindSpan span = { .start = arenas[i].start,
							.end = arenas[i].start + TRAMPOLINE_ARENA_BYTES,
							.bias = arenas[i].start,
							.binary = unwinder_binary_create(unwinder),
							.generated = true };

		if (span.binary == NULL)
			continue;
		/*
		 * an arena without a table belongs to the gap before the next span, which is walked by
		 * frame pointer
		 */
		if (unwinder_binary_load_trampolines(unwinder, span.binary, arenas[i].shape, now_ns) != 0)
		{
			unwinder_binary_release(unwinder, span.binary, now_ns);
			continue;
		}
		memory->arenas_left--;
		count += jit_span_add(&spans[count], *covered, &span);
		*covered = span.end;
	}
	return count;
}

/* Adds spans up to the last code with CFI; *covered becomes its end. */
static uint32_t
section_spans(Unwinder *unwinder, JitMemory *memory, uint64_t *covered, uint64_t end,
			  uint64_t now_ns, UnwindSpan *spans)
{
	Search search = { unwinder, memory, *covered, end, now_ns, { { 0 } }, 0 };
	uint8_t *bytes = malloc(WINDOW_BYTES);
	uint32_t count = 0;

	/* CFI of generated code has absolute addresses, so the spans below have no bias. */
	memory->mappings_left--;
	if (bytes != NULL)
	{
		search_before(&search, bytes);
		search_after(&search, bytes);
		free(bytes);
	}
	for (uint32_t i = 0; i < memory->count; i++)
		search_bytes(&search, memory->bytes + memory->pieces[i].offset, memory->pieces[i].length,
					 memory->pieces[i].address);
	for (uint32_t i = 0; i < search.count; i++)
	{
		const UnwindSpan span = { .start = search.sections[i].start,
								  .end = search.sections[i].end,
								  .binary = search.sections[i].binary,
								  .generated = true };

		count += jit_span_add(&spans[count], *covered, &span);
		*covered = span.end;
	}
	return count;
}

uint32_t
jit_frames_spans(Unwinder *unwinder, JitMemory *memory, uint64_t start, uint64_t end,
				 uint64_t now_ns, UnwindSpan *spans)
{
	uint64_t covered = start;
	uint32_t count = arena_spans(unwinder, memory, &covered, end, now_ns, spans);

	/* a mapping with arenas was made by CPython, which writes no CFI */
	if (count == 0 && memory->mappings_left > 0)
		count = section_spans(unwinder, memory, &covered, end, now_ns, spans);
	if (covered < end)
		spans[count++] = (UnwindSpan){ .start = covered, .end = end };
	return count;
}
