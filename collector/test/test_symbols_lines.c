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

#include "symbols/elf/elf_file.h"
#include "symbols/symbolizer.h"
#include "symbols/worker/worker.h"

static const char c_source[] =
	"#include <stdio.h>\n"
	"#include <stdlib.h>\n"
	"#define ALWAYS static inline __attribute__((always_inline))\n"
	"static volatile unsigned sink;\n"
	"ALWAYS unsigned mix(unsigned a, unsigned b)\n"
	"{\n"
	"	a ^= b << 7;\n"
	"	a *= 2654435761u;\n"
	"	return a ^ a >> 15;\n"
	"}\n"
	"ALWAYS unsigned twice(unsigned a)\n"
	"{\n"
	"	unsigned b = mix(a, 3);\n"
	"	return mix(b, a);\n"
	"}\n"
	"ALWAYS unsigned loop(unsigned n)\n"
	"{\n"
	"	unsigned sum = 0;\n"
	"	for (unsigned i = 0; i < n; i++)\n"
	"	{\n"
	"		unsigned inner = twice(i);\n"
	"		sum += inner + twice(sum);\n"
	"	}\n"
	"	return sum;\n"
	"}\n"
	"__attribute__((noinline)) unsigned burn_a(unsigned n) { return loop(n) + 1; }\n"
	"__attribute__((noinline)) static unsigned burn_b(unsigned n, unsigned times)\n"
	"{\n"
	"	unsigned sum = 0;\n"
	"	while (times-- > 0)\n"
	"		sum += loop(n);\n"
	"	if (__builtin_expect(sum == 42, 0))\n"
	"	{\n"
	"		fprintf(stderr, \"cold %u\\n\", sum);\n"
	"		abort();\n"
	"	}\n"
	"	return sum;\n"
	"}\n"
	"unsigned burn_c(unsigned n) { return burn_b(n, 3) + burn_b(n + 1, 3); }\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	sink = burn_a((unsigned) argc) + burn_c((unsigned) argc);\n"
	"	return 0;\n"
	"}\n";

static const char cpp_source[] =
	"#include <algorithm>\n"
	"#include <map>\n"
	"#include <string>\n"
	"#include <vector>\n"
	"namespace shop {\n"
	"template <typename T> struct Basket {\n"
	"	std::vector<T> items;\n"
	"	Basket() : items{} { items.reserve(16); }\n"
	"	~Basket() { items.clear(); }\n"
	"	void add(const T &item) { items.push_back(item); }\n"
	"	template <typename F> T fold(T start, F f) const {\n"
	"		for (const T &item : items)\n"
	"			start = f(start, item);\n"
	"		return start;\n"
	"	}\n"
	"};\n"
	"namespace {\n"
	"int hidden(int a, const std::string &s) { return a + (int) s.size(); }\n"
	"}\n"
	"struct Base { virtual ~Base() {} virtual int price(int) const = 0; };\n"
	"struct Apple : Base { int price(int n) const override { return n * 3; } };\n"
	"__attribute__((noinline)) int total(const Base &b, int n) {\n"
	"	Basket<int> basket;\n"
	"	for (int i = 0; i < n; i++)\n"
	"		basket.add(b.price(i));\n"
	"	std::sort(basket.items.begin(), basket.items.end(), [](int l, int r) { return l > r; });\n"
	"	return basket.fold(0, [&](int s, int i) { return s + hidden(i, \"x\"); });\n"
	"}\n"
	"}\n"
	"int operator+(const shop::Apple &a, int n) { return shop::total(a, n); }\n"
	"int main(int argc, char **) {\n"
	"	std::map<std::string, int> prices;\n"
	"	prices[\"apple\"] = shop::Apple() + argc;\n"
	"	return prices.begin()->second == 7;\n"
	"}\n";

static char directory[64];

__attribute__((format(printf, 1, 2))) static void
run(const char *format, ...)
{
	char command[2048];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	assert_in_range(length, 1, sizeof(command) - 1);
	if (system(command) != 0)
		fail_msg("command failed: %s", command);
}

static void
write_source(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fputs(text, file) < 0, 0);
	assert_int_equal(fclose(file), 0);
}

static int
make_directory(void **state)
{
	strcpy(directory, "/tmp/test_symbols_XXXXXX");
	if (mkdtemp(directory) == NULL)
		return -1;
	write_source("program.c", c_source);
	write_source("program.cpp", cpp_source);
	return 0;
}

static int
remove_directory(void **state)
{
	run("rm -r %s", directory);
	return 0;
}

