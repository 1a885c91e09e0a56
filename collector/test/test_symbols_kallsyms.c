/*
 * test_symbols_kallsyms.c
 *		Kernel symbols compared with a simple linear reading of the file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/kallsyms.h"

static const char sample[] = "0000000000000000 A fixed_percpu_data\n"
							 "ffffffff81000000 T _text\n"
							 "ffffffff81000000 T start_kernel_entry\n"
							 "ffffffff81000000 t a\n"
							 "ffffffff81000100 t __helper\n"
							 "ffffffff81000100 t helper\n"
							 "ffffffff81000200 D some_data\n"
							 "ffffffff81000300 W weak_one\n"
							 "ffffffff81000300 t strong_local\n"
							 "ffffffff81000380 t $x\n"
							 "not a line\n"
							 "ffffffffc0000000 t module_function\t[ext4]\n"
							 "ffffffffc0000040 t bpf_prog_0123456789abcdef_on_cpu\t[bpf]\n"
							 "ffff800000001000 t elsewhere\n";

static char path[64];
static char modules_path[80];

static void
write_to(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
	assert_int_equal(fclose(file), 0);
}

static void
write_file(const char *text)
{
	write_to(path, text);
}

static int
make_path(void **state)
{
	int fd;

	strcpy(path, "/tmp/test_kallsyms_XXXXXX");
	fd = mkstemp(path);
	snprintf(modules_path, sizeof(modules_path), "%s_modules", path);
	return fd < 0 ? -1 : close(fd);
}

static int
remove_path(void **state)
{
	(void) unlink(modules_path);
	return unlink(path);
}

static void
expect(Kallsyms *kallsyms, uint64_t address, const char *name, const char *module, uint64_t start)
{
	KernelSymbol symbol;

	assert_true(kallsyms_find(kallsyms, address, &symbol));
	assert_string_equal(symbol.name, name);
	assert_string_equal(symbol.module, module);
	assert_int_equal(symbol.start, start);
}

static void
finds_the_covering_symbol(void **state)
{
	Kallsyms *kallsyms;
	KernelSymbol symbol;

	write_file(sample);
	assert_int_equal(kallsyms_create(path, modules_path, KALLSYMS_RELOAD_MIN_NS, &kallsyms), 0);
	assert_true(kallsyms_has_addresses(kallsyms));
	expect(kallsyms, 0xffffffff81000000, "start_kernel_entry", "", 0xffffffff81000000);
	expect(kallsyms, 0xffffffff810000ff, "start_kernel_entry", "", 0xffffffff81000000);
	expect(kallsyms, 0xffffffff81000100, "helper", "", 0xffffffff81000100);
	assert_false(kallsyms_find(kallsyms, 0xffffffff81000200, &symbol));
	assert_false(kallsyms_find(kallsyms, 0xffffffff810002ff, &symbol));
	expect(kallsyms, 0xffffffff81000390, "weak_one", "", 0xffffffff81000300);
	expect(kallsyms, 0xffffffffc0000001, "module_function", "ext4", 0xffffffffc0000000);
	expect(kallsyms, 0xffffffffc0000041, "bpf_prog_0123456789abcdef_on_cpu", "bpf",
		   0xffffffffc0000040);
	expect(kallsyms, 0xffff800000001001, "elsewhere", "", 0xffff800000001000);
	assert_false(kallsyms_find(kallsyms, 0xffffffff80ffffff, &symbol));
	assert_false(kallsyms_find(kallsyms, 0x1000, &symbol));
	assert_false(kallsyms_find(kallsyms, UINT64_MAX, &symbol));
	kallsyms_free(kallsyms);
}

static void
tells_hidden_addresses(void **state)
{
	Kallsyms *kallsyms;
	KernelSymbol symbol;

	write_file("0000000000000000 T _text\n0000000000000000 t helper\n");
	assert_int_equal(kallsyms_create(path, modules_path, KALLSYMS_RELOAD_MIN_NS, &kallsyms), 0);
	assert_false(kallsyms_has_addresses(kallsyms));
	assert_false(kallsyms_find(kallsyms, 0, &symbol));
	kallsyms_free(kallsyms);

	assert_int_equal(kallsyms_create("/nonexistent/kallsyms", modules_path, KALLSYMS_RELOAD_MIN_NS,
									 &kallsyms),
					 0);
	assert_false(kallsyms_has_addresses(kallsyms));
	kallsyms_free(kallsyms);
}

/* A BPF program whose address is used by another one, as the kernel reports. */
static void
reads_again_what_changed(void **state)
{
	Kallsyms *eager;
	Kallsyms *patient;
	KernelSymbol symbol;

	write_file("ffffffff81000000 T _text\nffffffffc0000000 t bpf_prog_old\t[bpf]\n");
	assert_int_equal(kallsyms_create(path, modules_path, 1, &eager), 0);
	assert_int_equal(kallsyms_create(path, modules_path, KALLSYMS_RELOAD_MIN_NS, &patient), 0);
	expect(eager, 0xffffffffc0000001, "bpf_prog_old", "bpf", 0xffffffffc0000000);
	expect(patient, 0xffffffffc0000001, "bpf_prog_old", "bpf", 0xffffffffc0000000);
	write_file("ffffffff81000000 T _text\nffffffffc0000000 t bpf_prog_new\t[bpf]\n");
	kallsyms_outdate(eager);
	kallsyms_outdate(patient);
	expect(eager, 0xffffffffc0000001, "bpf_prog_new", "bpf", 0xffffffffc0000000);
	/* no name is better than that of another program */
	assert_false(kallsyms_find(patient, 0xffffffffc0000001, &symbol));
	expect(patient, 0xffffffff81000001, "_text", "", 0xffffffff81000000);
	kallsyms_free(eager);
	kallsyms_free(patient);
}

