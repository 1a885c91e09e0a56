/*
 * test_runtimes_php.c
 *		PHP's frames: the BPF code in plain memory reads processes of each version on this machine,
 *		memory whose reads fail or return wrong values, and offsets of no version.
 *
 * PHPS: a pattern of more programs.
 */
#include "runtime_replay.h"

#include <inttypes.h>

#include "php_frame.h"
#include "runtimes/php/php_code.h"
#include "runtimes/php/php_compiled.h"
#include "runtimes/php/php_file.h"
#include "runtimes/stack_merge.h"

#define FRAMES_MAX		  512
#define STOPS			  40
#define STOPS_MOST		  5000
#define SYSTEM_CALLS_MOST 20000
#define HANDLER_STOPS	  5
#define HANDLER_STEPS	  400

/*
 * A script that waits below a recursion, a closure that array_map() calls, a generator and an
 * included file.
 */
static const char waiting[] = "<?php\n"												   /*  1 */
							  "function waits($n) {\n"								   /*  2 */
							  "    if ($n > 0)\n"									   /*  3 */
							  "        return waits($n - 1);\n"						   /*  4 */
							  "    echo \"ready\\n\";\n"							   /*  5 */
							  "    usleep(1000000000);\n"							   /*  6 */
							  "    return 1;\n"										   /*  7 */
							  "}\n"													   /*  8 */
							  "class Mapper {\n"									   /*  9 */
							  "    static function maps(array $all) {\n"			   /* 10 */
							  "        return array_map(function ($each) {\n"		   /* 11 */
							  "            return waits((int) $GLOBALS['argv'][1]);\n" /* 12 */
							  "        }, $all);\n"									   /* 13 */
							  "    }\n"												   /* 14 */
							  "    function generates() {\n"						   /* 15 */
							  "        yield 0;\n"									   /* 16 */
							  "        yield self::maps([1]);\n"					   /* 17 */
							  "    }\n"												   /* 18 */
							  "}\n"													   /* 19 */
							  "foreach ((new Mapper)->generates() as $each)\n"		   /* 20 */
							  "    eval('$x = 1;');\n";								   /* 21 */

static const char includes[] = "<?php\n\ninclude __DIR__ . '/waiting.php';\n";

/* A loop over several lines, of which calls save only the condition's. */
static const char burning[] = "<?php\n"								 /*  1 */
							  "function burns($n) {\n"				 /*  2 */
							  "    $x = 0;\n"						 /*  3 */
							  "    for ($i = 0;\n"					 /*  4 */
							  "         $i < $n;\n"					 /*  5 */
							  "         $i++)\n"					 /*  6 */
							  "        $x += $i * $i % 7;\n"		 /*  7 */
							  "    return $x;\n"					 /*  8 */
							  "}\n"									 /*  9 */
							  "echo \"ready\\n\";\n"				 /* 10 */
							  "while (true)\n"						 /* 11 */
							  "    array_map('burns', [100000]);\n"; /* 12 */

/* A fiber that a function resumes; and code of eval() that calls a function. */
static const char fibers[] = "<?php\n"								  /*  1 */
							 "function waits() {\n"					  /*  2 */
							 "    echo \"ready\\n\";\n"				  /*  3 */
							 "    usleep(1000000000);\n"			  /*  4 */
							 "}\n"									  /*  5 */
							 "function starts() {\n"				  /*  6 */
							 "    (new Fiber(function () {\n"		  /*  7 */
							 "        eval('waits();');\n"			  /*  8 */
							 "    }))->start();\n"					  /*  9 */
							 "}\n"									  /* 10 */
							 "if (class_exists('Fiber')) starts();\n" /* 11 */
							 "else eval('waits();');\n";			  /* 12 */

/* The compiler adds a function to its memory again and again. */
static const char compiling[] =
	"<?php\n"
	"$file = __DIR__ . '/made.php';\n"
	"echo \"ready\\n\";\n"
	"for ($i = 0;; $i++) {\n"
	"    file_put_contents($file, \"<?php\\nfunction made$i(\\$n) { return \\$n * $i; }\\n\");\n"
	"    opcache_invalidate($file, true);\n"
	"    include $file;\n"
	"}\n";

