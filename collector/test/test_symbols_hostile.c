/*
 * test_symbols_hostile.c
 *		Files that are cut or damaged, wrong answers of a worker, and names that expand without
 *		limit: errors, never a crash.
 *
 * Damage is random with a fixed seed. make fuzz covers more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "symbols/elf/elf_file.h"
#include "symbols/elf/symbol_table.h"
#include "symbols/symbolizer.h"
#include "symbols/worker/worker.h"
#include "symbols/worker/worker_client.h"
#include "symbols/worker/worker_protocol.h"

static const char source[] =
	"static volatile int sink;\n"
	"static inline __attribute__((always_inline)) void f(int a) { sink += a; }\n"
	"__attribute__((noinline)) static void g(int a) { f(a); f(a + 1); }\n"
	"int main(int argc, char **argv) { g(argc); return 0; }\n";

static char directory[64];
static uint8_t *program; /* bytes of an undamaged file */
static size_t program_bytes;
static uint64_t main_address;
static uint32_t seed = 1;

static uint32_t
next_random(void)
{
	seed = seed * 1664525 + 1013904223;
	return seed >> 8;
}

static int
build_program(void **state)
{
	char command[512];
	unsigned long long address;
	FILE *file;

	strcpy(directory, "/tmp/test_hostile_XXXXXX");
	if (mkdtemp(directory) == NULL)
		return -1;
	snprintf(command, sizeof(command), "%s/program.c", directory);
	file = fopen(command, "w");
	if (file == NULL || fputs(source, file) < 0 || fclose(file) != 0)
		return -1;
	snprintf(
		command, sizeof(command),
		"cd %s && gcc -O2 -g -Wl,--build-id=none -o program program.c && nm program | grep ' main$' > main",
		directory);
	if (system(command) != 0)
		return -1;
	snprintf(command, sizeof(command), "%s/main", directory);
	file = fopen(command, "r");
	if (file == NULL || fscanf(file, "%llx", &address) != 1 || fclose(file) != 0)
		return -1;
	main_address = address;
	snprintf(command, sizeof(command), "%s/program", directory);
	file = fopen(command, "r");
	program = malloc(1 << 20);
	if (file == NULL || program == NULL)
		return -1;
	program_bytes = fread(program, 1, 1 << 20, file);
	return fclose(file);
}

static int
remove_program(void **state)
{
	char command[128];

	free(program);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command);
}

/* Reads everything of a file in memory; returns true if main is found under its name. */
static bool
exercise(const uint8_t *bytes, size_t size_bytes)
{
	ElfSource source_of = { .fd = -1, .memory = bytes, .size_bytes = size_bytes };
	char name[SYMBOL_NAME_MAX_BYTES];
	const ElfFile *files[1];
	SymbolTable *table;
	ElfFile file;
	uint64_t address;
	uint64_t start;
	bool found;
	int err = elf_file_init(&file, &source_of);

	if (err != 0)
	{
		assert_int_equal(err, -ENOEXEC);
		return false;
	}
	files[0] = &file;
	(void) elf_file_address(&file, main_address, &address);
	assert_int_equal(symbol_table_create(files, 1, &table), 0);
	for (address = 0x1000; address < 0x1200; address += 4)
		(void) symbol_table_find(table, files, address, name, &start);
	found =
		symbol_table_find(table, files, main_address, name, &start) && strcmp(name, "main") == 0;
	symbol_table_free(table);
	elf_file_fini(&file);
	return found;
}

static void
stands_truncated_files(void **state)
{
	assert_true(exercise(program, program_bytes));
	for (size_t size_bytes = 0; size_bytes < program_bytes; size_bytes += 1 + size_bytes / 64)
	{
		/* a copy of exactly this size, so that a sanitizer detects any byte read beyond */
		uint8_t *cut = malloc(size_bytes > 0 ? size_bytes : 1);

		assert_non_null(cut);
		memcpy(cut, program, size_bytes);
		(void) exercise(cut, size_bytes);
		free(cut);
	}
}

/* Damages some bytes, mostly in the headers at both ends. */
static void
spoil(uint8_t *bytes, size_t size_bytes)
{
	uint32_t count = 1 + next_random() % 8;

	for (uint32_t i = 0; i < count; i++)
	{
		size_t at = next_random() % size_bytes;

		switch (next_random() % 4)
		{
			case 0:
				at = next_random() % 1024;
				break;
			case 1:
				at = size_bytes - 1 - next_random() % 2048;
				break;
			default:
				break;
		}
		bytes[at] = next_random() % 3 == 0 ? 0xff : (uint8_t) (bytes[at] ^ 1 << next_random() % 8);
	}
}

static void
stands_spoilt_files(void **state)
{
	uint8_t *bytes = malloc(program_bytes);
	uint32_t sound = 0;

	assert_non_null(bytes);
	for (uint32_t i = 0; i < 4000; i++)
	{
		memcpy(bytes, program, program_bytes);
		spoil(bytes, program_bytes);
		sound += exercise(bytes, program_bytes);
	}
	free(bytes);
	assert_in_range(sound, 1, 3999);
}

