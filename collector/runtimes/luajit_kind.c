/*
 * luajit_kind.c
 *		LuaJIT as a RuntimeKind.
 */
#include "runtimes/luajit/luajit_code.h"
#include "runtimes/luajit/luajit_place.h"
#include "runtimes/runtime_kind.h"

static bool
luajit_read_file(const ElfSource *source, const char *name, RuntimeFile *file)
{
	file->is_known = luajit_file_read(source, &file->luajit);
	return file->is_known;
}

static void
luajit_describe(RuntimeTarget *target)
{
	target->entry.marks = PFS_MARKS_SHIM;
}

static bool
luajit_place(RemoteMemory *memory, RuntimeTarget *target, uint64_t thread_pointer, bool is_first)
{
	const LuajitThread thread = { .thread_pointer = thread_pointer,
								  .stack_pointer = target->stack_pointer,
								  .code_start = target->file.luajit.code_start + target->bias,
								  .code_end = target->file.luajit.code_end + target->bias };

	if (!luajit_place_find(memory, &thread, &target->entry))
		return false;
	/* traces that are compiled later are found by another search */
	target->is_partial = target->entry.luajit.traces == 0;
	return true;
}

static bool
luajit_key_of(const UserFrame *frame, CodeKey *key)
{
	if (frame->more_count != 1)
		return false;
	*key = (CodeKey){ frame->code, PFS_LUAJIT_CHECK(PFS_FRAME_PAYLOAD(frame->more[0])) };
	return key->check != PFS_LUAJIT_NO_CHECK;
}

static void
luajit_read_codes(RemoteMemory *memory, RuntimeTarget *target, CodeWanted *wanted, size_t count)
{
	luajit_codes_read(memory, wanted, count);
}

static int32_t
luajit_line_of(const RuntimeTarget *target, const RuntimeCode *code, const UserFrame *frame)
{
	return luajit_line(code, PFS_LUAJIT_POSITION(PFS_FRAME_PAYLOAD(frame->more[0])));
}

const RuntimeKind luajit_kind = {
	.kind = PFS_RUNTIME_LUAJIT,
	.title = "LuaJIT",
	.label = "[luajit]",
	.read_file = luajit_read_file,
	.describe = luajit_describe,
	.place = luajit_place,
	.key_of = luajit_key_of,
	.read_codes = luajit_read_codes,
	.line_of = luajit_line_of,
};
