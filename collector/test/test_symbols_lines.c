/*
 * test_symbols_lines.c
 *		Functions, inlined calls and lines of programs compiled here, against addr2line for every
 *		address.
 *
 * Deliberate differences from addr2line: a clone that the compiler made of a C function (f.cold,
 * f.constprop.0) goes by the function's own name; padding between functions belongs to none; and
 * the file is always that of the line, where addr2line prefers the one that the symbol table tells.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols_fixture.h"

/* Reads a frame of addr2line's output: function, then file:line. */
static void
read_frame(FILE *oracle, char *function, char *file, int *line)
{
	char *colon;
	char *note;

	assert_non_null(fgets(function, 4096, oracle));
	assert_non_null(fgets(file, 4096, oracle));
	function[strcspn(function, "\n")] = '\0';
	file[strcspn(file, "\n")] = '\0';
	note = strstr(file, " (discriminator");
	if (note != NULL)
		*note = '\0';
	colon = strrchr(file, ':');
	assert_non_null(colon);
	*colon = '\0';
	*line = atoi(colon + 1);
	if (*line == 0)
		file[0] = '\0'; /* then addr2line's source comes from the symbol table */
}

/* Cuts the suffix of a C function's clone; clones of C++ are demangled with their own marker. */
static void
cut_clone(char *function)
{
	static const char *const marks[] = { ".cold", ".part.", ".constprop.", ".isra." };

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]) && strchr(function, '[') == NULL; i++)
	{
		char *at = strstr(function, marks[i]);

		if (at != NULL)
			*at = '\0';
	}
}

/* Compares one frame with addr2line's; the innermost frame is 0. */
static void
compare_frame(const SymbolLine *mine, char *function, const char *file, int line, uint32_t depth,
			  bool outermost, bool expect_lines)
{
	char name[4096];

	if (!expect_lines && !outermost)
		return;
	snprintf(name, sizeof(name), "%s", mine->name);
	if (outermost)
	{
		cut_clone(name);
		cut_clone(function);
	}
	if (outermost && strchr(")]", name[strlen(name) - 1]) != NULL &&
		strchr(")]", function[strlen(function) - 1]) == NULL)
	{
		/*
		 * a C++ function without a linkage name in DWARF: addr2line takes the name from the symbol
		 * table only sometimes
		 */
		function[strcspn(function, "<")] = '\0';
		assert_non_null(strstr(name, function));
	}
	else if (depth > 0 || outermost || strcmp(mine->name, mine->system_name) != 0)
		assert_string_equal(name, function);
	/*
	 * otherwise an inlined function without it, which addr2line gives the name of the symbol around
	 * it
	 */
	if (!expect_lines)
		return;
	assert_int_equal(mine->line, line);
	if (line > 0 && strcmp(mine->filename, file) != 0)
		assert_int_equal(access(mine->filename, R_OK), 0);
}

typedef struct Tally
{
	uint32_t addresses;
	uint32_t covered;
	uint32_t inlined;
	uint32_t with_lines;
} Tally;

/*
 * Compares every address of the .text of a file with addr2line's answer for the oracle's file.
 * expect_lines: lines come from DWARF; otherwise only names of functions are compared.
 */
