/*
 * test_runtimes_python.c
 *		CPython's frames: the BPF code in plain memory reads processes of each version on this
 *		machine, and memory whose reads fail or return wrong values; lines are compared with those
 *		that Python itself reports; stacks are merged.
 */
#include "runtime_replay.h"

#include <sys/mman.h>

#include "agent/reader/record.h"
#include "runtimes/cpython/python_code.h"
#include "runtimes/cpython/python_file.h"
#include "runtimes/cpython/python_lines.h"
#include "runtimes/cpython/thread_place.h"
#include "runtimes/runtimes.h"
#include "runtimes/stack_merge.h"

#define PAGE_BYTES 4096

/*
 * A program that waits without the interpreter's lock, below a sort that calls back, below a
 * generator and a method. The numbers are those of its lines.
 */
static const char program[] = "import sys, time\n"					  /*  1 */
							  "def waits(n):\n"						  /*  2 */
							  "    if n > 0:\n"						  /*  3 */
							  "        return waits(n - 1)\n"		  /*  4 */
							  "    sys.stdout.write('ready\\n')\n"	  /*  5 */
							  "    sys.stdout.flush()\n"			  /*  6 */
							  "    time.sleep(1000)\n"				  /*  7 */
							  "    return 1\n"						  /*  8 */
							  "class Sorts(object):\n"				  /*  9 */
							  "    def key(self, each):\n"			  /* 10 */
							  "        x = each\n"					  /* 11 */
							  "        return waits(DEPTH)\n"		  /* 12 */
							  "    def sorts(self):\n"				  /* 13 */
							  "        return sorted([3, 1, 2],\n"	  /* 14 */
							  "                      key=self.key)\n" /* 15 */
							  "def generates():\n"					  /* 16 */
							  "    yield 0\n"						  /* 17 */
							  "    yield Sorts().sorts()\n"			  /* 18 */
							  "DEPTH = int(sys.argv[1])\n"			  /* 19 */
							  "sys.setrecursionlimit(5000)\n"		  /* 20 */
							  "for each in generates():\n"			  /* 21 */
							  "    pass\n";							  /* 22 */

/*
 * The expected name, and the possible lines: versions differ in the line of a call over several
 * lines.
 */
typedef struct Expected
{
	const char *name;
	const char *old_name; /* name in versions without qualified names */
	int32_t lines[2];
} Expected;

static const Expected outer[] = { { "Sorts.key", "key", { 12, 12 } },
								  { "Sorts.sorts", "sorts", { 14, 15 } },
								  { "generates", "generates", { 18, 18 } },
								  { "<module>", "<module>", { 21, 21 } } };

static void
start_program(Replay *replay, const char *path, const char *depth)
{
	const char *const arguments[] = { path, "-c", program, depth, NULL };

	replay_start(replay, arguments);
	replay_wait_for_sleep(replay);
	replay_find(replay, PFS_RUNTIME_PYTHON);
}

static void
assert_frame(Replay *replay, const UserFrame *frame, const Expected *expected)
{
	const PythonLayout *layout = &replay->target.file.python.layout;
	RuntimeCode code;
	int32_t line;

	replay_read_code(replay, frame, &code, &line);
	assert_non_null(code.name);
	assert_string_equal(code.name,
						layout->code_qualified != 0 ? expected->name : expected->old_name);
	assert_string_equal(code.file, "<string>");
	assert_true(line == expected->lines[0] || line == expected->lines[1]);
	runtime_code_fini(&code);
}

/* All frames of the program have their lines, while it waits without the lock. */
static void
check_frames(Replay *replay, int depth)
{
	const Expected innermost = { "waits", "waits", { 7, 7 } };
	const Expected recursion = { "waits", "waits", { 4, 4 } };
	const struct pfs_chain *chain = replay_walk(replay);
	uint32_t next = 0;
	UserFrame frame = { 0 };
	int at = 0;

	assert_int_equal(chain->status, PFS_CHAIN_WHOLE);
	for (; replay_next(chain, &next, &frame); at++)
	{
		if (at == 0)
			assert_frame(replay, &frame, &innermost);
		else if (at <= depth)
			assert_frame(replay, &frame, &recursion);
		else
		{
			assert_true(at - depth - 1 < 4);
			assert_frame(replay, &frame, &outer[at - depth - 1]);
		}
	}
	assert_int_equal(at, 1 + depth + 4);
}

/* Calls check for each Python of this machine, and for those of the variable PYTHONS. */
static void
each_python(void (*check)(const char *path))
{
	replay_each("{/root/.pyenv/versions/3.*/bin/python3,/usr/bin/python3.[0-9]*[0-9]}", "PYTHONS",
				check);
}

static void
check_version(const char *path)
{
	Replay replay;

	start_program(&replay, path, "3");
	check_frames(&replay, 3);
	replay_end(&replay);
}

static void
test_all_versions(void **state)
{
	each_python(check_version);
}

/* A recursion with more words than are kept, and fewer frames than are followed. */
static void
check_deep(const char *path)
{
	const struct pfs_chain *chain;
	Replay replay;

	start_program(&replay, path, "600");
	chain = replay_walk(&replay);
	assert_int_equal(chain->status, PFS_CHAIN_WHOLE);
	assert_int_equal(chain->found - chain->mark_count, 2 * (1 + 600 + 4));
	replay_end(&replay);
}

static void
test_deep_recursion(void **state)
{
	each_python(check_deep);
}

static void
check_broken(const char *path)
{
	Replay replay;

	start_program(&replay, path, "3");
	replay_check_broken(&replay);
	replay_end(&replay);
}

static void
test_broken_memory(void **state)
{
	each_python(check_broken);
}

