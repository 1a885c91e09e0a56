/*
 * test_runtimes_v8.c
 *		V8's frames: the BPF code in plain memory and the names of its frames, with each Node on
 *		this machine, and with memory whose reads fail or return wrong values.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <glob.h>

/* functions of the header that this test does not call */
#pragma GCC diagnostic ignored "-Wunused-function"
#include "runtime_replay.h"

#include "base/clock.h"
#include "runtimes/runtimes.h"
#include "runtimes/stack_merge.h"
#include "runtimes/v8/v8_functions.h"
#include "runtimes/v8/v8_layout.h"
#include "runtimes/v8/v8_positions.h"
#include "symbols/elf/elf_file.h"

#define FRAMES_MAX 256
#define STOPS	   60
#define CALLS	   12 /* calls and returns that are executed instruction by instruction */

/* The script; its lines are counted from 1. */
static const char program[] =
	"'use strict';\n"															   /* 1 */
	"function leaf(n) {\n"														   /* 2 */
	"  let value = n;\n"														   /* 3 */
	"  for (let i = 0; i < 300; i++) value = Math.imul(value, 1664525) + i | 0;\n" /* 4 */
	"  return value;\n"															   /* 5 */
	"}\n"																		   /* 6 */
	"function middle(n) {\n"													   /* 7 */
	"  return leaf(n) + 1;\n"													   /* 8 */
	"}\n"																		   /* 9 */
	"function outer(n) {\n"														   /* 10 */
	"  return [n, n, n].map(function each(v) {\n"								   /* 11 */
	"    return middle(v);\n"													   /* 12 */
	"  }).length;\n"															   /* 13 */
	"}\n"																		   /* 14 */
	"function deep(d) {\n"														   /* 15 */
	"  return d > 0 ? deep(d - 1) : outer(7);\n"								   /* 16 */
	"}\n"																		   /* 17 */
	"const depth = Number(process.argv[2]);\n"									   /* 18 */
	"for (let i = 0; i < 20; i++) deep(depth);\n"								   /* 19 */
	"require('fs').writeSync(1, 'ready\\n');\n"									   /* 20 */
	"for (;;) deep(depth);\n";													   /* 21 */

/*
 * The script's stack, outermost first, and lines of each function; deep() occurs depth + 1 times.
 */
typedef struct Expected
{
	const char *name;
	int32_t lines[2];
	int32_t first_line;
} Expected;

static const Expected expected_module = { "(anonymous)", { 21, 21 }, 1 };
static const Expected expected_deep = { "deep", { 16, 16 }, 15 };
static const Expected expected_inner[] = { { "outer", { 11, 13 }, 10 },
										   { "each", { 12, 12 }, 11 },
										   { "middle", { 8, 8 }, 7 },
										   { "leaf", { 3, 5 }, 2 } };

static char script[] = "/tmp/test_runtimes_v8_XXXXXX.js";

/*
 * A script whose loop calls V8's own functions for arithmetic, which make no frame. Maglev, which
 * versions before Node 20 reject, would compile the arithmetic into the loop.
 */
static const char additions[] = "require('v8').setFlagsFromString('--no-maglev');\n" /* 1 */
								"function adds(n) {\n"								 /* 2 */
								"  let sum = 0;\n"									 /* 3 */
								"  for (let i = 0; i < 3000; i++) {\n"				 /* 4 */
								"    sum = sum + i;\n"								 /* 5 */
								"    sum = sum * n;\n"								 /* 6 */
								"    sum = sum & 0xffff;\n"							 /* 7 */
								"  }\n"												 /* 8 */
								"  return sum;\n"									 /* 9 */
								"}\n"												 /* 10 */
								"for (let i = 0; i < 300; i++) adds(3);\n"
								"require('fs').writeSync(1, 'ready\\n');\n"
								"for (;;) adds(3);\n";

static char additions_script[] = "/tmp/test_runtimes_v8_XXXXXX.js";

/*
 * A script whose functions call each other all the time. Maglev would compile all of them into the
 * loop.
 */
static const char calls[] = "'use strict';\n"
							"require('v8').setFlagsFromString('--no-maglev');\n"
							"function first(n) { return n + 1; }\n"
							"function second(n) { return n + 2; }\n"
							"function caller(n) {\n"
							"  return first(n) + second(n);\n"
							"}\n"
							"for (let i = 0; i < 3000; i++) caller(3);\n"
							"require('fs').writeSync(1, 'ready\\n');\n"
							"for (;;) caller(3);\n";

static char calls_script[] = "/tmp/test_runtimes_v8_XXXXXX.js";

/* V8's own functions that baseline code calls for this arithmetic, and the line of each call. */
static const struct
{
	const char *name;
	int32_t line;
} arithmetic[] = { { "Builtins_Add_Baseline", 5 },
				   { "Builtins_Multiply_Baseline", 6 },
				   { "Builtins_BitwiseAndSmi_Baseline", 7 } };
#define ARITHMETIC_COUNT (sizeof(arithmetic) / sizeof(arithmetic[0]))

