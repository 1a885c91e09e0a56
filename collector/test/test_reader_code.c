/*
 * test_reader_code.c
 *		Generated and interpreted code: names of its frames in the batch.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory_tables.h"
#include "reader_fixture.h"

/*
 * The name of code: a function at an address, from a time on. Interpreted code is identified by its
 * word, and its line by the next word.
 */
typedef struct NamedCode
{
	uint64_t code;
	uint64_t born_ns;
	const char *name;
} NamedCode;

typedef struct Names
{
	CodeTable *table;
	NamedCode codes[8]; /* oldest first */
	int count;
	int asked;
} Names;

static size_t
name_code(void *context, const ExecImage *image, const UserFrame *frame, uint64_t time_ns,
		  CodeObject *objects[CODE_INLINED_MAX])
{
	Names *names = context;
	CodeName name = { .runtime = "[jit]", .file = "" };

	names->asked++;
	assert_int_equal(image->pid, getpid());
	for (int i = 0; i < names->count; i++)
	{
		if (names->codes[i].code == frame->code && names->codes[i].born_ns <= time_ns)
			name.name = names->codes[i].name;
	}
	if (name.name == NULL)
		return 0;
	if (frame->more_count > 0)
	{
		assert_int_equal(frame->interpreter, 2);
		name.runtime = "[python]";
		name.file = "/app/view.py";
		name.start_line = 10;
		name.line = (int32_t) PFS_FRAME_PAYLOAD(frame->more[0]);
	}
	objects[0] = code_table_add(names->table, &name);
	return objects[0] != NULL;
}

static void
use_names(Fixture *fixture, Names *names, size_t bytes)
{
	assert_int_equal(code_table_create(bytes, &names->table), 0);
	fixture->options.namer =
		(CodeNamer){ .name = name_code, .context = names, .table = names->table };
}

static void
add_name(Names *names, uint64_t code, uint64_t born_ns, const char *name)
{
	names->codes[names->count++] = (NamedCode){ code, born_ns, name };
}

/* Asserts that no code object is referenced any more. */
static void
end_names(Names *names)
{
	CodeTableStats stats;

	code_table_stats(names->table, &stats);
	assert_int_equal(stats.count, 0);
	code_table_free(names->table);
}

static uint64_t
map_generated_code(void)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(code, MAP_FAILED);
	return (uintptr_t) code;
}

/* Two functions that have one address in turn keep their names, by the time of the sample. */
static void
test_generated_code(void **state)
{
	Fixture *fixture = *state;
	Names names = { 0 };
	uint64_t code = map_generated_code();
	Record record = own_record();
	uint64_t now_ns = record.sample.time_ns;
	const BatchLocation *locations;
	const BatchMapping *mappings;
	const BatchSample *samples;
	const BatchStack *stacks;
	char text[256];

	use_names(fixture, &names, 1 << 20);
	add_name(&names, code + 16, 1, "first");
	add_name(&names, code + 16, now_ns, "second");
	add_frame(&record, code + 16);
	add_frame(&record, code + 32 + 1); /* an unknown address */
	add_frame(&record, address_of(start_thread) + 1);
	send(fixture, &record);
	send(fixture, &record);
	record.sample.time_ns = now_ns - 1;
	send(fixture, &record);
	finish(fixture);
	assert_int_equal(batch_stacks(fixture->batch, &stacks), 2);
	stack_text(fixture->batch, 0, text, sizeof(text));
	assert_string_equal(text, "second;[jit];start_thread");
	stack_text(fixture->batch, 1, text, sizeof(text));
	assert_string_equal(text, "first;[jit];start_thread");
	assert_int_equal(names.asked, 6); /* code of a file is not looked up */
	batch_samples(fixture->batch, &samples);
	assert_int_equal(samples[0].value, 2000);
	assert_int_equal(fixture->stats.complete, 3);

	/* a location without address, identified by its mapping, function and line */
	batch_locations(fixture->batch, &locations);
	batch_mappings(fixture->batch, &mappings);
	assert_int_equal(locations[stacks[0].locations[0]].address, 0);
	assert_string_equal(mappings[locations[stacks[0].locations[0]].mapping].file, "[jit]");
	assert_string_equal(mappings[locations[stacks[0].locations[0]].mapping].build_id, "");
	end_names(&names);
	munmap((void *) (uintptr_t) code, 4096);
}

