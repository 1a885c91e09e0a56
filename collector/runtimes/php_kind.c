/*
 * php_kind.c
 *		PHP as a RuntimeKind.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "php_frame.h"
#include "runtimes/php/php_code.h"
#include "runtimes/php/php_file.h"
#include "runtimes/php/php_place.h"
#include "runtimes/runtime_kind.h"

#define MAPS_BYTES ((size_t) 1024 * 1024)

#define SHARED_MAX		  16 /* limit, because the process may have any number of mappings */
#define DESCRIPTION_WORDS 32 /* number of words examined at the start of shared memory */
#define PAGE_BYTES		  4096

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
	layout->current = php->current != 0 ? php->current + target->bias : 0;
	layout->has_threads = php->distance != 0;
	layout->loop_start = php->loop.start + target->bias;
	layout->loop_end = php->loop.end + target->bias;
	target->entry.marks = PFS_MARKS_COUNTED;
}

/* Memory without a file that processes share. Its parts may have different rights. */
typedef struct SharedMemory
{
	uint64_t start;
	uint64_t end;
	uint64_t inode;
	LoopCode executable; /* its executable part; both 0: none */
} SharedMemory;

/* Adds a part of shared memory to the last one of a list, or as another one. */
static size_t
shared_memory_add(SharedMemory *shared, size_t count, const SharedMemory *part)
{
	SharedMemory *last = count > 0 ? &shared[count - 1] : NULL;

	if (last != NULL && last->inode == part->inode && last->end == part->start)
	{
		last->end = part->end;
		if (part->executable.end != 0)
			last->executable = part->executable;
		return count;
	}
	if (count < SHARED_MAX)
		shared[count++] = *part;
	return count;
}

/* Lists the shared memory of a process. Returns its number. Changes the text of the mappings. */
static size_t
shared_memory_list(char *maps, SharedMemory shared[SHARED_MAX])
{
	char *rest = NULL;
	size_t count = 0;

	for (char *line = strtok_r(maps, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
	{
		SharedMemory part = { 0 };
		char access[5];

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %*s %" SCNu64, &part.start, &part.end,
				   access, &part.inode) != 4 ||
			part.start >= part.end || strstr(line, " /dev/zero") == NULL)
			continue;
		if (access[2] == 'x')
			part.executable = (LoopCode){ .start = part.start, .end = part.end };
		count = shared_memory_add(shared, count, &part);
	}
	return count;
}

/*
 * Finds the part of OPcache's memory that is reserved for the JIT compiler. The memory begins with
 * a description, which contains the address and the size of that part. The part is the last one.
 */
static bool
php_find_reserved(RemoteMemory *memory, const SharedMemory *shared, LoopCode *compiled)
{
	uint64_t words[DESCRIPTION_WORDS];
	const RemotePieces piece = { .address = shared->start,
								 .piece_bytes = sizeof(words),
								 .count = 1 };

	if (remote_memory_read(memory, &piece, words) != sizeof(words))
		return false;
	for (size_t i = 0; i + 1 < DESCRIPTION_WORDS; i++)
	{
		if (words[i] > shared->start && words[i] < shared->end && words[i] % PAGE_BYTES == 0 &&
			words[i + 1] == shared->end - words[i])
		{
			*compiled = (LoopCode){ .start = words[i], .end = shared->end };
			return true;
		}
	}
	return false;
}

/*
 * Finds the memory of compiled code, which exists before the first script runs. It is executable,
 * but writable instead while the compiler adds a function: then its mapping does not differ from
 * the rest of OPcache's memory, and OPcache's description of that memory is read.
 */
static void
php_find_compiled(RemoteMemory *memory, RuntimeTarget *target)
{
	char *maps = remote_memory_maps(memory, MAPS_BYTES);
	SharedMemory shared[SHARED_MAX];
	size_t count = maps != NULL ? shared_memory_list(maps, shared) : 0;
	LoopCode compiled = { 0 };

	free(maps);
	for (size_t i = 0; i < count && compiled.end == 0; i++)
		compiled = shared[i].executable;
	for (size_t i = 0; i < count && compiled.end == 0; i++)
		(void) php_find_reserved(memory, &shared[i], &compiled);
	target->compiled = compiled;
	target->entry.php.compiled_start = compiled.start;
	target->entry.php.compiled_end = compiled.end;
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
		return php_place_find(memory, php->distance + target->bias, thread_pointer,
							  &target->entry.php, &target->entry.state_offset);
	return is_first && php_frames_fit(memory, &target->entry.php);
}

static bool
php_kind_place(RemoteMemory *memory, RuntimeTarget *target, uint64_t thread_pointer, bool is_first)
{
	if (!php_find_state(memory, target, thread_pointer, is_first))
		return false;
	php_find_compiled(memory, target);
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
