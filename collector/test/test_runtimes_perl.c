/*
 * test_runtimes_perl.c
 *		Perl's frames: the BPF code in plain memory reads processes of each version on this machine,
 *		memory whose reads fail or return wrong values, and offsets of no version.
 *
 * PERLS: a pattern of more programs.
 */
#include "runtime_replay.h"

#include "perl_frame.h"
#include "runtimes/perl/perl_code.h"
#include "runtimes/perl/perl_file.h"
#include "runtimes/stack_merge.h"

#define FRAMES_MAX 512

/*
 * A program that waits below a recursion, an eval, a sort, an operator, a method, a string and a
 * file.
 */
static const char waiting[] = "package Waits;\n"								/*  1 */
							  "use overload '+' => sub {\n"						/*  2 */
							  "    my @sorted = sort {\n"						/*  3 */
							  "        Waits::compares() } 1, 2;\n"				/*  4 */
							  "    return 0;\n"									/*  5 */
							  "};\n"											/*  6 */
							  "sub compares {\n"								/*  7 */
							  "    my $x = eval {\n"							/*  8 */
							  "        main::waits($ARGV[0]);\n"				/*  9 */
							  "        1;\n"									/* 10 */
							  "    };\n"										/* 11 */
							  "    return 0;\n"									/* 12 */
							  "}\n"												/* 13 */
							  "sub adds {\n"									/* 14 */
							  "    my $self = shift;\n"							/* 15 */
							  "    my $sum = $self + 1;\n"						/* 16 */
							  "    return $sum;\n"								/* 17 */
							  "}\n"												/* 18 */
							  "package main;\n"									/* 19 */
							  "no warnings;\n"									/* 20 */
							  "sub waits {\n"									/* 21 */
							  "    my $n = shift;\n"							/* 22 */
							  "    return waits($n - 1) if $n > 0;\n"			/* 23 */
							  "    syswrite(STDOUT, \"ready\\n\");\n"			/* 24 */
							  "    sleep(1000);\n"								/* 25 */
							  "    return 1;\n"									/* 26 */
							  "}\n"												/* 27 */
							  "my $waits = bless {}, 'Waits';\n"				/* 28 */
							  "my $code = sub { my $x = $waits->adds; $x; };\n" /* 29 */
							  "my $result = eval '$code->(1); 1';\n"			/* 30 */
							  "1;\n";											/* 31 */

static const char requires[] = "use strict;\n\nrequire \"$ARGV[1]/waiting.pl\";\n";

/* A program that waits while it is being compiled. */
static const char compiles[] = "BEGIN {\n"							   /*  1 */
							   "    syswrite(STDOUT, \"ready\\n\");\n" /*  2 */
							   "    sleep(1000);\n"					   /*  3 */
							   "}\n";								   /*  4 */

/*
 * A program that waits in a subroutine until a signal arrives, drops it, and waits in the next one,
 * which takes its place in memory.
 */
static const char renames[] =
	"$SIG{USR1} = sub { };\n"
	"sub waits { syswrite(STDOUT, \"ready\\n\"); sleep(1000); return 1 }\n"
	"for my $n (1 .. 100) {\n"
	"    eval \"sub named$n { my \\$x = waits(); return \\$x } named$n(); "
	"undef &named$n; delete \\$main::{named$n}; 1\" or die;\n"
	"}\n";

static char directory[] = "/tmp/test_runtimes_perl.XXXXXX";

static void
write_script(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int
write_scripts(void **state)
{
	assert_non_null(mkdtemp(directory));
	assert_int_equal(chmod(directory, 0755), 0);
	write_script("waiting.pl", waiting);
	write_script("requires.pl", requires);
	write_script("compiles.pl", compiles);
	write_script("renames.pl", renames);
	return 0;
}

static int
remove_scripts(void **state)
{
	static const char *const names[] = { "waiting.pl", "requires.pl", "compiles.pl", "renames.pl" };
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		(void) unlink(path);
	}
	return rmdir(directory);
}

static void
start_script(Replay *replay, const char *perl, const char *script, int depth)
{
	char path[128];
	char argument[16];
	const char *const arguments[] = { perl, path, argument, directory, NULL };

	snprintf(path, sizeof(path), "%s/%s", directory, script);
	snprintf(argument, sizeof(argument), "%d", depth);
	replay_start(replay, arguments);
	replay_wait_for_sleep(replay);
	replay_find(replay, PFS_RUNTIME_PERL);
}