static void
compare_file(Symbolizer *symbolizer, const char *name, const char *oracle_name, bool expect_lines,
			 Tally *tally)
{
	Binary *binary = open_binary(symbolizer, name);
	char command[512];
	char function[4096];
	char file[4096];
	char next[32];
	uint64_t begin;
	uint64_t end;
	FILE *oracle;
	int line;

	memset(tally, 0, sizeof(*tally));
	find_text(oracle_name, &begin, &end);
	snprintf(
		command, sizeof(command),
		"seq %llu %llu | awk '{ printf \"%%x\\n\", $1 }' | timeout 60 addr2line -a -i -f -C -e %s/%s",
		(unsigned long long) begin, (unsigned long long) end - 1, directory, oracle_name);
	oracle = popen(command, "r");
	assert_non_null(oracle);
	assert_non_null(fgets(next, sizeof(next), oracle));
	for (uint64_t address = begin; address < end; address++)
	{
		SymbolLines lines;
		uint32_t at = 0;

		assert_int_equal(strtoull(next, NULL, 16), address);
		assert_int_equal(binary_symbolize(binary, address, &lines), 0);
		if (!symbol_lines_are_named(&lines))
			lines.count = 0; /* the start of a function, which addr2line lacks */
		tally->addresses++;
		tally->covered += lines.count > 0;
		tally->inlined += lines.count > 1;
		tally->with_lines += lines.count > 0 && lines.lines[0].line > 0;
		do
		{
			const SymbolLine *mine = &lines.lines[at];
			int peek;

			read_frame(oracle, function, file, &line);
			peek = fgetc(oracle);
			if (peek != EOF)
				ungetc(peek, oracle);
			if (at < lines.count)
				compare_frame(mine, function, file, line, at, peek == '0' || peek == EOF,
							  expect_lines);
			at++;
			if (peek == '0' || peek == EOF)
				break;
		} while (true);
		if (lines.count > 0 && expect_lines)
			assert_int_equal(at, lines.count);
		if (fgets(next, sizeof(next), oracle) == NULL)
			next[0] = '\0';
	}
	assert_int_equal(pclose(oracle), 0);
	binary_release(binary);
}

static void
expect_same(const char *flags, const char *language)
{
	Symbolizer *symbolizer = create();
	Tally tally;

	run("cd %s && %s %s -o program program.%s", directory,
		strcmp(language, "c") == 0 ? "gcc" : "g++", flags, language);
	compare_file(symbolizer, "program", "program", true, &tally);
	assert_true(tally.covered > tally.addresses / 2);
	assert_true(tally.inlined > 50);
	assert_true(tally.with_lines > 300);
	symbolizer_free(symbolizer);
}

static void
agrees_on_c(void **state)
{
	expect_same("-O2 -g", "c");
}

static void
agrees_without_pie(void **state)
{
	expect_same("-O2 -g -no-pie", "c");
}

static void
agrees_on_shared_library(void **state)
{
	expect_same("-O2 -g -shared -fPIC", "c");
}

static void
agrees_on_dwarf_4(void **state)
{
	expect_same("-O3 -gdwarf-4", "c");
}

static void
agrees_on_compressed_sections(void **state)
{
	expect_same("-O2 -g -gz=zlib", "c");
}

static void
agrees_on_old_compressed_sections(void **state)
{
	expect_same("-O2 -gdwarf-4 -gz=zlib-gnu", "c");
}

static void
agrees_on_function_sections(void **state)
{
	expect_same("-O2 -g -ffunction-sections -Wl,--gc-sections", "c");
}

/*
 * The functions of split DWARF are in a file that the program names. Here it is a pipe, whose
 * opening other processes would notice. Lines, and the symbol's name, are in the program itself.
 */
static void
opens_no_file_that_dwarf_names(void **state)
{
	Symbolizer *symbolizer = create();
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	char path[128];
	char events[4096];
	SymbolLines lines;
	Binary *binary;

	run("cd %s && chmod 755 . && gcc -O2 -g -gsplit-dwarf -o program program.c &&"
		" rm *.dwo && mkfifo -m 666 $(strings -a program | grep 'dwo$') program.dwp && ls *.dwo >dwo",
		directory);
	run("cd %s && mv $(cat dwo) pipe && ln pipe $(cat dwo)", directory);
	snprintf(path, sizeof(path), "%s/pipe", directory);
	assert_true(inotify_add_watch(watch, path, IN_OPEN) >= 0);
	snprintf(path, sizeof(path), "%s/program.dwp", directory);
	assert_true(inotify_add_watch(watch, path, IN_OPEN) >= 0);
	binary = open_binary(symbolizer, "program");
	assert_int_equal(binary_symbolize(binary, main_address(), &lines), 0);
	assert_int_equal(lines.count, 1);
	assert_string_equal(lines.lines[0].name, "main");
	assert_true(lines.lines[0].line > 0);
	assert_int_equal(read(watch, events, sizeof(events)), -1);
	assert_int_equal(errno, EAGAIN);
	close(watch);
	run("cd %s && rm pipe dwo *.dwo program.dwp", directory);
	binary_release(binary);
	symbolizer_free(symbolizer);
}

