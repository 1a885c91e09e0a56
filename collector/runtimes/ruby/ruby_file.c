/*
 * ruby_file.c
 *		Reads Ruby's symbols, and finds the loop and the table of symbols without symbols.
 */
#include "runtimes/ruby/ruby_file.h"

#include <stdlib.h>
#include <string.h>

#include "files/exported_symbol.h"
#include "symbols/elf/elf_file.h"

#define SYMBOL_VERSION "ruby_api_version"
#define SYMBOL_THREAD  "rb_thread_current"
#define SYMBOL_LOOP	   "vm_exec_core"
#define SYMBOL_CALLER  "rb_vm_exec"

#define OBJECTS	  (1U << STT_OBJECT | 1U << STT_NOTYPE)
#define FUNCTIONS (1U << STT_FUNC | 1U << STT_NOTYPE)

/* The table of the instructions' code: addresses in one function, written by the dynamic linker. */
#define INSTRUCTIONS_MIN 150
#define FUNCTIONS_MAX	 (256 * 1024)
#define CALLER_BYTES_MAX 16384
#define CALLER_DISTANCE	 4 /* functions */

/* The head of the table of symbols when the program starts: the last number, and three zeros. */
#define SYMBOLS_WORDS	  4
#define SYMBOLS_LAST_MIN  0x90
#define SYMBOLS_LAST_MAX  0x200
#define DATA_BYTES_MAX	  (64 * 1024)
#define RELOCATIONS_BLOCK 256

#define NO_FUNCTION UINT32_MAX

/* An entry of .eh_frame_hdr, whose numbers are relative to its start. */
typedef struct FunctionEntry
{
	int32_t start;
	int32_t rules;
} FunctionEntry;

typedef struct Reading
{
	ElfHeaders headers;
	ElfFile file;
	FunctionEntry *functions; /* ascending */
	uint32_t function_count;
	uint64_t functions_address;
} Reading;

/* A run of relocation entries for adjacent words that lead into one function. */
typedef struct Run
{
	uint64_t next; /* address after the last word */
	uint32_t count;
	uint32_t function;
} Run;

static uint32_t
relative_relocation(uint16_t machine)
{
	return machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
}

/* Reads .eh_frame_hdr if it has the encoding that linkers write. */
static void
read_functions(Reading *reading)
{
	static const uint8_t form[4] = { 1, 0x1b, 0x03, 0x3b };
	uint8_t head[12];
	uint32_t count;

	for (uint32_t i = 0; i < reading->headers.segment_count; i++)
	{
		Elf64_Phdr segment;

		if (!elf_headers_segment(&reading->headers, i, &segment) ||
			segment.p_type != PT_GNU_EH_FRAME || segment.p_filesz < sizeof(head) ||
			!elf_source_read(&reading->headers.source, segment.p_offset, head, sizeof(head)) ||
			memcmp(head, form, sizeof(form)) != 0)
			continue;
		memcpy(&count, head + 8, sizeof(count));
		if (count > FUNCTIONS_MAX || count > (segment.p_filesz - sizeof(head)) / 8)
			return;
		reading->functions = calloc(count, sizeof(*reading->functions));
		if (reading->functions == NULL ||
			!elf_source_read(&reading->headers.source, segment.p_offset + sizeof(head),
							 reading->functions, count * sizeof(*reading->functions)))
			return;
		reading->function_count = count;
		reading->functions_address = segment.p_vaddr;
		return;
	}
}

/* Returns the start of a function by its number; 0 if there is none. */
static uint64_t
function_start(const Reading *reading, uint32_t number)
{
	if (number >= reading->function_count)
		return 0;
	return reading->functions_address + (uint64_t) (int64_t) reading->functions[number].start;
}

/*
 * Returns the number of the function that contains an address and is followed by another function.
 */
