/*
 * test_code.c
 *		Code without a file: frames of several words, and the table of code objects.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "code/code_object.h"
#include "code/user_frame.h"

#define LIMIT_BYTES ((size_t) 64 * 1024)

static const CodeName render = {
	.runtime = "[python]", .name = "render", .file = "/app/view.py", .start_line = 10, .line = 12
};

static CodeTable *
new_table(size_t limit_bytes)
{
	CodeTable *table;

	assert_int_equal(code_table_create(limit_bytes, &table), 0);
	return table;
}

static void
assert_empty(CodeTable *table)
{
	CodeTableStats stats;

	code_table_stats(table, &stats);
	assert_int_equal(stats.count, 0);
	assert_int_equal(stats.bytes, 0);
}

/* A hint leads to the object of its lines, and to none that was removed. */
static void
test_hints(void **state)
{
	CodeTable *table = new_table(LIMIT_BYTES);
	CodeHint hint = { 0 };
	CodeName other_line = render;
	CodeName other_start = render;
	CodeObject *first = code_table_add(table, &render);
	CodeObject *objects[5];

	(void) state;
	other_line.line++;
	other_start.start_line++;
	objects[0] = code_table_add_again(table, &render, &hint);
	objects[1] = code_table_add_again(table, &render, &hint);
	assert_ptr_equal(objects[0], first);
	assert_ptr_equal(objects[1], first);
	objects[2] = code_table_add_again(table, &other_line, &hint);
	assert_int_equal(code_object_name(objects[2])->line, other_line.line);
	objects[3] = code_table_add_again(table, &other_start, &hint);
	assert_int_equal(code_object_name(objects[3])->start_line, other_start.start_line);
	objects[4] = code_table_add_again(table, &render, &hint);
	assert_ptr_equal(objects[4], first);
	for (int i = 0; i < 5; i++)
		code_object_release(objects[i]);
	code_object_release(first);
	assert_empty(table);
	/* the hint's object has been freed */
	first = code_table_add_again(table, &render, &hint);
	assert_string_equal(code_object_name(first)->name, render.name);
	code_object_release(first);
	code_table_free(table);
}

/* Each part of a name distinguishes objects; equal names are one object as long as it is held. */
static void
test_each_once(void **state)
{
	CodeTable *table = new_table(LIMIT_BYTES);
	CodeName names[6] = { render, render, render, render, render, render };
	CodeObject *objects[6];
	CodeTableStats stats;

	names[1].runtime = "[php]";
	names[2].name = "rende";
	names[3].file = "";
	names[4].start_line = 11;
	names[5].line = 13;
	for (int i = 0; i < 6; i++)
	{
		objects[i] = code_table_add(table, &names[i]);
		for (int j = 0; j < i; j++)
			assert_ptr_not_equal(objects[i], objects[j]);
	}
	for (int i = 0; i < 6; i++)
	{
		const CodeName *name = code_object_name(objects[i]);

		assert_ptr_equal(code_table_add(table, &names[i]), objects[i]);
		assert_string_equal(name->runtime, names[i].runtime);
		assert_string_equal(name->name, names[i].name);
		assert_string_equal(name->file, names[i].file);
		assert_int_equal(name->start_line, names[i].start_line);
		assert_int_equal(name->line, names[i].line);
		code_object_release(objects[i]);
	}
	code_table_stats(table, &stats);
	assert_int_equal(stats.count, 6);
	for (int i = 0; i < 6; i++)
		code_object_release(objects[i]);
	code_object_release(NULL);
	assert_empty(table);
	code_table_free(table);
}

/* Objects that do not fit are refused and counted; released ones make room. */
static void
test_bounded(void **state)
{
	CodeTable *table = new_table(LIMIT_BYTES);
	CodeObject *objects[4096];
	char text[32];
	CodeName name = render;
	CodeTableStats stats;
	int count = 0;

	name.name = text;
	do
		snprintf(text, sizeof(text), "function_%d", count);
	while ((objects[count] = code_table_add(table, &name)) != NULL && ++count < 4096);
	assert_in_range(count, 64, 1024);
	code_table_stats(table, &stats);
	assert_in_range(stats.bytes, LIMIT_BYTES * 9 / 10, LIMIT_BYTES);
	assert_int_equal(stats.refused, 1);
	/* the present objects are found as before */
	snprintf(text, sizeof(text), "function_%d", 7);
	assert_ptr_equal(code_table_add(table, &name), objects[7]);
	code_object_release(objects[7]);
	code_object_release(objects[0]);
	snprintf(text, sizeof(text), "other_%d", 1);
	objects[0] = code_table_add(table, &name);
	assert_non_null(objects[0]);
	for (int i = 0; i < count; i++)
		code_object_release(objects[i]);
	assert_empty(table);
	code_table_free(table);
}

