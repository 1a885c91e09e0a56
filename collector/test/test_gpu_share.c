/*
 * test_gpu_share.c
 *		Rows of programs' GPU libraries: their decoding, and the division of kernels among stacks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/reader/gpu_programs.h"
#include "code/code_object.h"
#include "gpu/gpu_share.h"

#define LOADS		1000
#define KERNELS_MAX 20
#define STACKS_MAX	12
#define LAUNCHES	20000

static uint64_t drawn = 1;

static uint64_t
draw(void)
{
	drawn ^= drawn << 13;
	drawn ^= drawn >> 7;
	drawn ^= drawn << 17;
	return drawn;
}

/* A load: which stacks launch which kernels, and what all of its launches took. */
typedef struct Load
{
	uint32_t kernels;
	uint32_t stacks;
	uint64_t exact_ns[KERNELS_MAX][STACKS_MAX];
	uint64_t shared_ns[KERNELS_MAX][STACKS_MAX + 1]; /* the last one: no launch */
	const GpuWindow *window;
} Load;

/* A launch's stack is part of its correlation. */
static uint32_t
stack_of(const struct pfs_gpu_row *row)
{
	return row->correlation % STACKS_MAX;
}

static bool
has_every_stack(void *context, const struct pfs_gpu_row *row)
{
	(void) context;
	(void) row;
	return true;
}

static void
add_to_load(void *context, const GpuShare *share)
{
	Load *load = context;
	uint32_t stack = STACKS_MAX;

	if (share->launch != GPU_SHARE_NO_LAUNCH)
		stack = stack_of(&load->window->rows[share->launch]);
	assert_true(share->name > 0 && share->name <= load->kernels);
	load->shared_ns[share->name - 1][stack] += share->ns;
}

/* Makes the rows of a load of which one launch of period is kept. */
static GpuWindow
make_window(Load *load, uint64_t period)
{
	GpuWindow window = { .head = { .window = { .observed_ns = 100000000,
											   .since_ns = 100000000 + draw() % 900000000,
											   .length_ns = 200000000,
											   .launches = LAUNCHES } } };
	struct pfs_gpu_row *rows = calloc(LAUNCHES + KERNELS_MAX, sizeof(*rows));
	uint64_t mean_ns[KERNELS_MAX];

	assert_non_null(rows);
	for (uint32_t i = 0; i < load->kernels; i++)
	{
		rows[i] = (struct pfs_gpu_row){ .kind = PFS_GPU_ROW_KERNELS, .name = i + 1 };
		mean_ns[i] = 500 + draw() % 50000;
	}
	window.count = load->kernels;
	for (uint32_t i = 0; i < LAUNCHES; i++)
	{
		/* some pairs are much more frequent than others */
		uint32_t kernel = (uint32_t) (draw() % (draw() % load->kernels + 1));
		uint32_t stack = (uint32_t) (draw() % (draw() % load->stacks + 1));
		uint64_t ns = mean_ns[kernel] / 2 + draw() % mean_ns[kernel];

		load->exact_ns[kernel][stack] += ns;
		rows[kernel].count++;
		rows[kernel].ns += ns;
		if (draw() % period == 0)
			rows[window.count++] = (struct pfs_gpu_row){ .kind = PFS_GPU_ROW_KEPT,
														 .name = kernel + 1,
														 .correlation = i * STACKS_MAX + stack,
														 .count = 1,
														 .ns = ns };
	}
	window.rows = rows;
	return window;
}

static int
compare_doubles(const void *a, const void *b)
{
	double left = *(const double *) a;
	double right = *(const double *) b;

	return (left > right) - (left < right);
}

/*
 * Thousand random loads: the sum of each kernel is exact, whatever was kept, and the parts by stack
 * are estimates without a bias.
 */