static char directory[] = "/tmp/test_runtimes_php.XXXXXX";

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
	write_script("waiting.php", waiting);
	write_script("includes.php", includes);
	write_script("burning.php", burning);
	write_script("fibers.php", fibers);
	write_script("compiling.php", compiling);
	return 0;
}

static int
remove_scripts(void **state)
{
	static const char *const names[] = { "waiting.php", "includes.php",	 "burning.php",
										 "fibers.php",	"compiling.php", "made.php" };
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		(void) unlink(path);
	}
	return rmdir(directory);
}

/* The kind of memory that OPcache shares: a value of opcache.preferred_memory_model. */
static const char *memory_model = "mmap";

/* Starts a script; jit: 0 or a mode of OPcache's compiler. */
static void
start_script(Replay *replay, const char *php, const char *script, const char *argument,
			 const char *jit)
{
	char path[128];
	char mode[64];
	char model[64];
	const char *const plain[] = { php, path, argument, NULL };
	/* without this option OPcache does not compile scripts that were just written */
	const char *const compiled[] = { php,
									 "-dopcache.enable_cli=1",
									 "-dopcache.file_update_protection=0",
									 "-dopcache.jit_buffer_size=16M",
									 mode,
									 model,
									 path,
									 argument,
									 NULL };

	snprintf(path, sizeof(path), "%s/%s", directory, script);
	snprintf(mode, sizeof(mode), "-dopcache.jit=%s", jit != NULL ? jit : "");
	snprintf(model, sizeof(model), "-dopcache.preferred_memory_model=%s", memory_model);
	replay_start(replay, jit != NULL ? compiled : plain);
	if (strcmp(script, "burning.php") != 0 && strcmp(script, "compiling.php") != 0)
		replay_wait_for_sleep(replay);
	replay_find(replay, PFS_RUNTIME_PHP);
}

static void
each_php(void (*check)(const char *path))
{
	replay_each("/usr/bin/php[0-9].[0-9]", "PHPS", check);
}

/* The expected name, the end of the file's path, and the possible lines. */
typedef struct Expected
{
	const char *name;
	const char *file;
	int32_t lines[2];
} Expected;

static void
assert_frame(const ReplayFrame *frame, const Expected *expected)
{
	size_t length = strlen(frame->file);
	size_t end = strlen(expected->file);

	if (strcmp(expected->name, "Mapper::{closure}") == 0)
		assert_memory_equal(frame->name, "Mapper::{closure", strlen("Mapper::{closure"));
	else
		assert_string_equal(frame->name, expected->name);
	assert_true(length >= end);
	assert_string_equal(frame->file + length - end, expected->file);
	assert_true(frame->line == expected->lines[0] || frame->line == expected->lines[1]);
}

static void
check_waiting(const char *php, int depth)
{
	static const Expected outer[] = { { "Mapper::{closure}", "/waiting.php", { 12, 12 } },
									  { "array_map", "", { 0, 0 } },
									  { "Mapper::maps", "/waiting.php", { 11, 13 } },
									  { "Mapper::generates", "/waiting.php", { 17, 17 } },
									  { "{include}", "/waiting.php", { 20, 20 } },
									  { "{main}", "/includes.php", { 3, 3 } } };
	const Expected sleeps = { "usleep", "", { 0, 0 } };
	const Expected innermost = { "waits", "/waiting.php", { 6, 6 } };
	const Expected recursion = { "waits", "/waiting.php", { 4, 4 } };
	const struct pfs_chain *chain;
	ReplayFrame frames[FRAMES_MAX];
	char argument[16];
	uint32_t marks;
	size_t count;
	Replay replay;

	snprintf(argument, sizeof(argument), "%d", depth);
	start_script(&replay, php, "includes.php", argument, NULL);
	chain = replay_walk(&replay);
	assert_int_equal(chain->status, PFS_CHAIN_WHOLE);
	assert_int_equal(chain->mark_count, 3);
	count = replay_frames(&replay, chain, frames, FRAMES_MAX, &marks);
	assert_int_equal(count, depth + 8);
	assert_int_equal(marks, 3);
	assert_frame(&frames[0], &sleeps);
	assert_frame(&frames[1], &innermost);
	for (int i = 0; i < depth; i++)
		assert_frame(&frames[2 + i], &recursion);
	for (size_t i = 0; i < sizeof(outer) / sizeof(outer[0]); i++)
		assert_frame(&frames[2 + depth + i], &outer[i]);
	assert_int_equal(frames[1].first_line, 2);
	replay_end(&replay);
}

