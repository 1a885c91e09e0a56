/*
 * php_kind.c
 *		PHP as a RuntimeKind.
 */
#include "php_frame.h"
#include "runtimes/php/php_code.h"
#include "runtimes/php/php_compiled.h"
#include "runtimes/php/php_file.h"
#include "runtimes/php/php_place.h"
#include "runtimes/runtime_kind.h"

static bool
php_kind_read_file(const ElfSource *source, const char *name, RuntimeFile *file)
{
	(void) name;
	if (!php_file_read(source, &file->php))
		return false;
	file->is_known = file->php.version != 0;
	file->loops[0] = file->php.loop;
	return true;
}

static void
php_kind_describe(RuntimeTarget *target)
{
	const PhpFile *php = &target->file.php;
	struct pfs_php_layout *layout = &target->entry.php;

	*layout = php->layout;
	if (php->state != 0)
		layout->current += php->state + target->bias;
	layout->has_threads = php->distance != 0;
	layout->loop_start = php->loop.start + target->bias;
	layout->loop_end = php->loop.end + target->bias;
	target->entry.marks = PFS_MARKS_COUNTED;
}

/*
 * Finds the state of a thread. Only the first thread has one if PHP is not built for several
 * threads.
 */
static bool
php_find_state(RemoteMemory *memory, RuntimeTarget *target, uint64_t thread_pointer, bool is_first)
{
	const PhpFile *php = &target->file.php;

	if (php->distance != 0)
		return php_place_find(memory, php->distance + target->bias, php->layout.current,
							  thread_pointer, &target->entry.php, &target->entry.state_offset);
	return is_first && php_frames_fit(memory, &target->entry.php);
}

static bool
php_kind_place(RemoteMemory *memory, RuntimeTarget *target, uint64_t thread_pointer, bool is_first)
{
	if (!php_find_state(memory, target, thread_pointer, is_first))
		return false;
	target->compiled = php_compiled_find(memory);
	target->entry.php.compiled_start = target->compiled.start;
	target->entry.php.compiled_end = target->compiled.end;
	if (memory->stuck)
		return false; /* we look again, because there may be compiled code */
	target->entry.php.thread_pointer = thread_pointer;
	target->entry.is_placed = 1;
	return true;
}

static bool
php_kind_key_of(const UserFrame *frame, CodeKey *key)
{
	uint64_t payload;

	if (frame->more_count != 1)
		return false;
	payload = PFS_FRAME_PAYLOAD(frame->more[0]);
	*key = (CodeKey){ frame->code, PFS_PHP_CHECK(payload) | (payload & PFS_PHP_NESTED) };
	return PFS_PHP_CHECK(payload) != PFS_PHP_NO_CHECK;
}

static void
php_kind_read_codes(RemoteMemory *memory, RuntimeTarget *target, CodeWanted *wanted, size_t count)
{
	php_codes_read(memory, &target->entry.php, wanted, count);
}

static int32_t
php_kind_line_of(const RuntimeTarget *target, const RuntimeCode *code, const UserFrame *frame)
{
	(void) target;
	(void) code;
	return (int32_t) PFS_PHP_LINE(PFS_FRAME_PAYLOAD(frame->more[0]));
}

const RuntimeKind php_kind = {
	.kind = PFS_RUNTIME_PHP,
	.title = "PHP",
	.label = "[php]",
	.read_file = php_kind_read_file,
	.describe = php_kind_describe,
	.place = php_kind_place,
	.key_of = php_kind_key_of,
	.read_codes = php_kind_read_codes,
	.line_of = php_kind_line_of,
	.leaves_fibers = true,
};
