/*
 * python_kind.c
 *		CPython as a RuntimeKind.
 */
#include <string.h>

#include "runtimes/cpython/python_code.h"
#include "runtimes/cpython/python_lines.h"
#include "runtimes/cpython/thread_place.h"
#include "runtimes/runtime_kind.h"

#define LASTI_NONE ((1U << PFS_PYTHON_INDEX_BITS) - 1)

static bool
python_read_file(const ElfSource *source, const char *name, RuntimeFile *file)
{
	PythonFile *python = &file->python;

	python_file_read(source, name, python);
	file->is_known = python->layout.minor != 0;
	memcpy(file->loops, python->loops, sizeof(python->loops));
	return python->is_python;
}

static void
python_describe(RuntimeTarget *target)
{
	target->entry.python = target->file.python.layout.walk;
	target->entry.marks = target->file.python.layout.marks;
}

static bool
python_place(RemoteMemory *memory, RuntimeTarget *target, uint64_t thread_pointer, bool is_first)
{
	ThreadPlace place;

	if (!thread_place_find(memory, &target->file.python, thread_pointer, is_first, &place))
		return false;
	target->entry.state_offset = place.offset;
	target->entry.state_pointer = place.pointer;
	target->entry.is_placed = 1;
	return true;
}

static bool
python_key_of(const UserFrame *frame, CodeKey *key)
{
	if (frame->more_count != 1)
		return false;
	*key = (CodeKey){ frame->code, PFS_PYTHON_CHECK(PFS_FRAME_PAYLOAD(frame->more[0])) };
	return key->check != PFS_PYTHON_NO_CHECK;
}

static void
python_read_codes(RemoteMemory *memory, RuntimeTarget *target, CodeWanted *wanted, size_t count)
{
	const PythonFile *python = &target->file.python;
	uint64_t type = python->code_type != 0 ? python->code_type + target->bias : 0;

	python_codes_read(memory, &python->layout, type, wanted, count);
}

/* Returns the instruction of a frame, counted for python_line(). */
static int32_t
python_instruction_of(const PythonLayout *layout, const UserFrame *frame)
{
	uint32_t index = PFS_PYTHON_INDEX(PFS_FRAME_PAYLOAD(frame->more[0]));

	if (layout->minor >= 11)
		return (int32_t) index - layout->code_instructions / 2;
	if (index == LASTI_NONE)
		return -1;
	return layout->minor == 10 ? (int32_t) index : (int32_t) (index / 2);
}

static int32_t
python_line_of(const RuntimeTarget *target, const RuntimeCode *code, const UserFrame *frame)
{
	const PythonLayout *layout = &target->file.python.layout;

	return python_line(layout->minor, code->lines, code->lines_bytes, code->first_line,
					   python_instruction_of(layout, frame));
}

const RuntimeKind python_kind = {
	.kind = PFS_RUNTIME_PYTHON,
	.title = "Python",
	.label = "[python]",
	.read_file = python_read_file,
	.describe = python_describe,
	.place = python_place,
	.key_of = python_key_of,
	.read_codes = python_read_codes,
	.line_of = python_line_of,
};