static void
test_random_loads(void **state)
{
	static double errors[LOADS];
	double total_error = 0;
	double total = 0;

	(void) state;
	for (uint32_t round = 0; round < LOADS; round++)
	{
		static Load load;
		GpuShareSink sink = { &load, has_every_stack, add_to_load };
		uint64_t period = 1 + draw() % 200;
		GpuWindow window;
		double load_ns = 0;
		double wrong_ns = 0;

		memset(&load, 0, sizeof(load));
		load.kernels = 1 + (uint32_t) (draw() % KERNELS_MAX);
		load.stacks = 1 + (uint32_t) (draw() % STACKS_MAX);
		window = make_window(&load, period);
		load.window = &window;
		gpu_share_window(&window, false, &sink);
		for (uint32_t kernel = 0; kernel < load.kernels; kernel++)
		{
			uint64_t exact_ns = 0;
			uint64_t shared_ns = load.shared_ns[kernel][STACKS_MAX];

			for (uint32_t stack = 0; stack < STACKS_MAX; stack++)
			{
				double scaled = (double) gpu_share_scaled(&window, load.exact_ns[kernel][stack]);
				double difference = (double) load.shared_ns[kernel][stack] - scaled;

				exact_ns += load.exact_ns[kernel][stack];
				shared_ns += load.shared_ns[kernel][stack];
				wrong_ns += difference < 0 ? -difference : difference;
				load_ns += scaled;
				if (stack == 0)
				{
					total_error += difference;
					total += scaled;
				}
			}
			assert_int_equal(shared_ns, gpu_share_scaled(&window, exact_ns));
		}
		/* the part of the time that is under a wrong stack */
		errors[round] = wrong_ns / 2 / load_ns;
		free(window.rows);
	}
	qsort(errors, LOADS, sizeof(errors[0]), compare_doubles);
	print_message("median error %.1f %%, 99 of 100 loads below %.1f %%, bias %.2f %%\n",
				  100 * errors[LOADS / 2], 100 * errors[LOADS * 99 / 100],
				  100 * total_error / total);
	assert_true(errors[LOADS / 2] < 0.15);
	assert_true(total_error / total < 0.01 && total_error / total > -0.01);
}

typedef struct Shares
{
	uint32_t count;
	GpuShare shares[16];
	uint32_t missing; /* correlation whose stack is not known */
} Shares;

static bool
has_other_stacks(void *context, const struct pfs_gpu_row *row)
{
	return row->correlation != ((const Shares *) context)->missing;
}

static void
note_share(void *context, const GpuShare *share)
{
	Shares *shares = context;

	assert_true(shares->count < 16);
	shares->shares[shares->count++] = *share;
}

/* Kernels of two devices and streams, a launch without its stack, and copies beside. */
static void
test_shares(void **state)
{
	struct pfs_gpu_row rows[] = {
		{ .kind = PFS_GPU_ROW_COPIES, .name = PFS_GPU_COPY_HTOD, .ns = 5, .count = 1 },
		{ .kind = PFS_GPU_ROW_KEPT, .name = 1, .correlation = 7, .ns = 1, .stream = 3 },
		{ .kind = PFS_GPU_ROW_KERNELS, .name = 1, .ns = 100, .stream = 3 },
		{ .kind = PFS_GPU_ROW_KEPT, .name = 1, .correlation = 8, .ns = 2, .stream = 3 },
		{ .kind = PFS_GPU_ROW_KEPT, .name = 1, .correlation = 9, .ns = 50, .stream = 3 },
		{ .kind = PFS_GPU_ROW_KERNELS, .name = 1, .ns = 100, .stream = 4 },
		{ .kind = PFS_GPU_ROW_KERNELS, .name = 1, .ns = 30, .device = 1 },
	};
	Shares shares = { .missing = 9 };
	const GpuShareSink sink = { &shares, has_other_stacks, note_share };
	GpuWindow window = { .head = { .window = { .observed_ns = 10, .since_ns = 10 } },
						 .rows = rows,
						 .count = 7 };

	(void) state;
	gpu_share_window(&window, true, &sink);
	assert_int_equal(shares.count, 4);
	assert_int_equal(shares.shares[0].ns + shares.shares[1].ns, 100);
	assert_in_range(shares.shares[0].ns, 33, 67);
	assert_int_equal(shares.shares[2].launch, GPU_SHARE_NO_LAUNCH);
	assert_int_equal(shares.shares[2].stream, 4);
	assert_int_equal(shares.shares[2].ns, 100);
	assert_int_equal(shares.shares[3].device, 1);
	assert_int_equal(shares.shares[3].ns, 30);
	/* without labels by stream, the launches of one stream stand for all */
	shares = (Shares){ .missing = 9 };
	gpu_share_window(&window, false, &sink);
	assert_int_equal(shares.count, 3);
	assert_int_equal(shares.shares[0].ns + shares.shares[1].ns, 200);
	assert_int_equal(shares.shares[2].ns, 30);
}

