/*
 * test_symbols_answers.c
 *		Answers of a symbolizer and its worker: shared by copies of a file, improved in later
 *		rounds, and repeated after a worker has ended.
 */
#include "symbols_fixture.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file has one Binary however often it is opened; two files have two. */
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

/*
 * Copies share their answers. A file that has the build ID, size and first page of the original,
 * but other names, does not; nor does a copy that is written to later.
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
 * In the first round of a binary DWARF is not read: its functions have names. From the second round
 * on they have lines, too.
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
 * A process whose mount namespace contains a forged debug file does not determine the names of a
 * binary that others map.
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

/* Returns the pid of the worker; 0 if there is none. */
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

	/*
	 * the collector decides about signals that a terminal sends to the whole group: the worker has
	 * work to the end
	 */
	assert_int_equal(kill(first, SIGHUP), 0);
	assert_int_equal(kill(first, SIGINT), 0);
	assert_int_equal(kill(first, SIGTERM), 0);
	expect_main(binary, address + 4, true);
	assert_int_equal(worker_pid(), first);

	/* the worker ended without a fault of its own: another one answers, and nothing is counted */
	assert_int_equal(kill(worker_pid(), SIGKILL), 0);
	expect_main(binary, address + 1, true);
	symbolizer_stats(symbolizer, &stats);
	assert_int_equal(stats.worker_failures, 0);

	/* a query killed the worker: counted, and the symbol table answers, for a time */
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

/* Returns a number that /proc shows of the worker. */
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

/* The answers equal those to single queries, and the worker does not wait before each. */
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

/* Rows of 100 bytes, as libdw keeps them, would take 12 MB. */
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
	usleep(1500000); /* the idle worker has released the memory that it does not keep */
	assert_in_range(worker_status("RssAnon") - before_kb, 500, 5000);
	binary_release(binary);
	symbolizer_free(symbolizer);
}

/* The worker runs as nobody, and holds no capability and no descriptor of this process. */
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