/*
 * Damages DWARF, which is in the third quarter of the file. The worker reads it, and whatever
 * happens, every query is answered.
 */
static void
stands_spoilt_dwarf(void **state)
{
	SymbolizerOptions options = { 1 << 20, "", true };
	uint8_t *bytes = malloc(program_bytes);
	Symbolizer *symbolizer;
	SymbolizerStats stats;
	char path[128];

	assert_non_null(bytes);
	assert_int_equal(symbolizer_create(&options, &symbolizer), 0);
	snprintf(path, sizeof(path), "%s/spoilt", directory);
	for (uint32_t i = 0; i < 200; i++)
	{
		FILE *file = fopen(path, "w");
		SymbolLines lines;
		Binary *binary;

		memcpy(bytes, program, program_bytes);
		for (int j = 0; j < 20; j++)
			bytes[program_bytes * 3 / 4 + next_random() % (program_bytes / 8)] =
				(uint8_t) next_random();
		assert_non_null(file);
		assert_int_equal(fwrite(bytes, 1, program_bytes, file), program_bytes);
		assert_int_equal(fclose(file), 0);
		if (binary_open(symbolizer, path, path, &binary) != 0)
			continue;
		for (uint64_t address = main_address - 64; address < main_address + 256; address += 16)
			assert_int_equal(binary_symbolize(binary, address, &lines), 0);
		binary_release(binary);
		assert_int_equal(unlink(path), 0);
	}
	symbolizer_stats(symbolizer, &stats);
	assert_true(stats.addresses_resolved > 0);
	print_message("%llu worker failures in 200 spoilt files\n",
				  (unsigned long long) stats.worker_failures);
	symbolizer_free(symbolizer);
	free(bytes);
}

/* A file that is cut while it is in use: reads fail, and no signal is raised. */
static void
stands_a_file_that_shrinks(void **state)
{
	SymbolizerOptions options = { 1 << 20, "", false };
	Symbolizer *symbolizer;
	SymbolLines lines;
	char command[256];
	char path[128];
	Binary *binary;

	snprintf(command, sizeof(command), "cd %s && cp program shrinking", directory);
	assert_int_equal(system(command), 0);
	snprintf(path, sizeof(path), "%s/shrinking", directory);
	assert_int_equal(symbolizer_create(&options, &symbolizer), 0);
	assert_int_equal(binary_open(symbolizer, path, path, &binary), 0);
	assert_int_equal(binary_symbolize(binary, main_address, &lines), 0);
	assert_int_equal(lines.count, 1);
	assert_int_equal(truncate(path, 100), 0);
	assert_int_equal(binary_symbolize(binary, main_address + 1, &lines), 0);
	assert_int_equal(lines.count, 0);
	binary_release(binary);
	symbolizer_free(symbolizer);
}

/* Asks a worker for main of the undamaged program. Returns the result of worker_client_take(). */
static int
ask_about_main(WorkerClient *client, SymbolLines *lines)
{
	char path[128];
	WorkerFiles files = { .debug = -1, .alternative = -1, .package = -1, .table = -1 };
	uint32_t answered;
	int err;

	snprintf(path, sizeof(path), "%s/program", directory);
	files.binary = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(files.binary >= 0);
	err = worker_client_ask(client, 1, &files, &main_address, 1, &SYMBOL_ASK_PATIENT, &answered);
	if (err == 0)
		err = worker_client_take(client, lines);
	close(files.binary);
	return err;
}

/*
 * Each parameter is a pair of the previous one: written out, the last would be 2^36 times as long
 * as the first. The worker ends, this process continues, and the name is shown as it is in the
 * file.
 */
static void
stands_an_exploding_name(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	SymbolizerOptions options = { 1 << 20, "", true };
	char command[2048];
	char name[1024] = "_Z1fSt4pairIiiE";
	Symbolizer *symbolizer;
	SymbolizerStats stats;
	SymbolLines lines;
	Binary *binary;
	size_t length = strlen(name);

	for (int i = 0; i < 36; i++)
		length += (size_t) snprintf(name + length, sizeof(name) - length, "S_IS%c_S%c_E", digits[i],
									digits[i]);
	snprintf(command, sizeof(command),
			 "cd %s && objcopy --strip-debug --redefine-sym main=%s program exploding", directory,
			 name);
	assert_int_equal(system(command), 0);
	snprintf(command, sizeof(command), "%s/exploding", directory);
	assert_int_equal(symbolizer_create(&options, &symbolizer), 0);
	assert_int_equal(binary_open(symbolizer, command, command, &binary), 0);
	assert_int_equal(binary_symbolize(binary, main_address, &lines), 0);
	assert_int_equal(lines.count, 1);
	assert_string_equal(lines.lines[0].name, name);
	symbolizer_stats(symbolizer, &stats);
	assert_int_equal(stats.worker_failures, 1);
	/* that binary's other names stay mangled for a time; other binaries are not affected */
	assert_int_equal(binary_symbolize(binary, main_address, &lines), 0);
	assert_int_equal(lines.count, 1);
	symbolizer_stats(symbolizer, &stats);
	assert_int_equal(stats.worker_failures, 1);
	binary_release(binary);
	symbolizer_free(symbolizer);
}