/*
 * Launches of graphs are kept with a period of their own, so a kernel's time in graphs is divided
 * among graphs only: here 1 of 7 other launches was kept, and each graph.
 */
static void
test_graph_shares(void **state)
{
	struct pfs_gpu_row rows[] = {
		{ .kind = PFS_GPU_ROW_KEPT, .name = 1, .correlation = 7, .ns = 10 },
		{ .kind = PFS_GPU_ROW_KERNELS, .name = 1, .ns = 30, .graph = 1 },
		{ .kind = PFS_GPU_ROW_KEPT, .name = 1, .correlation = 8, .ns = 30, .graph = 1 },
		{ .kind = PFS_GPU_ROW_KERNELS, .name = 1, .ns = 70 },
	};
	Shares shares = { .missing = 9 };
	const GpuShareSink sink = { &shares, has_other_stacks, note_share };
	GpuWindow window = { .head = { .window = { .observed_ns = 10, .since_ns = 10 } },
						 .rows = rows,
						 .count = 4 };

	(void) state;
	gpu_share_window(&window, true, &sink);
	assert_int_equal(shares.count, 2);
	assert_int_equal(rows[shares.shares[0].launch].correlation, 7);
	assert_int_equal(shares.shares[0].ns, 70);
	assert_int_equal(rows[shares.shares[1].launch].correlation, 8);
	assert_int_equal(shares.shares[1].ns, 30);
}

/* Rows that a decoder has passed on. */
typedef struct Decoded
{
	uint32_t windows;
	uint32_t rows;
	uint32_t devices;
	uint32_t number;
	char name[PFS_GPU_NAME_BYTES + 1];
} Decoded;

static void
note_window(void *context, const GpuWindow *window)
{
	Decoded *decoded = context;

	decoded->windows++;
	decoded->rows += window->count;
	free(window->rows);
}

static void
note_name(void *context, uint32_t number, const char *text, uint32_t length)
{
	Decoded *decoded = context;

	decoded->number = number;
	memcpy(decoded->name, text, length);
	decoded->name[length] = '\0';
}

static void
note_device(void *context, uint32_t device, const uint8_t uuid[PFS_GPU_UUID_BYTES])
{
	(void) device;
	(void) uuid;
	((Decoded *) context)->devices++;
}

#define SECOND UINT64_C(1000000000)

static struct pfs_gpu_row
make_head(uint32_t rows)
{
	return (struct pfs_gpu_row){ .kind = PFS_GPU_ROW_WINDOW,
								 .version = PFS_GPU_ROW_VERSION,
								 .window = { .observed_ns = SECOND / 10,
											 .since_ns = SECOND,
											 .length_ns = SECOND / 10,
											 .rows = rows } };
}

static struct pfs_gpu_row
make_kernel(uint64_t ns)
{
	return (struct pfs_gpu_row){
		.kind = PFS_GPU_ROW_KERNELS, .version = PFS_GPU_ROW_VERSION, .name = 1, .count = 1, .ns = ns
	};
}

static void
feed(GpuDecoder *decoder, Decoded *decoded, const struct pfs_gpu_row *rows, size_t count,
	 uint64_t now_ns)
{
	const GpuWindowSink sink = { decoded, note_window, note_name, note_device };

	gpu_decoder_feed(decoder, rows, count, now_ns, &sink);
}