static void
check_version(const char *php)
{
	check_waiting(php, 3);
	check_waiting(php, 300);
}

static void
test_all_versions(void **state)
{
	each_php(check_version);
}

/* More frames than a record holds, and than are followed. */
static void
check_deep(const char *php)
{
	const struct pfs_chain *chain;
	Replay replay;

	start_script(&replay, php, "includes.php", "600", NULL);
	chain = replay_walk(&replay);
	assert_int_equal(chain->status, PFS_CHAIN_WHOLE);
	assert_int_equal(chain->found, 2 * (600 + 8) + 3);
	replay_end(&replay);
	start_script(&replay, php, "includes.php", "3000", NULL);
	chain = replay_walk(&replay);
	assert_int_equal(chain->status, PFS_CHAIN_TOO_DEEP);
	assert_true(chain->found <= PFS_CHAIN_MAX_WORDS);
	replay_end(&replay);
}

static void
test_deep_recursion(void **state)
{
	each_php(check_deep);
}

static void
check_fibers(const char *php)
{
	ReplayFrame frames[FRAMES_MAX];
	bool has_fiber = false;
	uint32_t marks;
	size_t count;
	Replay replay;

	start_script(&replay, php, "fibers.php", NULL, NULL);
	count = replay_frames(&replay, replay_walk(&replay), frames, FRAMES_MAX, &marks);
	assert_true(count >= 4);
	assert_string_equal(frames[0].name, "usleep");
	assert_string_equal(frames[1].name, "waits");
	assert_int_equal(frames[1].line, 4);
	assert_string_equal(frames[2].name, "{eval}");
	assert_int_equal(frames[2].line, 1);
	assert_non_null(strstr(frames[2].file, "eval()'d code"));
	for (size_t i = 0; i < count; i++)
		has_fiber |= strcmp(frames[i].name, "Fiber::start") == 0;
	if (has_fiber)
	{
		assert_int_equal(count, 7);
		assert_string_equal(frames[5].name, "starts");
		assert_int_equal(marks, 2);
	}
	assert_string_equal(frames[count - 1].name, "{main}");
	replay_end(&replay);
}

static void
test_fibers(void **state)
{
	each_php(check_fibers);
}

/*
 * Returns true if the process has the compiler, which is a part of OPcache from PHP 8.0 on. PHP 8.5
 * contains OPcache.
 */
static bool
has_compiler(Replay *replay)
{
	char *maps = remote_memory_maps(&replay->memory, REPLAY_MAPS_BYTES);
	uint32_t version = replay->target.file.php.version;
	bool has = version >= 805;

	assert_non_null(maps);
	has |= version >= 800 && strstr(maps, "/opcache.so") != NULL;
	free(maps);
	return has;
}

/*
 * Returns true if the script was stopped in compiled code, which runs in the loop's frame: frames
 * of both are left by a rule of the loop's.
 */
static bool
is_in_compiled_code(const Replay *replay)
{
	const struct pfs_php_layout *layout = &replay->target.entry.php;
	uint64_t address = pfs_php_rule_address(layout, replay->registers.numbered[PFS_REGISTER_PC]);

	assert_int_equal(pfs_php_rule_address(layout, layout->compiled_end), 0);
	assert_int_equal(pfs_php_rule_address(layout, layout->loop_start), 0);
	assert_true(address == 0 || (address > layout->loop_start && address < layout->loop_end));
	return address != 0;
}