static void
each_perl(void (*check)(const char *path))
{
	replay_each("/usr/bin/perl", "PERLS", check);
}

typedef struct Expected
{
	const char *name;
	const char *file; /* end of the file's path */
	int32_t line;
} Expected;

static void
assert_frame(const ReplayFrame *frame, const Expected *expected)
{
	size_t length = strlen(frame->file);
	size_t end = strlen(expected->file);

	assert_string_equal(frame->name, expected->name);
	assert_true(length >= end);
	if (expected->file[0] == '/')
		assert_string_equal(frame->file + length - end, expected->file);
	else
		assert_memory_equal(frame->file, expected->file, end);
	assert_int_equal(frame->line, expected->line);
}

static void
check_waiting(const char *perl, int depth)
{
	static const Expected outer[] = {
		{ "Waits::compares", "/waiting.pl", 9 },
		{ "Waits::__ANON__", "/waiting.pl", 4 },
		{ "Waits::adds", "/waiting.pl", 16 },
		{ "main::__ANON__", "/waiting.pl", 29 },
		{ "(eval)", "(eval ", 1 },
		{ "(require)", "/waiting.pl", 30 },
		{ "(main)", "/requires.pl", 3 },
	};
	const Expected innermost = { "main::waits", "/waiting.pl", 25 };
	const Expected recursion = { "main::waits", "/waiting.pl", 23 };
	const struct pfs_chain *chain;
	ReplayFrame frames[FRAMES_MAX];
	uint32_t marks;
	size_t count;
	Replay replay;

	start_script(&replay, perl, "requires.pl", depth);
	chain = replay_walk(&replay);
	assert_int_equal(chain->status, PFS_CHAIN_WHOLE);
	/* runs of the sort, the operator, and the program */
	assert_int_equal(chain->mark_count, 3);
	count = replay_frames(&replay, chain, frames, FRAMES_MAX, &marks);
	assert_int_equal(count, depth + 8);
	assert_int_equal(marks, 3);
	assert_frame(&frames[0], &innermost);
	for (int i = 0; i < depth; i++)
		assert_frame(&frames[1 + i], &recursion);
	for (size_t i = 0; i < sizeof(outer) / sizeof(outer[0]); i++)
		assert_frame(&frames[1 + depth + i], &outer[i]);
	replay_end(&replay);
}

static void
check_version(const char *perl)
{
	check_waiting(perl, 3);
	check_waiting(perl, 200);
}

static void
test_all_versions(void **state)
{
	each_perl(check_version);
}

/* More frames than a record holds, and than are followed. */
static void
check_deep(const char *perl)
{
	const struct pfs_chain *chain;
	Replay replay;

	start_script(&replay, perl, "requires.pl", 600);
	chain = replay_walk(&replay);
	assert_int_equal(chain->status, PFS_CHAIN_WHOLE);
	assert_int_equal(chain->found, 4 * (600 + 8) + 3);
	replay_end(&replay);
	start_script(&replay, perl, "requires.pl", 3000);
	chain = replay_walk(&replay);
	assert_int_equal(chain->status, PFS_CHAIN_TOO_DEEP);
	assert_true(chain->found <= PFS_CHAIN_MAX_WORDS);
	replay_end(&replay);
}

static void
test_deep_recursion(void **state)
{
	each_perl(check_deep);
}

/* A program that is being compiled has no loop, but its BEGIN block has. */
static void
check_compiling(const char *perl)
{
	const Expected expected = { "main::BEGIN", "/compiles.pl", 3 };
	const struct pfs_chain *chain;
	ReplayFrame frames[FRAMES_MAX];
	uint32_t marks;
	Replay replay;

	start_script(&replay, perl, "compiles.pl", 0);
	chain = replay_walk(&replay);
	assert_int_equal(chain->status, PFS_CHAIN_WHOLE);
	assert_int_equal(replay_frames(&replay, chain, frames, FRAMES_MAX, &marks), 1);
	assert_frame(&frames[0], &expected);
	assert_int_equal(marks, 1);
	replay_end(&replay);
}

static void
test_compiling(void **state)
{
	each_perl(check_compiling);
}