/* A window in two records, with a name in two parts and a device. */
static void
test_decoder(void **state)
{
	static const char name[] = "a name of a kernel that is longer than forty bytes";
	struct pfs_gpu_row rows[6] = { make_head(5), make_kernel(1), make_kernel(2) };
	GpuDecoder decoder = { 0 };
	Decoded decoded = { 0 };

	(void) state;
	for (int i = 0; i < 2; i++)
	{
		rows[3 + i] =
			(struct pfs_gpu_row){ .kind = PFS_GPU_ROW_NAME,
								  .version = PFS_GPU_ROW_VERSION,
								  .name = 4,
								  .part = { .offset = 40 * i, .length = sizeof(name) - 1 } };
		memcpy(rows[3 + i].part.text, name + 40 * i, i == 0 ? 40 : strlen(name) - 40);
	}
	rows[5] = (struct pfs_gpu_row){ .kind = PFS_GPU_ROW_DEVICE, .version = PFS_GPU_ROW_VERSION };
	feed(&decoder, &decoded, rows, 4, 100 * SECOND);
	assert_int_equal(decoded.windows, 0);
	feed(&decoder, &decoded, rows + 4, 2, 100 * SECOND);
	assert_int_equal(decoded.windows, 1);
	assert_int_equal(decoded.rows, 2);
	assert_int_equal(decoded.devices, 1);
	assert_int_equal(decoded.number, 4);
	assert_string_equal(decoded.name, name);
	assert_int_equal(decoder.refused, 0);
	gpu_decoder_fini(&decoder);
}

/* Reports of no window are counted once each, whatever number they claim. */
static void
test_no_window(void **state)
{
	struct pfs_gpu_row rows[2] = { make_head(0), make_head(0) };
	GpuDecoder decoder = { 0 };
	Decoded decoded = { 0 };

	(void) state;
	for (int i = 0; i < 2; i++)
		memset(&rows[i].window, 0, sizeof(rows[i].window));
	rows[0].correlation = UINT32_MAX;
	rows[1].name = UINT32_MAX;
	feed(&decoder, &decoded, rows, 2, 100 * SECOND);
	assert_int_equal(decoder.refused, 1);
	assert_int_equal(decoder.busy, 1);
	assert_int_equal(decoded.windows, 0);
	gpu_decoder_fini(&decoder);
}

static void
expect_refused(struct pfs_gpu_row head, struct pfs_gpu_row row)
{
	struct pfs_gpu_row rows[2] = { head, row };
	GpuDecoder decoder = { 0 };
	Decoded decoded = { 0 };

	feed(&decoder, &decoded, rows, 2, 100 * SECOND);
	assert_int_equal(decoded.rows, 0);
	assert_true(decoder.refused > 0);
	gpu_decoder_fini(&decoder);
}

/* Rows that contradict each other or the time are refused. */
static void
test_refusals(void **state)
{
	struct pfs_gpu_row head = make_head(1);
	struct pfs_gpu_row row = make_kernel(SECOND / 10 * 128 + 1);

	(void) state;
	expect_refused(head, row);
	row = make_kernel(1);
	row.device = PFS_GPU_DEVICES_MAX;
	expect_refused(head, row);
	row = make_kernel(1);
	row.name = PFS_GPU_NAMES_MAX;
	expect_refused(head, row);
	row = make_kernel(1);
	row.version++;
	expect_refused(head, row);
	row = make_kernel(1);
	head.window.observed_ns = 0;
	expect_refused(head, row);
	head = make_head(1);
	head.window.since_ns = PFS_GPU_SINCE_MAX_NS + 1;
	expect_refused(head, row);
	head = make_head(1);
	head.window.length_ns = 20 * SECOND;
	expect_refused(head, row);
	head = make_head(PFS_GPU_WINDOW_ROWS + 1);
	expect_refused(head, row);
}

/* Windows may stand for the time that has passed, and for no more. */
static void
test_claimed_time(void **state)
{
	struct pfs_gpu_row head = make_head(0);
	GpuDecoder decoder = { 0 };
	Decoded decoded = { 0 };

	(void) state;
	for (uint64_t i = 0; i < 1000; i++)
		feed(&decoder, &decoded, &head, 1, 100 * SECOND + i * SECOND);
	assert_int_equal(decoded.windows, 1000);
	/* at once: the 15 s by which rows may be late */
	for (uint64_t i = 0; i < 1000; i++)
		feed(&decoder, &decoded, &head, 1, 1099 * SECOND);
	assert_in_range(decoded.windows, 1014, 1016);
	gpu_decoder_fini(&decoder);
}