/*
 * Stops a script that loops, at least STOPS times, and until the line of the condition was the
 * leaf's, because memory never contains that line. Compiled code need not have it.
 */
static void
check_leaves(const char *php, const char *jit)
{
	int conditions = 0;
	int compiled = 0;
	int leaves = 0;
	int stops = 0;
	bool is_compiled;
	Replay replay;

	start_script(&replay, php, "burning.php", NULL, jit);
	is_compiled = replay.target.compiled.end != 0;
	assert_int_equal(is_compiled, jit != NULL && has_compiler(&replay));
	for (; stops < STOPS || (jit == NULL && conditions == 0 && stops < STOPS_MOST) ||
		   (is_compiled && compiled == 0 && stops < STOPS_MOST);
		 stops++)
	{
		ReplayFrame frames[FRAMES_MAX];
		uint32_t marks;
		size_t count;

		usleep(3000);
		replay_stop(&replay);
		count = replay_frames(&replay, replay_walk(&replay), frames, FRAMES_MAX, &marks);
		compiled += is_in_compiled_code(&replay);
		replay_go_on(&replay);
		if (count == 0 || strcmp(frames[0].name, "burns") != 0)
			continue;
		leaves++;
		assert_int_equal(count, 3);
		assert_string_equal(frames[1].name, "array_map");
		assert_string_equal(frames[2].name, "{main}");
		assert_true(jit != NULL || frames[2].line == 12);
		assert_true((jit != NULL && frames[0].line == 0) ||
					(frames[0].line >= 2 && frames[0].line <= 8));
		conditions += frames[0].line == 5 || frames[0].line == 6;
	}
	assert_true(leaves > stops / 2);
	assert_true(jit != NULL || conditions > 0);
	assert_int_equal(compiled > 0, is_compiled);
	replay_end(&replay);
}

static void
check_leaf_lines(const char *php)
{
	check_leaves(php, NULL);
}

static void
test_leaf_lines(void **state)
{
	each_php(check_leaf_lines);
}

/* Returns the line of "burns" if it is the leaf, otherwise -1. */
static int32_t
line_of_burns(Replay *replay)
{
	ReplayFrame frames[FRAMES_MAX];
	uint32_t marks;
	size_t count = replay_frames(replay, replay_walk(replay), frames, FRAMES_MAX, &marks);

	return count > 0 && strcmp(frames[0].name, "burns") == 0 ? frames[0].line : -1;
}

/*
 * Executes a script by single instructions. A handler that is a function of its own has the line
 * that the loop had when it called the handler or, because a handler may advance to the next
 * instruction, the one that the loop has afterwards. Returns the number of calls of such handlers.
 */
static int
step_through_handlers(Replay *replay)
{
	const struct pfs_php_layout *layout = &replay->target.entry.php;
	int32_t loop_line = -1; /* -1: unknown */
	int32_t next_line = -1; /* in the handler, if it differs from the loop's */
	bool in_handler = false;
	int handlers = 0;

	for (int i = 0; i < HANDLER_STEPS; i++)
	{
		uint64_t pc;
		int32_t line;

		replay_step(replay);
		pc = replay->registers.numbered[PFS_REGISTER_PC];
		line = line_of_burns(replay);
		if (line < 0)
			loop_line = next_line = -1;
		else if (pc < layout->loop_start || pc >= layout->loop_end)
		{
			assert_true(loop_line < 0 || next_line < 0 || line == next_line);
			if (loop_line >= 0 && line != loop_line)
				next_line = line;
			in_handler = true;
			continue;
		}
		else
		{
			assert_true(next_line < 0 || line == next_line);
			handlers += in_handler && loop_line >= 0;
			loop_line = line;
			next_line = -1;
		}
		in_handler = false;
	}
	return handlers;
}