static void
on_alarm(int signal_number)
{
	(void) signal_number;
}

/*
 * A worker that sleeps for ever costs one wait, however many signals arrive meanwhile; the next
 * query gets another worker.
 */
static void
stands_a_sleeping_worker(void **state)
{
	const struct itimerval often = { { 0, 200000 }, { 0, 200000 } };
	const struct itimerval never = { 0 };
	struct sigaction action = { .sa_handler = on_alarm };
	WorkerClient *client;
	SymbolLines lines;
	int64_t began_ns;
	int64_t ended_ns;
	pid_t worker;

	assert_int_equal(worker_client_create(0, &client), 0);
	assert_int_equal(worker_client_pid(client), 0);
	assert_int_equal(ask_about_main(client, &lines), 0);
	worker = worker_client_pid(client);
	assert_true(worker > 0);
	assert_int_equal(kill(worker, SIGSTOP), 0);
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	began_ns = clock_ns(CLOCK_MONOTONIC);
	assert_int_equal(ask_about_main(client, &lines), -EIO);
	ended_ns = clock_ns(CLOCK_MONOTONIC);
	/* if a signal restarted the wait it would never end */
	assert_in_range(ended_ns - began_ns, INT64_C(9000000000), INT64_C(60000000000));
	assert_int_equal(worker_client_failures(client), 1);
	assert_int_equal(kill(worker, 0), -1); /* the worker has ended, and was reaped */
	assert_int_equal(worker_client_pid(client), 0);
	assert_int_equal(ask_about_main(client, &lines), 0);
	setitimer(ITIMER_REAL, &never, NULL);
	worker_client_end(client);
	assert_int_equal(worker_client_pid(client), 0);
	assert_int_equal(ask_about_main(client, &lines), 0);
	assert_int_equal(worker_client_failures(client), 1);
	worker_client_free(client);
}

/*
 * No caller waits for an answer beyond its deadline, but the worker is not abandoned for that: a
 * repeated query is answered.
 */
static void
leaves_a_slow_answer_for_later(void **state)
{
	SymbolizerOptions options = { 1 << 20, "", true };
	SymbolAsk terms = { 0, 0 };
	Symbolizer *symbolizer;
	SymbolizerStats stats;
	SymbolLines lines;
	char path[128];
	Binary *binary;
	pid_t worker;

	snprintf(path, sizeof(path), "%s/program", directory);
	assert_int_equal(symbolizer_create(&options, &symbolizer), 0);
	assert_int_equal(binary_open(symbolizer, path, path, &binary), 0);
	assert_int_equal(binary_symbolize(binary, main_address, &lines), 0);
	worker = symbolizer_worker_pid(symbolizer);
	assert_int_equal(kill(worker, SIGSTOP), 0);
	terms.deadline_ns = clock_ns(CLOCK_MONOTONIC) + INT64_C(100000000);
	assert_int_equal(binary_symbolize_within(binary, main_address + 1, &terms, &lines), -EAGAIN);
	/* a second query waits for the answer to the first */
	terms.deadline_ns = clock_ns(CLOCK_MONOTONIC) + INT64_C(100000000);
	assert_int_equal(binary_symbolize_within(binary, main_address + 2, &terms, &lines), -EAGAIN);
	/* a cached address is answered nevertheless */
	terms.deadline_ns = 0;
	assert_int_equal(binary_symbolize_within(binary, main_address, &terms, &lines), 0);
	assert_int_not_equal(lines.count, 0);
	assert_int_equal(kill(worker, SIGCONT), 0);
	assert_int_equal(binary_symbolize(binary, main_address + 1, &lines), 0);
	assert_int_not_equal(lines.count, 0);
	assert_int_equal(symbolizer_worker_pid(symbolizer), worker);
	symbolizer_stats(symbolizer, &stats);
	assert_int_equal(stats.worker_failures, 0);
	binary_release(binary);
	symbolizer_free(symbolizer);
}

/*
 * Builds a program whose DWARF unit has that many entries, of one byte each, all equal: functions
 * with 61 attributes that take no byte. One is the address, so the reader cannot skip the function.
 */
static void
build_bomb(const char *name, size_t entries, const char *flags)
{
	char command[1024];

	snprintf(
		command, sizeof(command),
		"cd %s && printf '%%s\\n' '.section .debug_abbrev,\"\",@progbits'"
		" '.byte 1,0x11,1, 0x11,1, 0x12,7, 3,8, 0,0' '.byte 2,0x2e,0, 0x11,0x19' '.fill 60,2,0x1903' '.byte 0,0' '.byte 0'"
		" '.section .debug_info,\"\",@progbits' '1: .long 3f-2f' '2: .short 4'"
		" '.long .debug_abbrev' '.byte 8' '.byte 1' '.quad bomb' '.quad 0x100000'"
		" '.asciz \"x\"' '.fill %zu,1,2' '.byte 0' '3:' '.text' '.globl bomb'"
		" '.type bomb,@function' 'bomb: nop' 'ret' '.size bomb,.-bomb'"
		" '.section .note.GNU-stack,\"\",@progbits' >bomb.S &&"
		" gcc -shared -nostdlib -Wl,--build-id=none %s -o %s bomb.S",
		directory, entries, flags, name);
	assert_int_equal(system(command), 0);
}