/* A window of which rows were lost is not taken for another one. */
static void
test_lost_rows(void **state)
{
	struct pfs_gpu_row rows[4] = { make_head(3), make_kernel(1), make_head(1), make_kernel(2) };
	GpuDecoder decoder = { 0 };
	Decoded decoded = { 0 };

	(void) state;
	feed(&decoder, &decoded, rows, 4, 100 * SECOND);
	assert_int_equal(decoded.windows, 1);
	assert_int_equal(decoded.rows, 1);
	assert_int_equal(decoder.refused, 1);
	feed(&decoder, &decoded, rows + 3, 1, 100 * SECOND);
	assert_int_equal(decoder.refused, 2);
	gpu_decoder_fini(&decoder);
}

/*
 * The decoder knows the memory of a window that is not complete; a complete window takes what its
 * rows need.
 */
static void
test_decoder_bytes(void **state)
{
	struct pfs_gpu_row rows[3] = { make_head(PFS_GPU_WINDOW_ROWS), make_kernel(1), make_head(1) };
	GpuDecoder decoder = { 0 };
	Decoded decoded = { 0 };

	(void) state;
	assert_int_equal(gpu_decoder_bytes(&decoder), 0);
	feed(&decoder, &decoded, rows, 2, 100 * SECOND);
	assert_int_equal(gpu_decoder_bytes(&decoder), PFS_GPU_WINDOW_ROWS * sizeof(rows[0]));
	feed(&decoder, &decoded, rows + 2, 1, 100 * SECOND);
	assert_int_equal(gpu_decoder_bytes(&decoder), sizeof(rows[0]));
	feed(&decoder, &decoded, rows + 1, 1, 100 * SECOND);
	assert_int_equal(decoded.windows, 1);
	assert_int_equal(gpu_decoder_bytes(&decoder), 0);
	gpu_decoder_fini(&decoder);
}

/* Adds programs of an owner, with a name each, until there is no room. Returns their number. */
static uint32_t
fill_with_programs(GpuPrograms *programs, CodeTable *table, uint64_t owner)
{
	for (uint32_t i = 0;; i++)
	{
		const ExecImage image = { .pid = (uint32_t) owner * 100000 + i, .exec_id = 1 };
		const CodeName name = { "[cuda]", "kernel", "", 0, (int32_t) i };
		GpuProgram *program = gpu_programs_get(programs, &image, owner, 1);
		CodeObject *object;

		if (program == NULL)
			return i;
		object = code_table_add(table, &name);
		assert_non_null(object);
		if (!gpu_program_name(programs, program, 1 + i % 100, object))
		{
			code_object_release(object);
			return i;
		}
		assert_true(i < 100000);
	}
}

/* An owner has a quarter of the memory, however many programs it has. */
static void
test_programs_of_owner(void **state)
{
	GpuPrograms programs = { 0 };
	CodeTable *table;
	CodeTableStats stats;
	GpuProgram *program;
	uint32_t count;

	(void) state;
	assert_int_equal(code_table_create((size_t) 16 << 20, &table), 0);
	count = fill_with_programs(&programs, table, 1);
	assert_in_range(count, 500, GPU_PROGRAMS_BYTES / 4 / sizeof(GpuProgram));
	assert_in_range(programs.bytes, GPU_PROGRAMS_BYTES / 4 - 8192, GPU_PROGRAMS_BYTES / 4);
	assert_int_equal(fill_with_programs(&programs, table, 2), count);
	/* memory that one program releases can be used by another program of its owner */
	program = programs.programs;
	assert_false(gpu_program_charge(&programs, program, 8192));
	gpu_programs_drop(&programs, (GpuProgram *) program->hh.next);
	program = programs.programs;
	gpu_programs_drop(&programs, (GpuProgram *) program->hh.next);
	gpu_programs_drop(&programs, (GpuProgram *) program->hh.next);
	assert_true(gpu_program_charge(&programs, program, 8192));
	gpu_programs_fini(&programs);
	assert_int_equal(programs.bytes, 0);
	assert_null(programs.owners);
	code_table_stats(table, &stats);
	assert_int_equal(stats.count, 0);
	code_table_free(table);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_loads),  cmocka_unit_test(test_shares),
		cmocka_unit_test(test_graph_shares),  cmocka_unit_test(test_decoder),
		cmocka_unit_test(test_no_window),	  cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_claimed_time),  cmocka_unit_test(test_lost_rows),
		cmocka_unit_test(test_decoder_bytes), cmocka_unit_test(test_programs_of_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
