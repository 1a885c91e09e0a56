/*
 * test_runtimes_ruby.c
 *		Ruby's frames: the BPF code in plain memory reads processes of each version on this machine,
 *		compared with the stack that the program itself prints, and memory whose reads fail or
 *		return wrong values.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime_replay.h"

#include "runtimes/common/beside_thread.h"
#include "runtimes/ruby/ruby_code.h"
#include "runtimes/ruby/ruby_lines.h"
#include "runtimes/ruby/ruby_place.h"

#define PADDED 20 /* number of methods whose calls lie at increasing distances from their begin */

/*
 * A program that waits below methods of up to 800 lines, a sort that calls back, a block, and a
 * fiber. It prints its own stack first, which lacks the calls of the innermost line.
 */
static const char program[] =
	"def waits(n)\n"
	"  return waits(n - 1) if n > 0\n"
	"  trace = caller_locations(0); STDOUT.write(trace.map { |at| \"#{at.label}\\t#{at.lineno}\\t"
	"#{at.path}\\n\" }.join, \"ready\\n\"); STDOUT.flush; sleep 1000\n"
	"end\n"
	"class Sorts\n"
	"  def key(each)\n"
	"    x = each\n"
	"    waits(DEPTH)\n"
	"  end\n"
	"  def self.sorts(list)\n"
	"    list.sort_by { |each|\n"
	"      new.key(each) }\n"
	"  end\n"
	"end\n"
	"DEPTH = ARGV[0].to_i\n"
	"code = String.new\n"
	"20.times { |i|\n"
	"  code << \"def padded#{i}\\n  x = 0\\n\" << \"  x += 1\\n\" * (40 * i)\n"
	"  code << (i < 19 ? \"  padded#{i + 1}\\n\" : \"  Sorts.sorts([3, 1, 2])\\n\")\n"
	"  code << \"  x\\nend\\n\" }\n"
	"eval(code, TOPLEVEL_BINDING, 'padded.rb', 1)\n"
	"Fiber.new {\n"
	"  [1].each { |each|\n"
	"    padded0 }\n"
	"}.resume\n";

/* A program that waits in its first thread, outside of a fiber. */
static const char plain_program[] = "def waits(n)\n"
									"  return waits(n - 1) if n > 0\n"
									"  STDOUT.write(\"ready\\n\"); STDOUT.flush; sleep 1000\n"
									"end\n"
									"waits(ARGV[0].to_i)\n";

/* Returns true if the program is in sleep(), which it calls after it has written "ready". */
static bool
is_asleep(Replay *replay)
{
	const struct pfs_chain *chain = replay_walk(replay);
	UserFrame frame = { 0 };
	uint32_t next = 0;
	RuntimeCode code;
	int32_t line;
	bool is;

	if (!replay_next(chain, &next, &frame))
		return false;
	replay_read_code(replay, &frame, &code, &line);
	is = code.name != NULL && strstr(code.name, "sleep") != NULL;
	runtime_code_fini(&code);
	return is;
}

static void
start_program(Replay *replay, const char *path, const char *text, const char *depth)
{
	const char *const arguments[] = { path, "-e", text, depth, NULL };

	replay_start(replay, arguments);
	replay_find(replay, PFS_RUNTIME_RUBY);
	for (int i = 0; i < 10000 && !is_asleep(replay); i++)
		usleep(1000);
}

static void
start(Replay *replay, const char *path, const char *depth)
{
	start_program(replay, path, program, depth);
}

static void
each_ruby(void (*check)(const char *path))
{
	replay_each("/usr/bin/ruby[0-9].[0-9]", "RUBIES", check);
}

/* Returns true if the name equals the label, whose method may have a class before it. */
static bool
is_label(const char *name, const char *label)
{
	size_t same = 0;
	const char *method;

	if (strcmp(name, label) == 0)
		return true;
	while (name[same] != '\0' && name[same] == label[same])
		same++;
	/* the class may begin with a letter that the label has there, too */
	for (; same > 0 && label[same - 1] != ' '; same--)
		;
	method = strpbrk(name + same, "#.");
	return method != NULL && strcmp(method + 1, label + same) == 0;
}