static uint32_t
ruby_file_function_of(const Reading *reading, uint64_t address)
{
	uint32_t low = 0;
	uint32_t high = reading->function_count;

	while (low < high)
	{
		uint32_t middle = low + (high - low) / 2;

		if (function_start(reading, middle) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && low < reading->function_count ? low - 1 : NO_FUNCTION;
}

/* Searches one table of relocations for the table of instructions, and returns its function. */
static uint32_t
find_loop_in(const Reading *reading, const ElfRelocations *table)
{
	uint32_t type = relative_relocation(reading->file.machine);
	Elf64_Rela block[RELOCATIONS_BLOCK];
	Run run = { 0 };

	for (uint32_t at = 0; table->addend && at < table->count; at += RELOCATIONS_BLOCK)
	{
		uint32_t count =
			table->count - at < RELOCATIONS_BLOCK ? table->count - at : RELOCATIONS_BLOCK;

		if (!elf_source_read(&reading->headers.source,
							 table->offset + (uint64_t) at * sizeof(*block), block,
							 count * sizeof(*block)))
			return NO_FUNCTION;
		for (uint32_t i = 0; i < count; i++)
		{
			uint32_t function = ELF64_R_TYPE(block[i].r_info) == type
									? ruby_file_function_of(reading, (uint64_t) block[i].r_addend)
									: NO_FUNCTION;
			bool goes_on = block[i].r_offset == run.next && function == run.function;

			run = (Run){ block[i].r_offset + 8, goes_on ? run.count + 1 : 1, function };
			if (run.count == INSTRUCTIONS_MIN && function != NO_FUNCTION)
				return function;
		}
	}
	return NO_FUNCTION;
}

/* Returns whether the instruction at an address is a relative call of a function. */
static bool
is_call_of(const Reading *reading, const uint8_t *bytes, uint64_t address, uint64_t function)
{
	int32_t distance;
	uint32_t word;

	if (reading->file.machine == EM_AARCH64) /* bl */
	{
		memcpy(&word, bytes, sizeof(word));
		distance = (int32_t) (word << 6) >> 4;
		return word >> 26 == 0x25 && address + (uint64_t) (int64_t) distance == function;
	}
	memcpy(&distance, bytes + 1, sizeof(distance));
	return bytes[0] == 0xe8 && address + 5 + (uint64_t) (int64_t) distance == function; /* call */
}

/* Returns whether code calls a function. */
static bool
calls(Reading *reading, const LoopCode *code, uint64_t function)
{
	bool is_arm64 = reading->file.machine == EM_AARCH64;
	size_t size = is_arm64 ? 4 : 5;
	size_t step = is_arm64 ? 4 : 1;
	size_t length = (size_t) (code->end - code->start);
	uint8_t *bytes = length >= size && length <= CALLER_BYTES_MAX ? malloc(length) : NULL;
	bool found = false;

	if (bytes != NULL && elf_headers_read_at(&reading->headers, code->start, bytes, length))
	{
		for (size_t i = 0; i + size <= length && !found; i += step)
			found = is_call_of(reading, bytes + i, code->start + i, function);
	}
	free(bytes);
	return found;
}

/* Finds the loop, and its caller if it follows closely, as compilers place it. */
static void
find_loop_by_table(Reading *reading, LoopCode loops[RUBY_LOOPS])
{
	uint32_t number = NO_FUNCTION;

	read_functions(reading);
	for (int i = 0; i < ELF_RELOCATION_TABLES && number == NO_FUNCTION; i++)
		number = find_loop_in(reading, &reading->file.relocations[i]);
	if (number == NO_FUNCTION)
		return;
	loops[0] = (LoopCode){ function_start(reading, number), function_start(reading, number + 1) };
	for (uint32_t i = 1; i <= CALLER_DISTANCE; i++)
	{
		LoopCode caller = { function_start(reading, number + i),
							function_start(reading, number + i + 1), true };

		if (caller.start < caller.end && calls(reading, &caller, loops[0].start))
		{
			loops[1] = caller;
			return;
		}
	}
}

static bool
find_code(Reading *reading, const char *name, bool is_caller, LoopCode *loop)
{
	ElfSymbol symbol;

	if (!elf_file_find_any_symbol(&reading->file, name, FUNCTIONS, &symbol) ||
		symbol.size_bytes > UINT64_MAX - symbol.address)
		return false;
	*loop = (LoopCode){ symbol.address, symbol.address + symbol.size_bytes, is_caller };
	return true;
}

static void
ruby_file_find_loops(Reading *reading, LoopCode loops[RUBY_LOOPS])
{
	if (!find_code(reading, SYMBOL_LOOP, false, &loops[0]))
		find_loop_by_table(reading, loops);
	/* if the compiler has made one function of both, that is the loop */
	(void) find_code(reading, SYMBOL_CALLER, loops[0].start != 0, &loops[1]);
}

/* Finds the places that may be the table of symbols, which no build exports from 3.3 on. */
static void
ruby_file_find_symbols(Reading *reading, uint64_t symbols[RUBY_SYMBOLS_MAX])
{
	uint64_t *words = calloc(1, DATA_BYTES_MAX);
	size_t found = 0;
	size_t count;
	Elf64_Shdr data;

	if (words == NULL || !elf_headers_find_section(&reading->headers, ".data", &data) ||
		data.sh_addr % 8 != 0)
	{
		free(words);
		return;
	}
	count = (data.sh_size < DATA_BYTES_MAX ? data.sh_size : DATA_BYTES_MAX) / 8;
	if (!elf_source_read(&reading->headers.source, data.sh_offset, words, 8 * count))
		count = 0;
	for (size_t i = 0; i + SYMBOLS_WORDS <= count && found < RUBY_SYMBOLS_MAX; i++)
	{
		if (words[i] >= SYMBOLS_LAST_MIN && words[i] < SYMBOLS_LAST_MAX && words[i + 1] == 0 &&
			words[i + 2] == 0 && words[i + 3] == 0)
			symbols[found++] = data.sh_addr + 8 * i;
	}
	free(words);
}

bool
ruby_file_read(const ElfSource *source, RubyFile *ruby, LoopCode loops[RUBY_LOOPS])
{
	Reading reading = { 0 };
	ExportedSymbol symbol;
	int32_t version[2];

	if (elf_headers_read(&reading.headers, source) != 0 ||
		!exported_symbol_find(&reading.headers, SYMBOL_VERSION, OBJECTS, &symbol) ||
		!elf_headers_read_at(&reading.headers, symbol.address, version, sizeof(version)) ||
		!exported_symbol_find(&reading.headers, SYMBOL_THREAD, FUNCTIONS, &symbol))
		return false;
	ruby->layout = ruby_layout_of_version(version[0], version[1]);
	if (ruby->layout != NULL && elf_file_init(&reading.file, source) == 0)
	{
		ruby_file_find_loops(&reading, loops);
		ruby_file_find_symbols(&reading, ruby->symbols);
	}
	free(reading.functions);
	elf_file_fini(&reading.file);
	return true;
}