static uint64_t
address_of(const char *name, const char *symbol)
{
	char command[512];
	unsigned long long address = 0;
	FILE *nm;

	snprintf(command, sizeof(command), "nm -D %s/%s | grep ' %s$'", directory, name, symbol);
	nm = popen(command, "r");
	assert_non_null(nm);
	assert_int_equal(fscanf(nm, "%llx", &address), 1);
	assert_int_equal(pclose(nm), 0);
	return address;
}

/* Returns the maximum of a process's resident memory, in bytes. */
static uint64_t
peak_bytes(pid_t pid)
{
	unsigned long long peak_kb = 0;
	char line[256];
	FILE *file;

	snprintf(line, sizeof(line), "/proc/%d/status", (int) pid);
	file = fopen(line, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL)
		(void) sscanf(line, "VmHWM: %llu", &peak_kb);
	fclose(file);
	return peak_kb * 1024;
}

/*
 * A file of some kilobytes may contain headers of sections that announce large unpacked sizes: a
 * section that would take half of the worker's memory is not unpacked, and counted.
 */
static void
leaves_out_what_unpacks_to_much(void **state)
{
	SymbolizerOptions options = { 1 << 20, "", true, 64 << 20 };
	Symbolizer *symbolizer;
	SymbolizerStats stats;
	SymbolLines lines;
	char path[128];
	Binary *binary;

	build_bomb("packed", 100 << 20, "-Wl,--compress-debug-sections=zlib");
	snprintf(path, sizeof(path), "%s/packed", directory);
	assert_int_equal(symbolizer_create(&options, &symbolizer), 0);
	assert_int_equal(binary_open(symbolizer, path, path, &binary), 0);
	assert_int_equal(binary_symbolize(binary, address_of("packed", "bomb"), &lines), 0);
	assert_int_equal(lines.count, 1);
	assert_string_equal(lines.lines[0].name, "bomb");
	assert_in_range(peak_bytes(symbolizer_worker_pid(symbolizer)), 1, 64 << 20);
	symbolizer_stats(symbolizer, &stats);
	assert_int_equal(stats.worker_failures, 0);
	assert_int_equal(stats.debug_info_left_out, 1);
	binary_release(binary);
	symbolizer_free(symbolizer);
}

/* Answers about a symbol of a file with a worker of 64 MB, and sets the statistics. */
static void
ask_small_worker(const char *name, const char *symbol, SymbolLine *line, SymbolizerStats *stats)
{
	SymbolizerOptions options = { 1 << 20, "", true, 64 << 20 };
	Symbolizer *symbolizer;
	SymbolLines lines;
	char path[128];
	Binary *binary;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	assert_int_equal(symbolizer_create(&options, &symbolizer), 0);
	assert_int_equal(binary_open(symbolizer, path, path, &binary), 0);
	assert_int_equal(binary_symbolize(binary, address_of(name, symbol), &lines), 0);
	assert_int_equal(lines.count, 1);
	assert_string_equal(lines.lines[0].name, symbol);
	*line = lines.lines[0];
	symbolizer_stats(symbolizer, stats);
	assert_int_equal(stats->worker_failures, 0);
	binary_release(binary);
	symbolizer_free(symbolizer);
}

/*
 * A section that nobody reads stays compressed, however large it is: places of variables are a
 * third of the debug information of a large program.
 */
static void
unpacks_what_it_reads(void **state)
{
	SymbolizerStats stats;
	char command[512];
	SymbolLine line;

	snprintf(command, sizeof(command),
			 "cd %s && printf '%%s\\n' '.section .debug_loc,\"\",@progbits' '.fill 104857600,1,0'"
			 " '.section .note.GNU-stack,\"\",@progbits' >places.S &&"
			 " echo 'int answer(void) { return 42; }' >answer.c &&"
			 " gcc -g -shared -fPIC -Wl,--compress-debug-sections=zlib -o places answer.c places.S",
			 directory);
	assert_int_equal(system(command), 0);
	ask_small_worker("places", "answer", &line, &stats);
	assert_int_equal(line.line, 1);
	assert_int_equal(stats.debug_info_left_out, 0);
}

/* A list of units that does not fit into the worker's memory is left out, and counted. */
static void
leaves_out_too_many_units(void **state)
{
	SymbolizerStats stats;
	char command[1024];
	SymbolLine line;

	snprintf(
		command, sizeof(command),
		"cd %s && printf '%%s\\n' '.section .debug_abbrev,\"\",@progbits' '.byte 1,0x11,0, 0,0, 0'"
		" '.section .debug_info,\"\",@progbits' '.rept 1000000' '.long 8' '.short 4' '.long 0'"
		" '.byte 8, 1' '.endr' '.text' '.globl crowd' '.type crowd,@function' 'crowd: nop' 'ret'"
		" '.size crowd,.-crowd' '.section .note.GNU-stack,\"\",@progbits' >crowd.S &&"
		" gcc -shared -nostdlib -o crowd crowd.S",
		directory);
	assert_int_equal(system(command), 0);
	ask_small_worker("crowd", "crowd", &line, &stats);
	assert_int_equal(line.line, 0);
	assert_int_equal(stats.debug_info_left_out, 1);
}