/* A program, and the known facts about its process. */
typedef struct Node
{
	Replay replay;
	int depth;
	uint64_t builtins[2]; /* V8's own functions in the binary; 0: unknown */
	uint64_t again[2];	  /* the second mapping of V8's own functions; 0: none */
	uint64_t distance;	  /* from the first mapping to the second one */
	uint64_t arithmetic[ARITHMETIC_COUNT][2]; /* functions of arithmetic; 0: unknown */
	uint64_t maps[1024][2];					  /* executable memory without a file */
	size_t map_count;
} Node;

/* Part of a file in executable memory. */
typedef struct MappedCode
{
	unsigned long start;
	unsigned long end;
	unsigned long offset;
	unsigned long inode;
} MappedCode;

/* Returns whether a mapping has a part of what another one has. */
static bool
is_mapped_again(const MappedCode *code, const MappedCode *earlier)
{
	return code->inode == earlier->inode && code->offset > earlier->offset &&
		   code->offset < earlier->offset + (earlier->end - earlier->start);
}

static void
read_maps(Node *node)
{
	MappedCode largest = { 0 }; /* mapping of a file */

	char path[64];
	char *maps;
	char *rest;
	char *line;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int) node->replay.pid);
	assert_int_equal(proc_file_read(path, REPLAY_MAPS_BYTES, &maps, NULL), 0);
	rest = maps;
	node->map_count = 0;
	while ((line = strsep(&rest, "\n")) != NULL && node->map_count < 1024)
	{
		MappedCode code;
		char rights[5];

		if (sscanf(line, "%lx-%lx %4s %lx %*s %lu", &code.start, &code.end, rights, &code.offset,
				   &code.inode) != 5 ||
			rights[2] != 'x' || strchr(line, '[') != NULL)
			continue;
		if (code.inode == 0)
		{
			node->maps[node->map_count][0] = code.start;
			node->maps[node->map_count++][1] = code.end;
		}
		else if (is_mapped_again(&code, &largest))
		{
			node->again[0] = code.start;
			node->again[1] = code.end;
			node->distance = (code.start - code.offset) - (largest.start - largest.offset);
		}
		else if (code.end - code.start > largest.end - largest.start)
			largest = code;
	}
	free(maps);
}

static bool
is_generated(const void *context, uint64_t address)
{
	const Node *node = context;

	for (size_t i = 0; i < node->map_count; i++)
	{
		if (address >= node->maps[i][0] && address < node->maps[i][1])
			return true;
	}
	return false;
}

/* Finds V8's own functions by their names, which builds that are not stripped have. */
static void
find_builtins(Node *node, const char *path)
{
	ElfSource source = { .fd = open(path, O_RDONLY | O_CLOEXEC) };
	ElfSymbol symbols[256];
	struct stat status;
	ElfFile file;
	uint32_t count;

	assert_true(source.fd >= 0 && fstat(source.fd, &status) == 0);
	source.size_bytes = (uint64_t) status.st_size;
	assert_int_equal(elf_file_init(&file, &source), 0);
	for (uint32_t at = 0; (count = elf_file_read_symbols(&file, ELF_SYMTAB, at, symbols, 256)) > 0;
		 at += count)
	{
		for (uint32_t i = 0; i < count; i++)
		{
			uint64_t address = symbols[i].address + node->replay.target.bias;
			char name[64];

			if (symbols[i].type != STT_FUNC ||
				!elf_source_string(&source, &file.symbols[ELF_SYMTAB].strings,
								   symbols[i].name_offset, name, sizeof(name)) ||
				strncmp(name, "Builtins_", 9) != 0)
				continue;
			if (node->builtins[0] == 0 || address < node->builtins[0])
				node->builtins[0] = address;
			if (address + symbols[i].size_bytes > node->builtins[1])
				node->builtins[1] = address + symbols[i].size_bytes;
			for (size_t j = 0; j < ARITHMETIC_COUNT; j++)
				if (strcmp(name, arithmetic[j].name) == 0)
				{
					node->arithmetic[j][0] = address;
					node->arithmetic[j][1] = address + symbols[i].size_bytes;
				}
		}
	}
	elf_file_fini(&file);
	close(source.fd);
}

/* Returns true if the program was stopped in V8's code, which has frame pointers. */
static bool
is_in_v8(const Node *node)
{
	uint64_t pc = node->replay.registers.numbered[PFS_REGISTER_PC];

	return is_generated(node, pc) || node->builtins[0] == 0 ||
		   (pc >= node->builtins[0] && pc < node->builtins[1]) ||
		   (pc >= node->again[0] && pc < node->again[1]);
}

static void
start_script(Node *node, const char *path, const char *option, const char *file, int depth)
{
	char text[16];
	const char *const with[] = { path, option, file, text, NULL };
	const char *const without[] = { path, file, text, NULL };

	snprintf(text, sizeof(text), "%d", depth);
	memset(node, 0, sizeof(*node));
	replay_start(&node->replay, option[0] != '\0' ? with : without);
	node->depth = depth;
	replay_find_file(&node->replay, PFS_RUNTIME_V8);
	find_builtins(node, path);
}