static void
agrees_on_link_time_optimization(void **state)
{
	expect_same("-O2 -g -flto", "c");
}

static void
agrees_on_cpp(void **state)
{
	expect_same("-O2 -g", "cpp");
}

static void
agrees_on_cpp_without_optimization(void **state)
{
	Symbolizer *symbolizer = create();
	Tally tally;

	run("cd %s && g++ -O0 -g -o program program.cpp", directory);
	compare_file(symbolizer, "program", "program", true, &tally);
	assert_true(tally.covered > tally.addresses * 9 / 10);
	assert_true(tally.with_lines > tally.addresses * 8 / 10);
	symbolizer_free(symbolizer);
}

/* The C library contains all cases: functions without DWARF, in assembly, with many names. */
static void
agrees_on_static_pie(void **state)
{
	static const char *const functions[] = { "main", "burn_a", "burn_b", "burn_c" };
	Symbolizer *symbolizer = create();
	Binary *binary;

	run("cd %s && gcc -O2 -g -static-pie -o program program.c && nm program > symbols", directory);
	binary = open_binary(symbolizer, "program");
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
	{
		char command[256];
		unsigned long long address;
		SymbolLines lines;
		FILE *output;

		snprintf(command, sizeof(command), "grep -w '[tT] %s' %s/symbols", functions[i], directory);
		output = popen(command, "r");
		assert_non_null(output);
		assert_int_equal(fscanf(output, "%llx", &address), 1);
		assert_int_equal(pclose(output), 0);
		assert_int_equal(binary_symbolize(binary, address, &lines), 0);
		assert_true(lines.count >= 1);
		assert_string_equal(lines.lines[lines.count - 1].name, functions[i]);
		assert_true(lines.lines[0].line > 0);
		assert_true(lines.lines[lines.count - 1].start_line > 20);
	}
	binary_release(binary);
	symbolizer_free(symbolizer);
}

/*
 * With the debug file at the path of the linker's note or of the build ID, the result is that of a
 * file that was never stripped.
 */
static void
expect_debug_file(const char *place)
{
	Symbolizer *symbolizer = create();
	Tally tally;

	compare_file(symbolizer, "stripped", "program", true, &tally);
	if (tally.inlined < 50)
		fail_msg("no inlined calls by the debug file %s", place);
	symbolizer_free(symbolizer);
}

static void
finds_debug_file_by_link(void **state)
{
	strip_program("-Wl,--build-id=none");
	expect_debug_file("beside the program");
	run("cd %s && mkdir .debug && mv program.debug .debug", directory);
	expect_debug_file("in .debug");
	run("cd %s && mkdir -p debug%s && mv .debug/program.debug debug%s", directory, directory,
		directory);
	expect_debug_file("in the debug directory");
}

static void
finds_debug_file_by_build_id(void **state)
{
	strip_program("-Wl,--build-id=0x1234567890abcdef");
	run("cd %s && mkdir -p debug/.build-id/12 && "
		"mv program.debug debug/.build-id/12/34567890abcdef.debug",
		directory);
	expect_debug_file("by build ID");
}

/* If the debug file belongs to another build, only names of exported functions are left. */
static void
expect_no_debug_file(void)
{
	Symbolizer *symbolizer = create();
	Tally tally;

	compare_file(symbolizer, "stripped", "stripped", false, &tally);
	assert_int_equal(tally.inlined, 0);
	assert_int_equal(tally.with_lines, 0);
	symbolizer_free(symbolizer);
}