/* A frame that refers to itself: the chain ends after a number of frames, or a time. */
static void
check_cycle(const char *path)
{
	const struct pfs_chain *chain;
	Replay replay;

	start_program(&replay, path, "3");
	replay_world.lying_read = 1;
	replay_world.lie = UINT64_C(0x7f0000001000);
	chain = replay_walk(&replay);
	assert_int_equal(chain->status, PFS_CHAIN_TOO_DEEP);
	assert_true(chain->found <= PFS_CHAIN_MAX_WORDS);
	replay_world.look_ns = PFS_MAX_SAMPLE_NS / 2;
	chain = replay_walk(&replay);
	assert_int_equal(chain->status, PFS_CHAIN_OUT_OF_TIME);
	/* frames and marks between three checks */
	assert_true(chain->found <= 3 * 3 * PFS_CHAIN_STEPS);
	replay_world.lying_read = 0;
	replay_world.look_ns = 0;
	replay_end(&replay);
}

static void
test_cycle(void **state)
{
	each_python(check_cycle);
}

/* Code that is not the sampled code has no name, whatever replaced it. */
static void
check_stale(const char *path)
{
	const struct pfs_chain *chain;
	CodeWanted wanted[3] = { 0 };
	uint64_t type;
	uint32_t next = 0;
	UserFrame frame = { 0 };
	const PythonFile *file;
	Replay replay;

	start_program(&replay, path, "0");
	file = &replay.target.file.python;
	type = file->code_type != 0 ? file->code_type + replay.target.bias : 0;
	chain = replay_walk(&replay);
	assert_true(user_frame_next(replay_words(chain), pfs_chain_kept(chain->found), &next, &frame));
	for (int i = 0; i < 3; i++)
		wanted[i] = (CodeWanted){ .key = { frame.code,
										   PFS_PYTHON_CHECK(PFS_FRAME_PAYLOAD(frame.more[0])) } };
	wanted[0].key.check ^= 2;
	wanted[1].key.address = 4096; /* an address that cannot be read */
	python_codes_read(&replay.memory, &file->layout, type, wanted, 3);
	assert_null(wanted[0].code.name);
	assert_null(wanted[1].code.name);
	assert_non_null(wanted[2].code.name);
	runtime_code_fini(&wanted[2].code);
	/* an object of another type is not code */
	python_codes_read(&replay.memory, &file->layout, type + 8, wanted + 2, 1);
	assert_true(wanted[2].code.name == NULL || type == 0);
	runtime_code_fini(&wanted[2].code);
	replay_end(&replay);
}

static void
test_stale_code(void **state)
{
	each_python(check_stale);
}

/* Prints tables of the standard library's code: minor, first line, table, (offset, line) pairs. */
static const char prints_lines[] =
	"import sys, dis\n"
	"def walk(code):\n"
	"    yield code\n"
	"    for each in code.co_consts:\n"
	"        if hasattr(each, 'co_code'):\n"
	"            for inner in walk(each): yield inner\n"
	"import argparse, typing, json.decoder, inspect\n"
	"for module in (argparse, typing, json.decoder, inspect):\n"
	"    with open(module.__file__) as f: text = f.read()\n"
	"    for code in walk(compile(text, module.__file__, 'exec')):\n"
	"        if hasattr(code, 'co_lines'):\n"
	"            lines = {}\n"
	"            for start, end, line in code.co_lines():\n"
	"                for at in range(start, end, 2): lines[at] = line or 0\n"
	"            table = code.co_linetable\n"
	"        else:\n"
	"            lines = dict(dis.findlinestarts(code)); table = code.co_lnotab\n"
	"        print(sys.version_info[1], code.co_firstlineno, table.hex() or '-',\n"
	"              ','.join('%d:%d' % each for each in sorted(lines.items())) or '-')\n";

static size_t
from_hex(const char *text, uint8_t *bytes)
{
	size_t count = 0;
	unsigned byte;

	for (; sscanf(text + 2 * count, "%2x", &byte) == 1 && text[2 * count] != '-'; count++)
		bytes[count] = (uint8_t) byte;
	return count;
}

static void
check_line_of_lines(char *line, uint8_t *table)
{
	unsigned minor;
	int first_line;
	char *rest = line;
	char *pair;
	size_t length;

	minor = (unsigned) atoi(strsep(&rest, " "));
	first_line = atoi(strsep(&rest, " "));
	length = from_hex(strsep(&rest, " "), table);
	while ((pair = strsep(&rest, ",")) != NULL && pair[0] != '-')
	{
		int offset;
		int expected;

		assert_int_equal(sscanf(pair, "%d:%d", &offset, &expected), 2);
		assert_int_equal(python_line(minor, table, length, first_line, offset / 2), expected);
		/* tables that were cut end early, and are not read beyond their end */
		(void) python_line(minor, table, length / 2, first_line, offset / 2);
	}
}

static void
check_lines(const char *path)
{
	uint8_t *table = malloc(1 << 20);
	char *line = NULL;
	size_t room = 0;
	int lines = 0;
	int ends[2];
	FILE *output;
	pid_t pid;

	assert_non_null(table);
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0)
	{
		dup2(ends[1], 1);
		execl(path, path, "-c", prints_lines, (char *) NULL);
		_exit(127);
	}
	close(ends[1]);
	output = fdopen(ends[0], "r");
	assert_non_null(output);
	for (; getline(&line, &room, output) > 0; lines++)
		check_line_of_lines(line, table);
	assert_true(lines > 300);
	fclose(output);
	(void) waitpid(pid, NULL, 0);
	free(line);
	free(table);
}

