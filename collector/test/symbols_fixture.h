/*
 * symbols_fixture.h
 *		Programs that are compiled in a directory of their own, and a symbolizer for them.
 */
#ifndef COLLECTOR_TEST_SYMBOLS_FIXTURE_H
#define COLLECTOR_TEST_SYMBOLS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shell.h"
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

static inline void
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

static inline int
make_directory(void **state)
{
	strcpy(directory, "/tmp/test_symbols_XXXXXX");
	if (mkdtemp(directory) == NULL)
		return -1;
	write_source("program.c", c_source);
	write_source("program.cpp", cpp_source);
	return 0;
}

static inline int
remove_directory(void **state)
{
	run("rm -r %s", directory);
	return 0;
}

static inline Symbolizer *
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

static inline Binary *
open_binary(Symbolizer *symbolizer, const char *name)
{
	char path[128];
	Binary *binary;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	assert_int_equal(binary_open(symbolizer, path, path, &binary), 0);
	return binary;
}

/* Finds the section .text of a file by another reader of ELF files. */
static inline void
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

static inline uint64_t
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

static inline uint64_t
main_address(void)
{
	return function_address("main");
}

static inline void
strip_program(const char *flags)
{
	run("cd %s && rm -rf debug .debug program.debug && gcc -O2 -g %s -o program program.c && "
		"objcopy --only-keep-debug program program.debug && strip -o stripped program && "
		"objcopy --add-gnu-debuglink=program.debug stripped",
		directory, flags);
}

static inline void
expect_main(Binary *binary, uint64_t address, bool with_line)
{
	SymbolLines lines;

	assert_int_equal(binary_symbolize(binary, address, &lines), 0);
	assert_true(lines.count >= 1);
	assert_string_equal(lines.lines[lines.count - 1].name, "main");
	assert_int_equal(lines.lines[0].line > 0, with_line);
}

/* Expects the name at the end of the answer; "": no symbol covers the address. */
static inline void
expect_name(Binary *binary, uint64_t address, const char *name)
{
	SymbolLines lines;

	assert_int_equal(binary_symbolize(binary, address, &lines), 0);
	assert_string_equal(symbol_lines_are_named(&lines) ? lines.lines[lines.count - 1].name : "",
						name);
}

#endif
