/*
 * unnamed_functions.c
 *		Reads .eh_frame and hashes the code of each entry.
 */
#include "symbols/elf/unnamed_functions.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/elf/masked_hash.h"
#include "unwind/cfi/cfi_reader.h"

#define KEY_BITS	   48
#define FIRST_BYTES	   4096
/* code with fewer bytes other than distances does not identify a function */
#define OWN_KEPT_MIN   16
#define NEAR_KEPT_MIN  32
#define ROOM_SHARE	   8
#define FUNCTIONS_MORE 4096

typedef struct UnnamedFunction
{
	uint64_t start; /* ELF virtual address */
	uint32_t size_bytes;
	uint32_t kept_bytes; /* bytes of its code other than distances; 0: it has no hash */
	uint64_t own;
	uint64_t near;
	bool has_own; /* no other function has the key */
	bool has_near;
} UnnamedFunction;

struct UnnamedFunctions
{
	uint64_t build; /* hash of the build ID or, without one, of the first page */
	size_t count;
	size_t room;
	UnnamedFunction *items; /* ascending, without overlaps */
};

static int
compare_functions(const void *a, const void *b)
{
	const UnnamedFunction *left = a;
	const UnnamedFunction *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return (left->size_bytes > right->size_bytes) - (left->size_bytes < right->size_bytes);
}

static int
compare_numbers(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *) a;
	uint64_t right = *(const uint64_t *) b;

	return (left > right) - (left < right);
}

static int
functions_add(UnnamedFunctions *functions, const CfiFde *fde, size_t most)
{
	uint64_t size_bytes = fde->end - fde->start;

	if (functions->count == functions->room)
	{
		size_t room = functions->room + functions->room / 2 + FUNCTIONS_MORE;
		UnnamedFunction *items =
			room <= most ? realloc(functions->items, room * sizeof(*items)) : NULL;

		if (items == NULL)
			return -ENOMEM;
		functions->items = items;
		functions->room = room;
	}
	functions->items[functions->count++] =
		(UnnamedFunction){ .start = fde->start,
						   .size_bytes =
							   size_bytes > UINT32_MAX ? UINT32_MAX : (uint32_t) size_bytes };
	return 0;
}

/* Sorts the functions, and drops each that begins inside of another one. */
static void
functions_sort(UnnamedFunctions *functions)
{
	size_t kept = 0;

	if (functions->count == 0)
		return;
	qsort(functions->items, functions->count, sizeof(functions->items[0]), compare_functions);
	for (size_t i = 0; i < functions->count; i++)
	{
		const UnnamedFunction *last = kept > 0 ? &functions->items[kept - 1] : NULL;

		if (last == NULL || functions->items[i].start - last->start >= last->size_bytes)
			functions->items[kept++] = functions->items[i];
	}
	functions->count = kept;
}

/*
 * Reads the entries of .eh_frame. Entries for code outside of the executable segments are skipped.
 */
static int
functions_read_entries(UnnamedFunctions *functions, const ElfFile *file, const Elf64_Shdr *section,
					   const uint8_t *bytes, size_t room_bytes)
{
	CfiInput input = { .machine = file->machine,
					   .eh_frame = { bytes, section->sh_size, section->sh_addr },
					   .code_start = UINT64_MAX };
	size_t most = room_bytes / ROOM_SHARE / sizeof(UnnamedFunction);
	CfiEntries entries;
	CfiNext next;
	CfiFde fde;
	int err = 0;

	for (uint32_t i = 0; i < file->segment_count; i++)
	{
		const ElfRange *segment = &file->segments[i];

		if (segment->address < input.code_start)
			input.code_start = segment->address;
		if (segment->address + segment->size_bytes > input.code_end)
			input.code_end = segment->address + segment->size_bytes;
	}
	cfi_entries_begin(&entries, &input, true);
	while (err == 0 && (next = cfi_entries_next(&entries, &fde)) != CFI_END && next != CFI_CUT)
		if (next == CFI_FDE)
			err = functions_add(functions, &fde, most);
	return err;
}