static void
refuses_a_wrong_debug_file(void **state)
{
	strip_program("-Wl,--build-id=none -rdynamic");
	run("cd %s && printf x >> program.debug", directory);
	expect_no_debug_file();
	strip_program("-Wl,--build-id=0x1234567890abcdef -rdynamic");
	run("cd %s && gcc -O1 -g -Wl,--build-id=0x1234567890abcdff -o program.debug program.c",
		directory);
	expect_no_debug_file();
}

/* Returns the only line of a function. */
static SymbolLine
line_of(Binary *binary, const char *function)
{
	SymbolLines lines;

	assert_int_equal(binary_symbolize(binary, function_address(function), &lines), 0);
	assert_int_equal(lines.count, 1);
	assert_string_equal(lines.lines[0].name, function);
	return lines.lines[0];
}

/* Makes a library of three files, with a function in each, below some empty lines. */
static void
build_three(const char *empty_lines, const char *build_id)
{
	run("cd %s && for f in one two three; do"
		" printf '%sint %%s(int a) { return a + 1; }\\n' $f >$f.c; done &&"
		" gcc -g -shared -fPIC -Wl,--build-id=0x%s -o whole one.c two.c three.c",
		directory, empty_lines, build_id);
}

/*
 * A debug file is overwritten after its first use. A file of another build gives no lines, although
 * its path and its layout are those of the right one; the right file gives lines again.
 */
static void
notices_an_overwritten_debug_file(void **state)
{
	Symbolizer *symbolizer = create();
	Binary *binary;

	build_three("", "1234567890abcdef");
	run("cd %s && objcopy --only-keep-debug whole right.debug && cp right.debug linked.debug &&"
		" objcopy --strip-debug --add-gnu-debuglink=linked.debug whole program",
		directory);
	build_three("\\n\\n\\n\\n", "1234567890abcdff");
	run("cd %s && objcopy --only-keep-debug whole wrong.debug", directory);
	binary = open_binary(symbolizer, "program");
	assert_int_equal(line_of(binary, "one").line, 1);
	run("cd %s && cat wrong.debug >linked.debug", directory);
	assert_int_equal(line_of(binary, "two").line, 0);
	run("cd %s && cat right.debug >linked.debug", directory);
	assert_int_equal(line_of(binary, "three").line, 1);
	binary_release(binary);
	symbolizer_free(symbolizer);
}

/* Checks the names of a function in a style; its linkage name stays beside them. */
static void
expect_style(NameStyle style, const char *expected)
{
	static const char linkage_name[] = "_ZN4shop5totalERKNS_4BaseEi";
	const SymbolizerOptions options = { .cache_bytes = 1 << 20,
										.inlined_lines = true,
										.style = style };
	Symbolizer *symbolizer;
	SymbolLines lines;
	Binary *binary;

	assert_int_equal(symbolizer_create(&options, &symbolizer), 0);
	binary = open_binary(symbolizer, "program");
	assert_int_equal(binary_symbolize(binary, function_address(linkage_name), &lines), 0);
	assert_true(lines.count > 0);
	assert_string_equal(lines.lines[lines.count - 1].name, expected);
	assert_string_equal(lines.lines[lines.count - 1].system_name, linkage_name);
	assert_true(lines.lines[lines.count - 1].line > 0);
	binary_release(binary);
	symbolizer_free(symbolizer);
}

static void
shows_names_in_styles(void **state)
{
	run("cd %s && g++ -O2 -g -o program program.cpp", directory);
	expect_style(NAME_STYLE_FULL, "shop::total(shop::Base const&, int)");
	expect_style(NAME_STYLE_SIMPLE, "shop::total");
	expect_style(NAME_STYLE_NONE, "_ZN4shop5totalERKNS_4BaseEi");
}

/* Returns the largest number of frames of an address of burn_a. */
static uint32_t
most_frames(const char *name)
{
	Symbolizer *symbolizer = create();
	Binary *binary = open_binary(symbolizer, name);
	uint64_t begin = function_address("burn_a");
	uint32_t most = 0;

	for (uint64_t address = begin; address < begin + 48; address++)
	{
		SymbolLines lines;

		assert_int_equal(binary_symbolize(binary, address, &lines), 0);
		if (address == begin)
			assert_string_equal(lines.lines[lines.count - 1].name, "burn_a");
		most = lines.count > most ? lines.count : most;
	}
	binary_release(binary);
	symbolizer_free(symbolizer);
	return most;
}