static void
check_broken(const char *perl)
{
	Replay replay;

	start_script(&replay, perl, "requires.pl", 3);
	replay_check_broken(&replay);
	replay_end(&replay);
}

static void
test_broken_memory(void **state)
{
	each_perl(check_broken);
}

/* With offsets of no version the walk ends, whatever they point to. */
static void
check_layouts(const char *perl)
{
	ReplayFrame frames[FRAMES_MAX];
	struct pfs_perl_layout layout;
	uint32_t marks;
	Replay replay;

	start_script(&replay, perl, "requires.pl", 3);
	layout = replay.target.entry.perl;
	for (int round = 0; round < 200; round++)
	{
		struct pfs_perl_layout *entry = &replay.target.entry.perl;

		*entry = layout;
		if (round % 2 == 0)
		{
			entry->state_cop = (__u16) random();
			entry->state_stack = (__u16) random();
			entry->is_single = (__u8) random() % 2;
		}
		entry->stack_type = (__u8) random();
		entry->context_function = (__u8) random();
		entry->has_short_contexts = (__u8) random() % 2;
		entry->has_names_behind_body = (__u8) random() % 2;
		(void) replay_frames(&replay, replay_walk(&replay), frames, FRAMES_MAX, &marks);
	}
	replay_end(&replay);
}

static void
test_layouts(void **state)
{
	struct pfs_perl_layout layout;

	assert_false(perl_layout_of(0, &layout));
	assert_false(perl_layout_of(PERL_VERSION_FIRST - 1, &layout));
	assert_false(perl_layout_of(PERL_VERSION_LAST + 1, &layout));
	assert_true(perl_layout_of(PERL_VERSION_FIRST, &layout));
	each_perl(check_layouts);
}

/* A frame that differs from the sampled one has no name, whatever replaced it. */
static void
check_stale(const char *perl)
{
	const struct pfs_chain *chain;
	CodeWanted wanted[5] = { { { 0, 0 }, NULL, 0, { 0 } } };
	uint64_t other[PFS_PERL_MORE];
	uint32_t next = 0;
	UserFrame frame = { 0 };
	Replay replay;

	start_script(&replay, perl, "requires.pl", 0);
	chain = replay_walk(&replay);
	assert_true(user_frame_next(replay_words(chain), pfs_chain_kept(chain->found), &next, &frame));
	for (int i = 0; i < 5; i++)
	{
		wanted[i].more = frame.more;
		wanted[i].more_count = frame.more_count;
		assert_true(perl_kind.key_of(&frame, &wanted[i].key));
	}
	wanted[0].key.address += 8;
	memcpy(other, frame.more, sizeof(other));
	other[PFS_PERL_MORE_FILE] += 8;
	wanted[1].more = other;
	/* with an unreadable file name, an eval is still named "(eval)", but a require has no name */
	wanted[3].more = other;
	wanted[3].key.address = PFS_PERL_EVAL;
	wanted[4].more = other;
	wanted[4].key.address = PFS_PERL_REQUIRE;
	perl_codes_read(&replay.memory, &replay.target.entry.perl, wanted, 5);
	assert_null(wanted[0].code.name);
	assert_null(wanted[1].code.name);
	assert_string_equal(wanted[2].code.name, "main::waits");
	assert_string_equal(wanted[3].code.name, "(eval)");
	assert_string_equal(wanted[3].code.file, "");
	assert_null(wanted[4].code.name);
	runtime_code_fini(&wanted[2].code);
	runtime_code_fini(&wanted[3].code);
	replay_end(&replay);
}

static void
test_stale_code(void **state)
{
	each_perl(check_stale);
}

/* Walks the chain for a sample at a time, with the frames that the last sample left. */
static const struct pfs_chain *
walk_later(const Replay *replay, uint64_t time_ns)
{
	static struct pfs_perl_known_frame known[1 << PFS_PERL_KNOWN_BITS];
	struct ReplayWorld *world = &replay_world;

	memcpy(known, world->scratch.chain.perl_known, sizeof(known));
	replay_world_reset(replay->pid, replay->registers.thread_pointer);
	memcpy(world->scratch.chain.perl_known, known, sizeof(known));
	world->scratch.chain.runtime = replay->target.entry;
	world->scratch.sample.pid = (uint32_t) replay->pid;
	world->scratch.sample.time_ns = time_ns;
	world->now_ns = time_ns;
	assert_true(pfs_add_chain(0, 0) > 0);
	return (const struct pfs_chain *) world->scratch.words;
}