static int
functions_read_cfi(UnnamedFunctions *functions, ElfHeaders *headers, const ElfFile *file,
				   size_t room_bytes)
{
	Elf64_Shdr section;
	uint8_t *bytes;
	int err = -ENOENT;

	if (!elf_headers_find_section(headers, ".eh_frame", &section) ||
		section.sh_type == SHT_NOBITS || (section.sh_flags & SHF_COMPRESSED) != 0 ||
		section.sh_size == 0 || section.sh_size > UNNAMED_CFI_MAX_BYTES)
		return err;
	if (section.sh_size > room_bytes / ROOM_SHARE)
		return -ENOMEM;
	bytes = malloc(section.sh_size);
	if (bytes == NULL)
		return -ENOMEM;
	if (elf_source_read(&file->source, section.sh_offset, bytes, section.sh_size))
		err = functions_read_entries(functions, file, &section, bytes, room_bytes);
	free(bytes);
	return err;
}

/* Reads code, which one segment must have completely in the file. */
static bool
unnamed_read_code(const ElfFile *file, uint64_t address, uint8_t *code, size_t size_bytes)
{
	for (uint32_t i = 0; i < file->segment_count; i++)
	{
		const ElfRange *segment = &file->segments[i];

		if (address >= segment->address && address - segment->address < segment->size_bytes &&
			size_bytes <= segment->size_bytes - (address - segment->address))
			return elf_source_read(&file->source, segment->offset + (address - segment->address),
								   code, size_bytes);
	}
	return false;
}

/* Hashes the code of each function. */
static int
functions_hash_own(UnnamedFunctions *functions, const ElfFile *file, MaskedCode place)
{
	uint8_t *code = malloc(UNNAMED_FUNCTION_MAX_BYTES);
	uint64_t left_bytes = UNNAMED_CODE_MAX_BYTES;

	if (code == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < functions->count; i++)
	{
		UnnamedFunction *function = &functions->items[i];
		size_t kept_bytes;

		if (function->size_bytes > UNNAMED_FUNCTION_MAX_BYTES ||
			function->size_bytes > left_bytes ||
			!unnamed_read_code(file, function->start, code, function->size_bytes))
			continue;
		left_bytes -= function->size_bytes;
		place.start = function->start;
		function->own =
			masked_hash(&place, code, function->size_bytes, &kept_bytes) >> (64 - KEY_BITS);
		function->kept_bytes = (uint32_t) kept_bytes;
	}
	free(code);
	return 0;
}

/* Hashes each function together with its neighbours. */
static void
functions_hash_near(UnnamedFunctions *functions)
{
	const UnnamedFunction none = { 0 };

	for (size_t i = 0; i < functions->count; i++)
	{
		UnnamedFunction *function = &functions->items[i];
		const UnnamedFunction *before = i > 0 ? function - 1 : &none;
		const UnnamedFunction *after = i + 1 < functions->count ? function + 1 : &none;
		uint64_t hash = masked_hash_add(masked_hash_add(before->own, function->own), after->own);

		function->near = masked_hash_add(hash, 0) >> (64 - KEY_BITS);
		function->has_own = function->kept_bytes >= OWN_KEPT_MIN;
		function->has_near =
			function->kept_bytes > 0 &&
			before->kept_bytes + function->kept_bytes + after->kept_bytes >= NEAR_KEPT_MIN;
	}
}