/* Adds one frame of interpreted code, of two more words. */
static void
add_interpreted_frame(Record *record, uint64_t code, uint64_t line)
{
	add_frame(record, code | UINT64_C(2) << 56 | UINT64_C(2) << 60);
	add_frame(record, line | UINT64_C(15) << 60);
	add_frame(record, UINT64_MAX);
}

/* Interpreted code appears between the frames of its interpreter, with file and line. */
static void
test_interpreted_code(void **state)
{
	Fixture *fixture = *state;
	Names names = { 0 };
	Record record = own_record();
	const BatchFunction *functions;
	const BatchLocation *locations;
	const BatchMapping *mappings;
	const BatchStack *stacks;
	const BatchLocation *inner;
	const BatchLocation *outer;

	use_names(fixture, &names, 1 << 20);
	add_name(&names, 0x7f0000001000, 0, "render");
	add_frame(&record, address_of(test_leaf));
	add_interpreted_frame(&record, 0x7f0000001000, 12);
	add_interpreted_frame(&record, 0x7f0000001000, 15);
	add_interpreted_frame(&record, 0x7f0000002000, 1);
	add_frame(&record, address_of(start_thread) + 1);
	send(fixture, &record);
	send(fixture, &record);
	finish(fixture);
	assert_only_stack(fixture, "test_leaf;render;render;[interpreted];start_thread");
	assert_int_equal(fixture->stats.complete, 2);
	batch_stacks(fixture->batch, &stacks);
	batch_locations(fixture->batch, &locations);
	batch_functions(fixture->batch, &functions);
	batch_mappings(fixture->batch, &mappings);
	inner = &locations[stacks[0].locations[1]];
	outer = &locations[stacks[0].locations[2]];
	assert_int_equal(inner->line_count, 1);
	assert_int_equal(inner->lines[0].line, 12);
	assert_int_equal(outer->lines[0].line, 15);
	assert_int_equal(inner->lines[0].function, outer->lines[0].function);
	assert_string_equal(functions[inner->lines[0].function].filename, "/app/view.py");
	assert_int_equal(functions[inner->lines[0].function].start_line, 10);
	assert_string_equal(mappings[inner->mapping].file, "[python]");
	end_names(&names);
}

/*
 * Of deep recursion of interpreted code words are cut out, and at the edges parts of frames are
 * left: they are not frames, and do not hide the whole ones.
 */
static void
test_interpreted_code_cut(void **state)
{
	Fixture *fixture = *state;
	Names names = { 0 };
	Record record = own_record();
	/* number of words, in the middle of a frame */
	const uint32_t found = PFS_MAX_USER_FRAMES + 200;
	const BatchStack *stacks;
	char text[16384];

	use_names(fixture, &names, 1 << 20);
	add_name(&names, 0x7f0000001000, 0, "recurse");
	record.sample.user_status = PFS_WALK_END_OF_STACK;
	record.sample.user_count = (uint16_t) found;
	for (uint32_t i = 0; i < found; i++)
	{
		uint64_t *word = &record.stack[pfs_walk_place(i)];

		if (i == found - 1)
			*word = address_of(start_thread) + 1;
		else if (i % 3 == 0)
			*word = UINT64_C(0x7f0000001000) | UINT64_C(2) << 56 | UINT64_C(2) << 60;
		else
			*word = 1 | UINT64_C(15) << 60;
	}
	send(fixture, &record);
	finish(fixture);
	batch_stacks(fixture->batch, &stacks);
	/*
	 * 384 words are 128 frames; of the last 128 words the first one ends a frame, the last is the
	 * root
	 */
	assert_int_equal(stacks[0].depth, 128 + 1 + (PFS_ROOT_FRAMES - 2) / 3 + 1);
	stack_text(fixture->batch, 0, text, sizeof(text));
	assert_non_null(strstr(text, "recurse;[frames cut];recurse;recurse"));
	assert_null(strstr(text, "[interpreted]"));
	assert_non_null(strstr(text, "recurse;start_thread"));
	assert_int_equal(losses_total(&fixture->losses, LOSS_STACK_CUT), 1);
	assert_int_equal(fixture->stats.complete, 1);
	end_names(&names);
}

