/*
 * test_symbols_unnamed.c
 *		Functions of stripped programs: where they begin, and which functions of another build they
 *		equal. The oracle is the symbol table that strip removed, as nm prints it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shell.h"
#include "symbols/symbolizer.h"
#include "symbols/worker/worker.h"

#define FUNCTIONS_MAX 2000
#define GENERATED	  600
#define KEY_BYTES	  13

typedef struct Function
{
	uint64_t start;
	uint64_t size;
	char name[64];
	char keys[64]; /* after "#" */
} Function;

typedef struct Build
{
	size_t count;
	Function functions[FUNCTIONS_MAX];
} Build;

static char directory[64];
static const char *tools; /* prefix of the names of compiler and strip: "" for this machine */
static Build first;
static Build second;

/*
 * Writes one function of the program. A fifth of them are wrappers, many of which are equal except
 * for the called function; a tenth are completely equal, so that nothing distinguishes them.
 */
static void
write_function(FILE *file, int number, bool is_longer)
{
	unsigned seed = (unsigned) number * 2654435761u;

	fprintf(file, "NOINLINE unsigned f%d(unsigned a)\n{\n", number);
	if (number % 10 == 3)
		fprintf(file, "\treturn (a * 3 + 1) ^ (a >> 7) * 2654435761u ^ (a << 9) / 10;\n}\n");
	else if (number % 5 == 1)
		fprintf(file, "\treturn f%d(a + 1);\n}\n", number / 2);
	else
	{
		fprintf(file, "\tunsigned sum = %uu;\n", seed % 97);
		fprintf(file,
				"\tfor (unsigned i = %u; i < a; i++)\n\t\tsum = sum * %uu + table[i %% %u];\n",
				seed % 7, seed | 1, seed % 60 + 3);
		if (number > 2)
			fprintf(file, "\tif (sum %% %u == 1)\n\t\tsum += f%u(sum);\n", seed % 13 + 2,
					seed % (unsigned) number);
		fprintf(file, "\tif (sum == %u)\n\t\tputs(\"text %u\");\n", seed % 1000, seed % 400);
		if (is_longer)
			fprintf(file, "\tif (sum > 77)\n\t\tsum ^= table[sum %% 64] + a;\n");
		fprintf(file, "\treturn sum;\n}\n");
	}
}

/* Compiles a build. The later one has a longer function, a new one, and more data. */
static void
build_program(const char *name, bool is_later)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/program.c", directory);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "#include <stdio.h>\n#define NOINLINE __attribute__((noinline, noipa))\n");
	if (is_later)
		fprintf(file, "unsigned more[100] = { 5 };\n");
	fprintf(file, "unsigned table[64] = { 1, 2, 3 };\n");
	for (int i = 0; i < GENERATED; i++)
	{
		if (i == 200 && is_later)
			fprintf(file, "NOINLINE unsigned added(unsigned a) { return a + more[a %% 100]; }\n");
		write_function(file, i, i == 100 && is_later);
	}
	fprintf(file, "int main(int argc, char **argv)\n{\n\treturn (int) f%d((unsigned) argc);\n}\n",
			GENERATED - 1);
	assert_int_equal(fclose(file), 0);
	run("cd %s && %sgcc -O2 -fno-reorder-functions -o %s program.c && mkdir %s.d && "
		"%sstrip -o %s.d/hard %s",
		directory, tools, name, name, tools, name, name);
}

/* Reads the functions of the program's own source. */
static void
read_truth(const char *name, Build *build)
{
	char command[256];
	unsigned long long start;
	unsigned long long size;
	char function[64];
	FILE *output;

	snprintf(command, sizeof(command),
			 "nm -S %s/%s | awk '$3 == \"T\" && ($4 ~ /^f[0-9]+$/ || $4 == \"added\" || $4 == "
			 "\"main\") { print $1, $2, $4 }'",
			 directory, name);
	output = popen(command, "r");
	assert_non_null(output);
	build->count = 0;
	while (fscanf(output, "%llx %llx %63s", &start, &size, function) == 3)
	{
		assert_in_range(build->count, 0, FUNCTIONS_MAX - 1);
		build->functions[build->count].start = start;
		build->functions[build->count].size = size;
		strcpy(build->functions[build->count++].name, function);
	}
	assert_int_equal(pclose(output), 0);
	assert_in_range(build->count, GENERATED, GENERATED + 2);
}