static Symbolizer *
create(void)
{
	SymbolizerOptions options = { .cache_bytes = 8 << 20, .inlined_lines = true };
	static char debug_directory[128];
	Symbolizer *symbolizer;

	snprintf(debug_directory, sizeof(debug_directory), "%s/debug", directory);
	options.debug_directory = debug_directory;
	assert_int_equal(symbolizer_create(&options, &symbolizer), 0);
	return symbolizer;
}

static Binary *
open_binary(Symbolizer *symbolizer, const char *name)
{
	char path[128];
	Binary *binary;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	assert_int_equal(binary_open(symbolizer, path, path, &binary), 0);
	return binary;
}

/* Code of a file: its .text, as another reader of ELF files finds it. */
static void
find_text(const char *name, uint64_t *begin, uint64_t *end)
{
	char command[256];
	unsigned long long address;
	unsigned long long size;
	FILE *output;

	snprintf(command, sizeof(command),
			 "readelf -SW %s/%s | sed -n 's/.* \\.text *[A-Z]* *\\([0-9a-f]*\\) [0-9a-f]* "
			 "\\([0-9a-f]*\\) .*/\\1 \\2/p'",
			 directory, name);
	output = popen(command, "r");
	assert_non_null(output);
	assert_int_equal(fscanf(output, "%llx %llx", &address, &size), 2);
	assert_int_equal(pclose(output), 0);
	*begin = address;
	*end = address + size;
}

static uint64_t
function_address(const char *name)
{
	char command[256];
	unsigned long long address;
	FILE *output;

	snprintf(command, sizeof(command), "nm %s/program | grep -w 'T %s'", directory, name);
	output = popen(command, "r");
	assert_non_null(output);
	assert_int_equal(fscanf(output, "%llx", &address), 1);
	assert_int_equal(pclose(output), 0);
	return address;
}

static uint64_t
main_address(void)
{
	return function_address("main");
}

/* A frame as addr2line prints it: function, then file:line. */
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
		file[0] = '\0'; /* addr2line then names the source by the symbol table */
}

/* Cuts what names a clone of a C function; C++ clones are demangled with a mark of their own. */
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

/* One frame with addr2line's; innermost is 0. */
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
		 * a C++ function that DWARF gives no linker's name: addr2line takes it from the symbol
		 * table just sometimes
		 */
		function[strcspn(function, "<")] = '\0';
		assert_non_null(strstr(name, function));
	}
	else if (depth > 0 || outermost || strcmp(mine->name, mine->system_name) != 0)
		assert_string_equal(name, function);
	/* else an inlined one likewise, which addr2line gives the name of the symbol around it */
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
 * expect_lines: from DWARF; otherwise function names only.
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
			lines.count = 0; /* the start of a function, which addr2line does not have */
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
 * The functions of split DWARF stand in a file that the program names, here a pipe, whose opening
 * others see. Its lines, and the symbol's name, are in the program itself.
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