/*
 * Makes a program with a function rows, whose line table has this many rows after that of its
 * address: special instructions, each of which increases address and line by 1.
 */
static void
make_rows(unsigned count)
{
	char command[1536];

	snprintf(
		command, sizeof(command),
		"cd %s && printf '%%s\n' '.globl rows' '.type rows,@function' 'rows: nop' 'ret'"
		" '.size rows,.-rows' '.section .debug_abbrev,\"\",@progbits'"
		" '.byte 1,0x11,0, 0x11,1, 0x12,7, 0x10,0x17, 0,0, 0'"
		" '.section .debug_info,\"\",@progbits' '.long 2f-1f' '1: .short 4' '.long 0'"
		" '.byte 8, 1' '.quad rows, 2' '.long 0' '2: .section .debug_line,\"\",@progbits'"
		" '.long 6f-3f' '3: .short 4' '.long 5f-4f' '4: .byte 1,1,1,0,14,10, 0,1,1,1,1,0,0,0,1, 0'"
		" '.asciz \"rows.S\"' '.byte 0,0,0, 0' '5: .byte 0,9,2' '.quad rows' '.byte 1'"
		" '.fill %u,1,25' '.byte 0,1,1' '6: .section .note.GNU-stack,\"\",@progbits' >rows.S &&"
		" gcc -shared -nostdlib -o rows rows.S",
		directory, count);
	assert_int_equal(system(command), 0);
}

/* A function whose line table does not fit into the worker's memory keeps its name, and counts. */
static void
counts_a_line_table_that_does_not_fit(void **state)
{
	SymbolizerStats stats;
	SymbolLine line;

	make_rows(1000);
	ask_small_worker("rows", "rows", &line, &stats);
	assert_int_equal(line.line, 1);
	assert_int_equal(stats.debug_info_left_out, 0);
	/* a row takes 12 bytes */
	make_rows(8 << 20);
	ask_small_worker("rows", "rows", &line, &stats);
	assert_int_equal(line.line, 0);
	assert_int_equal(stats.debug_info_left_out, 1);
}

/*
 * Files that take the worker all the time that a query may have use up their owner's allowance, and
 * no other's.
 */
static void
charges_the_owner(void **state)
{
	SymbolizerOptions options = { 1 << 20, "", true };
	const SymbolAsk hostile = { INT64_MAX, UINT64_C(1) << 7 };
	const SymbolAsk honest = { INT64_MAX, UINT64_C(1) << 8 };
	Symbolizer *symbolizer;
	SymbolizerStats stats;
	SymbolLines lines;
	char path[128];
	Binary *binary;
	uint64_t bomb;
	int refused = 0;

	build_bomb("slow", 60 << 20, "");
	bomb = address_of("slow", "bomb");
	assert_int_equal(symbolizer_create(&options, &symbolizer), 0);
	for (int i = 0; i < 4 && refused == 0; i++)
	{
		snprintf(path, sizeof(path), "cd %s && cp slow slow%d", directory, i);
		assert_int_equal(system(path), 0);
		snprintf(path, sizeof(path), "%s/slow%d", directory, i);
		assert_int_equal(binary_open(symbolizer, path, path, &binary), 0);
		refused += binary_symbolize_within(binary, bomb, &hostile, &lines) == -EAGAIN;
		binary_release(binary);
	}
	assert_int_equal(refused, 1);
	symbolizer_stats(symbolizer, &stats);
	assert_int_not_equal(stats.worker_refused, 0);
	snprintf(path, sizeof(path), "%s/program", directory);
	assert_int_equal(binary_open(symbolizer, path, path, &binary), 0);
	assert_int_equal(binary_symbolize_within(binary, main_address, &honest, &lines), 0);
	assert_int_not_equal(lines.count, 0);
	binary_release(binary);
	symbolizer_free(symbolizer);
}

/* Creates a file in memory with these bytes. */
static int
make_file(const char *bytes)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, strlen(bytes)), (ssize_t) strlen(bytes));
	return fd;
}

static FileIdentity
identity_of_file(int fd)
{
	struct stat status;

	assert_int_equal(fstat(fd, &status), 0);
	return file_identity_of(&status);
}

#define CHECKSUM_OF_DIGITS 0xcbf43926U /* CRC-32 of "123456789" */

/*
 * An answer that came too late belongs to the files of its query: a query for the same binary and
 * another file must not get it.
 */