/* Wakes the program, and waits until it waits again. */
static void
wait_again(const Replay *replay)
{
	char text[6];

	assert_int_equal(kill(replay->pid, SIGUSR1), 0);
	assert_int_equal(read(replay->output, text, sizeof(text)), sizeof(text));
	assert_memory_equal(text, "ready\n", sizeof(text));
	replay_wait_for_sleep(replay);
}

/*
 * Frames of an earlier sample are used again while they mean the same, which takes fewer reads, and
 * are not used after another subroutine took the place of theirs, or a second.
 */
static void
check_known(const char *perl)
{
	const size_t known_bytes = sizeof(replay_world.scratch.chain.perl_known);
	static uint64_t words[PFS_CHAIN_KEPT_WORDS];
	const struct pfs_chain *chain;
	uint32_t found;
	Replay replay;
	int reads;

	start_script(&replay, perl, "renames.pl", 0);
	memset(replay_world.scratch.chain.perl_known, 0, known_bytes);
	for (uint64_t i = 1; i <= 20; i++)
	{
		uint64_t time_ns = i * 100000000;

		chain = walk_later(&replay, time_ns);
		reads = replay_world.reads;
		found = chain->found;
		assert_int_equal(chain->status, PFS_CHAIN_WHOLE);
		memcpy(words, replay_words(chain), found * sizeof(*words));
		/* the same stack a moment later */
		assert_memory_equal(replay_words(walk_later(&replay, time_ns + 1)), words,
							found * sizeof(*words));
		assert_true(replay_world.reads < reads);
		/* without known frames */
		memset(replay_world.scratch.chain.perl_known, 0, known_bytes);
		assert_memory_equal(replay_words(walk_later(&replay, time_ns + 2)), words,
							found * sizeof(*words));
		reads = replay_world.reads;
		if (i < 20)
			wait_again(&replay);
	}
	(void) walk_later(&replay, 10000000000);
	assert_int_equal(replay_world.reads, reads);
	replay_end(&replay);
}

static void
test_known_frames(void **state)
{
	each_perl(check_known);
}

/* A thread that does not execute Perl has no interpreter, and no frames. */
static void
check_threads(const char *perl)
{
	Replay replay;

	start_script(&replay, perl, "requires.pl", 0);
	replay.registers.thread_pointer += 16; /* this address contains the value of another key */
	assert_int_not_equal(replay_walk(&replay)->status, PFS_CHAIN_WHOLE);
	assert_false(
		perl_kind.place(&replay.memory, &replay.target, replay.registers.thread_pointer, false));
	replay_end(&replay);
}

static void
test_other_threads(void **state)
{
	each_perl(check_threads);
}

static uint64_t
interpreter_of(Replay *replay)
{
	const ThreadPlace place = { replay->target.entry.state_offset,
								replay->target.entry.state_pointer };
	uint64_t interpreter;

	assert_true(beside_thread_read_word(&replay->memory, replay->registers.thread_pointer, &place,
										&interpreter));
	return interpreter;
}

/*
 * Perl without threads has the interpreter's variables at addresses of the file, and executes in
 * one thread. Here an interpreter of a thread is described in this way. Statements of Perl without
 * threads refer to a glob, which is not there, so the frames have no file.
 */
static void
check_single(const char *perl)
{
	static const char *const names[] = { "main::waits", "main::waits", "Waits::compares" };
	static const int32_t lines[] = { 25, 23, 9 };
	ReplayFrame frames[FRAMES_MAX];
	struct pfs_perl_layout *layout;
	uint64_t interpreter;
	uint32_t marks;
	Replay replay;

	start_script(&replay, perl, "requires.pl", 1);
	layout = &replay.target.entry.perl;
	if (!layout->is_single)
	{
		assert_false(perl_stacks_fit(&replay.memory, layout, 0));
		interpreter = interpreter_of(&replay);
		layout->state_cop += interpreter;
		layout->state_stack += interpreter;
		layout->thread_pointer = replay.registers.thread_pointer;
		layout->is_single = 1;
	}
	assert_true(perl_stacks_fit(&replay.memory, layout, 0));
	assert_int_equal(replay_frames(&replay, replay_walk(&replay), frames, FRAMES_MAX, &marks), 9);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		assert_string_equal(frames[i].name, names[i]);
		assert_int_equal(frames[i].line, lines[i]);
	}
	layout->thread_pointer += 8; /* another thread executes Perl */
	assert_int_equal(replay_walk(&replay)->status, PFS_CHAIN_NO_STATE);
	replay_end(&replay);
}

