/*
 * test_exported_symbol.c
 *		Symbols found by the hash tables of real libraries, compared with a search of all symbols;
 *		and false tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/exported_symbol.h"
#include "symbols/elf/elf_file.h"

#define FUNCTIONS (1U << STT_FUNC)

/* Maps the file of a library's function into memory. */
static ElfSource
read_library(const void *function)
{
	ElfSource source = { .fd = -1 };
	uint8_t *bytes;
	struct stat status;
	Dl_info info;
	int fd;

	assert_int_not_equal(dladdr(function, &info), 0);
	fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &status), 0);
	bytes = malloc((size_t) status.st_size);
	assert_non_null(bytes);
	assert_int_equal(pread(fd, bytes, (size_t) status.st_size, 0), status.st_size);
	close(fd);
	source.memory = bytes;
	source.size_bytes = (uint64_t) status.st_size;
	return source;
}

static bool
find(const ElfSource *source, const char *name, ExportedSymbol *found)
{
	ElfHeaders headers;

	return elf_headers_read(&headers, source) == 0 &&
		   exported_symbol_find(&headers, name, FUNCTIONS, found);
}

/* Each function of the C library is found at the address of the first symbol with its name. */
static void
test_all(void **state)
{
	ElfSource source = read_library((const void *) (uintptr_t) &qsort);
	ElfSymbol symbols[64];
	ExportedSymbol found;
	ElfFile file;
	uint32_t checked = 0;

	assert_int_equal(elf_file_init(&file, &source), 0);
	for (uint32_t at = 0, count; checked < 500; at += count)
	{
		count = elf_file_read_symbols(&file, ELF_DYNSYM, at, symbols, 64);
		if (count == 0)
			break;
		for (uint32_t i = 0; i < count; i++)
		{
			char name[ELF_NAME_BYTES];
			ElfSymbol first;

			if (symbols[i].section == SHN_UNDEF || symbols[i].type != STT_FUNC ||
				!elf_source_string(&source, &file.symbols[ELF_DYNSYM].strings,
								   symbols[i].name_offset, name, sizeof(name)) ||
				strlen(name) + 1 == sizeof(name))
				continue;
			assert_true(find(&source, name, &found));
			assert_true(elf_file_find_symbol(&file, ELF_DYNSYM, name, FUNCTIONS, &first));
			assert_true(found.address == first.address || found.address == symbols[i].address);
			checked++;
		}
	}
	assert_true(checked > 300);
	assert_false(find(&source, "no_such_function", &found));
	assert_false(find(&source, "", &found));
	elf_file_fini(&file);
	free((void *) (uintptr_t) source.memory);
}

/* A damaged table leads neither outside of the file nor to another name. */
static void
test_damage(void **state)
{
	ElfSource source = read_library((const void *) (uintptr_t) &qsort);
	uint8_t *bytes = (uint8_t *) (uintptr_t) source.memory;
	ElfHeaders headers;
	ExportedSymbol whole;
	Elf64_Shdr section;
	uint8_t *kept;
	int found_some = 0;

	assert_true(find(&source, "qsort", &whole));
	assert_int_equal(elf_headers_read(&headers, &source), 0);
	assert_true(elf_headers_find_section(&headers, ".gnu.hash", &section));
	kept = malloc(section.sh_size);
	assert_non_null(kept);
	memcpy(kept, bytes + section.sh_offset, section.sh_size);
	for (int round = 0; round < 3000; round++)
	{
		ExportedSymbol found;

		for (int i = 0; i < 1 + round % 3; i++)
		{
			uint64_t at = (uint64_t) random() % (round % 2 == 0 ? 16 : section.sh_size);

			bytes[section.sh_offset + at] = (uint8_t) random();
		}
		if (find(&source, "qsort", &found))
		{
			assert_int_equal(found.address, whole.address);
			found_some++;
		}
		memcpy(bytes + section.sh_offset, kept, section.sh_size);
	}
	assert_true(found_some > 0);
	for (uint64_t size = 0; size < source.size_bytes; size += 4093)
	{
		ElfSource cut = source;
		ExportedSymbol found;

		cut.size_bytes = size;
		(void) find(&cut, "qsort", &found);
	}
	free(kept);
	free(bytes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