/* Starts the script with an option; depth is that of the recursion. */
static void
start_node(Node *node, const char *path, const char *option, int depth)
{
	start_script(node, path, option, script, depth);
}

/* Ends the program, which may be stopped. */
static void
end_node(Node *node)
{
	replay_end(&node->replay);
}

/* Walks the stopped program's stack by frame pointers, like the kernel's walk. */
static uint32_t
put_machine_frames(const Node *node)
{
	struct pfs_scratch *scratch = &replay_world.scratch;
	uint64_t pc = node->replay.registers.numbered[PFS_REGISTER_PC];
	uint64_t fp = node->replay.registers.numbered[PFS_REGISTER_FP];
	uint32_t count = 0;

	memcpy(scratch->walk.at.registers, node->replay.registers.numbered,
		   sizeof(node->replay.registers.numbered));
	pfs_walk_enter_innermost(&scratch->walk);
	pfs_note_leaf(scratch);
	scratch->chain.first_sp = scratch->walk.at.sp;
	while (count < PFS_MAX_WALK_FRAMES)
	{
		uint64_t words[2];
		struct iovec local = { words, sizeof(words) };
		struct iovec remote = { (void *) (uintptr_t) fp, sizeof(words) };
		uint32_t place = pfs_walk_place(count);

		scratch->words[place] = pc;
		if (count > 0)
			scratch->words[place] |= PFS_FRAME_RETURN_ADDRESS | PFS_FRAME_BY_FRAME_POINTER;
		count++;
		if (fp < scratch->chain.first_sp || (fp & 7) != 0 ||
			process_vm_readv(node->replay.pid, &local, 1, &remote, 1, 0) != sizeof(words) ||
			words[1] == 0)
			break;
		scratch->chain.ends[place] = (uint32_t) ((fp + 16 - scratch->chain.first_sp) / 8);
		pc = words[1];
		if (words[0] <= fp)
			break;
		fp = words[0];
	}
	scratch->sample.user_count = (uint16_t) count;
	scratch->sample.user_status = PFS_WALK_END_OF_FRAMES;
	return count;
}

/* Walks the chain as the kernel does. The faults of replay_world stay as they are. */
static const struct pfs_chain *
walk_chain(const Node *node)
{
	struct ReplayWorld *world = &replay_world;
	uint32_t count;

	replay_world_reset(node->replay.pid, 0);
	world->scratch.chain.runtime = node->replay.target.entry;
	count = put_machine_frames(node);
	assert_true(pfs_add_chain(0, pfs_walk_kept(count)) > 0);
	return (const struct pfs_chain *) &world->scratch.words[pfs_walk_kept(count)];
}

/*
 * Merges the chain with the native stack, as the collector does. Frames from late_from on were
 * found by a later walk; UINT32_MAX: none.
 */
static bool
merge_late_stacks(const Node *node, const struct pfs_chain *chain, uint32_t late_from,
				  MergedStack *merged)
{
	static uint64_t frames[PFS_MAX_USER_FRAMES];
	static uint64_t ends[PFS_MAX_USER_FRAMES];
	static uint64_t words[PFS_CHAIN_KEPT_WORDS];
	const struct pfs_scratch *scratch = &replay_world.scratch;
	uint32_t found = scratch->sample.user_count;
	uint32_t kept = pfs_walk_kept(found);
	uint32_t chain_kept = pfs_chain_kept(chain->found);
	MachineStack machine = { .frames = frames,
							 .ends = ends,
							 .count = kept,
							 .cut_at = PFS_LEAF_FRAMES,
							 .cut = found - kept,
							 .late_from = late_from < kept ? late_from : kept,
							 .first_sp = scratch->chain.first_sp,
							 .whole = true,
							 .is_generated = is_generated,
							 .context = node };
	ChainStack stack = { .words = words,
						 .count = chain_kept,
						 .cut_at = PFS_CHAIN_LEAF_WORDS,
						 .cut = chain->found - chain_kept,
						 .whole = chain->status == PFS_CHAIN_WHOLE,
						 .marks = (enum pfs_runtime_marks) chain->marks };

	for (uint32_t i = 0; i < kept; i++)
	{
		uint32_t place = i < PFS_LEAF_FRAMES ? i : pfs_walk_place(found - kept + i);

		frames[i] = scratch->words[place];
		ends[i] = scratch->chain.first_sp + 8 * (uint64_t) scratch->chain.ends[place];
	}
	for (uint32_t i = 0; i < chain_kept; i++)
		words[i] = replay_words(
			chain)[i < PFS_CHAIN_LEAF_WORDS ? i : pfs_chain_place(chain->found - chain_kept + i)];
	return stack_merge(&machine, &stack, NULL, 0, merged);
}

static bool
merge_stacks(const Node *node, const struct pfs_chain *chain, MergedStack *merged)
{
	return merge_late_stacks(node, chain, UINT32_MAX, merged);
}

/* Lets the program run for an amount of CPU time, however long that takes on this machine. */
static void
let_run(const Node *node)
{
	char path[64];
	unsigned long long before = 0;
	unsigned long long now = 0;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int) node->replay.pid);
	for (int i = 0; i < 20000 && (i == 0 || now - before < 300000); i++)
	{
		FILE *file = fopen(path, "r");

		assert_non_null(file);
		assert_int_equal(fscanf(file, "%llu", &now), 1);
		fclose(file);
		if (i == 0)
			before = now;
		usleep(500);
	}
}