/* All of the C library is in it: functions without DWARF, in assembly, with many names. */
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
 * The debug file stands where the linker's note or the build ID leads; then everything is as if
 * never stripped.
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
strip_program(const char *flags)
{
	run("cd %s && rm -rf debug .debug program.debug && gcc -O2 -g %s -o program program.c && "
		"objcopy --only-keep-debug program program.debug && strip -o stripped program && "
		"objcopy --add-gnu-debuglink=program.debug stripped",
		directory, flags);
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

/* Only names of exported functions are left where the debug file is another build's. */
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

/* Names of a function that are shown in a style; its linkage name stays beside them. */
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

/* Returns the most frames of an address of burn_a. */
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
 * The file of a split unit counts if it has the unit's ID, also beside the binary. Otherwise, the
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

/* A binary may name files of any user, so only those of its owner and of root count. */
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

/* Nobody writes into the pipe: opening it must not wait. */
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

/* Mini debug information, as Fedora makes it: the symbols that .dynsym lacks, compressed. */
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

static void
expect_main(Binary *binary, uint64_t address, bool with_line)
{
	SymbolLines lines;

	assert_int_equal(binary_symbolize(binary, address, &lines), 0);
	assert_true(lines.count >= 1);
	assert_string_equal(lines.lines[lines.count - 1].name, "main");
	assert_int_equal(lines.lines[0].line > 0, with_line);
}

/* Against the tools of coreutils, for files of less than a page, of less than two, and of more. */
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

/* One Binary for one file however often it is opened, two for two files. */
static void
shares_binaries(void **state)
{
	Symbolizer *symbolizer = create();
	Binary *first;
	Binary *again;
	Binary *other;

	run("cd %s && gcc -O2 -g -o program program.c && cp program other && strip other", directory);
	first = open_binary(symbolizer, "program");
	again = open_binary(symbolizer, "program");
	other = open_binary(symbolizer, "other");
	assert_ptr_equal(first, again);
	assert_ptr_not_equal(first, other);
	assert_string_equal(binary_build_id(first), binary_build_id(other));
	assert_int_equal(strlen(binary_build_id(first)), 40);
	binary_release(again);
	binary_release(first);
	again = open_binary(symbolizer, "program");
	assert_ptr_equal(first, again);
	expect_main(again, main_address(), true);
	binary_release(again);
	binary_release(other);
	symbolizer_free(symbolizer);
}

static uint64_t
answers_of_worker(const Symbolizer *symbolizer)
{
	SymbolizerStats stats;

	symbolizer_stats(symbolizer, &stats);
	return stats.addresses_resolved;
}

/* Expects the name that ends the answer; "": no symbol covers the address. */
static void
expect_name(Binary *binary, uint64_t address, const char *name)
{
	SymbolLines lines;

	assert_int_equal(binary_symbolize(binary, address, &lines), 0);
	assert_string_equal(symbol_lines_are_named(&lines) ? lines.lines[lines.count - 1].name : "",
						name);
}

/*
 * Copies share their answers. One that has the build ID, size and first page of the original, but
 * other names, does not; nor does one that is written to later.
 */
static void
shares_answers_of_equal_copies(void **state)
{
	Symbolizer *symbolizer = create();
	uint64_t address;
	uint64_t answers;
	Binary *forged;
	Binary *first;
	Binary *copy;

	run("cd %s && echo 'int honest(int a) { return a * 3; } int main(int c, char **v)"
		" { return honest(c); }' >twin.c && gcc -O0 -o program twin.c && cp program copy && "
		"sed s/honest/forged/g program >forged && cmp -s -n 4096 program forged && "
		"! cmp -s program forged && [ $(stat -c %%s program) = $(stat -c %%s forged) ]",
		directory);
	address = function_address("honest");
	forged = open_binary(symbolizer, "forged");
	first = open_binary(symbolizer, "program");
	copy = open_binary(symbolizer, "copy");
	assert_string_equal(binary_build_id(first), binary_build_id(forged));
	expect_name(forged, address, "forged");
	expect_name(first, address, "honest");
	binary_release(forged);
	binary_release(first);
	binary_release(copy);
	symbolizer_free(symbolizer);

	symbolizer = create();
	first = open_binary(symbolizer, "program");
	copy = open_binary(symbolizer, "copy");
	expect_name(copy, address, "honest");
	answers = answers_of_worker(symbolizer);
	expect_name(first, address, "honest");
	assert_int_equal(answers_of_worker(symbolizer), answers);
	run("cd %s && cat forged >copy", directory);
	expect_name(copy, address + 1, "");
	expect_name(first, address + 1, "honest");
	binary_release(first);
	binary_release(copy);
	symbolizer_free(symbolizer);
}

/*
 * Of a binary that was not sampled before DWARF is not read: its functions have names. From the
 * second round on they have lines, too.
 */
static void
reads_dwarf_in_a_second_round(void **state)
{
	SymbolAsk terms = { INT64_MAX, 0, 1 };
	Symbolizer *symbolizer = create();
	uint64_t address;
	SymbolLines lines;
	Binary *binary;

	run("cd %s && gcc -O2 -g -o program program.c", directory);
	address = main_address();
	binary = open_binary(symbolizer, "program");
	for (int i = 0; i < 2; i++)
	{
		binary_prepare(binary, &address, 1, &terms);
		assert_int_equal(binary_symbolize_within(binary, address, &terms, &lines), 0);
		assert_int_equal(lines.count, 1);
		assert_string_equal(lines.lines[0].name, "main");
		assert_int_equal(lines.lines[0].line, 0);
	}
	terms.round = 2;
	assert_int_equal(binary_symbolize_within(binary, address, &terms, &lines), 0);
	assert_true(lines.count > 0 && lines.lines[0].line > 0);
	/* a better answer is not replaced */
	terms.round = 1;
	assert_int_equal(binary_symbolize_within(binary, address, &terms, &lines), 0);
	assert_true(lines.count > 0 && lines.lines[0].line > 0);
	binary_release(binary);
	symbolizer_free(symbolizer);
}

/*
 * A process that sees a debug file of its own making, mounted where such files are looked for, does
 * not name the functions of a binary that others map.
 */
static void
believes_no_debug_file_of_another_device(void **state)
{
	Symbolizer *symbolizer;
	uint64_t address;
	char command[1024];
	char path[256];
	Binary *binary;
	FILE *process;
	int pid = 0;

	strip_program("-Wl,--build-id=0x1234567890abcdef");
	address = main_address();
	run("cd %s && mkdir -p debug && sed s/main/evil/g program.debug >forged.debug && "
		"rm program.debug",
		directory);
	snprintf(command, sizeof(command),
			 "cd %s && exec unshare -rm sh -c 'mount -t tmpfs none debug && "
			 "mkdir -p debug/.build-id/12 && "
			 "cp forged.debug debug/.build-id/12/34567890abcdef.debug && echo $$ && "
			 "exec sleep 60' 2>/dev/null",
			 directory);
	process = popen(command, "r");
	assert_non_null(process);
	if (fscanf(process, "%d", &pid) != 1)
	{
		pclose(process);
		print_message("no mount namespace can be had\n");
		skip();
	}
	snprintf(path, sizeof(path), "/proc/%d/root%s/stripped", pid, directory);
	symbolizer = create();
	snprintf(command, sizeof(command), "%s/stripped", directory);
	assert_int_equal(binary_open(symbolizer, path, command, &binary), 0);
	expect_name(binary, address, "");
	binary_release(binary);
	symbolizer_free(symbolizer);
	assert_int_equal(kill(pid, SIGKILL), 0);
	pclose(process);
}

/* The worker, if there is one. */
static pid_t
worker_pid(void)
{
	char path[64];
	FILE *file;
	int pid = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int) getpid());
	file = fopen(path, "r");
	if (file == NULL || fscanf(file, "%d", &pid) != 1)
		pid = 0;
	if (file != NULL)
		fclose(file);
	return pid;
}

