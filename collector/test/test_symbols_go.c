/*
 * test_symbols_go.c
 *		Functions, inlined calls and lines of stripped Go programs from Go's own table, compared
 *		with the DWARF of the program before it was stripped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/elf/go_table.h"
#include "symbols/worker/symbol_session.h"

#define FRAMES_MAX 64
#define STEP	   11 /* number of bytes from one compared address to the next */

static const char source[] = "package main\n"
							 "\n"
							 "import \"fmt\"\n"
							 "\n"
							 "func mix(a uint32) uint32 { return a*1664525 + 1013904223 }\n"
							 "\n"
							 "//go:noinline\n"
							 "func spin[T uint32 | uint64](n T) (v T) {\n"
							 "	for i := T(0); i < n; i++ {\n"
							 "		v += T(mix(uint32(v)))\n"
							 "	}\n"
							 "	return\n"
							 "}\n"
							 "\n"
							 "func main() { fmt.Println(spin(uint32(9)), spin(uint64(9))) }\n";

/* without type parameters, which Go has since 1.18 */
static const char old_source[] = "package main\n"
								 "\n"
								 "import \"fmt\"\n"
								 "\n"
								 "func mix(a uint32) uint32 { return a*1664525 + 1013904223 }\n"
								 "\n"
								 "//go:noinline\n"
								 "func spin(n uint32) (v uint32) {\n"
								 "	for i := uint32(0); i < n; i++ {\n"
								 "		v += mix(v)\n"
								 "	}\n"
								 "	return\n"
								 "}\n"
								 "\n"
								 "func main() { fmt.Println(spin(9)) }\n";

static char directory[64];

__attribute__((format(printf, 1, 2))) static bool
run(const char *format, ...)
{
	char command[1024];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	assert_in_range(length, 1, sizeof(command) - 1);
	return system(command) == 0;
}

static bool
write_source(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	return file != NULL && fputs(text, file) >= 0 && fclose(file) == 0;
}

static int
make_directory(void **state)
{
	strcpy(directory, "/tmp/test_symbols_go_XXXXXX");
	if (mkdtemp(directory) == NULL)
		return -1;
	return write_source("main.go", source) && write_source("old.go", old_source) ? 0 : -1;
}

static int
remove_directory(void **state)
{
	return run("rm -r %s", directory) ? 0 : -1;
}