static void
keeps_answers_of_files_apart(void **state)
{
	enum
	{
		BINARY = 2,
		TRUE_COPY = 1,
		FORGERY = 3
	};
	int binary = make_file("123456789");
	int copy = make_file("123456789");
	int forgery = make_file("12345678x");
	FileIdentity copy_identity = identity_of_file(copy);
	FileIdentity forgery_identity = identity_of_file(forgery);
	SymbolAsk hasty = { 0 };
	WorkerClient *client;

	assert_int_equal(worker_client_create(0, &client), 0);
	/* after a first answer the worker exists, so that it can be stopped */
	assert_int_equal(worker_client_compare(client, BINARY, binary, TRUE_COPY, copy,
										   &SYMBOL_ASK_PATIENT),
					 0);
	assert_int_equal(kill(worker_client_pid(client), SIGSTOP), 0);
	hasty.deadline_ns = clock_ns(CLOCK_MONOTONIC) + INT64_C(50000000);
	assert_int_equal(worker_client_compare(client, BINARY, binary, TRUE_COPY, copy, &hasty),
					 -EINPROGRESS);
	assert_int_equal(kill(worker_client_pid(client), SIGCONT), 0);
	assert_int_equal(worker_client_compare(client, BINARY, binary, FORGERY, forgery,
										   &SYMBOL_ASK_PATIENT),
					 -EBADMSG);
	assert_int_equal(kill(worker_client_pid(client), SIGSTOP), 0);
	hasty.deadline_ns = clock_ns(CLOCK_MONOTONIC) + INT64_C(50000000);
	assert_int_equal(worker_client_checksum(client, BINARY, copy, &copy_identity,
											CHECKSUM_OF_DIGITS, &hasty),
					 -EINPROGRESS);
	assert_int_equal(kill(worker_client_pid(client), SIGCONT), 0);
	assert_int_equal(worker_client_checksum(client, BINARY, forgery, &forgery_identity,
											CHECKSUM_OF_DIGITS, &SYMBOL_ASK_PATIENT),
					 -EBADMSG);
	assert_int_equal(worker_client_failures(client), 0);
	worker_client_free(client);
	close(binary);
	close(copy);
	close(forgery);
}

static void
refuses_lying_replies(void **state)
{
	const SymbolLine told[] = { { "inner(int)", "_Z5inneri", "/a/b.c", 3, 5 },
								{ "outer", "outer", "", 0, 0 } };
	static char message[WORKER_MESSAGE_BYTES];
	static char spoilt[WORKER_MESSAGE_BYTES];
	SymbolLine lines[WORKER_FRAMES_MAX];
	size_t size_bytes = worker_reply_encode(message, 0, told, 2);
	size_t used_bytes;
	uint32_t count;

	assert_int_equal(worker_reply_decode(message, size_bytes, lines, &count, &used_bytes), 0);
	assert_int_equal(used_bytes, size_bytes);
	assert_int_equal(count, 2);
	assert_string_equal(lines[0].name, "inner(int)");
	assert_string_equal(lines[0].system_name, "_Z5inneri");
	assert_string_equal(lines[0].filename, "/a/b.c");
	assert_int_equal(lines[0].start_line, 3);
	assert_int_equal(lines[0].line, 5);
	assert_string_equal(lines[1].system_name, "outer");
	for (size_t cut = 0; cut < size_bytes; cut++)
		assert_int_equal(worker_reply_decode(message, cut, lines, &count, &used_bytes), -EPROTO);
	for (uint32_t i = 0; i < 100000; i++)
	{
		memcpy(spoilt, message, size_bytes);
		spoilt[next_random() % size_bytes] = (char) next_random();
		spoilt[next_random() % size_bytes] = (char) next_random();
		if (worker_reply_decode(spoilt, size_bytes, lines, &count, &used_bytes) != 0)
			continue;
		assert_true(count <= WORKER_FRAMES_MAX);
		for (uint32_t j = 0; j < count; j++)
			assert_true(lines[j].name + strlen(lines[j].name) < spoilt + size_bytes &&
						lines[j].filename + strlen(lines[j].filename) < spoilt + size_bytes &&
						lines[j].system_name >= spoilt);
	}
}

/* As many frames as possible, each with names that do not fit: cut, but a valid reply. */
static void
cuts_long_names(void **state)
{
	static char message[WORKER_MESSAGE_BYTES];
	static char name[20000];
	SymbolLine told[WORKER_FRAMES_MAX];
	SymbolLine lines[WORKER_FRAMES_MAX];
	size_t size_bytes;
	size_t used_bytes;
	uint32_t count;

	memset(name, 'x', sizeof(name) - 1);
	for (uint32_t i = 0; i < WORKER_FRAMES_MAX; i++)
		told[i] = (SymbolLine){ name, name + 1, name + 2, 0, (int32_t) i };
	size_bytes = worker_reply_encode(message, 0, told, WORKER_FRAMES_MAX);
	assert_in_range(size_bytes, 1, WORKER_MESSAGE_BYTES);
	assert_int_equal(worker_reply_decode(message, size_bytes, lines, &count, &used_bytes), 0);
	assert_int_equal(count, WORKER_FRAMES_MAX);
	assert_in_range(strlen(lines[63].name), 100, WORKER_STRING_MAX - 1);
	size_bytes = worker_reply_encode(message, 0, told, 1);
	assert_int_equal(worker_reply_decode(message, size_bytes, lines, &count, &used_bytes), 0);
	assert_int_equal(strlen(lines[0].name), WORKER_STRING_MAX - 1);
}

/* Returns the number of reads that this process has made; -1 if the kernel does not count them. */
static long
reads_made(void)
{
	FILE *file = fopen("/proc/self/io", "r");
	char line[64];
	long count = -1;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		(void) sscanf(line, "syscr: %ld", &count);
	if (file != NULL)
		fclose(file);
	return count;
}