static void
survives_its_worker(void **state)
{
	Symbolizer *symbolizer = create();
	SymbolizerStats stats;
	Binary *binary;
	uint64_t address;
	pid_t first;

	run("cd %s && gcc -O2 -g -o program program.c", directory);
	address = main_address();
	binary = open_binary(symbolizer, "program");
	expect_main(binary, address, true);
	first = worker_pid();
	assert_true(first > 0);

	/* what a terminal sends to us all is our affair: there is work for it to the end */
	assert_int_equal(kill(first, SIGHUP), 0);
	assert_int_equal(kill(first, SIGINT), 0);
	assert_int_equal(kill(first, SIGTERM), 0);
	expect_main(binary, address + 4, true);
	assert_int_equal(worker_pid(), first);

	/* gone without a fault of its own: another one answers, and nothing is counted */
	assert_int_equal(kill(worker_pid(), SIGKILL), 0);
	expect_main(binary, address + 1, true);
	symbolizer_stats(symbolizer, &stats);
	assert_int_equal(stats.worker_failures, 0);

	/* died of a question: counted, and the symbol table answers, now and for a while */
	assert_int_equal(kill(worker_pid(), SIGSEGV), 0);
	expect_main(binary, address + 2, false);
	symbolizer_stats(symbolizer, &stats);
	assert_int_equal(stats.worker_failures, 1);
	expect_main(binary, address + 3, false);
	expect_main(binary, address, true);
	symbolizer_stats(symbolizer, &stats);
	assert_int_equal(stats.worker_failures, 1);
	binary_release(binary);

	symbolizer_free(symbolizer);
	assert_int_equal(worker_pid(), 0);
}

/* A number that /proc shows of the worker. */
static long
worker_status(const char *key)
{
	char path[64];
	char line[256];
	long value = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int) worker_pid());
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL)
	{
		if (strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == ':')
			value = strtol(line + strlen(key) + 1, NULL, 10);
	}
	fclose(file);
	assert_true(value >= 0);
	return value;
}

static long
worker_switches(void)
{
	return worker_status("voluntary_ctxt_switches") + worker_status("nonvoluntary_ctxt_switches");
}