static int
open_file(const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static SymbolSession *
open_session(const char *name, bool with_dwarf)
{
	const SessionFiles files = { open_file(name), -1, -1, -1 };
	SymbolSession *session;

	assert_int_equal(symbol_session_open(&files, with_dwarf, SIZE_MAX, &session), 0);
	return session;
}

/* Builds the program with and without symbols, by the Go in PATH or in a folder. */
static void
build(const char *root, const char *name, const char *flags)
{
	const char *build = getenv("BUILD");

	if (root == NULL && !run("command -v go >/dev/null"))
		skip();
	assert_true(run("cd %s && %s%s %s%s%s GOTOOLCHAIN=local GO111MODULE=off %s%sgo build %s -o "
					"program %s && strip -o stripped program",
					directory, root != NULL ? "GOENV=off GOFLAGS= GOROOT=" : "",
					root != NULL ? root : "", build != NULL ? "GOCACHE=" : "",
					build != NULL ? build : "", build != NULL ? "/go-cache" : "",
					root != NULL ? root : "", root != NULL ? "/bin/" : "", flags, name));
}

/* Finds the addresses of the section .text. */
static void
find_text(uint64_t *begin, uint64_t *end)
{
	int fd = open_file("program");
	const ElfSource elf = { .fd = fd, .size_bytes = (uint64_t) lseek(fd, 0, SEEK_END) };
	ElfHeaders headers;

	*begin = *end = 0;
	assert_int_equal(elf_headers_read(&headers, &elf), 0);
	for (uint32_t i = 0; i < headers.section_count; i++)
	{
		char name[ELF_NAME_BYTES];
		Elf64_Shdr section;

		if (elf_headers_section(&headers, i, &section) &&
			elf_headers_name(&headers, &section, name) && strcmp(name, ".text") == 0)
		{
			*begin = section.sh_addr;
			*end = section.sh_addr + section.sh_size;
		}
	}
	assert_true(*begin != 0);
	assert_int_equal(close(fd), 0);
}

typedef struct Tally
{
	uint32_t asked;
	uint32_t with_lines;
	uint32_t inlined;
	uint32_t ours;
	uint32_t cut_names;
	/* chains that differ, by the reason; see expect_same() */
	uint32_t wrappers;
	uint32_t padding;
	uint32_t unexplained;
} Tally;

/*
 * Compares names. Returns true if ours has "[...]" in place of the type arguments, as in tables of
 * Go before 1.21.
 */
static bool
compare_names(const char *ours, const char *expected)
{
	const char *opening = strchr(expected, '[');
	const char *closing = strrchr(expected, ']');
	bool is_cut = strstr(ours, "[...]") != NULL && opening != NULL && closing > opening;
	char cut[1024];

	if (is_cut)
	{
		snprintf(cut, sizeof(cut), "%.*s[...%s", (int) (opening - expected), expected, closing);
		expected = cut;
	}
	assert_string_equal(ours, expected);
	return is_cut;
}

/* Compares a frame with that of DWARF. Returns false if the lines differ. */
static bool
compare_frame(const DwarfFrame *expected, const DwarfFrame *ours)
{
	if (ours->line != expected->line)
		return false;
	/* DWARF puts a name that is not a file into the directory */
	if (ours->filename[0] != '<')
		assert_string_equal(ours->filename, expected->filename);
	if (expected->start_line > 0 && ours->start_line > 0)
		assert_int_equal(ours->start_line, expected->start_line);
	return true;
}

/*
 * Returns true if DWARF has only the generated wrapper of a method, with the place of the method
 * that is inlined into it.
 */
static bool
is_wrapper(const DwarfFrame *expected, int depth, const DwarfFrame *ours, int found)
{
	return depth == 1 && found > 1 && strcmp(ours[found - 1].filename, "<autogenerated>") == 0 &&
		   ours[0].line == expected[0].line && strcmp(ours[0].filename, expected[0].filename) == 0;
}

/* Returns true if the code at an address of the program is an instruction that does nothing. */
static bool
is_padding(uint64_t address)
{
	static const struct
	{
		int64_t length;
		uint8_t bytes[9];
	} nops[] = { { 1, { 0x90 } },
				 { 2, { 0x66, 0x90 } },
				 { 3, { 0x0f, 0x1f, 0x00 } },
				 { 4, { 0x0f, 0x1f, 0x40 } },
				 { 5, { 0x0f, 0x1f, 0x44 } },
				 { 6, { 0x66, 0x0f, 0x1f, 0x44 } },
				 { 7, { 0x0f, 0x1f, 0x80 } },
				 { 8, { 0x0f, 0x1f, 0x84 } },
				 { 9, { 0x66, 0x0f, 0x1f, 0x84 } } };
	int fd = open_file("program");
	const ElfSource elf = { .fd = fd, .size_bytes = (uint64_t) lseek(fd, 0, SEEK_END) };
	ElfHeaders headers;
	uint8_t code[17]; /* the byte at the address is in the middle */
	bool found = false;

	assert_int_equal(elf_headers_read(&headers, &elf), 0);
	assert_true(elf_headers_read_at(&headers, address - 8, code, sizeof(code)));
	for (size_t i = 0; i < sizeof(nops) / sizeof(nops[0]); i++)
		for (int64_t before = 0; before < nops[i].length; before++)
			found |= memcmp(code + 8 - before, nops[i].bytes, (size_t) nops[i].length) == 0;
	assert_int_equal(close(fd), 0);
	return found;
}

static void
print_chain(const char *of, const DwarfFrame *frames, int depth)
{
	print_message("  %s\n", of);
	for (int i = 0; i < depth; i++)
		print_message("    %s %s:%d\n", frames[i].name, frames[i].filename, frames[i].line);
}

/* Counts chains that differ by the reason, and prints those that have none. */
static void
explain(uint64_t address, const DwarfFrame *expected, int depth, const DwarfFrame *ours, int found,
		Tally *tally)
{
	if (is_wrapper(expected, depth, ours, found))
		tally->wrappers++;
	else if (depth == found && is_padding(address))
		tally->padding++;
	else
	{
		tally->unexplained++;
		print_message("%#" PRIx64 "\n", address);
		print_chain("DWARF", expected, depth);
		print_chain("Go's table", ours, found);
	}
}

/* Compares the chains of an address, innermost first: those of DWARF and of the table. */
static void
compare(uint64_t address, const DwarfFrame *expected, int depth, const DwarfFrame *ours, int found,
		Tally *tally)
{
	bool equal = depth == found;

	tally->asked++;
	tally->inlined += depth > 1;
	tally->ours += strncmp(ours[found - 1].name, "main.", 5) == 0;
	tally->cut_names += compare_names(ours[found - 1].name, expected[depth - 1].name);
	for (int i = 0; equal && i < depth; i++)
	{
		if (i < depth - 1)
			tally->cut_names += compare_names(ours[i].name, expected[i].name);
		equal = compare_frame(&expected[i], &ours[i]);
	}
	tally->with_lines += equal;
	if (!equal)
		explain(address, expected, depth, ours, found, tally);
}

/*
 * DWARF of some versions differs from the table for two reasons, as it differs from "go tool
 * addr2line", which reads the table: until Go 1.19 it lacks the calls that are inlined into
 * generated wrappers of methods, and until 1.20 it has no row for a NOP that aligns the code after
 * a jump, so that the previous row covers this NOP.
 */
static void
expect_same(const char *root, const char *name, const char *flags)
{
	SymbolSession *whole;
	SymbolSession *stripped;
	Tally tally = { 0 };
	uint64_t begin;
	uint64_t end;

	build(root, name, flags);
	find_text(&begin, &end);
	whole = open_session("program", true);
	stripped = open_session("stripped", true);
	for (uint64_t address = begin; address < end; address += STEP)
	{
		DwarfFrame expected[FRAMES_MAX];
		DwarfFrame ours[FRAMES_MAX];
		int depth = symbol_session_lookup(whole, address, expected, FRAMES_MAX);
		int found = symbol_session_lookup(stripped, address, ours, FRAMES_MAX);

		assert_true(depth >= 0 && found >= 0);
		if (depth == 0 || expected[depth - 1].line == 0)
			continue;
		assert_true(found >= 1);
		compare(address, expected, depth, ours, found, &tally);
	}
	print_message("%u addresses, %u with lines, %u in inlined calls, %u of main, %u cut names, "
				  "%u in wrappers, %u in padding, %u not explained\n",
				  tally.asked, tally.with_lines, tally.inlined, tally.ours, tally.cut_names,
				  tally.wrappers, tally.padding, tally.unexplained);
	assert_true(tally.asked > 20000);
	assert_true(tally.with_lines > tally.asked * 9 / 10);
	assert_true(tally.inlined > 1000);
	assert_true(tally.ours > 10);
	assert_int_equal(tally.unexplained, 0);
	assert_true(tally.wrappers + tally.padding <=
				(tally.cut_names > 0 || root != NULL ? tally.asked / 1000 : 0));
	symbol_session_close(whole);
	symbol_session_close(stripped);
}

static void
agrees_with_dwarf(void **state)
{
	expect_same(NULL, "main.go", "");
}

static void
agrees_with_dwarf_of_pie(void **state)
{
	expect_same(NULL, "main.go", "-buildmode=pie");
}

/*
 * With older toolchains of Go, 1.16 or later, if OLD_GO contains their folders, separated by
 * spaces.
 */
static void
agrees_with_dwarf_of_old_go(void **state)
{
	const char *roots = getenv("OLD_GO");

	if (roots == NULL)
		skip();
	for (size_t length; *roots != '\0'; roots += length + (roots[length] != '\0'))
	{
		char root[512];

		length = strcspn(roots, " ");
		snprintf(root, sizeof(root), "%.*s", (int) length, roots);
		print_message("%s\n", root);
		expect_same(root, "old.go", "");
		expect_same(root, "old.go", "-buildmode=pie");
	}
}

/* A function has one name, whether its program's DWARF was read or only its symbols. */
static void
symbols_name_as_dwarf_does(void **state)
{
	uint32_t asked = 0;
	SymbolSession *whole;
	SymbolSession *symbols;
	uint64_t begin;
	uint64_t end;

	build(NULL, "main.go", "");
	find_text(&begin, &end);
	whole = open_session("program", true);
	symbols = open_session("program", false);
	for (uint64_t address = begin; address < end; address += STEP)
	{
		DwarfFrame expected[FRAMES_MAX];
		DwarfFrame ours[FRAMES_MAX];
		int depth = symbol_session_lookup(whole, address, expected, FRAMES_MAX);
		int found = symbol_session_lookup(symbols, address, ours, FRAMES_MAX);

		if (depth <= 0 || expected[depth - 1].line == 0)
			continue;
		assert_true(found > 0);
		assert_string_equal(ours[found - 1].name, expected[depth - 1].name);
		asked++;
	}
	assert_true(asked > 20000);
	symbol_session_close(whole);
	symbol_session_close(symbols);
}

/* The table of Go 1.16 with which the fuzzer begins, in a program of one segment. */
static void
reads_1_16(void **state)
{
	const char *build = getenv("BUILD");
	Elf64_Ehdr header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
									   EV_CURRENT },
						  .e_type = ET_EXEC,
						  .e_machine = EM_X86_64,
						  .e_version = EV_CURRENT,
						  .e_phoff = sizeof(Elf64_Ehdr),
						  .e_phentsize = sizeof(Elf64_Phdr),
						  .e_phnum = 1 };
	Elf64_Phdr segment = { .p_type = PT_LOAD, .p_vaddr = 0x400000, .p_filesz = 4096 };
	uint8_t file[4096] = { 0 };
	const ElfSource elf = { .fd = -1, .memory = file, .size_bytes = sizeof(file) };
	const ElfExtent section = { sizeof(header) + sizeof(segment), 1024 };
	GoAddresses addresses = { NULL, 0 };
	GoFunction functions[4];
	GoTable *table;
	int fd;

	if (build == NULL)
		skip();
	assert_true(
		run("perl %s/../collector/test/fuzz/go_table_1_16_seed.pl >%s/seed", build, directory));
	memcpy(file, &header, sizeof(header));
	memcpy(file + sizeof(header), &segment, sizeof(segment));
	fd = open_file("seed");
	assert_true(read(fd, file + section.offset, section.size_bytes) > 300);
	assert_int_equal(close(fd), 0);
	assert_int_equal(go_table_make_1_16(&elf, &section, &addresses, &table), 0);
	assert_int_equal(go_table_find(table, 0x400022, functions, 4), 2);
	assert_string_equal(functions[0].name, "main.two");
	assert_int_equal(functions[0].line, 4);
	assert_string_equal(functions[0].file, "one.go");
	assert_string_equal(functions[1].name, "main.two");
	assert_int_equal(functions[1].line, 7);
	assert_int_equal(go_table_find(table, 0x400012, functions, 4), 1);
	assert_string_equal(functions[0].name, "main.one");
	assert_int_equal(functions[0].line, 7);
	assert_int_equal(go_table_find(table, 0x400040, functions, 4), 0);
	go_table_close(table);
	/* starts that are more than 4 GiB apart */
	file[section.offset + 64 + 64 + 2 * 16 + 5] = 1;
	assert_int_equal(go_table_make_1_16(&elf, &section, &addresses, &table), -ENOENT);
}

/* No table: a program in another language, and one that only claims to be Go. */
static void
has_no_table(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ElfSource elf = { .fd = fd, .size_bytes = (uint64_t) lseek(fd, 0, SEEK_END) };
	GoTable *table;

	assert_int_equal(go_table_open(&elf, &table), -ENOENT);
	assert_int_equal(close(fd), 0);
	assert_true(run("cd %s && head -c 100 /dev/zero >zeros && objcopy --add-section "
					".gopclntab=zeros --set-section-flags .gopclntab=alloc,readonly /bin/true "
					"false 2>/dev/null",
					directory));
	elf.fd = open_file("false");
	elf.size_bytes = (uint64_t) lseek(elf.fd, 0, SEEK_END);
	assert_int_equal(go_table_open(&elf, &table), -ENOENT);
	assert_int_equal(close(elf.fd), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_dwarf),		   cmocka_unit_test(agrees_with_dwarf_of_pie),
		cmocka_unit_test(agrees_with_dwarf_of_old_go), cmocka_unit_test(reads_1_16),
		cmocka_unit_test(symbols_name_as_dwarf_does),  cmocka_unit_test(has_no_table),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