static void
check_handlers(const char *php, const char *jit)
{
	int handlers = 0;
	Replay replay;

	start_script(&replay, php, "burning.php", NULL, jit);
	for (int stop = 0; stop < HANDLER_STOPS; stop++)
	{
		usleep(3000);
		replay_stop(&replay);
		handlers += step_through_handlers(&replay);
		replay_go_on(&replay);
	}
	assert_true(handlers > 0);
	replay_end(&replay);
}

static void
check_handlers_lines(const char *php)
{
	check_handlers(php, NULL);
	check_handlers(php, "disable");
}

/* Lines of handlers, without OPcache, and with its optimizer, but not its compiler. */
static void
test_lines_in_handlers(void **state)
{
	each_php(check_handlers_lines);
}

static void
check_compiled(const char *php)
{
	check_leaves(php, "tracing");
	check_leaves(php, "function");
}

/* Compiled code does not save its instruction, so lines may be missing, but are never wrong. */
static void
test_compiled_code(void **state)
{
	each_php(check_compiled);
}

/*
 * Finds the executable part of the memory that processes share, which is OPcache's. Returns false
 * if no part is executable.
 */
static bool
find_executable(const Replay *replay, LoopCode *code)
{
	char *maps = replay_read_maps(replay);
	char *rest = maps;
	char *line;
	bool found = false;

	while (!found && (line = strsep(&rest, "\n")) != NULL)
	{
		found = strstr(line, "xs ") != NULL &&
				sscanf(line, "%" SCNx64 "-%" SCNx64, &code->start, &code->end) == 2;
	}
	free(maps);
	return found;
}

/* Lets the stopped program run until its code becomes executable, or no longer is. */
static void
run_until(const Replay *replay, bool is_executable)
{
	LoopCode code;
	int status;

	for (int i = 0; i < SYSTEM_CALLS_MOST; i++)
	{
		assert_int_equal(ptrace(PTRACE_SYSCALL, replay->pid, NULL, NULL), 0);
		assert_int_equal(waitpid(replay->pid, &status, __WALL), replay->pid);
		assert_true(WIFSTOPPED(status));
		if (find_executable(replay, &code) == is_executable)
			return;
	}
	fail();
}

/* The memory of compiled code is found while the compiler writes to it and it is not executable. */
static void
check_writing(const char *php)
{
	RuntimeTarget *target;
	LoopCode code;
	Replay replay;

	start_script(&replay, php, "compiling.php", NULL, "function");
	target = &replay.target;
	if (has_compiler(&replay))
	{
		replay_stop(&replay);
		run_until(&replay, false);
		target->compiled = (LoopCode){ 0 };
		assert_true(target->file.kind->place(&replay.memory, target,
											 replay.registers.thread_pointer, true));
		run_until(&replay, true);
		assert_true(find_executable(&replay, &code));
		assert_int_equal(target->compiled.start, code.start);
		assert_int_equal(target->compiled.end, code.end);
		assert_int_equal(target->entry.php.compiled_start, code.start);
		assert_int_equal(target->entry.php.compiled_end, code.end);
		replay_go_on(&replay);
	}
	replay_end(&replay);
}

static void
test_compiler_writes(void **state)
{
	static const char *const models[] = { "mmap", "shm", "posix" };

	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
	{
		memory_model = models[i];
		each_php(check_writing);
	}
	memory_model = "mmap";
}