/* A module whose address is used by another one, which the kernel does not report. */
static void
reads_again_replaced_modules(void **state)
{
	Kallsyms *eager;
	Kallsyms *patient;
	KernelSymbol symbol;

	write_file("ffffffff81000000 T _text\nffffffffc0000000 t old_work\t[old]\n");
	write_to(modules_path, "ext4 4096 7 - Live 0xffffffffc1000000\n"
						   "old 8192 0 - Live 0xffffffffc0000000\n");
	assert_int_equal(kallsyms_create(path, modules_path, 1, &eager), 0);
	assert_int_equal(kallsyms_create(path, modules_path, KALLSYMS_RELOAD_MIN_NS, &patient), 0);
	expect(eager, 0xffffffffc0000001, "old_work", "old", 0xffffffffc0000000);
	expect(patient, 0xffffffffc0000001, "old_work", "old", 0xffffffffc0000000);

	/* the number of references alone changes nothing */
	write_to(modules_path, "ext4 4096 9 - Live 0xffffffffc1000000\n"
						   "old 8192 1 ext4, Live 0xffffffffc0000000 (OE)\n");
	kallsyms_follow_modules(patient);
	expect(patient, 0xffffffffc0000001, "old_work", "old", 0xffffffffc0000000);

	write_file("ffffffff81000000 T _text\nffffffffc0000000 t new_work\t[new]\n");
	write_to(modules_path, "new 8192 0 - Live 0xffffffffc0000000\n"
						   "ext4 4096 9 - Live 0xffffffffc1000000\n");
	kallsyms_follow_modules(eager);
	kallsyms_follow_modules(patient);
	expect(eager, 0xffffffffc0000001, "new_work", "new", 0xffffffffc0000000);
	/* no name is better than that of another module */
	assert_false(kallsyms_find(patient, 0xffffffffc0000001, &symbol));
	expect(patient, 0xffffffff81000001, "_text", "", 0xffffffff81000000);
	kallsyms_free(eager);
	kallsyms_free(patient);
}

/* A module that was loaded later is found, but not before the next reading is due. */
static void
reads_again_what_is_missing(void **state)
{
	Kallsyms *eager;
	Kallsyms *patient;
	KernelSymbol symbol;

	write_file("ffffffff81000000 T _text\n");
	assert_int_equal(kallsyms_create(path, modules_path, 1, &eager), 0);
	assert_int_equal(kallsyms_create(path, modules_path, KALLSYMS_RELOAD_MIN_NS, &patient), 0);
	assert_false(kallsyms_find(eager, 0xffffffffc0000001, &symbol));
	assert_false(kallsyms_find(patient, 0xffffffffc0000001, &symbol));
	write_file("ffffffff81000000 T _text\nffffffffc0000000 t added\t[module]\n");
	expect(eager, 0xffffffffc0000001, "added", "module", 0xffffffffc0000000);
	assert_false(kallsyms_find(patient, 0xffffffffc0000001, &symbol));
	expect(patient, 0xffffffff81000001, "_text", "", 0xffffffff81000000);
	kallsyms_free(eager);
	kallsyms_free(patient);
}

/* Looks up every text symbol of the running kernel at its start, and expects one of its names. */
static void
agrees_with_the_kernel(void **state)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	Kallsyms *kallsyms;
	char line[1024];
	uint64_t aliases = 0;
	uint64_t checked = 0;

	assert_int_equal(kallsyms_create("/proc/kallsyms", "/proc/modules", KALLSYMS_RELOAD_MIN_NS,
									 &kallsyms),
					 0);
	assert_non_null(file);
	if (!kallsyms_has_addresses(kallsyms))
	{
		print_message("addresses of /proc/kallsyms are hidden from this user\n");
		kallsyms_free(kallsyms);
		fclose(file);
		skip();
	}
	while (fgets(line, sizeof(line), file) != NULL)
	{
		unsigned long long address;
		KernelSymbol symbol;
		char type;
		char name[512];

		if (sscanf(line, "%llx %c %511s", &address, &type, name) != 3 ||
			strchr("tTwW", type) == NULL || name[0] == '$' || strstr(line, "\t[bpf]") != NULL)
			continue; /* BPF programs may appear and disappear at any time */
		assert_true(kallsyms_find(kallsyms, address, &symbol));
		assert_int_equal(symbol.start, address);
		aliases += strcmp(symbol.name, name) != 0;
		checked++;
	}
	assert_true(checked > 1000);
	assert_true(aliases < checked / 4);
	assert_true(kallsyms_bytes(kallsyms) < checked * 60);
	fclose(file);
	kallsyms_free(kallsyms);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(finds_the_covering_symbol, make_path, remove_path),
		cmocka_unit_test_setup_teardown(tells_hidden_addresses, make_path, remove_path),
		cmocka_unit_test_setup_teardown(reads_again_replaced_modules, make_path, remove_path),
		cmocka_unit_test_setup_teardown(reads_again_what_changed, make_path, remove_path),
		cmocka_unit_test_setup_teardown(reads_again_what_is_missing, make_path, remove_path),
		cmocka_unit_test(agrees_with_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
