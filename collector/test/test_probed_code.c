/*
 * test_probed_code.c
 *		Ticks in code with a probe, in this machine's kernel: they count for that code, not for the
 *		page in which the kernel runs a copy of the probed instruction.
 *
 * The probe belongs to perf, like that of any tool: it only counts. Also code whose return is
 * traced: its caller is the address that the kernel has saved.
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
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "agent/reader/record.h"
#include "base/clock.h"
#include "kernel/sampler.h"

#define FREQUENCY_HZ 997
#define TICKS		 100 /* in a virtual machine nearly all of them interrupt the copy */
#define CALLS		 1000
#define MOST_NS		 (INT64_C(120) * 1000000000)

/* Begins with an instruction that no kernel emulates; 16 bytes at most. */
uint64_t probed_code(uint64_t number);

__asm__(".text\n"
		".balign 16\n"
		".type probed_code, %function\n"
		"probed_code:\n"
#if defined(__aarch64__)
		"	add x0, x0, #1\n"
		"	ret\n"
#else
		"	lea 1(%rdi), %rax\n"
		"	ret\n"
#endif
		".size probed_code, . - probed_code\n");

typedef struct Range
{
	uint64_t start;
	uint64_t end;
	uint64_t file_offset;
} Range;

typedef struct Seen
{
	Range copies; /* copies of instructions */
	uint64_t in_code;
	uint64_t in_copies;
} Seen;

static bool
contains(Range range, uint64_t address)
{
	return address >= range.start && address < range.end;
}

static void
on_record(void *context, const void *record, size_t length_bytes)
{
	Seen *seen = context;
	const struct pfs_sample *sample = record;
	const uint64_t *stack = (const uint64_t *) (const void *) (sample + 1);
	const uint64_t code = (uintptr_t) probed_code;
	uint64_t leaf;

	if (sample->tid != (uint32_t) gettid() || sample->user_count == 0)
		return;
	leaf = PFS_FRAME_ADDRESS(stack[sample->kernel_count]);
	seen->in_code += contains((Range){ code, code + 16, 0 }, leaf);
	seen->in_copies += contains(seen->copies, leaf);
}

/* Returns the mapping at the address, or with this name; an empty range if there is none. */
static Range
find_mapping(uint64_t address, const char *name)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	Range found = { 0 };
	char line[512];

	assert_non_null(maps);
	while (found.end == 0 && fgets(line, sizeof(line), maps) != NULL)
	{
		Range range;

		assert_int_equal(sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &range.start,
								&range.end, &range.file_offset),
						 3);
		if (name != NULL ? strstr(line, name) != NULL : contains(range, address))
			found = range;
	}
	fclose(maps);
	return found;
}

/*
 * Opens a probe at a function's entry or return; -1 if the kernel has no such probes, or does not
 * permit them.
 */