/* Lines of a maps file for memory that a test cannot rely on: a machine may have no huge pages. */
static void
test_shared_memory(void **state)
{
	char maps[] = "10000000-10200000 r-xp 00000000 00:0f 71 /anon_hugepage (deleted)\n"
				  "20000000-22000000 rw-s 00000000 00:0f 72 /anon_hugepage (deleted)\n"
				  "22000000-23000000 r-xs 02000000 00:0f 72 /anon_hugepage (deleted)\n"
				  "23000000-24000000 rw-s 00000000 00:01 0 /SYSV00000000 (deleted)\n"
				  "24000000-25000000 rw-s 00000000 00:01 1 /SYSVffffffff (deleted)\n"
				  "25000000-26000000 r-xs 00000000 00:1b 73 /dev/shm/ZendAccelerator.9 (deleted)\n"
				  "26000000-27000000 rw-s 00000000 00:01 74 /dev/zero (deleted)\n"
				  "27000000-28000000 r-xs 00000000 08:01 75 /srv/dev/zero\n"
				  "28000000-29000000 rw-s 00000000 00:00 0\n"
				  "29000000-2a000000 rw-s 00000000 00:06 76 /srv/php/dev/shm/ZendAccelerator.9\n"
				  "2a000000-2b000000 rw-s 00000000 00:06 77 /dev/shm/ZendAccelerator.9/a.so\n";
	const PhpShared expected[] = {
		{ 0x20000000, 0x23000000, 72, { .start = 0x22000000, .end = 0x23000000 } },
		{ 0x23000000, 0x24000000, 0, { 0 } },
		{ 0x24000000, 0x25000000, 1, { 0 } },
		{ 0x25000000, 0x26000000, 73, { .start = 0x25000000, .end = 0x26000000 } },
		{ 0x26000000, 0x27000000, 74, { 0 } },
		{ 0x29000000, 0x2a000000, 76, { 0 } },
	};
	PhpShared shared[PHP_SHARED_MAX];
	size_t count = php_shared_list(maps, shared);

	assert_int_equal(count, sizeof(expected) / sizeof(expected[0]));
	for (size_t i = 0; i < count; i++)
	{
		assert_int_equal(shared[i].start, expected[i].start);
		assert_int_equal(shared[i].end, expected[i].end);
		assert_int_equal(shared[i].inode, expected[i].inode);
		assert_int_equal(shared[i].executable.start, expected[i].executable.start);
		assert_int_equal(shared[i].executable.end, expected[i].executable.end);
	}
}

static void
check_broken(const char *php)
{
	Replay replay;

	start_script(&replay, php, "includes.php", "3", NULL);
	replay_check_broken(&replay);
	replay_end(&replay);
}

static void
test_broken_memory(void **state)
{
	each_php(check_broken);
}

/* Returns the address of the word that points to the innermost frame. */
static uint64_t
current_of(const Replay *replay)
{
	const struct pfs_runtime *entry = &replay->target.entry;
	const RemotePieces piece = { .address = replay->registers.thread_pointer +
											(uint64_t) (int64_t) entry->state_offset,
								 .piece_bytes = sizeof(uint64_t),
								 .count = 1 };
	RemoteMemory memory = replay->memory;
	uint64_t globals;

	if (!entry->php.has_threads)
		return entry->php.current;
	assert_int_equal(remote_memory_read(&memory, &piece, &globals), sizeof(globals));
	return globals + entry->php.current;
}

/* With offsets of no version the walk ends, whatever they point to. */
static void
check_layouts(const char *php)
{
	struct pfs_php_layout layout;
	ReplayFrame frames[FRAMES_MAX];
	uint32_t marks;
	Replay replay;

	start_script(&replay, php, "includes.php", "3", NULL);
	layout = replay.target.entry.php;
	for (int round = 0; round < 200; round++)
	{
		struct pfs_php_layout *entry = &replay.target.entry.php;

		*entry = layout;
		entry->function_last = (__u8) random();
		entry->function_opcodes = (__u8) random();
		entry->function_file = (__u8) random();
		entry->function_lines = (__u8) random();
		(void) replay_frames(&replay, replay_walk(&replay), frames, FRAMES_MAX, &marks);
	}
	/* globals of another version are not accepted either */
	for (uint32_t version = 703; version <= 805; version++)
	{
		struct pfs_php_layout other = layout;

		if (!php_layout_of(version, &other) || (other.function_file == layout.function_file &&
												other.function_lines == layout.function_lines))
			continue;
		other.current = current_of(&replay);
		assert_false(php_frames_fit(&replay.memory, &other));
	}
	layout.current = current_of(&replay);
	assert_true(php_frames_fit(&replay.memory, &layout));
	replay_end(&replay);
}