/* Stops the program in code of V8 with a number of functions, and merges its stacks. */
static void
stop_with(Node *node, MergedStack *merged, uint32_t functions)
{
	for (int i = 0; i < 1000; i++)
	{
		replay_stop(&node->replay);
		read_maps(node);
		if (is_in_v8(node) && merge_stacks(node, walk_chain(node), merged) &&
			merged->merged >= functions)
			return;
		replay_go_on(&node->replay);
		let_run(node);
	}
	fail();
}

static void
stop_inside(Node *node, MergedStack *merged)
{
	stop_with(node, merged, 5);
}

typedef struct Named
{
	char name[64];
	char file[256];
	int32_t line;
	int32_t first_line;
	bool lacks_positions; /* its machine code is optimized, and has an empty table of positions */
} Named;

/*
 * Returns whether an instruction is in optimized code with an empty table of positions. Maglev of
 * some versions makes such code, so that lines and inlined functions are unknown.
 */
static bool
is_without_positions(const Node *node, uint64_t address)
{
	const V8Layout *layout = &node->replay.target.file.v8.layout;
	const V8State *state = node->replay.target.own;
	const V8Code *code = v8_codes_find(&state->codes, address);
	uint64_t length;
	struct iovec local = { &length, sizeof(length) };
	struct iovec remote = { NULL, sizeof(length) };

	if (code == NULL || !layout->has_kinds || code->kind <= layout->kind_baseline)
		return false;
	remote.iov_base = (void *) (uintptr_t) (code->positions + layout->array_length);
	assert_int_equal(process_vm_readv(node->replay.pid, &local, 1, &remote, 1, 0), sizeof(length));
	return length == 0;
}

/* Names the functions of a merged stack, innermost first. Returns their number. */
static size_t
name_functions(Node *node, const MergedStack *merged, Named *named, size_t room)
{
	const RuntimeKind *kind = node->replay.target.file.kind;
	CodeWalk walk = { .time_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC),
					  .words = merged->words,
					  .count = merged->count,
					  .is_interpreted = true };
	uint32_t next = 0;
	size_t count = 0;
	UserFrame frame;

	kind->refresh(&node->replay.memory, &node->replay.target, &walk);
	while (user_frame_next(merged->words, merged->count, &next, &frame))
	{
		CodeWanted wanted = { .more = frame.more, .more_count = frame.more_count };

		if (frame.more_count == 0)
			continue;
		assert_true(kind->key_of(&frame, &wanted.key));
		kind->qualify(&node->replay.target, &frame, &wanted.key);
		kind->read_codes(&node->replay.memory, &node->replay.target, &wanted, 1);
		assert_non_null(wanted.code.name);
		for (const RuntimeCode *code = &wanted.code; code != NULL && count < room;
			 code = code->caller, count++)
		{
			snprintf(named[count].name, sizeof(named[count].name), "%s", code->name);
			snprintf(named[count].file, sizeof(named[count].file), "%s", code->file);
			named[count].line = code->line;
			named[count].first_line = code->first_line;
			named[count].lacks_positions =
				is_without_positions(node, PFS_FRAME_ADDRESS(PFS_FRAME_PAYLOAD(frame.more[2])));
		}
		runtime_code_fini(&wanted.code);
	}
	return count;
}

/* The innermost function may be at its begin, where it checks for room on the stack. */
static void
assert_function(const Named *named, const Expected *expected, bool is_innermost)
{
	assert_string_equal(named->name, expected->name);
	assert_non_null(strstr(named->file, script));
	assert_true(named->first_line == expected->first_line || named->first_line == 0);
	assert_true(named->line == 0 || (is_innermost && named->line == expected->first_line) ||
				(named->line >= expected->lines[0] && named->line <= expected->lines[1]));
}

/* Counts of the script's functions in stacks. */
typedef struct Seen
{
	uint32_t stacks;	/* stacks with the script's functions */
	uint32_t functions; /* functions of the script */
	uint32_t lines;		/* functions with a line, or without positions */
	uint32_t starts;	/* functions with a first line */
	uint32_t leaves;	/* stacks that end in leaf(), or in a function without positions */
} Seen;

/* Returns the number of the script's functions in a complete stack. */
static size_t
expected_depth(const Node *node)
{
	return (size_t) node->depth + 6;
}

/* Returns a function of the script's complete stack, which are counted from the module's code. */
static const Expected *
expected_at(const Node *node, size_t number)
{
	size_t inner = (size_t) node->depth + 2;

	if (number == 0)
		return &expected_module;
	return number < inner ? &expected_deep : &expected_inner[number - inner];
}

/*
 * From the module's code inwards the script's functions follow each other, up to the one that is
 * being called. Functions that are inlined in code without positions are missing.
 */
