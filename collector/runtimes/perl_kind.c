/*
 * perl_kind.c
 *		Perl as a RuntimeKind.
 */
#include <string.h>

#include "perl_frame.h"
#include "runtimes/perl/perl_code.h"
#include "runtimes/perl/perl_file.h"
#include "runtimes/runtime_kind.h"

static bool
perl_kind_read_file(const ElfSource *source, const char *name, RuntimeFile *file)
{
	(void) name;
	if (!perl_file_read(source, &file->perl))
		return false;
	file->is_known = file->perl.version != 0;
	memcpy(file->loops, file->perl.loops, sizeof(file->perl.loops));
	return true;
}

static void
perl_kind_describe(RuntimeTarget *target)
{
	struct pfs_perl_layout *layout = &target->entry.perl;

	*layout = target->file.perl.layout;
	if (layout->is_single)
	{
		layout->state_cop += target->bias;
		layout->state_stack += target->bias;
	}
	target->entry.marks = PFS_MARKS_COUNTED;
}

static bool
perl_kind_place(RemoteMemory *memory, RuntimeTarget *target, uint64_t thread_pointer, bool is_first)
{
	const PerlFile *perl = &target->file.perl;
	struct pfs_perl_layout *layout = &target->entry.perl;
	ThreadPlace place = { 0 };
	/* Perl without threads is executed by the first thread alone */
	bool found = layout->is_single ? is_first && perl_stacks_fit(memory, layout, 0)
								   : perl_place_find(memory, layout, perl->key + target->bias,
													 thread_pointer, &place);

	if (!found)
		return false;
	layout->thread_pointer = layout->is_single ? thread_pointer : 0;
	target->entry.state_offset = place.offset;
	target->entry.state_pointer = place.pointer;
	target->entry.is_placed = 1;
	return true;
}

static bool
perl_kind_key_of(const UserFrame *frame, CodeKey *key)
{
	if (frame->more_count != PFS_PERL_MORE || frame->code == PFS_PERL_UNKNOWN)
		return false;
	*key = (CodeKey){ frame->code, PFS_PERL_CHECK(PFS_FRAME_PAYLOAD(frame->more[0])) };
	return key->check != PFS_PERL_NO_CHECK;
}

static void
perl_kind_read_codes(RemoteMemory *memory, RuntimeTarget *target, CodeWanted *wanted, size_t count)
{
	perl_codes_read(memory, &target->entry.perl, wanted, count);
}

static int32_t
perl_kind_line_of(const RuntimeTarget *target, const RuntimeCode *code, const UserFrame *frame)
{
	(void) target;
	(void) code;
	return (int32_t) PFS_PERL_LINE(PFS_FRAME_PAYLOAD(frame->more[0]));
}

const RuntimeKind perl_kind = {
	.kind = PFS_RUNTIME_PERL,
	.title = "Perl",
	.label = "[perl]",
	.read_file = perl_kind_read_file,
	.describe = perl_kind_describe,
	.place = perl_kind_place,
	.key_of = perl_kind_key_of,
	.read_codes = perl_kind_read_codes,
	.line_of = perl_kind_line_of,
};