/*
 * A walk that user space continues keeps what an interpreter's walk had recorded before; the frame
 * at which the kernel stopped is walked again.
 */
static void
test_interpreted_code_late(void **state)
{
	Fixture *fixture = *state;
	Names names = { 0 };
	KernelTables *tables = memory_tables_create();
	const size_t head_bytes = offsetof(struct pfs_late, bytes);
#ifdef __aarch64__
	/* the caller of a leaf is in a register, which is zero */
	const enum pfs_walk_status end = PFS_WALK_BAD_FRAME;
#else
	const enum pfs_walk_status end = PFS_WALK_READ_FAILED;
#endif
	struct
	{
		struct pfs_sample sample;
		uint64_t stack[4];
		struct pfs_late late;
	} *record = calloc(1, sizeof(*record));

	assert_non_null(tables);
	assert_non_null(record);
	use_names(fixture, &names, 1 << 20);
	add_name(&names, 0x7f0000001000, 0, "render");
	record->sample = own_record().sample;
	record->sample.flags = PFS_SAMPLE_LATE;
	record->sample.user_status = PFS_WALK_NO_TABLE;
	record->sample.user_count = 4;
	record->stack[0] = UINT64_C(0x7f0000001000) | UINT64_C(2) << 56 | UINT64_C(2) << 60;
	record->stack[1] = 7 | UINT64_C(15) << 60;
	record->stack[2] = UINT64_MAX;
	record->stack[3] = address_of(test_leaf);
	record->late.at.pc = address_of(test_leaf);
	record->late.at.sp = 8; /* no part of the stack was copied */
	record->late.at.innermost = 1;
	assert_int_equal(reader_create(&fixture->options, fixture->files, &fixture->losses,
								   &fixture->reader),
					 0);
	assert_int_equal(reader_use_tables(fixture->reader, tables), 0);
	reader_handle_record(fixture->reader, record, offsetof(typeof(*record), late) + head_bytes);
	finish(fixture);
	assert_only_stack(fixture, "render;test_leaf;[incomplete]");
	assert_int_equal(fixture->stats.incomplete[end], 1);
	reader_free(fixture->reader);
	fixture->reader = NULL;
	memory_tables_free(tables);
	free(record);
	end_names(&names);
}

/* If there is no memory for a name, the frame has none; that is counted, and no sample is lost. */
static void
test_names_full(void **state)
{
	Fixture *fixture = *state;
	Names names = { 0 };
	uint64_t code = map_generated_code();
	Record record = own_record();

	use_names(fixture, &names, 16);
	add_name(&names, code, 0, "first");
	add_frame(&record, code);
	add_frame(&record, address_of(start_thread) + 1);
	send(fixture, &record);
	send(fixture, &record);
	finish(fixture);
	assert_only_stack(fixture, "[jit];start_thread");
	assert_int_equal(fixture->stats.samples, 2);
	assert_int_equal(losses_total(&fixture->losses, LOSS_CODE_FULL), 2);
	interval_free(reader_take(fixture->reader));
	assert_int_equal(losses_total(&fixture->losses, LOSS_CODE_FULL), 2);
	end_names(&names);
	munmap((void *) (uintptr_t) code, 4096);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_generated_code, setup, teardown),
		cmocka_unit_test_setup_teardown(test_interpreted_code, setup, teardown),
		cmocka_unit_test_setup_teardown(test_interpreted_code_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(test_interpreted_code_late, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_full, setup, teardown),
	};

	symbolizer_worker_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