static void
check_stack(const Node *node, const Named *named, size_t count, Seen *seen)
{
	size_t module = count;
	size_t number = 0;

	while (module > 0 && strstr(named[module - 1].file, script) == NULL)
		module--;
	if (module == 0)
		return; /* node's own code */
	seen->stacks++;
	for (size_t at = module; at-- > 0; number++)
	{
		const Named *function = &named[at];

		while (at + 1 < module && named[at + 1].lacks_positions && number < expected_depth(node) &&
			   strcmp(function->name, expected_at(node, number)->name) != 0)
			number++;
		assert_true(number < expected_depth(node));
		assert_function(function, expected_at(node, number), at == 0);
		seen->functions++;
		seen->lines += function->line != 0 || function->lacks_positions;
		seen->starts += function->first_line != 0;
	}
	seen->leaves += strcmp(named[0].name, "leaf") == 0 || named[0].lacks_positions;
}

/* Stops the program until it was in V8's code a number of times, and checks each stack. */
static Seen
check_stops(Node *node)
{
	static Named named[FRAMES_MAX];
	static MergedStack merged;
	Seen seen = { 0 };

	for (int i = 0; i < 50 * STOPS && seen.stacks < STOPS; i++)
	{
		const struct pfs_chain *chain;

		let_run(node);
		replay_stop(&node->replay);
		read_maps(node);
		chain = walk_chain(node);
		assert_int_equal(chain->status, PFS_CHAIN_WHOLE);
		assert_int_equal(chain->marks, PFS_MARKS_NUMBERS);
		if (is_in_v8(node) && merge_stacks(node, chain, &merged))
			check_stack(node, named, name_functions(node, &merged, named, FRAMES_MAX), &seen);
		replay_go_on(&node->replay);
	}
	return seen;
}

/*
 * Calls check for each Node of this machine, and for those of the variable NODES; returns their
 * number.
 */
static int
each_node(void (*check)(const char *path))
{
	const char *more = getenv("NODES"); /* a pattern of paths, for other places */
	const char *const patterns[] = { "/usr/bin/node", "/usr/local/bin/node",
									 more != NULL ? more : "" };
	int count = 0;

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
	{
		glob_t found;

		if (glob(patterns[i], 0, NULL, &found) != 0)
			continue;
		for (size_t j = 0; j < found.gl_pathc; j++, count++)
			check(found.gl_pathv[j]);
		globfree(&found);
	}
	return count;
}

static void
check_options(const char *path, const char *option, uint32_t lines)
{
	Node node;
	Seen seen;

	start_node(&node, path, option, 5);
	seen = check_stops(&node);
	end_node(&node);
	assert_int_equal(seen.stacks, STOPS);
	assert_true(seen.leaves * 2 >= seen.stacks);
	assert_true(seen.starts * 10 >= seen.functions * 9);
	assert_true(seen.lines * 100 >= seen.functions * lines);
}

/* Optimized code with inlined functions; code of the other compilers; the interpreter alone. */
static void
check_version(const char *path)
{
	check_options(path, "", 90);
	check_options(path, "--no-opt", 80);
	check_options(path, "--jitless", 90);
}

static void
test_all_versions(void **state)
{
	if (each_node(check_version) == 0)
		skip();
}

/* Returns the line that calls the function of arithmetic that runs; 0 if none runs. */
static int32_t
line_of_arithmetic(const Node *node)
{
	uint64_t pc = node->replay.registers.numbered[PFS_REGISTER_PC];

	if (pc >= node->again[0] && pc < node->again[1])
		pc -= node->distance;
	for (size_t i = 0; i < ARITHMETIC_COUNT; i++)
	{
		if (pc >= node->arithmetic[i][0] && pc < node->arithmetic[i][1])
			return arithmetic[i].line;
	}
	return 0;
}

/*
 * Stops a loop of arithmetic. While one of V8's own functions without a frame runs, the function
 * that called it has the line of the call.
 */
static void
check_additions(const char *path)
{
	static Named named[FRAMES_MAX];
	static MergedStack merged;
	int leaves = 0;
	int lines = 0;
	Node node;

	start_script(&node, path, "--no-opt", additions_script, 0);
	for (int i = 0; i < 20 * STOPS && leaves < 2 * STOPS; i++)
	{
		let_run(&node);
		replay_stop(&node.replay);
		read_maps(&node);
		if (is_in_v8(&node) && merge_stacks(&node, walk_chain(&node), &merged) &&
			name_functions(&node, &merged, named, FRAMES_MAX) > 1 &&
			strcmp(named[0].name, "adds") == 0)
		{
			/* V8's own function is the leaf, before the function that called it */
			bool is_below = PFS_FRAME_MORE(merged.words[0]) == 0;
			int32_t line = line_of_arithmetic(&node);

			leaves += is_below;
			lines += is_below && named[0].line != 0;
			assert_true(named[0].line == 0 || (named[0].line >= 2 && named[0].line <= 9));
			assert_true(line == 0 || named[0].line == 0 || named[0].line == line);
		}
		replay_go_on(&node.replay);
	}
	end_node(&node);
	assert_true(leaves > 0);
	assert_true(lines * 100 >= leaves * 95);
}

static void
test_additions(void **state)
{
	if (each_node(check_additions) == 0)
		skip();
}

