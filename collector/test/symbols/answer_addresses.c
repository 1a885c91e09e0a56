/*
 * answer_addresses.c
 *		Prints functions and lines of the addresses on standard input, as the symbolizer finds them.
 *
 *   answer_addresses FILE [DEBUG_DIRECTORY]      hexadecimal addresses, one a line
 *
 * Like "symbolize", it asks in the order of the addresses; it answers in the order of the input.
 * Each address with a symbol or line is followed by a line for each frame, innermost first: linkage
 * name, demangled name, file and line, separated by tabs. Standard error gets the time of all
 * questions, without that of the worker's start, and the peak of the worker's memory.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "symbols/symbolizer.h"
#include "symbols/worker/worker.h"

#define BATCH		 32768
#define CACHE_BYTES	 (64 << 20)
#define WORKER_BYTES (1UL << 30)

/* Prints the peak of a process's resident memory. */
static void
print_peak(pid_t pid)
{
	char path[64];
	char line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int) pid);
	file = fopen(path, "r");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
	{
		if (strncmp(line, "VmHWM:", 6) == 0)
			fprintf(stderr, "worker_peak_kb %ld\n", strtol(line + 6, NULL, 10));
	}
	if (file != NULL)
		fclose(file);
}

static void
print_answer(Binary *binary, uint64_t address)
{
	SymbolLines lines;

	if (binary_symbolize(binary, address, &lines) != 0)
		exit(EXIT_FAILURE);
	printf("0x%" PRIx64 "\n", address);
	for (uint32_t i = 0; i < lines.count && symbol_lines_are_named(&lines); i++)
		printf("%s\t%s\t%s\t%d\n", lines.lines[i].system_name, lines.lines[i].name,
			   lines.lines[i].filename, (int) lines.lines[i].line);
}

static int
compare_addresses(const void *a, const void *b)
{
	const uint64_t *left = a;
	const uint64_t *right = b;

	return (*left > *right) - (*left < *right);
}

/* Asks about all addresses, in their order. */
static void
prepare_sorted(Binary *binary, const uint64_t *addresses, uint32_t count)
{
	const SymbolAsk terms = SYMBOL_ASK_PATIENT;
	static uint64_t sorted[BATCH];

	memcpy(sorted, addresses, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare_addresses);
	binary_prepare(binary, sorted, count, &terms);
}

int
main(int argc, char **argv)
{
	SymbolizerOptions options = { .cache_bytes = CACHE_BYTES,
								  .worker_bytes = WORKER_BYTES,
								  .inlined_lines = true };
	static uint64_t addresses[BATCH];
	Symbolizer *symbolizer;
	int64_t spent_ns = 0;
	Binary *binary;
	uint32_t count;

	symbolizer_worker_main(argc, argv);
	if (argc < 2)
		return EXIT_FAILURE;
	options.debug_directory = argc > 2 ? argv[2] : "";
	if (symbolizer_create(&options, &symbolizer) != 0 ||
		binary_open(symbolizer, argv[1], argv[1], &binary) != 0)
		return EXIT_FAILURE;
	symbolizer_start_worker(symbolizer);
	do
	{
		int64_t begin_ns;

		for (count = 0; count < BATCH && scanf("%" SCNx64, &addresses[count]) == 1;)
			count++;
		begin_ns = clock_ns(CLOCK_MONOTONIC);
		prepare_sorted(binary, addresses, count);
		spent_ns += clock_ns(CLOCK_MONOTONIC) - begin_ns;
		for (uint32_t i = 0; i < count; i++)
			print_answer(binary, addresses[i]);
	} while (count == BATCH);
	fprintf(stderr, "seconds %.6f\n", (double) spent_ns / 1e9);
	print_peak(symbolizer_worker_pid(symbolizer));
	binary_release(binary);
	symbolizer_free(symbolizer);
	return EXIT_SUCCESS;
}