static void
test_lines(void **state)
{
	each_python(check_lines);
}

/* Native frames 16 bytes apart, from 0x1000 on: frame i is at address 0x100 * (i + 1). */
typedef struct Stacks
{
	uint64_t frames[64];
	uint64_t ends[64];
	uint64_t words[256];
	MachineStack machine;
	ChainStack chain;
} Stacks;

static void
make_machine(Stacks *stacks, uint32_t count)
{
	memset(stacks, 0, sizeof(*stacks));
	for (uint32_t i = 0; i < count; i++)
	{
		stacks->frames[i] = 0x100 * (i + 1);
		stacks->ends[i] = 0x1000 + 16 * (i + 1);
	}
	stacks->machine = (MachineStack){ .frames = stacks->frames,
									  .ends = stacks->ends,
									  .count = count,
									  .cut_at = count,
									  .late_from = count,
									  .first_sp = 0x1000,
									  .whole = true };
	stacks->chain = (ChainStack){ .words = stacks->words, .whole = true, .marks = PFS_MARKS_SHIM };
}

/* Adds a frame of the interpreter, identified by a number, and a mark inside of a native frame. */
static void
add_frame(Stacks *stacks, uint64_t number)
{
	stacks->words[stacks->chain.count++] =
		number | UINT64_C(1) << 60 | (uint64_t) PFS_RUNTIME_PYTHON << 56;
	stacks->words[stacks->chain.count++] = UINT64_C(15) << 60;
}

static void
add_mark(Stacks *stacks, uint64_t frame)
{
	stacks->words[stacks->chain.count++] = 0x1000 + 16 * frame + 8;
	stacks->chain.mark_count++;
}

/* Compares with "m1 m2 p7 …": native frames (m) and frames of the interpreter (p) by number. */
static void
assert_merged(const MergedStack *merged, const char *expected)
{
	char text[4096] = "";
	uint32_t next = 0;
	UserFrame frame = { 0 };

	while (user_frame_next(merged->words, merged->count, &next, &frame))
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s%u",
				 text[0] != '\0' ? " " : "", frame.more_count > 0 ? "p" : "m",
				 (unsigned) (frame.more_count > 0 ? frame.code : frame.code / 0x100 - 1));
	assert_string_equal(text, expected);
}

/* Each run of frames replaces its loop, and the functions that the loop called come before it. */
static void
test_merge(void **state)
{
	MergedStack merged;
	Stacks stacks;

	make_machine(&stacks, 6);
	add_frame(&stacks, 1);
	add_frame(&stacks, 2);
	add_mark(&stacks, 1);
	add_frame(&stacks, 3);
	add_mark(&stacks, 4);
	assert_true(stack_merge(&stacks.machine, &stacks.chain, NULL, 0, &merged));
	assert_merged(&merged, "m0 p1 p2 m2 m3 p3 m5");
	assert_int_equal(merged.merged, 3);
	assert_int_equal(merged.unmatched, 0);
	assert_int_equal(merged.cut, 0);
}

/*
 * A run whose mark is not on the stack is omitted from a whole stack, and its loop stays as it is.
 */
static void
test_merge_unmatched(void **state)
{
	MergedStack merged;
	Stacks stacks;

	make_machine(&stacks, 4);
	add_frame(&stacks, 1);
	add_mark(&stacks, 1);
	add_frame(&stacks, 2);
	add_mark(&stacks, 100);
	assert_true(stack_merge(&stacks.machine, &stacks.chain, NULL, 0, &merged));
	assert_merged(&merged, "m0 p1 m2 m3");
	assert_int_equal(merged.unmatched, 1);

	/* the stack broke off below the second loop: its callers are appended */
	stacks.machine.whole = false;
	assert_true(stack_merge(&stacks.machine, &stacks.chain, NULL, 0, &merged));
	assert_merged(&merged, "m0 p1 m2 m3 p2");
	assert_int_equal(merged.unmatched, 0);

	/* no mark matches: the native stack stays as it is */
	make_machine(&stacks, 4);
	add_frame(&stacks, 1);
	add_mark(&stacks, 100);
	assert_false(stack_merge(&stacks.machine, &stacks.chain, NULL, 0, &merged));
}

/* If marks do not ascend, no frame is used twice. */
static void
test_merge_descending(void **state)
{
	MergedStack merged;
	Stacks stacks;

	make_machine(&stacks, 6);
	add_frame(&stacks, 1);
	add_mark(&stacks, 4);
	add_frame(&stacks, 2);
	add_mark(&stacks, 1);
	add_frame(&stacks, 3);
	add_mark(&stacks, 4);
	assert_true(stack_merge(&stacks.machine, &stacks.chain, NULL, 0, &merged));
	assert_merged(&merged, "m0 m1 m2 m3 p1 m5");
	assert_int_equal(merged.unmatched, 2);
}

/* Without marks frames are counted. */
static void
test_merge_by_count(void **state)
{
	const LoopCode loops[] = { { 0x200, 0x201 }, { 0x400, 0x501 } };
	MergedStack merged;
	Stacks stacks;

	make_machine(&stacks, 6);
	stacks.chain.marks = PFS_MARKS_NONE;
	add_frame(&stacks, 1);
	add_frame(&stacks, 2);
	add_frame(&stacks, 3);
	assert_true(stack_merge(&stacks.machine, &stacks.chain, loops, 2, &merged));
	assert_merged(&merged, "m0 p1 m2 p2 p3 m5");

	/* one loop was just entered: the innermost */
	stacks.chain.count -= 2;
	assert_true(stack_merge(&stacks.machine, &stacks.chain, loops, 2, &merged));
	assert_merged(&merged, "m0 m1 m2 p1 p2 m5");

	/* more frames than loops: it is unknown which loop is missing */
	stacks.chain.count += 2;
	assert_false(stack_merge(&stacks.machine, &stacks.chain, loops, 1, &merged));
	assert_int_equal(merged.unmatched, 3);
}