/* Long names are cut between characters. */
static void
test_cut(void **state)
{
	CodeTable *table = new_table(LIMIT_BYTES);
	char text[4 * CODE_TEXT_BYTES];
	CodeName name = render;
	CodeObject *object;
	CodeObject *same;

	name.name = text;
	for (size_t before = 0; before < 4; before++)
	{
		/* U+1F600, four bytes */
		memset(text, 'a', before);
		for (size_t i = before; i + 4 < sizeof(text); i += 4)
			memcpy(text + i, "\xF0\x9F\x98\x80", 5);
		object = code_table_add(table, &name);
		assert_in_range(strlen(code_object_name(object)->name), CODE_TEXT_BYTES - 3,
						CODE_TEXT_BYTES);
		assert_true(utf8_valid(code_object_name(object)->name));
		same = code_table_add(table, &name);
		assert_ptr_equal(same, object);
		code_object_release(same);
		code_object_release(object);
	}
	/* a name without any complete character */
	memset(text, 0x80, sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	object = code_table_add(table, &name);
	assert_in_range(strlen(code_object_name(object)->name), CODE_TEXT_BYTES - 3, CODE_TEXT_BYTES);
	code_object_release(object);
	assert_empty(table);
	code_table_free(table);
}

static void *
add_and_release(void *argument)
{
	CodeTable *table = argument;

	for (int i = 0; i < 20000; i++)
	{
		CodeName name = render;
		CodeObject *object;

		name.line = i % 5;
		object = code_table_add(table, &name);
		assert_int_equal(code_object_name(object)->line, i % 5);
		code_object_release(code_object_retain(object));
		code_object_release(object);
	}
	return NULL;
}

/* The last release of an object frees it while other threads look its name up. */
static void
test_threads(void **state)
{
	CodeTable *table = new_table(LIMIT_BYTES);
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_and_release, table), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_empty(table);
	code_table_free(table);
}

#define INTERPRETED(code, interpreter, more) \
	((uint64_t) (code) | (uint64_t) (interpreter) << 56 | (uint64_t) (more) << 60)
#define MORE(payload) ((uint64_t) (payload) | UINT64_C(15) << 60)

/* Frames of one word and of several words, each with its own parts. */
static void
test_frames(void **state)
{
	const uint64_t words[] = {
		0x1000,
		INTERPRETED(0x7fff00001234, 3, 2),
		MORE(5),
		UINT64_MAX,
		0x2000 | PFS_FRAME_RETURN_ADDRESS | PFS_FRAME_BY_FRAME_POINTER,
		INTERPRETED(0x10, 15, 14),
		MORE(1),
		MORE(2),
		MORE(3),
		MORE(4),
		MORE(5),
		MORE(6),
		MORE(7),
		MORE(8),
		MORE(9),
		MORE(10),
		MORE(11),
		MORE(12),
		MORE(13),
		MORE(14),
	};
	const uint32_t count = sizeof(words) / sizeof(words[0]);
	UserFrame frame;
	uint32_t at = 0;

	assert_true(user_frame_next(words, count, &at, &frame));
	assert_int_equal(frame.code, 0x1000);
	assert_int_equal(frame.place, 0);
	assert_int_equal(frame.more_count, 0);
	assert_false(frame.by_frame_pointer);
	assert_true(user_frame_next(words, count, &at, &frame));
	assert_int_equal(frame.code, 0x7fff00001234);
	assert_int_equal(frame.place, 1);
	assert_int_equal(frame.interpreter, 3);
	assert_int_equal(frame.more_count, 2);
	assert_int_equal(PFS_FRAME_PAYLOAD(frame.more[0]), 5);
	assert_int_equal(PFS_FRAME_PAYLOAD(frame.more[1]), UINT64_MAX >> 4);
	assert_false(frame.by_frame_pointer);
	assert_true(user_frame_next(words, count, &at, &frame));
	assert_int_equal(frame.code, 0x1fff);
	assert_int_equal(frame.place, 4);
	assert_true(frame.by_frame_pointer);
	assert_true(user_frame_next(words, count, &at, &frame));
	assert_int_equal(frame.interpreter, 15);
	assert_int_equal(frame.more_count, 14);
	assert_int_equal(at, count);
	assert_false(user_frame_next(words, count, &at, &frame));
}

/* The rest of a frame at an edge is not a frame, and does not hide the whole ones. */
static void
test_cut_frames(void **state)
{
	const uint64_t words[] = {
		MORE(1), MORE(2), 0x1000, INTERPRETED(0x10, 1, 2), MORE(3), 0x2000, INTERPRETED(0x20, 1, 1),
		MORE(4), MORE(5), 0x3000, INTERPRETED(0x30, 1, 1)
	};
	const uint64_t expected[] = { 0x1000, 0x2000, 0x3000 };
	UserFrame frame;
	uint32_t at = 0;

	for (int i = 0; i < 3; i++)
	{
		assert_true(user_frame_next(words, sizeof(words) / sizeof(words[0]), &at, &frame));
		assert_int_equal(frame.code, expected[i]);
		assert_int_equal(frame.place, at - 1);
	}
	assert_false(user_frame_next(words, sizeof(words) / sizeof(words[0]), &at, &frame));
	at = 0;
	assert_false(user_frame_next(words, 2, &at, &frame));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hints),	   cmocka_unit_test(test_each_once),
		cmocka_unit_test(test_bounded),	   cmocka_unit_test(test_cut),
		cmocka_unit_test(test_threads),	   cmocka_unit_test(test_frames),
		cmocka_unit_test(test_cut_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