/* Checks a frame against a line of the program's own stack: label, line and path. */
static void
assert_frame(Replay *replay, const UserFrame *frame, char *expected)
{
	const char *label = strsep(&expected, "\t");
	const char *line_text = strsep(&expected, "\t");
	bool is_c = PFS_RUBY_POSITION(PFS_FRAME_PAYLOAD(frame->more[0])) == PFS_RUBY_POSITION_MAX;
	RuntimeCode code;
	int32_t line;

	replay_read_code(replay, frame, &code, &line);
	assert_non_null(code.name);
	assert_true(is_label(code.name, label));
	if (is_c)
		assert_int_equal(line, 0);
	else
	{
		assert_int_equal(line, atoi(line_text));
		assert_string_equal(code.file, expected);
		assert_true(code.first_line >= 0 && code.first_line <= line);
	}
	runtime_code_fini(&code);
}

static void
check_version(const char *path)
{
	static Replay replay;
	const struct pfs_chain *chain;
	char *lines = replay.text;
	UserFrame frame = { 0 };
	uint32_t next = 0;
	RuntimeCode code;
	int32_t line;
	char *expected;
	int frames = 0;

	start(&replay, path, "3");
	chain = replay_walk(&replay);
	assert_int_equal(chain->status, PFS_CHAIN_WHOLE);
	/* the frame of sleep() itself is newer than the program's own stack */
	assert_true(replay_next(chain, &next, &frame));
	replay_read_code(&replay, &frame, &code, &line);
	assert_non_null(code.name);
	assert_true(is_label(code.name, "sleep"));
	runtime_code_fini(&code);
	while ((expected = strsep(&lines, "\n")) != NULL && expected[0] != '\0')
	{
		assert_true(replay_next(chain, &next, &frame));
		assert_frame(&replay, &frame, expected);
		frames++;
	}
	assert_false(replay_next(chain, &next, &frame));
	assert_true(frames >= PADDED + 10);
	/* one loop for the fiber's block, the block of each(), and that of sort_by() */
	assert_int_equal(chain->mark_count, 3);
	replay_end(&replay);
}

static void
test_all_versions(void **state)
{
	each_ruby(check_version);
}

/* Gives the outermost frame of the stack that was walked the kind that it has in Ruby 2.5. */
static void
age_outermost(const Replay *replay)
{
	uint64_t end = replay_world.scratch.chain.record;
	uint64_t ep;
	uint64_t flags;
	struct iovec here = { &ep, sizeof(ep) };
	struct iovec there = { (void *) (end - replay->target.entry.ruby.frame_bytes +
									 PFS_RUBY_FRAME_EP * sizeof(ep)),
						   sizeof(ep) };

	assert_int_equal(process_vm_readv(replay->pid, &here, 1, &there, 1, 0), sizeof(ep));
	here.iov_base = &flags;
	there.iov_base = (void *) ep;
	assert_int_equal(process_vm_readv(replay->pid, &here, 1, &there, 1, 0), sizeof(flags));
	flags = (flags & 0xfffe) | 0x99990001;
	assert_int_equal(process_vm_writev(replay->pid, &here, 1, &there, 1, 0), sizeof(flags));
}

/* The first thread has frames and marks of the program only, like its native stack. */
static void
check_plain(const char *path)
{
	static Replay replay;
	const struct pfs_chain *chain;
	UserFrame frame = { 0 };
	uint32_t next = 0;
	uint32_t frames = 0;
	RuntimeCode code;
	int32_t line;

	start_program(&replay, path, plain_program, "2");
	chain = replay_walk(&replay);
	assert_int_equal(chain->status, PFS_CHAIN_WHOLE);
	assert_int_equal(chain->mark_count, 1);
	while (replay_next(chain, &next, &frame))
	{
		replay_read_code(&replay, &frame, &code, &line);
		assert_non_null(code.name);
		if (frames == 0)
			assert_true(is_label(code.name, "sleep"));
		else
			assert_true(is_label(code.name, frames < 4 ? "waits" : "<main>"));
		runtime_code_fini(&code);
		frames++;
	}
	assert_int_equal(frames, 5);
	age_outermost(&replay);
	assert_int_equal(replay_walk(&replay)->mark_count, 1);
	replay_end(&replay);
}

static void
test_first_thread(void **state)
{
	each_ruby(check_plain);
}