/* Marks without addresses: each loop has the frames up to its mark. */
static void
test_merge_by_counted_marks(void **state)
{
	const LoopCode loops[] = { { 0x200, 0x201 }, { 0x400, 0x501 } };
	MergedStack merged;
	Stacks stacks;

	make_machine(&stacks, 6);
	stacks.chain.marks = PFS_MARKS_COUNTED;
	add_frame(&stacks, 1);
	add_frame(&stacks, 2);
	stacks.words[stacks.chain.count++] = 0;
	stacks.words[stacks.chain.count++] = 0;
	add_frame(&stacks, 3);
	stacks.words[stacks.chain.count++] = 0;
	stacks.chain.mark_count = 3;
	assert_true(stack_merge(&stacks.machine, &stacks.chain, loops, 2, &merged));
	assert_merged(&merged, "m0 p1 p2 m2 m3 p3 m5");
	assert_int_equal(merged.merged, 3);

	/* fewer loops than marks: it is unknown which loop is missing */
	assert_false(stack_merge(&stacks.machine, &stacks.chain, loops, 1, &merged));
	assert_int_equal(merged.unmatched, 3);

	/* a native stack that broke off before the first loop */
	stacks.machine.whole = false;
	assert_true(stack_merge(&stacks.machine, &stacks.chain, loops, 0, &merged));
	assert_merged(&merged, "m0 m1 m2 m3 m4 m5 p1 p2 p3");
}

/* Adds the mark of a chain whose loops are counted. */
static void
add_counted_mark(Stacks *stacks)
{
	stacks->words[stacks->chain.count++] = 0;
	stacks->chain.mark_count++;
}

/* A function that calls the loop is one with it, and alone if it has not called it yet. */
static void
test_merge_callers(void **state)
{
	const LoopCode loops[] = { { 0x200, 0x201 }, { 0x300, 0x301, true }, { 0x500, 0x501, true } };
	MergedStack merged;
	Stacks stacks;

	make_machine(&stacks, 6);
	stacks.chain.marks = PFS_MARKS_COUNTED;
	add_frame(&stacks, 1);
	add_counted_mark(&stacks);
	/* of two loops the innermost one executes nothing */
	assert_true(stack_merge(&stacks.machine, &stacks.chain, loops, 3, &merged));
	assert_merged(&merged, "m0 m1 m2 m3 p1 m5");

	add_frame(&stacks, 2);
	add_counted_mark(&stacks);
	assert_true(stack_merge(&stacks.machine, &stacks.chain, loops, 3, &merged));
	assert_merged(&merged, "m0 p1 m3 p2 m5");
	assert_int_equal(merged.unmatched, 0);

	/* the loop of the innermost run was not called yet */
	add_frame(&stacks, 3);
	add_counted_mark(&stacks);
	assert_true(stack_merge(&stacks.machine, &stacks.chain, loops, 3, &merged));
	assert_merged(&merged, "m0 p2 m3 p3 m5");
	assert_int_equal(merged.unmatched, 1);

	/* two runs too many: loops are missing, or the native stack broke off before them */
	add_frame(&stacks, 4);
	add_counted_mark(&stacks);
	assert_false(stack_merge(&stacks.machine, &stacks.chain, loops, 3, &merged));
	stacks.machine.whole = false;
	assert_true(stack_merge(&stacks.machine, &stacks.chain, loops, 3, &merged));
	assert_merged(&merged, "m0 p1 m3 p2 m5 p3 p4");

	/* as many runs as loops: a fiber's stacks end at one place */
	stacks.chain.count -= 2 * 3;
	stacks.chain.mark_count -= 2;
	assert_true(stack_merge(&stacks.machine, &stacks.chain, loops, 3, &merged));
	assert_merged(&merged, "m0 p1 m3 p2 m5");
}

/* A chain that lost marks: loops are paired from both ends, and those in the middle stay. */
static void
test_merge_counted_cut(void **state)
{
	const LoopCode loops[] = {
		{ 0x200, 0x201 }, { 0x400, 0x401 }, { 0x600, 0x601 }, { 0x800, 0x801 }
	};
	MergedStack merged;
	Stacks stacks;

	make_machine(&stacks, 7);
	stacks.chain.marks = PFS_MARKS_COUNTED;
	add_frame(&stacks, 1);
	add_counted_mark(&stacks);
	add_frame(&stacks, 2);
	stacks.chain.cut_at = stacks.chain.count;
	stacks.chain.cut = 20;
	add_frame(&stacks, 3);
	add_counted_mark(&stacks);
	/* no mark is missing: one run contains the gap */
	assert_true(stack_merge(&stacks.machine, &stacks.chain, loops, 2, &merged));
	assert_merged(&merged, "m0 p1 m2 p2 p3 m4 m5 m6");
	assert_int_equal(merged.cut, 10);
	assert_int_equal(merged.cut_at, 6);

	stacks.chain.mark_count++;
	assert_true(stack_merge(&stacks.machine, &stacks.chain, loops, 3, &merged));
	assert_merged(&merged, "m0 p1 m2 p2 m4 p3 m6");
	assert_int_equal(merged.cut, 10);
	assert_int_equal(merged.cut_at, 6);

	stacks.chain.mark_count++;
	for (uint32_t i = 7; i < 9; i++)
	{
		stacks.frames[i] = 0x100 * (i + 1);
		stacks.ends[i] = 0x1000 + 16 * (i + 1);
	}
	stacks.machine.count = stacks.machine.cut_at = stacks.machine.late_from = 9;
	assert_true(stack_merge(&stacks.machine, &stacks.chain, loops, 4, &merged));
	assert_merged(&merged, "m0 p1 m2 p2 m4 m5 m6 p3 m8");
}