/*
 * Returns the innermost function of the script: 'm' for the module, 'c' for caller(), 'f' for
 * first(), 's' for second(), 0 if the stack has none of them. Fails if a function that called it is
 * missing.
 */
static char
innermost_call(const Named *named, size_t count)
{
	char innermost = 0;

	for (size_t i = count; i-- > 0;)
	{
		char name = named[i].name[0] == '(' ? 'm' : named[i].name[0];

		if (strstr(named[i].file, calls_script) == NULL)
			continue;
		assert_int_equal(name == 'f' || name == 's' ? 'c' : name == 'c' ? 'm' : 0, innermost);
		innermost = name;
	}
	return innermost;
}

/*
 * Stops a program after each instruction. caller() runs between first() and second(), so a stop in
 * first() cannot follow a stop in second(). While second() is being entered, the stack below the
 * stack pointer still contains the frame of first().
 */
static void
check_each_instruction(const char *path, const char *option)
{
	static Named named[FRAMES_MAX];
	static MergedStack merged;
	int changes = 0;
	char last = 0;
	Node node;

	start_script(&node, path, option, calls_script, 0);
	stop_with(&node, &merged, 1);
	for (int i = 0; i < 8000 && changes < CALLS; i++)
	{
		char now = 0;

		replay_step(&node.replay);
		if (is_in_v8(&node) && merge_stacks(&node, walk_chain(&node), &merged))
			now = innermost_call(named, name_functions(&node, &merged, named, FRAMES_MAX));
		if (now == 0)
			continue;
		assert_false((last == 'f' && now == 's') || (last == 's' && now == 'f'));
		changes += last != 0 && now != last;
		last = now;
	}
	end_node(&node);
	assert_true(changes >= CALLS);
}

static void
check_instructions(const char *path)
{
	check_each_instruction(path, "--no-opt");
	check_each_instruction(path, "--jitless");
}

static void
test_each_instruction(void **state)
{
	if (each_node(check_instructions) == 0)
		skip();
}

/* Returns how many of the walk's frames from a given one on are in generated code. */
static uint32_t
generated_from(const Node *node, uint32_t from)
{
	const struct pfs_scratch *scratch = &replay_world.scratch;
	uint32_t count = 0;

	for (uint32_t i = from; i < scratch->sample.user_count; i++)
	{
		uint64_t frame = scratch->words[i];

		count += is_generated(node,
							  PFS_FRAME_ADDRESS(frame) - ((frame & PFS_FRAME_RETURN_ADDRESS) != 0));
	}
	return count;
}

/*
 * Frames that a later walk found have no functions, and are counted; those that the kernel found
 * before keep theirs.
 */
static void
check_late(const char *path)
{
	static Named named[FRAMES_MAX];
	static MergedStack whole;
	static MergedStack late;
	const struct pfs_chain *chain;
	uint32_t found;
	size_t before = 0;
	size_t all;
	Node node;

	start_node(&node, path, "--no-opt", 5);
	stop_inside(&node, &whole);
	found = replay_world.scratch.sample.user_count;
	all = name_functions(&node, &whole, named, FRAMES_MAX);
	assert_true(all > 4);
	for (uint32_t late_from = 1; late_from < found; late_from++)
	{
		uint32_t generated = generated_from(&node, late_from);
		size_t count = 0;

		/* the kernel's walk ends before this frame */
		replay_world_reset(node.replay.pid, 0);
		replay_world.scratch.chain.runtime = node.replay.target.entry;
		assert_int_equal(put_machine_frames(&node), found);
		replay_world.scratch.sample.user_count = (uint16_t) late_from;
		assert_true(pfs_add_chain(0, pfs_walk_kept(found)) > 0);
		chain = (const struct pfs_chain *) &replay_world.scratch.words[pfs_walk_kept(found)];
		replay_world.scratch.sample.user_count = (uint16_t) found;
		if (merge_late_stacks(&node, chain, late_from, &late))
			count = name_functions(&node, &late, named, FRAMES_MAX);
		assert_int_equal(late.unmatched, generated);
		assert_true(count >= before);
		before = count;
	}
	assert_int_equal(before, all);
	end_node(&node);
}

static void
test_late(void **state)
{
	if (each_node(check_late) == 0)
		skip();
}

/* More frames than are kept: both ends have their functions, and some in the middle are cut out. */
static void
check_deep(const char *path)
{
	static Named named[FRAMES_MAX * 4];
	static MergedStack merged;
	uint32_t deep = 0;
	size_t count;
	Node node;

	merged.cut = 0; /* of another Node */
	start_node(&node, path, "--no-opt", 900);
	/* the recursion is deep most of the time */
	for (int i = 0; i < 1000 && merged.cut < 300; i++)
	{
		if (i > 0)
			replay_go_on(&node.replay);
		let_run(&node);
		stop_inside(&node, &merged);
	}
	assert_true(merged.cut >= 300);
	count = name_functions(&node, &merged, named, FRAMES_MAX * 4);
	for (size_t i = 0; i < count; i++)
		deep += strcmp(named[i].name, "deep") == 0;
	assert_true(deep > 250);
	end_node(&node);
}