static void
test_layouts(void **state)
{
	struct pfs_php_layout layout;

	assert_false(php_layout_of(0, &layout));
	assert_false(php_layout_of(702, &layout));
	assert_false(php_layout_of(806, &layout));
	assert_true(php_layout_of(804, &layout));
	assert_int_equal(layout.current, 488);
	assert_true(php_layout_of(805, &layout));
	assert_int_equal(layout.current, 512);
	each_php(check_layouts);
}

/* A function that is not the sampled one has no name, whatever replaced it. */
static void
check_stale(const char *php)
{
	const struct pfs_chain *chain;
	CodeWanted wanted[3] = { { { 0, 0 }, NULL, 0, { 0 } } };
	uint32_t next = 0;
	UserFrame frame = { 0 };
	Replay replay;

	start_script(&replay, php, "includes.php", "0", NULL);
	chain = replay_walk(&replay);
	/* the frames outside usleep() */
	for (int i = 0; i < 2; i++)
		assert_true(
			user_frame_next(replay_words(chain), pfs_chain_kept(chain->found), &next, &frame));
	for (int i = 0; i < 3; i++)
		assert_true(php_kind.key_of(&frame, &wanted[i].key));
	wanted[0].key.check ^= 2;
	wanted[1].key.address = 4096; /* an address that cannot be read */
	php_codes_read(&replay.memory, &replay.target.entry.php, wanted, 3);
	assert_null(wanted[0].code.name);
	assert_null(wanted[1].code.name);
	assert_string_equal(wanted[2].code.name, "waits");
	runtime_code_fini(&wanted[2].code);
	replay_end(&replay);
}

static void
test_stale_code(void **state)
{
	each_php(check_stale);
}

/* Only the thread that executes PHP has frames. */
static void
check_threads(const char *php)
{
	Replay replay;

	start_script(&replay, php, "includes.php", "0", NULL);
	replay.registers.thread_pointer += 64;
	assert_int_equal(replay_walk(&replay)->status, PFS_CHAIN_NO_STATE);
	replay_end(&replay);
}

static void
test_other_threads(void **state)
{
	each_php(check_threads);
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
								  { .start = 0x400, .end = 0x401 } };

static void
make_stacks(Stacks *stacks)
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
}

static void
add_frame(Stacks *stacks, uint64_t number)
{
	stacks->words[stacks->chain.count++] =
		number | UINT64_C(1) << 60 | (uint64_t) PFS_RUNTIME_PHP << 56;
	stacks->words[stacks->chain.count++] = UINT64_C(15) << 60;
}

static void
add_mark(Stacks *stacks)
{
	stacks->words[stacks->chain.count++] = 0;
	stacks->chain.mark_count++;
}

static void
assert_merged(const Stacks *stacks, const char *expected)
{
	static MergedStack merged;
	char text[1024] = "";
	uint32_t next = 0;
	UserFrame frame = { 0 };

	assert_true(stack_merge(&stacks->machine, &stacks->chain, loops, 2, &merged));
	while (user_frame_next(merged.words, merged.count, &next, &frame))
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s%u",
				 text[0] != '\0' ? " " : "", frame.more_count > 0 ? "p" : "m",
				 (unsigned) (frame.more_count > 0 ? frame.code : frame.code / 0x100 - 1));
	assert_string_equal(text, expected);
	assert_int_equal(merged.unmatched, 0);
}

/*
 * The stack of a fiber is a part of the native one: the code that resumed the fiber follows its
 * end.
 */
static void
test_merge_fiber(void **state)
{
	Stacks stacks;

	make_stacks(&stacks);
	for (uint64_t i = 1; i <= 4; i++)
	{
		add_frame(&stacks, i);
		add_mark(&stacks);
	}
	assert_false(
		stack_merge(&stacks.machine, &stacks.chain, loops, 2, &(MergedStack){ .unmatched = 0 }));
	stacks.machine.whole = false;
	assert_merged(&stacks, "m0 p1 m2 p2 m4 m5 p3 p4");
}