/* A chain that was cut keeps one gap, at its place. */
static void
test_merge_cut(void **state)
{
	MergedStack merged;
	Stacks stacks;

	make_machine(&stacks, 3);
	for (uint64_t i = 0; i < 6; i++)
		add_frame(&stacks, i);
	add_mark(&stacks, 1);
	stacks.chain.cut = 20;
	stacks.chain.cut_at = 6;
	assert_true(stack_merge(&stacks.machine, &stacks.chain, NULL, 0, &merged));
	assert_merged(&merged, "m0 p0 p1 p2 p3 p4 p5 m2");
	assert_int_equal(merged.cut, 10);
	assert_int_equal(merged.cut_at, 7);

	/* a mark is missing, too: the frames around the gap may belong to two loops */
	stacks.chain.mark_count++;
	assert_false(stack_merge(&stacks.machine, &stacks.chain, NULL, 0, &merged));
	assert_int_equal(merged.unmatched, 6);
}

/* A stack that is too deep keeps as many frames as a record does. */
static void
test_merge_deep(void **state)
{
	static uint64_t words[PFS_CHAIN_KEPT_WORDS];
	static uint64_t frames[400];
	static uint64_t ends[400];
	MachineStack machine = { .frames = frames,
							 .ends = ends,
							 .count = 400,
							 .cut_at = PFS_LEAF_FRAMES,
							 .late_from = 400,
							 .first_sp = 0x1000,
							 .whole = true };
	ChainStack chain = { .words = words, .whole = true, .marks = PFS_MARKS_SHIM };
	uint32_t next = 0;
	uint32_t count = 0;
	MergedStack merged;
	UserFrame frame = { 0 };

	for (uint32_t i = 0; i < 400; i++)
	{
		frames[i] = 0x100 * (i + 1);
		ends[i] = 0x1000 + 16 * (i + 1);
	}
	while (chain.count + 2 < PFS_CHAIN_KEPT_WORDS)
	{
		words[chain.count++] = 7 | UINT64_C(1) << 60 | (uint64_t) PFS_RUNTIME_PYTHON << 56;
		words[chain.count++] = UINT64_C(15) << 60;
	}
	words[chain.count++] = 0x1000 + 16 * 10 + 8;
	chain.mark_count = 1;
	assert_true(stack_merge(&machine, &chain, NULL, 0, &merged));
	while (user_frame_next(merged.words, merged.count, &next, &frame))
		count++;
	assert_int_equal(count, MERGED_FRAMES_MAX);
	assert_int_equal(merged.cut, 399 + 511 - MERGED_FRAMES_MAX);
	assert_int_equal(merged.cut_at, 10 + 2 * (PFS_LEAF_FRAMES - 10));
}

/* Offsets that a build claims to have. */
static void
test_layout_lies(void **state)
{
	uint64_t words[PYTHON_OFFSETS_WORDS] = { 0 };
	PythonLayout layout;

	assert_false(python_layout_of_offsets(13, words, &layout));
	memcpy(words, PYTHON_OFFSETS_MAGIC, 8);
	words[1] = 0x030d00f0;
	for (size_t i = 3; i < PYTHON_OFFSETS_WORDS; i++)
		words[i] = UINT64_MAX - i;
	assert_false(python_layout_of_offsets(13, words, &layout));
	assert_int_equal(layout.minor, 0);
	for (uint32_t round = 0; round < 100000; round++)
	{
		for (size_t i = 3; i < PYTHON_OFFSETS_WORDS; i++)
			words[i] = (uint64_t) (random() % 512) & ~UINT64_C(7);
		if (python_layout_of_offsets(13, words, &layout))
			assert_true(layout.code_bytes <= PYTHON_CODE_BYTES && layout.code_file <= 152 &&
						layout.walk.code_first < layout.code_bytes);
	}
	assert_false(python_layout_of_version(5, &layout));
	assert_false(python_layout_of_version(13, &layout));
}

/* Positions of groups in a version's table: size and offsets of each group. */
typedef struct Table
{
	uint64_t version;
	int frame_of_state; /* followed by the thread's number if follows is 1 */
	int follows;
	int frame;
	int copy; /* 0: its threads have no copies of bytecode */
	int code;
	int adaptive;
	int copies;
	int object;
	int bytes;
	int string;
} Table;

static const Table tables[] = { { 0x030d00f0, 23, 1, 28, 0, 34, 43, 0, 44, 64, 67 },
								{ 0x030e00f0, 26, 1, 31, 38, 39, 48, 49, 50, 74, 77 },
								{ 0x030f00f0, 26, 4, 39, 46, 47, 56, 57, 58, 86, 89 } };