/* Looks up the first, middle and last byte of each function in the stripped program. */
static void
read_keys(const char *name, Build *build)
{
	const SymbolizerOptions options = { .cache_bytes = 8 << 20, .inlined_lines = true };
	Symbolizer *symbolizer;
	char path[128];
	Binary *binary;

	assert_int_equal(symbolizer_create(&options, &symbolizer), 0);
	snprintf(path, sizeof(path), "%s/%s.d/hard", directory, name);
	assert_int_equal(binary_open(symbolizer, path, path, &binary), 0);
	for (size_t i = 0; i < build->count; i++)
	{
		Function *function = &build->functions[i];
		const uint64_t addresses[] = { function->start, function->start + function->size / 2,
									   function->start + function->size - 1 };
		char expected[64];

		snprintf(expected, sizeof(expected), "hard+0x%" PRIx64, function->start);
		for (int j = 0; j < 3; j++)
		{
			SymbolLines lines;

			assert_int_equal(binary_symbolize(binary, addresses[j], &lines), 0);
			assert_int_equal(lines.count, 1);
			assert_false(symbol_lines_are_named(&lines));
			assert_string_equal(lines.lines[0].name, expected);
			assert_string_equal(lines.lines[0].filename, "");
			assert_memory_equal(lines.lines[0].system_name, expected, strlen(expected));
			assert_int_equal(lines.lines[0].system_name[strlen(expected)], '#');
			strcpy(function->keys, lines.lines[0].system_name + strlen(expected) + 1);
		}
	}
	binary_release(binary);
	symbolizer_free(symbolizer);
}

static bool
have_equal_key(const Function *a, const Function *b)
{
	for (size_t i = 0; i + KEY_BYTES <= strlen(a->keys); i += KEY_BYTES)
		for (size_t j = 0; j + KEY_BYTES <= strlen(b->keys); j += KEY_BYTES)
			if (memcmp(a->keys + i, b->keys + j, KEY_BYTES) == 0)
				return true;
	return false;
}

static int
make_builds_by(const char *named_tools)
{
	tools = named_tools;
	strcpy(directory, "/tmp/test_unnamed_XXXXXX");
	if (mkdtemp(directory) == NULL)
		return -1;
	build_program("first", false);
	build_program("second", true);
	read_truth("first", &first);
	read_truth("second", &second);
	read_keys("first", &first);
	read_keys("second", &second);
	return 0;
}

static int
make_builds(void **state)
{
	return make_builds_by("");
}

static int
make_arm64_builds(void **state)
{
	return make_builds_by("aarch64-linux-gnu-");
}

static int
remove_builds(void **state)
{
	run("rm -r %s", directory);
	return 0;
}

/* Within a build no two functions may have equal keys. */
static void
test_keys_differ(void **state)
{
	const Build *const builds[] = { &first, &second };

	for (int b = 0; b < 2; b++)
		for (size_t i = 0; i < builds[b]->count; i++)
		{
			assert_int_equal(strlen(builds[b]->functions[i].keys) % KEY_BYTES, 0);
			assert_true(strlen(builds[b]->functions[i].keys) > 0);
			for (size_t j = i + 1; j < builds[b]->count; j++)
				assert_false(have_equal_key(&builds[b]->functions[i], &builds[b]->functions[j]));
		}
}

static void
test_builds_match(void **state)
{
	size_t moved = 0;
	size_t right = 0;
	size_t in_both = 0;

	for (size_t i = 0; i < first.count; i++)
		for (size_t j = 0; j < second.count; j++)
		{
			const Function *old = &first.functions[i];
			const Function *later = &second.functions[j];
			bool is_same = strcmp(old->name, later->name) == 0;
			bool is_matched = have_equal_key(old, later);

			if (is_matched && !is_same)
				fail_msg("%s is taken for %s", later->name, old->name);
			in_both += is_same;
			right += is_same && is_matched;
			moved += is_same && old->start != later->start;
		}
	print_message("# %zu of %zu functions matched, %zu moved\n", right, in_both, moved);
	assert_int_equal(in_both, first.count);
	assert_true(moved > in_both / 2);
	assert_true(100 * right >= 85 * in_both);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys_differ),
		cmocka_unit_test(test_builds_match),
	};

	int failed;

	symbolizer_worker_main(argc, argv);
	failed = cmocka_run_group_tests(tests, make_builds, remove_builds);
	if (system("command -v aarch64-linux-gnu-gcc >/dev/null") == 0)
		failed += cmocka_run_group_tests_name("arm64", tests, make_arm64_builds, remove_builds);
	return failed;
}