/*
 * Globals of this thread, in the layout of PHP 8.2 for several threads: a frame, and its function.
 */
static struct
{
	uint64_t words[128];
	uint64_t frame[7];
	uint64_t function[32];
	uint64_t instructions[2][4];
	uint64_t file[4];
	uint64_t distance; /* distance of the executor's globals from words */
} globals = { .instructions = { { 0 }, { 0, 0, 0, 7 } }, .distance = 64 };

static _Thread_local uint64_t *volatile variable;

static void
fill_globals(void)
{
	globals.words[(64 + 488) / 8] = (uintptr_t) globals.frame;
	globals.frame[3] = (uintptr_t) globals.function;
	globals.function[0] = PFS_PHP_USER;
	globals.function[10] = 2; /* number of instructions */
	globals.function[11] = (uintptr_t) globals.instructions;
	globals.function[19] = (uintptr_t) globals.file;
	globals.function[20] = 3 | UINT64_C(9) << 32;
	globals.file[2] = 8;
	memcpy(&globals.file[3], "file.php", 8);
	variable = globals.words;
}

/*
 * PHP for several threads: a thread-local variable points to the thread's frames; a thread without
 * it has none.
 */
static void
test_threads(void **state)
{
	uint64_t thread_pointer = (uintptr_t) __builtin_thread_pointer();
	Replay replay = { .pid = getpid(), .registers = { .thread_pointer = thread_pointer } };
	RuntimeTarget *target = &replay.target;
	const struct pfs_chain *chain;

	fill_globals();
	assert_int_equal(patience_init(&replay.patience), 0);
	replay.memory = (RemoteMemory){ .patience = &replay.patience, .pid = (uint32_t) getpid() };
	target->file.kind = &php_kind;
	target->file.php = (PhpFile){ .version = 802, .distance = (uintptr_t) &globals.distance };
	assert_true(php_layout_of(802, &target->file.php.layout));
	target->entry.kind = PFS_RUNTIME_PHP;
	php_kind.describe(target);
	assert_true(php_kind.place(&replay.memory, target, thread_pointer, false));
	assert_int_equal(thread_pointer + (uint64_t) (int64_t) target->entry.state_offset,
					 (uintptr_t) &variable);
	chain = replay_walk(&replay);
	assert_int_equal(chain->status, PFS_CHAIN_WHOLE);
	assert_int_equal(chain->found, 2);
	variable = NULL;
	assert_int_equal(replay_walk(&replay)->status, PFS_CHAIN_NO_STATE);

	/* invalid numbers and frames */
	assert_false(php_kind.place(&replay.memory, target, thread_pointer, false));
	variable = globals.words;
	globals.distance = 1;
	assert_false(php_kind.place(&replay.memory, target, thread_pointer, false));
	globals.distance = UINT64_MAX - 63;
	assert_false(php_kind.place(&replay.memory, target, thread_pointer, false));
	globals.distance = 64;
	globals.instructions[1][3] = 10; /* an instruction after the last line */
	assert_false(php_kind.place(&replay.memory, target, thread_pointer, false));
	patience_fini(&replay.patience);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_versions),
		cmocka_unit_test(test_deep_recursion),
		cmocka_unit_test(test_fibers),
		cmocka_unit_test(test_leaf_lines),
		cmocka_unit_test(test_lines_in_handlers),
		cmocka_unit_test(test_compiled_code),
		cmocka_unit_test(test_compiler_writes),
		cmocka_unit_test(test_shared_memory),
		cmocka_unit_test(test_broken_memory),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_stale_code),
		cmocka_unit_test(test_other_threads),
		cmocka_unit_test(test_merge_fiber),
	};

	return cmocka_run_group_tests(tests, write_scripts, remove_scripts);
}