/*
 * Builds a stripped library whose exported functions lie among many that are not exported: most of
 * its addresses have no symbol.
 */
static void
reads_little_where_there_is_no_symbol(void **state)
{
	ElfSource source_of = { 0 };
	char command[1024];
	char name[SYMBOL_NAME_MAX_BYTES];
	const ElfFile *files[1];
	SymbolTable *table;
	ElfFile file;
	long asked = 0;
	long found = 0;
	long before;
	uint64_t start;

	snprintf(
		command, sizeof(command),
		"cd %s && for i in $(seq 1000); do [ $((i %% 20)) = 0 ] && v=default || v=hidden;"
		" echo \"__attribute__((visibility(\\\"$v\\\"))) int f$i(int x) { return x * $i + x / ($i + 1); }\"; done >many.c &&"
		" gcc -O1 -shared -fPIC -s -o many.so many.c",
		directory);
	assert_int_equal(system(command), 0);
	snprintf(command, sizeof(command), "%s/many.so", directory);
	source_of.fd = open(command, O_RDONLY | O_CLOEXEC);
	assert_true(source_of.fd >= 0);
	source_of.size_bytes = (uint64_t) lseek(source_of.fd, 0, SEEK_END);
	assert_int_equal(elf_file_init(&file, &source_of), 0);
	files[0] = &file;
	assert_int_equal(symbol_table_create(files, 1, &table), 0);
	before = reads_made();
	for (uint64_t at = 0; at < file.segments[0].size_bytes; at += 16)
	{
		asked++;
		found +=
			symbol_table_find(table, files, file.segments[0].address + at, name, &start) ? 1 : 0;
	}
	assert_true(found >= 50 && found < asked / 4);
	/* the last symbol before the address; and its name, if that is the result */
	if (before < 0)
		print_message("reads are not counted here\n");
	else
		assert_in_range(reads_made() - before, 1, 2 * asked);
	symbol_table_free(table);
	elf_file_fini(&file);
	close(source_of.fd);
}

/* Returns the number of bytes that this process has read. */
static uint64_t
bytes_read(void)
{
	FILE *file = fopen("/proc/self/io", "r");
	unsigned long long count = 0;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "rchar: %llu", &count), 1);
	fclose(file);
	return count;
}

#define HOLE_BYTES (UINT64_C(4) << 30)

/*
 * Creates symbols and relocations over a hole of 4 GiB, which costs an attacker nothing; the last
 * symbols that are read all have one address.
 */
static int
make_sparse(void)
{
	static const char names[] = "\0.symtab\0.strtab\0.rela.dyn\0.dynsym";
	Elf64_Shdr headers[] = {
		{ .sh_type = SHT_NULL },
		{ .sh_type = SHT_STRTAB, .sh_offset = 1024, .sh_size = sizeof(names) },
		{ .sh_name = 1, .sh_type = SHT_SYMTAB, .sh_link = 1 },
		{ .sh_name = 17, .sh_type = SHT_RELA },
		{ .sh_name = 27, .sh_type = SHT_DYNSYM, .sh_link = 1 },
	};
	Elf64_Ehdr header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
									   EV_CURRENT },
						  .e_type = ET_DYN,
						  .e_machine = EM_X86_64,
						  .e_shentsize = sizeof(Elf64_Shdr),
						  .e_shoff = 4096 + HOLE_BYTES,
						  .e_shnum = 5,
						  .e_shstrndx = 1 };
	Elf64_Sym symbols[1000];
	int fd = memfd_create("sparse", MFD_CLOEXEC);

	assert_true(fd >= 0);
	for (int i = 2; i < 5; i++)
	{
		headers[i].sh_offset = 4096;
		headers[i].sh_size = HOLE_BYTES;
	}
	for (size_t i = 0; i < 1000; i++)
		symbols[i] = (Elf64_Sym){ .st_name = 1,
								  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
								  .st_shndx = 1,
								  .st_value = 0x1000,
								  .st_size = 16 };
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(pwrite(fd, names, sizeof(names), 1024), sizeof(names));
	assert_int_equal(pwrite(fd, symbols, sizeof(symbols), 4096), sizeof(symbols));
	assert_int_equal(pwrite(fd, headers, sizeof(headers), (off_t) (4096 + HOLE_BYTES)),
					 sizeof(headers));
	return fd;
}