static void
test_deep_recursion(void **state)
{
	if (each_node(check_deep) == 0)
		skip();
}

static const __u64 lies[] = { 0,
							  1,
							  UINT64_C(0xffffffffffffffff),
							  UINT64_C(0xffff800000001001),
							  UINT64_C(0x1009),
							  UINT64_C(0x7f0000001001) };
#define LIES (sizeof(lies) / sizeof(lies[0]))

/*
 * Wherever a read fails or returns wrong values, the chain ends and keeps the frames that it found.
 */
static void
check_broken_chain(const char *path)
{
	static MergedStack merged;
	const struct pfs_chain *chain;
	uint32_t whole;
	Node node;
	int reads;

	start_node(&node, path, "", 3);
	stop_inside(&node, &merged);
	whole = walk_chain(&node)->found;
	reads = replay_world.reads;
	for (int i = 1; i <= reads; i++)
	{
		replay_world.failing_read = i;
		chain = walk_chain(&node);
		replay_world.failing_read = 0;
		assert_int_equal(chain->status, PFS_CHAIN_WHOLE);
		assert_true(chain->found <= whole);
		assert_true(replay_world.reads <=
					2 * reads); /* each frame is tried with and without its neighbours */
		assert_true(i > 1 || chain->found == 0);
		for (size_t j = 0; j < LIES; j++)
		{
			replay_world.lying_read = i;
			replay_world.lie = lies[j];
			chain = walk_chain(&node);
			replay_world.lying_read = 0;
			assert_int_equal(chain->status, PFS_CHAIN_WHOLE);
			assert_true(chain->found <= PFS_CHAIN_MAX_WORDS);
		}
	}
	/* slow reads */
	replay_world.read_ns = 100000;
	chain = walk_chain(&node);
	replay_world.read_ns = 0;
	assert_true(chain->status == PFS_CHAIN_WHOLE || chain->status == PFS_CHAIN_OUT_OF_TIME);
	end_node(&node);
}

static void
test_broken_chain(void **state)
{
	if (each_node(check_broken_chain) == 0)
		skip();
}

/* Memory of a process whose reads fail or return wrong values from a number on. */
typedef struct Faulty
{
	pid_t pid;
	uint32_t reads;
	uint32_t failing;
	uint32_t lying;
	uint64_t lie;
	bool is_random; /* true: wrong values are random */
} Faulty;

static bool
read_faulty(Faulty *faulty, uint64_t address, void *bytes, size_t size)
{
	struct iovec local = { bytes, size };
	struct iovec remote = { (void *) (uintptr_t) address, size };

	faulty->reads++;
	if (faulty->failing != 0 && faulty->reads >= faulty->failing)
		return false;
	if (faulty->lying != 0 && faulty->reads >= faulty->lying)
	{
		for (size_t i = 0; i < size; i++)
			((uint8_t *) bytes)[i] =
				faulty->is_random ? (uint8_t) random() : (uint8_t) (faulty->lie >> 8 * (i % 8));
		return true;
	}
	return process_vm_readv(faulty->pid, &local, 1, &remote, 1, 0) == (ssize_t) size;
}

static void
gather_faulty(void *context, RemoteRange *ranges, size_t count, void *bytes)
{
	uint8_t *at = bytes;

	for (size_t i = 0; i < count; i++)
	{
		ranges[i].had = read_faulty(context, ranges[i].address, at, ranges[i].bytes);
		at += ranges[i].bytes;
	}
}

/* Reads all functions of a stack from faulty memory. Returns how many have a name. */
static uint32_t
read_with_fault(const Node *node, const MergedStack *merged, const V8Layout *layout, Faulty *faulty)
{
	const V8File *v8 = &node->replay.target.file.v8;
	const V8Sizes sizes = { v8->bytecode_sizes + node->replay.target.bias, v8->bytecode_count };
	V8Memory memory = { .layout = layout, .gather = gather_faulty, .context = faulty };
	V8State state = { .scripts.now_ns = 1 };
	uint32_t next = 0;
	uint32_t had = 0;
	UserFrame frame;

	while (user_frame_next(merged->words, merged->count, &next, &frame))
	{
		RuntimeCode code;
		V8Frame wanted;

		if (frame.more_count == 0)
			continue;
		wanted = (V8Frame){ .shared = frame.code,
							.check = PFS_V8_CHECK(PFS_FRAME_PAYLOAD(frame.more[0])),
							.pc = PFS_FRAME_ADDRESS(PFS_FRAME_PAYLOAD(frame.more[2])),
							.bytecodes = PFS_V8_BYTECODES(PFS_FRAME_PAYLOAD(frame.more[1])),
							.offset = PFS_V8_OFFSET(PFS_FRAME_PAYLOAD(frame.more[0])) };
		if (wanted.pc != 0)
			v8_codes_verify(&state.codes, &memory, wanted.pc, 1, 2);
		v8_functions_read(&state, &memory, &sizes, &wanted, &code);
		had += code.name != NULL;
		for (const RuntimeCode *each = &code; each != NULL && code.name != NULL;
			 each = each->caller)
			assert_true(each->name != NULL && each->file != NULL && each->line >= 0);
		runtime_code_fini(&code);
	}
	v8_scripts_fini(&state.scripts);
	v8_codes_fini(&state.codes);
	return had;
}