/* Methods have the names of their classes, if the version stores them in readable memory. */
static void
check_classes(const char *path)
{
	static const char *const names[] = { "Kernel#sleep", "Object#waits",
										 "Sorts#key",	 "block in Sorts.sorts",
										 "Array#each",	 "Enumerable#sort_by",
										 "Sorts.sorts" };
	static Replay replay;
	const struct pfs_chain *chain;
	UserFrame frame = { 0 };
	uint32_t next = 0;

	start(&replay, path, "0");
	chain = replay_walk(&replay);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		RuntimeCode code;
		int32_t line;

		assert_true(replay_next(chain, &next, &frame));
		replay_read_code(&replay, &frame, &code, &line);
		assert_non_null(code.name);
		if (replay.target.entry.ruby.has_classes)
			assert_string_equal(code.name, names[i]);
		else
			assert_null(strpbrk(code.name, "#."));
		runtime_code_fini(&code);
	}
	replay_end(&replay);
}

static void
test_classes(void **state)
{
	each_ruby(check_classes);
}

/* A recursion with more words than are kept, and fewer frames than are followed. */
static void
check_deep(const char *path)
{
	static Replay replay;
	const struct pfs_chain *chain;

	start(&replay, path, "600");
	chain = replay_walk(&replay);
	assert_int_equal(chain->status, PFS_CHAIN_WHOLE);
	assert_true(chain->found > PFS_CHAIN_KEPT_WORDS);
	assert_true(chain->found <= PFS_CHAIN_MAX_WORDS);
	replay_end(&replay);
}

static void
test_deep_recursion(void **state)
{
	each_ruby(check_deep);
}

static void
check_broken(const char *path)
{
	static Replay replay;

	start(&replay, path, "3");
	replay_check_broken(&replay);
	replay_end(&replay);
}

static void
test_broken_memory(void **state)
{
	each_ruby(check_broken);
}

/* With layouts that no version has, the walk ends. */
static void
check_layouts(const char *path)
{
	static Replay replay;

	start(&replay, path, "3");
	for (int round = 0; round < 2000; round++)
	{
		struct pfs_runtime *entry = &replay.target.entry;
		const struct pfs_chain *chain;

		entry->ruby.frame_bytes = (uint16_t) random();
		entry->ruby.thread_context = random() % 2 == 0 ? (uint16_t) random() : 0;
		entry->ruby.has_classes = random() % 2 == 0;
		entry->state_offset = (int32_t) (random() % 8192) - 4096;
		chain = replay_walk(&replay);
		assert_int_not_equal(chain->status, PFS_CHAIN_RUNNING);
		assert_true(chain->found <= PFS_CHAIN_MAX_WORDS);
	}
	replay_end(&replay);
}

static void
test_layouts(void **state)
{
	each_ruby(check_layouts);
}

/* If frames do not ascend, the walk ends after a number of them. */
static void
check_cycle(const char *path)
{
	static Replay replay;
	const struct pfs_chain *chain;

	start(&replay, path, "3");
	replay.target.entry.ruby.frame_bytes = 0;
	chain = replay_walk(&replay);
	assert_int_equal(chain->status, PFS_CHAIN_TOO_DEEP);
	assert_true(chain->found <= PFS_CHAIN_MAX_WORDS);
	replay_end(&replay);
}

static void
test_cycle(void **state)
{
	each_ruby(check_cycle);
}

/* An object that is not the sampled one has no name, whatever replaced it. */
static void
check_stale(const char *path)
{
	static Replay replay;
	const RuntimeKind *kind;
	const struct pfs_chain *chain;
	CodeWanted wanted[3] = { 0 };
	UserFrame frame = { 0 };
	uint32_t next = 0;

	start(&replay, path, "3");
	kind = replay.target.file.kind;
	chain = replay_walk(&replay);
	for (int frames = 0; replay_next(chain, &next, &frame); frames++)
	{
		for (int i = 0; i < 3; i++)
		{
			wanted[i] = (CodeWanted){ .more = frame.more, .more_count = frame.more_count };
			assert_true(kind->key_of(&frame, &wanted[i].key));
		}
		wanted[0].key.check ^= 2;
		wanted[1].key.address = 4096; /* an address that cannot be read */
		kind->read_codes(&replay.memory, &replay.target, wanted, 3);
		assert_null(wanted[0].code.name);
		assert_null(wanted[1].code.name);
		assert_non_null(wanted[2].code.name);
		runtime_code_fini(&wanted[2].code);
		/* an object at another address */
		wanted[2].key.address += 8;
		kind->read_codes(&replay.memory, &replay.target, wanted + 2, 1);
		assert_null(wanted[2].code.name);
	}
	replay_end(&replay);
}