/* Returns true if a sorted array contains the number exactly once. */
static bool
is_unique(const uint64_t *sorted, size_t count, uint64_t number)
{
	size_t low = 0;
	size_t high = count;

	while (low < high)
	{
		size_t middle = low + (high - low) / 2;

		if (sorted[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low + 1 == count || sorted[low + 1] != number;
}

/* Removes keys that several functions share. */
static int
functions_keep_unique(UnnamedFunctions *functions)
{
	size_t count = functions->count;
	uint64_t *sorted = malloc(2 * count * sizeof(*sorted));

	if (sorted == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
	{
		sorted[i] = functions->items[i].own;
		sorted[count + i] = functions->items[i].near;
	}
	qsort(sorted, count, sizeof(*sorted), compare_numbers);
	qsort(sorted + count, count, sizeof(*sorted), compare_numbers);
	for (size_t i = 0; i < count; i++)
	{
		UnnamedFunction *function = &functions->items[i];

		function->has_own &= is_unique(sorted, count, function->own);
		function->has_near &= is_unique(sorted + count, count, function->near);
	}
	free(sorted);
	return 0;
}

/* Hashes the code, unless the machine's instructions are not known. */
static int
functions_hash(UnnamedFunctions *functions, ElfHeaders *headers, const ElfFile *file)
{
	MaskedCode place = { .machine = file->machine, .image_start = UINT64_MAX };
	int err;

	if ((file->machine != EM_X86_64 && file->machine != EM_AARCH64) || functions->count == 0)
		return 0;
	for (uint32_t i = 0; i < headers->segment_count; i++)
	{
		Elf64_Phdr segment;

		if (!elf_headers_segment(headers, i, &segment) || segment.p_type != PT_LOAD)
			continue;
		if (segment.p_vaddr < place.image_start)
			place.image_start = segment.p_vaddr;
		if (segment.p_vaddr + segment.p_memsz > place.image_end)
			place.image_end = segment.p_vaddr + segment.p_memsz;
	}
	err = functions_hash_own(functions, file, place);
	if (err != 0)
		return err;
	functions_hash_near(functions);
	return functions_keep_unique(functions);
}

/* Hashes the identity of the build. */
static uint64_t
hash_build(const ElfFile *file)
{
	uint8_t bytes[FIRST_BYTES] = { 0 };
	uint64_t hash = file->build_id.size_bytes;
	size_t size_bytes = sizeof(bytes);

	if (hash > 0)
	{
		memcpy(bytes, file->build_id.bytes, hash);
		size_bytes = ELF_BUILD_ID_MAX_BYTES;
	}
	else
	{
		hash = file->source.size_bytes;
		(void) elf_source_read(&file->source, 0, bytes,
							   hash < sizeof(bytes) ? (size_t) hash : sizeof(bytes));
	}
	for (size_t at = 0; at < size_bytes; at += sizeof(uint64_t))
	{
		uint64_t word;

		memcpy(&word, bytes + at, sizeof(word));
		hash = masked_hash_add(hash, word);
	}
	return hash;
}

int
unnamed_functions_read(const ElfFile *file, size_t room_bytes, UnnamedFunctions **functions)
{
	UnnamedFunctions *made;
	ElfHeaders headers;
	int err;

	if (!file->is_64_bit || elf_headers_read(&headers, &file->source) != 0)
		return -ENOENT;
	made = calloc(1, sizeof(*made));
	if (made == NULL)
		return -ENOMEM;
	made->build = hash_build(file);
	err = functions_read_cfi(made, &headers, file, room_bytes);
	if (err == 0)
	{
		functions_sort(made);
		err = functions_hash(made, &headers, file);
	}
	if (err != 0)
	{
		unnamed_functions_free(made);
		return err;
	}
	*functions = made;
	return 0;
}

void
unnamed_functions_free(UnnamedFunctions *functions)
{
	if (functions == NULL)
		return;
	free(functions->items);
	free(functions);
}

/* Returns the function that covers an address, or NULL. */
static const UnnamedFunction *
functions_search(const UnnamedFunctions *functions, uint64_t address)
{
	size_t low = 0;
	size_t high = functions->count;

	while (low < high)
	{
		size_t middle = low + (high - low) / 2;

		if (functions->items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 ||
		address - functions->items[low - 1].start >= functions->items[low - 1].size_bytes)
		return NULL;
	return &functions->items[low - 1];
}

static void
append_key(char *text, char kind, uint64_t key)
{
	size_t length = strlen(text);

	snprintf(text + length, UNNAMED_TEXT_BYTES - length, "%c%012" PRIx64, kind, key);
}

bool
unnamed_functions_find(const UnnamedFunctions *functions, const ElfFile *file, uint64_t address,
					   char name[UNNAMED_TEXT_BYTES], char system_name[UNNAMED_TEXT_BYTES])
{
	const ElfSection *section = elf_file_section(file, address);
	const UnnamedFunction *function = functions_search(functions, address);
	UnnamedFunction stub;

	if (function == NULL)
		return false;
	/* all stubs of a section share one entry of .eh_frame */
	if (section != NULL && section->kind == ELF_SECTION_PLT && section->entry_bytes > 0)
	{
		address -= (address - section->range.address) % section->entry_bytes;
		stub = (UnnamedFunction){ .start = address };
		function = &stub;
	}
	snprintf(name, UNNAMED_TEXT_BYTES, "+0x%" PRIx64, function->start);
	snprintf(system_name, UNNAMED_TEXT_BYTES, "%s#", name);
	if (function->has_own)
		append_key(system_name, 'o', function->own);
	if (function->has_near)
		append_key(system_name, 'n', function->near);
	if (!function->has_own && !function->has_near)
		append_key(system_name, 'b',
				   masked_hash_add(functions->build, function->start) >> (64 - KEY_BITS));
	return true;
}