static void
check_broken_objects(const char *path)
{
	static MergedStack merged;
	const V8Layout *layout;
	Faulty faulty;
	uint32_t reads;
	uint32_t whole;
	Node node;

	start_node(&node, path, "", 0);
	layout = &node.replay.target.file.v8.layout;
	stop_inside(&node, &merged);
	faulty = (Faulty){ .pid = node.replay.pid };
	whole = read_with_fault(&node, &merged, layout, &faulty);
	reads = faulty.reads;
	assert_true(whole > 4 && reads > 100);
	for (uint32_t i = 1; i <= reads; i += 1 + i / 40)
	{
		faulty = (Faulty){ .pid = node.replay.pid, .failing = i };
		assert_true(read_with_fault(&node, &merged, layout, &faulty) <= whole);
		for (size_t j = 0; j <= LIES; j++)
		{
			faulty = (Faulty){
				.pid = node.replay.pid, .lying = i, .lie = lies[j % LIES], .is_random = j == LIES
			};
			/* values read before the fault stay; the check word does not match the later ones */
			assert_true(read_with_fault(&node, &merged, layout, &faulty) <= whole);
		}
	}
	end_node(&node);
}

static void
test_broken_objects(void **state)
{
	if (each_node(check_broken_objects) == 0)
		skip();
}

/* Layouts of no version point anywhere in the process, and the walk ends. */
static void
check_random_layouts(const char *path)
{
	static MergedStack merged;
	V8Layout layout;
	Faulty faulty;
	Node node;

	start_node(&node, path, "", 0);
	stop_inside(&node, &merged);
	for (int i = 0; i < 300; i++)
	{
		uint8_t *bytes = (uint8_t *) &layout;

		layout = node.replay.target.file.v8.layout;
		for (int j = 0; j < 1 + i % 4; j++)
			bytes[(size_t) random() % sizeof(layout)] = (uint8_t) random() & 0x7f;
		/* flags have two values */
		layout.has_streams = random() & 1;
		layout.has_kinds = random() & 1;
		layout.start_is_pointer = random() & 1;
		layout.shared_is_wrapped = random() & 1;
		layout.positions_in_scope = random() & 1;
		layout.positions_shift &= 1;
		faulty = (Faulty){ .pid = node.replay.pid };
		(void) read_with_fault(&node, &merged, &layout, &faulty);
		node.replay.target.entry.v8 = layout.walk;
		assert_int_equal(walk_chain(&node)->status, PFS_CHAIN_WHOLE);
	}
	end_node(&node);
}

static void
test_random_layouts(void **state)
{
	if (each_node(check_random_layouts) == 0)
		skip();
}

/* A function that is not the sampled one has no name. */
static void
check_stale(const char *path)
{
	static MergedStack merged;
	const RuntimeKind *kind;
	CodeWanted wanted = { { 0 } };
	uint64_t more[3];
	uint32_t next = 0;
	UserFrame frame = { 0 };
	Node node;

	start_node(&node, path, "", 0);
	kind = node.replay.target.file.kind;
	stop_inside(&node, &merged);
	while (frame.more_count == 0)
		assert_true(user_frame_next(merged.words, merged.count, &next, &frame));
	memcpy(more, frame.more, sizeof(more));
	wanted = (CodeWanted){ .key.address = frame.code, .more = more, .more_count = 3 };
	kind->read_codes(&node.replay.memory, &node.replay.target, &wanted, 1);
	assert_non_null(wanted.code.name);
	runtime_code_fini(&wanted.code);
	more[0] ^= 2;
	kind->read_codes(&node.replay.memory, &node.replay.target, &wanted, 1);
	assert_null(wanted.code.name);
	more[0] ^= 2;
	wanted.key.address = 4096; /* an address that cannot be read */
	kind->read_codes(&node.replay.memory, &node.replay.target, &wanted, 1);
	assert_null(wanted.code.name);
	end_node(&node);
}

static void
test_stale(void **state)
{
	if (each_node(check_stale) == 0)
		skip();
}

/* Writes a new file, whose name replaces the X in a pattern. */
static bool
write_script(char *name, const char *text)
{
	int fd = mkstemps(name, 3);
	bool is_written;

	if (fd < 0)
		return false;
	is_written = write(fd, text, strlen(text)) == (ssize_t) strlen(text);
	close(fd);
	return is_written;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_versions),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_deep_recursion),
		cmocka_unit_test(test_broken_chain),
		cmocka_unit_test(test_broken_objects),
		cmocka_unit_test(test_random_layouts),
		cmocka_unit_test(test_stale),
		cmocka_unit_test(test_additions),
		cmocka_unit_test(test_each_instruction),
	};
	int failed;

	if (!write_script(script, program) || !write_script(additions_script, additions) ||
		!write_script(calls_script, calls))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(script);
	unlink(additions_script);
	unlink(calls_script);
	return failed;
}