/* Offsets of the headers of 3.14, with the interpreter's lock (0) and without it (1). */
static void
fill_table(const Table *table, uint64_t is_free, uint64_t words[PYTHON_OFFSETS_WORDS])
{
	static const uint64_t frame[2][6] = { { 88, 8, 0, 56, 80, 74 }, { 88, 8, 0, 56, 80, 78 } };
	static const uint64_t code[2][6] = { { 216, 112, 120, 128, 136, 68 },
										 { 240, 128, 136, 144, 152, 84 } };
	static const uint64_t object[2][2] = { { 16, 8 }, { 32, 24 } };
	static const uint64_t bytes[2][3] = { { 40, 16, 32 }, { 56, 32, 48 } };
	static const uint64_t string[2][4] = { { 64, 32, 16, 40 }, { 80, 48, 32, 56 } };

	memset(words, 0, PYTHON_OFFSETS_WORDS * sizeof(*words));
	memcpy(words, PYTHON_OFFSETS_MAGIC, 8);
	words[1] = table->version;
	words[2] = is_free;
	words[table->frame_of_state] = 72;
	words[table->frame_of_state + table->follows] = 152;
	memcpy(words + table->frame, frame[is_free], sizeof(frame[0]));
	memcpy(words + table->code, code[is_free], sizeof(code[0]));
	words[table->adaptive] = code[is_free][0] - 8;
	if (is_free && table->copy != 0)
	{
		words[table->copy] = 72;
		words[table->copies] = 224;
	}
	memcpy(words + table->object, object[is_free], sizeof(object[0]));
	memcpy(words + table->bytes, bytes[is_free], sizeof(bytes[0]));
	memcpy(words + table->string, string[is_free], sizeof(string[0]));
}