static void
test_stale_code(void **state)
{
	each_ruby(check_stale);
}

/* A thread's context is found by its thread pointer only. */
static void
check_place(const char *path)
{
	static Replay replay;
	struct pfs_runtime entry = { 0 };
	const RubyLayout *layout;

	start(&replay, path, "3");
	layout = replay.target.file.ruby.layout;
	assert_false(
		ruby_place_find(&replay.memory, layout,
						replay.registers.thread_pointer + ((BESIDE_SELF_DISTANCE + 7) & ~7),
						&entry));
	assert_false(ruby_place_find(&replay.memory, layout,
								 replay.registers.numbered[PFS_REGISTER_SP] & ~15ULL, &entry));
	assert_false(ruby_place_find(&replay.memory, layout, 0, &entry));
	assert_false(ruby_place_find(&replay.memory, layout, UINT64_MAX - 7, &entry));
	assert_int_equal(entry.is_placed, 0);
	replay_end(&replay);
}

static void
test_place(void **state)
{
	each_ruby(check_place);
}

/* The loop is found in a file with or without symbols, and no other function is taken for it. */
static void
check_loops(const char *path)
{
	static Replay replay;
	const LoopCode *loops;

	start(&replay, path, "0");
	loops = replay.target.file.loops;
	assert_true(loops[0].start < loops[0].end && loops[0].end - loops[0].start < 128 * 1024);
	assert_true(loops[1].start < loops[1].end && loops[1].is_caller);
	assert_true(loops[1].start >= loops[0].end || loops[1].end <= loops[0].start);
	replay_end(&replay);
}

static void
test_loops(void **state)
{
	each_ruby(check_loops);
}

/* An index in Ruby's encoding of positions; a random one leads to ascending positions, too. */
static void
test_lines(void **state)
{
	enum
	{
		SIZE = 1500,
		LINES = 300
	};
	uint8_t *ranks = calloc(1, ruby_ranks_bytes(SIZE));
	int32_t lines[LINES];
	RubyLine result[LINES];
	uint32_t count = 0;

	assert_non_null(ranks);
	for (uint32_t position = 0; position < SIZE; position++)
	{
		bool begins = position % 5 == 0;

		if (begins)
			lines[count++] = (int32_t) (1000 + position);
		if (position < 54)
		{
			uint64_t word;

			memcpy(&word, ranks + position / 9 * 8, 8);
			word |= (uint64_t) count << position % 9 * 7;
			memcpy(ranks + position / 9 * 8, &word, 8);
		}
		else if (begins)
			ranks[48 + (position - 54) / 512 * 80 + 16 + (position - 54) % 512 / 8] |=
				(uint8_t) (1 << (position - 54) % 8);
	}
	assert_int_equal(count, LINES);
	assert_int_equal(ruby_lines_of_ranks(ranks, SIZE, lines, LINES, result), LINES);
	for (uint32_t position = 0; position < SIZE; position++)
		assert_int_equal(ruby_line(result, LINES, position), 1000 + position / 5 * 5);
	assert_int_equal(ruby_line(result, 0, 7), 0);
	for (int round = 0; round < 200; round++)
	{
		size_t found;

		for (size_t i = 0; i < ruby_ranks_bytes(SIZE); i++)
			ranks[i] = (uint8_t) (random() & random());
		found = ruby_lines_of_ranks(ranks, SIZE, lines, LINES, result);
		assert_true(found <= LINES);
		for (size_t i = 1; i < found; i++)
			assert_true(result[i - 1].position < result[i].position);
	}
	free(ranks);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_versions),  cmocka_unit_test(test_first_thread),
		cmocka_unit_test(test_classes),		  cmocka_unit_test(test_deep_recursion),
		cmocka_unit_test(test_broken_memory), cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_cycle),		  cmocka_unit_test(test_stale_code),
		cmocka_unit_test(test_place),		  cmocka_unit_test(test_loops),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