/*
 * The file of a split unit is used if it has the unit's ID, also beside the binary. Otherwise, the
 * symbols' names and the lines remain.
 */
static void
refuses_a_wrong_split_unit(void **state)
{
	run("cd %s && gcc -O3 -g -gsplit-dwarf -c -o part.o program.c && gcc -o program part.o && "
		"mkdir -p moved && cp program part.dwo moved",
		directory);
	assert_true(most_frames("program") > 2);
	run("cd %s && mv part.dwo whole.dwo", directory);
	assert_int_equal(most_frames("program"), 1);
	run("cd %s && gcc -O1 -g -gsplit-dwarf -c -o other.o program.c && "
		"mv other.dwo part.dwo",
		directory);
	assert_int_equal(most_frames("program"), 1);
	run("cd %s && head -c 5000 /dev/urandom >part.dwo", directory);
	assert_int_equal(most_frames("program"), 1);
	run("cd %s && head -c 3000 whole.dwo >part.dwo", directory);
	assert_int_equal(most_frames("program"), 1);
	run("cd %s && rm part.dwo", directory);
	assert_true(most_frames("moved/program") > 2);
}

/* A binary may name files of any user, so only files of its owner and of root are used. */
static void
refuses_a_split_unit_of_another_user(void **state)
{
	if (geteuid() != 0)
		skip();
	run("cd %s && gcc -O3 -g -gsplit-dwarf -c -o part.o program.c && gcc -o program part.o",
		directory);
	assert_true(most_frames("program") > 2);
	run("cd %s && chown 12345 part.dwo", directory);
	assert_int_equal(most_frames("program"), 1);
	run("cd %s && chown 12345 program", directory);
	assert_true(most_frames("program") > 2);
	run("cd %s && rm part.dwo && chown 0 program", directory);
}

/*
 * A debug file beside a binary, and a supplement whose path is in it, must also belong to the
 * binary's owner.
 */
static void
refuses_a_debug_file_of_another_user(void **state)
{
	const bool has_dwz = system("command -v dwz >/dev/null") == 0;

	if (geteuid() != 0)
		skip();
	run("cd %s && gcc -O3 -g -o program program.c && objcopy --only-keep-debug program linked && "
		"strip -g program && objcopy --add-gnu-debuglink=linked program",
		directory);
	assert_true(most_frames("program") > 2);
	run("cd %s && chown 12345 linked", directory);
	assert_int_equal(most_frames("program"), 1);
	run("cd %s && chown 12345 program", directory);
	assert_true(most_frames("program") > 2);
	run("cd %s && rm program linked", directory);
	if (!has_dwz)
		return;
	run("cd %s && gcc -O3 -g -o program program.c && cp program other && "
		"dwz -m supplement -r program other",
		directory);
	assert_true(most_frames("program") > 2);
	run("cd %s && chown 12345 supplement", directory);
	assert_true(most_frames("program") <= 2);
	run("cd %s && rm program other supplement", directory);
}

/* The pipe has no writer, so opening it must not wait. */
static void
never_waits_for_a_pipe(void **state)
{
	Symbolizer *symbolizer = create();
	SymbolLines lines;
	Binary *binary;

	strip_program("");
	run("cd %s && rm program.debug && mkfifo program.debug", directory);
	binary = open_binary(symbolizer, "stripped");
	assert_int_equal(binary_symbolize(binary, main_address(), &lines), 0);
	assert_false(symbol_lines_are_named(&lines));
	binary_release(binary);
	assert_int_equal(binary_open(symbolizer, "/dev/null", "null", &binary), -ENOEXEC);
	symbolizer_free(symbolizer);
}