/* Objects of builds without the interpreter's lock are longer; from 3.14 on there are copies. */
static void
test_free_threaded(void **state)
{
	uint64_t words[PYTHON_OFFSETS_WORDS];
	PythonLayout layout;

	for (uint32_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
	{
		uint32_t minor = 13 + i;

		fill_table(&tables[i], 0, words);
		assert_true(python_layout_of_offsets(minor, words, &layout));
		assert_int_equal(layout.code_lines, 136);
		assert_int_equal(layout.object_type, 8);
		assert_int_equal(layout.walk.frame_copy, 0);
		words[2] = 1; /* objects of the other build */
		assert_false(python_layout_of_offsets(minor, words, &layout));
		fill_table(&tables[i], 1, words);
		assert_true(python_layout_of_offsets(minor, words, &layout));
		assert_int_equal(layout.minor, minor);
		assert_int_equal(layout.code_lines, 152);
		assert_int_equal(layout.code_first_line, 84);
		assert_int_equal(layout.object_type, 24);
		assert_int_equal(layout.object_length, 32);
		assert_int_equal(layout.bytes_data, 48);
		assert_int_equal(layout.string_state, 48);
		assert_int_equal(layout.string_kind, minor == 13 ? 2 : 8);
		assert_int_equal(layout.string_ascii, 56);
		assert_int_equal(layout.string_compact, 72);
		assert_int_equal(layout.walk.frame_copy, minor == 13 ? 0 : 18);
		assert_int_equal(layout.walk.code_copies, minor == 13 ? 0 : 28);
		assert_int_equal(layout.walk.code_bytecode, minor == 13 ? 0 : 29);
		words[2] = 2;
		assert_false(python_layout_of_offsets(minor, words, &layout));
	}
	for (uint64_t lie = 0; lie < 4096; lie++)
	{
		fill_table(&tables[1], 1, words);
		words[tables[1].copy] = lie;
		assert_int_equal(python_layout_of_offsets(14, words, &layout),
						 lie != 0 && lie % 4 == 0 && lie < 88);
		fill_table(&tables[1], 1, words);
		words[tables[1].copies] = lie;
		assert_int_equal(python_layout_of_offsets(14, words, &layout), lie % 8 == 0 && lie < 2048);
	}
}

/* A thread of 3.14 without the lock, in this process: its state, a frame, and the frame's code. */
static struct
{
	uint64_t thread[32];
	uint64_t frame[11];
	uint64_t code[32];
	uint64_t copies[4]; /* their number, and their addresses */
	uint64_t copy[8];
} copied;

static uint32_t
copied_instruction(Replay *replay)
{
	const struct pfs_chain *chain = replay_walk(replay);
	uint32_t next = 0;
	UserFrame frame = { 0 };

	assert_int_equal(chain->status, PFS_CHAIN_WHOLE);
	assert_true(replay_next(chain, &next, &frame));
	assert_int_equal(frame.code, (uintptr_t) copied.code);
	assert_true(PFS_PYTHON_CHECK(PFS_FRAME_PAYLOAD(frame.more[0])) != PFS_PYTHON_NO_CHECK);
	return PFS_PYTHON_INDEX(PFS_FRAME_PAYLOAD(frame.more[0]));
}

/*
 * Instruction offsets are relative to the copy of the bytecode that the thread executes. If the
 * copy cannot be found, the frame has an instruction without a line.
 */
static void
test_copies_of_bytecode(void **state)
{
	uint64_t words[PYTHON_OFFSETS_WORDS];
	uint64_t variable = (uintptr_t) copied.thread;
	Replay replay = { .pid = getpid(), .registers = { .thread_pointer = (uintptr_t) &variable } };
	struct pfs_runtime *entry = &replay.target.entry;
	PythonLayout layout;
	const uint32_t own = 232 / 2; /* the instruction at which a code object's bytecode begins */
	const uint8_t table[] = { 0x80 | 11 << 3 | 2, 0, 0, 0x80 | 11 << 3 | 7, 0, 0 };

	fill_table(&tables[1], 1, words);
	assert_true(python_layout_of_offsets(14, words, &layout));
	*entry = (struct pfs_runtime){
		.kind = PFS_RUNTIME_PYTHON, .is_placed = 1, .marks = PFS_MARKS_SHIM, .python = layout.walk
	};
	copied.thread[72 / 8] = (uintptr_t) copied.frame;
	copied.frame[0] = (uintptr_t) copied.code | 1; /* a tagged pointer */
	copied.code[224 / 8] = (uintptr_t) copied.copies;
	copied.copies[0] = 3;
	copied.copies[1] = (uintptr_t) &copied.code[232 / 8];
	copied.copies[3] = (uintptr_t) copied.copy;

	copied.frame[56 / 8] = (uintptr_t) &copied.code[232 / 8] + 6;
	assert_int_equal(copied_instruction(&replay), own + 3);
	copied.frame[56 / 8] = (uintptr_t) copied.copy + 6;
	copied.frame[72 / 8] = 2;
	assert_int_equal(copied_instruction(&replay), own + 3);
	assert_int_equal(python_line(14, table, sizeof(table), 40, 3), 42);
	copied.frame[72 / 8] = 1; /* the number of a copy that does not exist yet */
	assert_int_equal(copied_instruction(&replay),
					 (uint32_t) -1 & ((1U << PFS_PYTHON_INDEX_BITS) - 1));
	copied.frame[72 / 8] = UINT32_MAX; /* an unreadable address */
	assert_int_equal(copied_instruction(&replay),
					 (uint32_t) -1 & ((1U << PFS_PYTHON_INDEX_BITS) - 1));
	copied.code[224 / 8] = 8;
	assert_int_equal(copied_instruction(&replay),
					 (uint32_t) -1 & ((1U << PFS_PYTHON_INDEX_BITS) - 1));
	assert_int_equal(python_line(14, table, sizeof(table), 40,
								 (1 << PFS_PYTHON_INDEX_BITS) - 1 - (int32_t) own),
					 0);
}

/*
 * A thread of 3.11 or 3.12, in this process: its state, the records of two loops and of the
 * thread's start, and the frames of these loops.
 */
static struct
{
	uint64_t thread[32];
	uint64_t records[3][3]; /* innermost first */
	uint64_t shims[2][11];
	uint64_t frames[2][11];
	uint64_t code[32];
} called;

/* Fills frame i, which one of the loops executes, and which the other frame called. */
static void
fill_called_frame(const PythonLayout *layout, int i)
{
	bool has_shims = layout->marks == PFS_MARKS_SHIM;
	uint64_t caller = i == 0 ? (uintptr_t) called.frames[1] : 0;
	uint64_t *record = called.records[i] + layout->walk.record_frame / 8;
	uint8_t owner = has_shims ? 0 : layout->walk.boundary;

	called.frames[i][layout->walk.frame_code] = (uintptr_t) called.code;
	called.frames[i][layout->walk.frame_previous] =
		has_shims ? (uintptr_t) called.shims[i] : caller;
	memcpy((uint8_t *) called.frames[i] + layout->walk.frame_owner, &owner, 1);
	called.shims[i][layout->walk.frame_previous] = caller;
	memcpy((uint8_t *) called.shims[i] + layout->walk.frame_owner, &layout->walk.boundary, 1);
	record[0] = (uintptr_t) called.frames[i];
	record[1] = (uintptr_t) called.records[i + 1];
}

/* Walks a chain that is half made: it has no frames, because they are not those of the thread. */
static void
check_half_made(const Replay *replay)
{
	const struct pfs_chain *chain = replay_walk(replay);

	assert_int_equal(chain->status, PFS_CHAIN_BAD);
	assert_int_equal(chain->found, 0);
	assert_int_equal(chain->mark_count, 0);
}

/*
 * A loop that was just called has a record with words that another call left, and a generator that
 * was just resumed is not linked to its caller.
 */
static void
test_half_made(void **state)
{
	for (uint32_t minor = 11; minor <= 12; minor++)
	{
		uint64_t variable = (uintptr_t) called.thread;
		Replay replay = { .pid = getpid(),
						  .registers = { .thread_pointer = (uintptr_t) &variable } };
		PythonLayout layout;
		uint64_t *record;
		uint64_t *innermost;

		memset(&called, 0, sizeof(called));
		assert_true(python_layout_of_version(minor, &layout));
		replay.target.entry = (struct pfs_runtime){
			.kind = PFS_RUNTIME_PYTHON, .is_placed = 1, .marks = layout.marks, .python = layout.walk
		};
		called.thread[layout.walk.state_frame / 8] = (uintptr_t) called.records[0];
		fill_called_frame(&layout, 0);
		fill_called_frame(&layout, 1);
		assert_int_equal(replay_walk(&replay)->status, PFS_CHAIN_WHOLE);
		assert_int_equal(replay_walk(&replay)->mark_count, 2);

		record = called.records[1] + layout.walk.record_frame / 8;
		record[0] = (uintptr_t) called.code; /* the caller's loop executes another function */
		check_half_made(&replay);
		record[0] = (uintptr_t) called.frames[1];
		record = called.records[0] + layout.walk.record_frame / 8;
		record[1] = 8; /* not the address of a record */
		check_half_made(&replay);
		record[1] = (uintptr_t) called.records[1];
		innermost = called.frames[0];
		innermost[layout.walk.frame_previous] = 1; /* not the address of a frame */
		check_half_made(&replay);
		innermost[layout.walk.frame_previous] = 0;
		memcpy((uint8_t *) innermost + layout.walk.frame_owner, &layout.walk.called, 1);
		check_half_made(&replay);
	}
}

/*
 * A program writes its table itself: an offset inside a word would make the walk copy beyond the
 * words.
 */
static void
test_offsets_of_words(void **state)
{
	static const uint64_t odd[] = { 216, 8, 16, 24, 95, 0 };
	static const uint64_t even[] = { 216, 8, 16, 24, 88, 0 };
	uint64_t words[PYTHON_OFFSETS_WORDS];
	PythonLayout layout;

	fill_table(&tables[0], 0, words);
	memcpy(words + tables[0].code, even, sizeof(even));
	assert_true(python_layout_of_offsets(13, words, &layout));
	memcpy(words + tables[0].code, odd, sizeof(odd));
	assert_false(python_layout_of_offsets(13, words, &layout));
}

/* Code of PyGILState_GetThisThreadState() in Debian's 3.15.2, of two architectures. */
static void
test_place_of_code(void **state)
{
	static const uint8_t x86[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x64, 0x48, 0x8b,
								   0x04, 0x25, 0xd8, 0xff, 0xff, 0xff, 0xc3 };
	static const uint32_t arm[] = { 0xd503245f, 0xd53bd040, 0xd503233f, 0xa9bf7bfd, 0xd503201f,
									0x91008000, 0x910003fd, 0xa8c17bfd, 0xd50323bf, 0xf9400000 };
	PythonFile file = { .is_python = true, .state_code = 0x1000 };
	int32_t offset = 0;

	assert_false(thread_place_of_code(&file, &offset));
	memcpy(file.state_bytes, x86, sizeof(x86));
	assert_true(thread_place_of_code(&file, &offset));
	assert_int_equal(offset, -0x28);
	memcpy(file.state_bytes, arm, sizeof(arm));
	assert_true(thread_place_of_code(&file, &offset));
	assert_int_equal(offset, 0x20);
	memset(file.state_bytes + 4, 0, 4); /* without the access to the thread pointer */
	assert_false(thread_place_of_code(&file, &offset));
	memcpy(file.state_bytes, x86, sizeof(x86));
	file.state_code = 0;
	assert_false(thread_place_of_code(&file, &offset));
}

/* A thread's variables, less than a page of them, before memory that is not mapped. */
static void
test_place_at_edge(void **state)
{
	uint8_t *pages =
		mmap(NULL, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#ifdef __aarch64__
	uint8_t *hole = pages + PAGE_BYTES;
	uint64_t thread_pointer = (uintptr_t) hole - 0x400;
	const int32_t place = 0x28;
#else
	uint8_t *hole = pages;
	uint64_t thread_pointer = (uintptr_t) hole + PAGE_BYTES + 0x400;
	const int32_t place = -0x28;
#endif
	uint64_t thread_state[8] = { 0 };
	PythonFile file = { .is_python = true };
	Patience patience;
	RemoteMemory memory = { .patience = &patience, .pid = (uint32_t) getpid() };
	ThreadPlace found;

	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_int_equal(munmap(hole, PAGE_BYTES), 0);
	assert_int_equal(patience_init(&patience), 0);
	file.layout.minor = 15;
	file.layout.state_thread_id = 4 * sizeof(uint64_t);
	thread_state[4] = thread_pointer;
	*(uint64_t *) (uintptr_t) (thread_pointer + (uint64_t) (int64_t) place) =
		(uintptr_t) thread_state;
	assert_true(thread_place_find(&memory, &file, thread_pointer, true, &found));
	assert_int_equal(found.offset, place);
	assert_int_equal(found.pointer, 0);
	thread_state[4]++; /* the state of another thread */
	assert_false(thread_place_find(&memory, &file, thread_pointer, true, &found));
	patience_fini(&patience);
	munmap(pages, 2 * PAGE_BYTES);
}

/* A record with a chain is accepted only if its lengths match its header. */
static void
test_record(void **state)
{
	static struct
	{
		struct pfs_sample sample;
		uint64_t frames[2];
		struct pfs_chain chain;
		uint32_t ends[2];
		uint64_t words[3];
	} bytes = {
		.sample = { .user_count = 2, .flags = PFS_SAMPLE_CHAIN },
		.chain = { .first_sp = 0x1000, .found = 3, .mark_count = 1, .end_count = 2 },
		.ends = { 2, 4 },
		.words = { 1, 2, 3 },
	};
	Record record;

	assert_true(record_parse(&bytes, sizeof(bytes), &record));
	assert_ptr_equal(record.chain, &bytes.chain);
	assert_int_equal(record.ends[1], 4);
	assert_int_equal(record.chain_words[2], 3);
	for (size_t length = 0; length < sizeof(bytes); length++)
		assert_false(record_parse(&bytes, length, &record));
	bytes.chain.end_count = 1;
	assert_false(record_parse(&bytes, sizeof(bytes), &record));
	bytes.chain.end_count = 2;
	bytes.chain.found = PFS_CHAIN_MAX_WORDS + 1;
	assert_false(record_parse(&bytes, sizeof(bytes), &record));
	bytes.sample.flags = 0;
	assert_true(record_parse(&bytes, sizeof(bytes), &record));
	assert_null(record.chain);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_versions),
		cmocka_unit_test(test_deep_recursion),
		cmocka_unit_test(test_broken_memory),
		cmocka_unit_test(test_cycle),
		cmocka_unit_test(test_stale_code),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_merge_unmatched),
		cmocka_unit_test(test_merge_descending),
		cmocka_unit_test(test_merge_by_count),
		cmocka_unit_test(test_merge_by_counted_marks),
		cmocka_unit_test(test_merge_callers),
		cmocka_unit_test(test_merge_counted_cut),
		cmocka_unit_test(test_merge_cut),
		cmocka_unit_test(test_merge_deep),
		cmocka_unit_test(test_layout_lies),
		cmocka_unit_test(test_free_threaded),
		cmocka_unit_test(test_copies_of_bytecode),
		cmocka_unit_test(test_half_made),
		cmocka_unit_test(test_offsets_of_words),
		cmocka_unit_test(test_place_of_code),
		cmocka_unit_test(test_place_at_edge),
		cmocka_unit_test(test_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
