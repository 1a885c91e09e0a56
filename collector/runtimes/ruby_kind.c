/*
 * ruby_kind.c
 *		Ruby as a RuntimeKind.
 */
#include "runtimes/ruby/ruby_code.h"
#include "runtimes/ruby/ruby_lines.h"
#include "runtimes/ruby/ruby_place.h"
#include "runtimes/runtime_kind.h"

static bool
ruby_read_file(const ElfSource *source, const char *name, RuntimeFile *file)
{
	bool found = ruby_file_read(source, &file->ruby, file->loops);

	file->is_known = file->ruby.layout != NULL;
	return found;
}

static void
ruby_describe(RuntimeTarget *target)
{
	const RubyLayout *layout = target->file.ruby.layout;

	target->entry.marks = PFS_MARKS_COUNTED;
	target->entry.ruby.frame_bytes = layout->frame_bytes;
	target->entry.ruby.has_classes = layout->singleton != 0;
}

static bool
ruby_place(RemoteMemory *memory, RuntimeTarget *target, uint64_t thread_pointer, bool is_first)
{
	return ruby_place_find(memory, target->file.ruby.layout, thread_pointer, &target->entry);
}

static bool
ruby_key_of(const UserFrame *frame, CodeKey *key)
{
	if (frame->more_count == 0)
		return false;
	*key = (CodeKey){ frame->code, PFS_RUBY_CHECK(PFS_FRAME_PAYLOAD(frame->more[0])) };
	return key->check != PFS_RUBY_NO_CHECK;
}

static void
ruby_read_codes(RemoteMemory *memory, RuntimeTarget *target, CodeWanted *wanted, size_t count)
{
	ruby_codes_read(memory, &target->file.ruby, target->bias, wanted, count);
}

/*
 * Returns the line of a frame, which contains the position after the instruction that it executes,
 * or 0 before the first instruction.
 */
static int32_t
ruby_line_of(const RuntimeTarget *target, const RuntimeCode *code, const UserFrame *frame)
{
	uint32_t position = PFS_RUBY_POSITION(PFS_FRAME_PAYLOAD(frame->more[0]));

	return ruby_line((const RubyLine *) (const void *) code->lines,
					 code->lines_bytes / sizeof(RubyLine), position > 0 ? position - 1 : 0);
}

const RuntimeKind ruby_kind = {
	.kind = PFS_RUNTIME_RUBY,
	.title = "Ruby",
	.label = "[ruby]",
	.read_file = ruby_read_file,
	.describe = ruby_describe,
	.place = ruby_place,
	.key_of = ruby_key_of,
	.read_codes = ruby_read_codes,
	.line_of = ruby_line_of,
};