static void
reads_a_hole_under_a_limit(void **state)
{
	ElfSource source_of = { .fd = make_sparse() };
	char name[SYMBOL_NAME_MAX_BYTES];
	const ElfFile *files[1];
	SymbolTable *table;
	ElfFile file;
	uint64_t before;
	uint64_t start;

	source_of.size_bytes = (uint64_t) lseek(source_of.fd, 0, SEEK_END);
	assert_int_equal(elf_file_init(&file, &source_of), 0);
	assert_int_equal(file.symbols[ELF_SYMTAB].count, ELF_SYMBOLS_MAX);
	assert_int_equal(file.symbols[ELF_DYNSYM].count, ELF_SYMBOLS_MAX);
	assert_int_equal(file.relocations[1].count, ELF_RELOCATIONS_MAX);
	files[0] = &file;
	before = bytes_read();
	assert_int_equal(symbol_table_create(files, 1, &table), 0);
	assert_in_range(bytes_read() - before, 1, (uint64_t) ELF_SYMBOLS_MAX * 24 + 64 * 1024);
	before = bytes_read();
	assert_false(elf_file_slot_symbol(&file, 0x1234, name, sizeof(name)));
	assert_in_range(bytes_read() - before, 1, (uint64_t) ELF_RELOCATIONS_MAX * 24 + 4096);
	assert_true(symbol_table_find(table, files, 0x1001, name, &start));
	assert_string_equal(name, ".symtab");
	symbol_table_free(table);
	elf_file_fini(&file);
	close(source_of.fd);
}

/* DWARF of main with circular references: the origin of its name, or the next function. */
static const char cycles[] =
	"__asm__(\".section .debug_abbrev,\\\"\\\",%progbits\\n\"\n"
	"	\".byte 1,0x11,1, 0x11,1, 0x12,7, 0,0\\n\"\n"
	"	\".byte 2,0x2e,1, 0x11,1, 0x12,7, 0x31,0x13, 1,0x13, 0,0, 0\\n\"\n"
	"	\".section .debug_info,\\\"\\\",%progbits\\n\"\n"
	"	\"start: .4byte end-start-4; .2byte 4; .4byte 0; .byte 8\\n\"\n"
	"	\".byte 1; .8byte main; .8byte 64\\n\"\n"
	"	\"one: .byte 2; .8byte main; .8byte 64; .4byte two-start; .4byte \" NEXT \"-start; .byte 0\\n\"\n"
	"	\"two: .byte 2; .8byte main; .8byte 64; .4byte one-start; .4byte last-start; .byte 0\\n\"\n"
	"	\"last: .byte 0\\n\"\n"
	"	\"end:\\n .text\\n\");\n"
	"int main(int argc, char **argv) { return argc * 3; }\n";

/* A cycle ends in the worker, and the symbol table supplies the name. */
static void
expect_end(const char *next)
{
	SymbolizerOptions options = { .cache_bytes = 1 << 20, .inlined_lines = true };
	char command[512];
	unsigned long long address;
	Symbolizer *symbolizer;
	SymbolizerStats stats;
	SymbolLines lines;
	Binary *binary;
	FILE *file;

	snprintf(command, sizeof(command), "%s/cycles.c", directory);
	file = fopen(command, "w");
	assert_non_null(file);
	assert_true(fputs(cycles, file) >= 0 && fclose(file) == 0);
	snprintf(command, sizeof(command), "cd %s && gcc -DNEXT='\"%s\"' -o cycles cycles.c", directory,
			 next);
	assert_int_equal(system(command), 0);
	snprintf(command, sizeof(command), "nm %s/cycles | grep ' main$'", directory);
	file = popen(command, "r");
	assert_true(file != NULL && fscanf(file, "%llx", &address) == 1 && pclose(file) == 0);
	snprintf(command, sizeof(command), "%s/cycles", directory);
	assert_int_equal(symbolizer_create(&options, &symbolizer), 0);
	assert_int_equal(binary_open(symbolizer, command, command, &binary), 0);
	for (int i = 0; i < 2; i++)
	{
		assert_int_equal(binary_symbolize(binary, address, &lines), 0);
		assert_int_equal(lines.count, 1);
		assert_string_equal(lines.lines[0].name, "main");
	}
	symbolizer_stats(symbolizer, &stats);
	assert_int_equal(stats.worker_failures, 0);
	binary_release(binary);
	symbolizer_free(symbolizer);
}

static void
stands_cyclic_origins(void **state)
{
	expect_end("two");
}

static void
stands_cyclic_functions(void **state)
{
	expect_end("one");
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stands_truncated_files),
		cmocka_unit_test(stands_spoilt_files),
		cmocka_unit_test(stands_spoilt_dwarf),
		cmocka_unit_test(stands_a_file_that_shrinks),
		cmocka_unit_test(stands_cyclic_origins),
		cmocka_unit_test(stands_cyclic_functions),
		cmocka_unit_test(stands_an_exploding_name),
		cmocka_unit_test(stands_a_sleeping_worker),
		cmocka_unit_test(leaves_a_slow_answer_for_later),
		cmocka_unit_test(leaves_out_what_unpacks_to_much),
		cmocka_unit_test(unpacks_what_it_reads),
		cmocka_unit_test(leaves_out_too_many_units),
		cmocka_unit_test(counts_a_line_table_that_does_not_fit),
		cmocka_unit_test(charges_the_owner),
		cmocka_unit_test(keeps_answers_of_files_apart),
		cmocka_unit_test(refuses_lying_replies),
		cmocka_unit_test(cuts_long_names),
		cmocka_unit_test(reads_little_where_there_is_no_symbol),
		cmocka_unit_test(reads_a_hole_under_a_limit),
	};

	symbolizer_worker_main(argc, argv);
	return cmocka_run_group_tests(tests, build_program, remove_program);
}