static int
probe(uintptr_t function, bool at_return)
{
	const Range range = find_mapping(function, NULL);
	/* all kernels with this bit have it at "config:0" */
	struct perf_event_attr attributes = { .size = sizeof(attributes), .config = at_return };
	FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "re");

	if (file == NULL)
		return -1;
	assert_int_equal(fscanf(file, "%" SCNu32, &attributes.type), 1);
	fclose(file);
	attributes.uprobe_path = (uintptr_t) "/proc/self/exe";
	attributes.probe_offset = function - range.start + range.file_offset;
	return (int) syscall(__NR_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void
test_copied_instruction(void **state)
{
	static Losses losses;
	const SamplerOptions options = { .frequency_hz = FREQUENCY_HZ, .losses = &losses };
	int64_t until_ns;
	uint64_t number = 0;
	uint64_t count = 0;
	Sampler *sampler;
	Failure failure;
	Seen seen = { 0 };
	int fd;

	if (sampler_create(&options, on_record, &seen, &sampler, &failure) != EXIT_OK)
	{
		print_message("skipped: %s: %s\n", failure.message, failure.detail);
		assert_int_equal(failure.code, EXIT_PRIVILEGE);
		skip();
	}
	fd = probe((uintptr_t) probed_code, false);
	if (fd < 0)
	{
		print_message("skipped: no probe\n");
		sampler_free(sampler);
		skip();
	}
	assert_int_equal(probed_code(1), 2);
	seen.copies = find_mapping(0, "[uprobes]");
	assert_int_not_equal(seen.copies.end, 0);
	assert_int_equal(sampler_attach(sampler, &failure), EXIT_OK);
	until_ns = clock_ns(CLOCK_MONOTONIC) + MOST_NS;
	while (seen.in_code + seen.in_copies < TICKS && clock_ns(CLOCK_MONOTONIC) < until_ns)
	{
		for (int i = 0; i < CALLS; i++)
			number = probed_code(number);
		assert_true(sampler_poll(sampler, 0) >= 0);
	}
	sampler_stop(sampler);
	assert_int_equal(read(fd, &count, sizeof(count)), sizeof(count));
	close(fd);
	sampler_free(sampler);
	print_message("%" PRIu64 " calls, %" PRIu64 " ticks in the code, %" PRIu64 " in the copies\n",
				  count, seen.in_code, seen.in_copies);
	assert_int_equal(count, number + 1);
	assert_true(seen.in_code + seen.in_copies >= TICKS);
	assert_int_equal(seen.in_copies, 0);
}

static volatile uint64_t turns;

__attribute__((noinline)) static void
traced_code(void)
{
	for (int i = 0; i < 100000; i++)
		turns++;
}

__attribute__((noinline)) static void
call_traced_code(void)
{
	traced_code();
	turns++;
}

typedef struct SeenReturns
{
	uint64_t in_code;
	uint64_t known; /* ticks with the address of the caller */
} SeenReturns;

static void
on_traced_record(void *context, const void *bytes, size_t length_bytes)
{
	const uint64_t caller = (uintptr_t) call_traced_code;
	const uint64_t code = (uintptr_t) traced_code;
	SeenReturns *seen = context;
	Record record;

	if (!record_parse(bytes, length_bytes, &record) || record.late == NULL ||
		record.sample->tid != (uint32_t) gettid() ||
		/* outside the function's loop */
		!contains((Range){ code + 8, code + 28, 0 }, record.late->at.pc))
		return;
	seen->in_code++;
	seen->known += record.late->at.trampoline != 0 &&
				   contains((Range){ caller, caller + 32, 0 }, record.late->at.traced[0].address) &&
				   record.late->at.traced[0].stack >= record.late->at.sp;
}

static void
test_traced_return(void **state)
{
	static Losses losses;
	const SamplerOptions options = { .frequency_hz = FREQUENCY_HZ, .losses = &losses };
	int64_t until_ns;
	SeenReturns seen = { 0 };
	Sampler *sampler;
	Failure failure;
	int fd;

	if (sampler_create(&options, on_traced_record, &seen, &sampler, &failure) != EXIT_OK)
	{
		print_message("skipped: %s: %s\n", failure.message, failure.detail);
		assert_int_equal(failure.code, EXIT_PRIVILEGE);
		skip();
	}
	fd = probe((uintptr_t) traced_code, true);
	if (fd < 0)
	{
		print_message("skipped: no probe\n");
		sampler_free(sampler);
		skip();
	}
	assert_int_equal(sampler_attach(sampler, &failure), EXIT_OK);
	until_ns = clock_ns(CLOCK_MONOTONIC) + MOST_NS;
	while (seen.in_code < TICKS && clock_ns(CLOCK_MONOTONIC) < until_ns)
	{
		call_traced_code();
		assert_true(sampler_poll(sampler, 0) >= 0);
	}
	sampler_stop(sampler);
	close(fd);
	sampler_free(sampler);
	print_message("%" PRIu64 " ticks, %" PRIu64 " with the caller\n", seen.in_code, seen.known);
	assert_true(seen.in_code >= TICKS);
	assert_int_equal(seen.known, seen.in_code);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copied_instruction),
		cmocka_unit_test(test_traced_return),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