/* The answers are those to single questions, and the worker does not wait before each. */
static void
answers_many_at_once(void **state)
{
	enum
	{
		COUNT = 2000
	};
	Symbolizer *asks_many = create();
	Symbolizer *asks_each = create();
	uint64_t addresses[COUNT];
	Binary *many;
	Binary *each;
	SymbolizerStats stats;
	uint64_t end;
	long switches;

	run("cd %s && g++ -O2 -g -o program program.cpp", directory);
	find_text("program", &addresses[0], &end);
	for (size_t i = 1; i < COUNT; i++)
		addresses[i] = addresses[i - 1] + 1 < end ? addresses[i - 1] + 1 : addresses[0];
	many = open_binary(asks_many, "program");
	assert_int_equal(binary_symbolize(many, addresses[0], &(SymbolLines){ 0 }), 0);
	switches = worker_switches();
	binary_prepare(many, addresses, COUNT, &SYMBOL_ASK_PATIENT);
	switches = worker_switches() - switches;
	symbolizer_stats(asks_many, &stats);
	assert_int_equal(stats.addresses_resolved + stats.addresses_unknown,
					 end - addresses[0] < COUNT ? end - addresses[0] : COUNT);
	assert_in_range(switches, 0, COUNT / 8);
	each = open_binary(asks_each, "program");
	for (size_t i = 0; i < COUNT; i++)
	{
		SymbolLines ours;
		SymbolLines single;

		assert_int_equal(binary_symbolize(many, addresses[i], &ours), 0);
		assert_int_equal(binary_symbolize(each, addresses[i], &single), 0);
		assert_int_equal(ours.count, single.count);
		for (uint32_t j = 0; j < ours.count; j++)
		{
			assert_string_equal(ours.lines[j].name, single.lines[j].name);
			assert_string_equal(ours.lines[j].filename, single.lines[j].filename);
			assert_int_equal(ours.lines[j].line, single.lines[j].line);
		}
	}
	binary_release(each);
	binary_release(many);
	symbolizer_free(asks_each);
	symbolizer_free(asks_many);
}

/* Rows of 100 bytes, as libdw keeps them, would be 12 MB. */
static void
keeps_lines_in_little_memory(void **state)
{
	Symbolizer *symbolizer = create();
	Binary *binary;
	long before_kb;

	run("cd %s && gcc -O0 -g -o program program.c && "
		"{ echo 'volatile int v; int main(void) {'; seq 120000 | sed 's/$/; /;s/^/v = /'; "
		"echo 'return 0; }'; } > long.c && gcc -O0 -g -o long long.c",
		directory);
	binary = open_binary(symbolizer, "program");
	expect_main(binary, main_address(), true);
	before_kb = worker_status("RssAnon");
	binary_release(binary);
	run("cd %s && mv long program", directory);
	binary = open_binary(symbolizer, "program");
	expect_main(binary, main_address(), true);
	usleep(1500000); /* it was idle, and gave back what it does not keep */
	assert_in_range(worker_status("RssAnon") - before_kb, 500, 5000);
	binary_release(binary);
	symbolizer_free(symbolizer);
}

/* The worker runs as nobody, holds no capability, and no descriptor of this process. */
static void
worker_has_no_privilege(void **state)
{
	Symbolizer *symbolizer = create();
	Binary *binary;
	char text[4096] = "";
	char path[64];
	FILE *file;

	assert_int_equal(dup2(STDOUT_FILENO, 50), 50);
	run("cd %s && gcc -O2 -g -o program program.c", directory);
	binary = open_binary(symbolizer, "program");
	expect_main(binary, main_address(), true);
	snprintf(path, sizeof(path), "/proc/%d/status", (int) worker_pid());
	file = fopen(path, "r");
	assert_non_null(file);
	assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
	fclose(file);
	assert_non_null(strstr(text, "CapEff:\t0000000000000000"));
	assert_non_null(strstr(text, "CapPrm:\t0000000000000000"));
	assert_non_null(strstr(text, "NoNewPrivs:\t1"));
	assert_non_null(strstr(text, "Seccomp:\t2"));
	if (geteuid() == 0)
	{
		assert_non_null(strstr(text, "Uid:\t65534\t65534\t65534\t65534"));
		snprintf(path, sizeof(path), "/proc/%d/fd/50", (int) worker_pid());
		assert_int_equal(access(path, F_OK), -1);
	}
	close(50);
	binary_release(binary);
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
		cmocka_unit_test(refuses_a_wrong_split_unit),
		cmocka_unit_test(refuses_a_split_unit_of_another_user),
		cmocka_unit_test(shows_names_in_styles),
		cmocka_unit_test(never_waits_for_a_pipe),
		cmocka_unit_test(reads_mini_debug_information),
		cmocka_unit_test(names_files_without_build_id),
		cmocka_unit_test(shares_binaries),
		cmocka_unit_test(shares_answers_of_equal_copies),
		cmocka_unit_test(reads_dwarf_in_a_second_round),
		cmocka_unit_test(believes_no_debug_file_of_another_device),
		cmocka_unit_test(survives_its_worker),
		cmocka_unit_test(answers_many_at_once),
		cmocka_unit_test(keeps_lines_in_little_memory),
		cmocka_unit_test(worker_has_no_privilege),
	};

	symbolizer_worker_main(argc, argv);
	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