static void
test_single(void **state)
{
	each_perl(check_single);
}

/* Native frames 16 bytes apart; those from 0x200 and 0x400 on belong to the loop. */
typedef struct Stacks
{
	uint64_t frames[6];
	uint64_t ends[6];
	uint64_t words[64];
	MachineStack machine;
	ChainStack chain;
} Stacks;

static const LoopCode loops[] = { { .start = 0x200, .end = 0x201 },
								  { .start = 0x400, .end = 0x401 },
								  { .start = 0x300, .end = 0x301, .is_resumer = true } };

static void
make_stacks(Stacks *stacks, uint64_t runs)
{
	memset(stacks, 0, sizeof(*stacks));
	for (uint32_t i = 0; i < 6; i++)
	{
		stacks->frames[i] = 0x100 * (i + 1);
		stacks->ends[i] = 0x1000 + 16 * (i + 1);
	}
	stacks->machine = (MachineStack){ .frames = stacks->frames,
									  .ends = stacks->ends,
									  .count = 6,
									  .cut_at = 6,
									  .late_from = 6,
									  .first_sp = 0x1000,
									  .whole = true };
	stacks->chain =
		(ChainStack){ .words = stacks->words, .whole = true, .marks = PFS_MARKS_COUNTED };
	for (uint64_t i = 1; i <= runs; i++)
	{
		uint64_t *words = stacks->words + stacks->chain.count;

		words[0] = i | UINT64_C(1) << 60 | (uint64_t) PFS_RUNTIME_PERL << 56;
		words[1] = UINT64_C(15) << 60;
		words[2] = 0;
		stacks->chain.count += 3;
		stacks->chain.mark_count++;
	}
}

static void
assert_merged(const Stacks *stacks, const LoopCode *code, size_t count, const char *expected)
{
	static MergedStack merged;
	char text[1024] = "";
	uint32_t next = 0;
	UserFrame frame = { 0 };

	assert_true(stack_merge(&stacks->machine, &stacks->chain, code, count, &merged));
	while (user_frame_next(merged.words, merged.count, &next, &frame))
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s%u",
				 text[0] != '\0' ? " " : "", frame.more_count > 0 ? "p" : "m",
				 (unsigned) (frame.more_count > 0 ? frame.code : frame.code / 0x100 - 1));
	assert_string_equal(text, expected);
}

/*
 * An eval that calls the loop again: both loops execute one piece of code, which the inner one
 * gets.
 */
static void
test_merge_resumed(void **state)
{
	Stacks stacks;

	make_stacks(&stacks, 1);
	assert_merged(&stacks, loops, 2, "m0 m1 m2 p1 m4 m5");
	assert_merged(&stacks, loops, 3, "m0 p1 m2 m3 m4 m5");
}

/* A sort between two comparisons: its block has a run of frames, but no loop. */
static void
test_merge_waiting_run(void **state)
{
	Stacks stacks;

	make_stacks(&stacks, 3);
	assert_merged(&stacks, loops, 2, "m0 p2 m2 p3 m4 m5");
	make_stacks(&stacks, 4);
	assert_false(
		stack_merge(&stacks.machine, &stacks.chain, loops, 2, &(MergedStack){ .unmatched = 0 }));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_versions),
		cmocka_unit_test(test_deep_recursion),
		cmocka_unit_test(test_compiling),
		cmocka_unit_test(test_broken_memory),
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_stale_code),
		cmocka_unit_test(test_other_threads),
		cmocka_unit_test(test_merge_resumed),
		cmocka_unit_test(test_merge_waiting_run),
		cmocka_unit_test(test_known_frames),
		cmocka_unit_test(test_single),
	};

	return cmocka_run_group_tests(tests, write_scripts, remove_scripts);
}