/* Mini debug information, as in Fedora: the symbols that .dynsym lacks, compressed. */
static void
reads_mini_debug_information(void **state)
{
	Symbolizer *symbolizer = create();
	Tally tally;

	if (system("command -v xz > /dev/null") != 0)
	{
		print_message("xz is not there to make mini debug information\n");
		skip();
	}
	strip_program("-rdynamic");
	run("cd %s && nm -D program --format=posix --defined-only | awk '{ print $1 }' | sort > exported"
		" && nm program --format=posix --defined-only |"
		" awk '$2 == \"T\" || $2 == \"t\" { print $1 }' | sort > all"
		" && comm -13 exported all > missing"
		" && objcopy -S --remove-section .gdb_index --remove-section .comment"
		" --keep-symbols=missing program.debug mini && xz mini && rm program.debug"
		" && objcopy --add-section .gnu_debugdata=mini.xz stripped",
		directory);
	compare_file(symbolizer, "stripped", "program", false, &tally);
	assert_true(tally.covered > tally.addresses / 2);
	assert_int_equal(tally.with_lines, 0);
	symbolizer_free(symbolizer);
}

/*
 * Compares file hashes with those of coreutils, for files of less than a page, of less than two,
 * and of more.
 */
static void
names_files_without_build_id(void **state)
{
	static const char *const flags[] = { "-static -nostdlib -Wl,-e,0 -Wl,-z,noseparate-code -s",
										 "-shared -nostdlib", "-static" };
	Symbolizer *symbolizer = create();

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
	{
		char command[1024];
		char expected[64] = "";
		Binary *binary;
		FILE *output;

		run("cd %s && echo 'int f(int a) { return a + 1; } int main(void) { return f(2); }' > tiny.c && "
			"gcc %s -Wl,--build-id=none -o program tiny.c",
			directory, flags[i]);
		snprintf(command, sizeof(command),
				 "cd %s && (head -c 4096 program; tail -c 4096 program; "
				 "printf %%016x $(stat -c %%s program) | sed 's/../\\\\x&/g' | xargs -0 printf) | "
				 "sha256sum | cut -c 1-32",
				 directory);
		output = popen(command, "r");
		assert_non_null(output);
		assert_int_equal(fscanf(output, "%63s", expected), 1);
		assert_int_equal(pclose(output), 0);
		binary = open_binary(symbolizer, "program");
		assert_string_equal(binary_build_id(binary), expected);
		binary_release(binary);
		run("rm %s/program", directory);
	}
	symbolizer_free(symbolizer);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_on_c),
		cmocka_unit_test(agrees_without_pie),
		cmocka_unit_test(agrees_on_shared_library),
		cmocka_unit_test(agrees_on_dwarf_4),
		cmocka_unit_test(agrees_on_compressed_sections),
		cmocka_unit_test(agrees_on_old_compressed_sections),
		cmocka_unit_test(agrees_on_function_sections),
		cmocka_unit_test(opens_no_file_that_dwarf_names),
		cmocka_unit_test(agrees_on_link_time_optimization),
		cmocka_unit_test(agrees_on_cpp),
		cmocka_unit_test(agrees_on_cpp_without_optimization),
		cmocka_unit_test(agrees_on_static_pie),
		cmocka_unit_test(finds_debug_file_by_link),
		cmocka_unit_test(finds_debug_file_by_build_id),
		cmocka_unit_test(refuses_a_wrong_debug_file),
		cmocka_unit_test(notices_an_overwritten_debug_file),
		cmocka_unit_test(refuses_a_wrong_split_unit),
		cmocka_unit_test(refuses_a_split_unit_of_another_user),
		cmocka_unit_test(refuses_a_debug_file_of_another_user),
		cmocka_unit_test(shows_names_in_styles),
		cmocka_unit_test(never_waits_for_a_pipe),
		cmocka_unit_test(reads_mini_debug_information),
		cmocka_unit_test(names_files_without_build_id),
	};

	symbolizer_worker_main(argc, argv);
	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
