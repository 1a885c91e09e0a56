/*
 * test_runtimes_luajit.c
 *		LuaJIT's frames: the kernel's own C over processes of each version that is found here,
 *		against the stack that the program itself prints, and over memory that fails or lies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime_replay.h"

#include "runtimes/luajit/luajit_code.h"
#include "runtimes/luajit/luajit_place.h"

/*
 * Waits below a recursion, a callback of a C function, a metamethod, a protected call, a function
 * with a variable number of arguments, and two coroutines. Prints its Lua functions before.
 */
static const char program[] =
	"jit.off()\n"
	"local ffi = require('ffi')\n"
	"ffi.cdef('unsigned sleep(unsigned seconds);')\n"
	"local out, outer, main_line = {}, nil, 0\n"
	"local function note(info)\n"
	"  if info.what ~= 'C' then out[#out + 1] = info.linedefined .. '\\t' .. info.currentline end\n"
	"end\n"
	"local function waits(n)\n"
	"  if n > 0 then local r = waits(n - 1) return r end\n"
	"  for l = 1, 2000 do local i = debug.getinfo(l, 'Sl') if not i then break end note(i) end "
	"for l = 0, 2000 do local i = debug.getinfo(outer, l, 'Sl') if not i then break end note(i) end "
	"out[#out + 1] = '0\\t' .. main_line io.write(table.concat(out, '\\n'), '\\nready\\n') io.flush() "
	"ffi.C.sleep(1000)\n"
	"  return 1\n"
	"end\n"
	"local depth = tonumber(os.getenv('DEPTH'))\n"
	"local indexed = setmetatable({}, { __index = function(t, key)\n"
	"  local v = waits(depth)\n"
	"  return v end })\n"
	"local function callback(s)\n"
	"  local v = indexed.missing\n"
	"  return tostring(v)\n"
	"end\n"
	"local function varies(...)\n"
	"  local x = select('#', ...)\n"
	"  local s = string.gsub('ab', '.', callback)\n"
	"  return s, x\n"
	"end\n"
	"local function guarded()\n"
	"  local ok, v = pcall(varies, 1, 2, 3)\n"
	"  return v\n"
	"end\n"
	"outer = coroutine.create(function()\n"
	"  local inner = coroutine.wrap(function()\n"
	"    local v = guarded()\n"
	"    return v end)\n"
	"  local r = inner()\n"
	"  return r end)\n"
	"main_line = debug.getinfo(1, 'l').currentline; local ok, e = coroutine.resume(outer)\n"
	"print(ok, e)\n";

#define FUNCTIONS 8 /* without the recursion */

/* Runs on without an end, in a function that another one called. */
static const char spinning[] = "OPTION\n"
							   "local function spins(x)\n"
							   "  while true do x = x + 1 end\n"
							   "end\n"
							   "local function calls() local v = spins(1) return v end\n"
							   "io.write('ready\\n') io.flush()\n"
							   "local v = calls()\n";

static void
start_text(Replay *replay, const char *path, const char *text)
{
	const char *const arguments[] = { path, "-e", text, NULL };

	replay_start(replay, arguments);
	replay_find(replay, PFS_RUNTIME_LUAJIT);
}

static void
start(Replay *replay, const char *path, const char *depth)
{
	setenv("DEPTH", depth, 1);
	start_text(replay, path, program);
}

static void
each_luajit(void (*check)(const char *path))
{
#ifdef __aarch64__
	skip(); /* the agent finds no frames of LuaJIT there */
#endif
	replay_each("/usr/bin/luajit", "LUAJITS", check);
}

/* Checks all frames against the program's own stack: first line, and line of the call. */
static void
assert_frames(Replay *replay)
{
	const struct pfs_chain *chain = replay_walk(replay);
	char *lines = replay->text;
	UserFrame frame = { 0 };
	uint32_t next = 0;
	char *expected;
	int frames = 0;

	assert_int_equal(chain->status, PFS_CHAIN_WHOLE);
	while ((expected = strsep(&lines, "\n")) != NULL && expected[0] != '\0')
	{
		int first = atoi(strsep(&expected, "\t"));
		char name[64];
		RuntimeCode code;
		int32_t line;

		assert_true(replay_next(chain, &next, &frame));
		replay_read_code(replay, &frame, &code, &line);
		snprintf(name, sizeof(name),
				 first == 0 ? "main chunk of (command line)" : "(command line):%d", first);
		assert_non_null(code.name);
		assert_string_equal(code.name, name);
		assert_string_equal(code.file, "(command line)");
		assert_int_equal(code.first_line, first);
		assert_int_equal(line, atoi(expected));
		runtime_code_fini(&code);
		frames++;
	}
	assert_false(replay_next(chain, &next, &frame));
	assert_true(frames >= FUNCTIONS + 3);
	/* calls of the interpreter by C code: the callback, two coroutines, the chunk, the program */
	assert_true(chain->mark_count >= 4);
}

static void
check_version(const char *path)
{
	static Replay replay;

	start(&replay, path, "3");
	assert_frames(&replay);
	replay_end(&replay);
}

static void
test_all_versions(void **state)
{
	each_luajit(check_version);
}

/*
 * Returns in how many of 50 moments the innermost function was the one that runs on, at its line,
 * after it was that once. A few instructions of the interpreter use the registers that lead to
 * these otherwise.
 */
static int
count_running(const char *path, const char *text, bool has_lines)
{
	static Replay replay;
	int right = 0;

	start_text(&replay, path, text);
	for (int i = 0, tries = 0; i<50; i += right> 0)
	{
		const struct pfs_chain *chain;
		UserFrame frame = { 0 };
		uint32_t next = 0;
		RuntimeCode code;
		int32_t line;

		assert_true(tries++ < 10000);
		usleep(1000);
		assert_int_equal(ptrace(PTRACE_ATTACH, replay.pid, NULL, NULL), 0);
		assert_int_equal(waitpid(replay.pid, NULL, 0), replay.pid);
		assert_true(thread_registers_read(replay.pid, &replay.registers));
		chain = replay_walk(&replay);
		assert_int_equal(chain->status, PFS_CHAIN_WHOLE);
		assert_true(replay_next(chain, &next, &frame));
		replay_read_code(&replay, &frame, &code, &line);
		assert_int_equal(ptrace(PTRACE_DETACH, replay.pid, NULL, NULL), 0);
		assert_non_null(code.name);
		right += strcmp(code.name, "(command line):2") == 0 && (!has_lines || line == 3);
		runtime_code_fini(&code);
	}
	replay_end(&replay);
	return right;
}

static void
check_running(const char *path)
{
	char text[sizeof(spinning) + 16];

	snprintf(text, sizeof(text), "jit.off()%s", spinning + 6);
	assert_true(count_running(path, text, true) > 25);
	snprintf(text, sizeof(text), "jit.on()%s", spinning + 6);
	assert_true(count_running(path, text, false) > 25);
}

static void
test_running(void **state)
{
	each_luajit(check_running);
}

/* Marks rise, and lie on the thread's own stack. */
static void
check_marks(const char *path)
{
	static Replay replay;
	const struct pfs_chain *chain;
	const uint64_t *words;
	uint64_t last;

	start(&replay, path, "3");
	last = replay.registers.numbered[PFS_REGISTER_SP];
	chain = replay_walk(&replay);
	words = replay_words(chain);
	for (uint32_t i = 0; i < chain->found; i++)
	{
		if (PFS_FRAME_MORE(words[i]) != 0)
			continue;
		assert_true(words[i] > last &&
					words[i] < replay.registers.numbered[PFS_REGISTER_SP] + (1 << 20));
		last = words[i];
	}
	replay_end(&replay);
}

static void
test_marks(void **state)
{
	each_luajit(check_marks);
}

/* A recursion that has more words than are kept, and fewer frames than are followed. */
static void
check_deep(const char *path)
{
	static Replay replay;
	const struct pfs_chain *chain;

	start(&replay, path, "600");
	chain = replay_walk(&replay);
	assert_int_equal(chain->status, PFS_CHAIN_WHOLE);
	assert_int_equal(chain->found - chain->mark_count, 2 * (600 + FUNCTIONS));
	replay_end(&replay);
}

static void
test_deep_recursion(void **state)
{
	each_luajit(check_deep);
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
	each_luajit(check_broken);
}

/* Layouts that no build has, and registers that lead anywhere: the walk ends. */
static void
check_layouts(const char *path)
{
	static Replay replay;

	start(&replay, path, "3");
	for (int round = 0; round < 2000; round++)
	{
		struct pfs_luajit_layout *layout = &replay.target.entry.luajit;
		struct pfs_luajit_layout kept = *layout;
		const struct pfs_chain *chain;

		if (round % 2 == 0)
			layout->current = (uint32_t) (random() % 4096);
		if (round % 3 == 0)
			layout->global += (uint64_t) (8 * (random() % 512));
		layout->code_start = 0;
		chain = replay_walk(&replay);
		assert_int_not_equal(chain->status, PFS_CHAIN_RUNNING);
		assert_true(chain->found <= PFS_CHAIN_MAX_WORDS);
		*layout = kept;
	}
	replay_end(&replay);
}

static void
test_layouts(void **state)
{
	each_luajit(check_layouts);
}

/* Another thread has no frames by the place of this one. */
static void
check_other_thread(const char *path)
{
	static Replay replay;

	start(&replay, path, "3");
	replay.target.entry.luajit.thread_pointer += 64;
	assert_int_equal(replay_walk(&replay)->status, PFS_CHAIN_NO_STATE);
	replay_end(&replay);
}

static void
test_other_thread(void **state)
{
	each_luajit(check_other_thread);
}

/* A prototype that is not the sampled one has no name, whatever is in its place. */
static void
check_stale(const char *path)
{
	static Replay replay;
	const struct pfs_chain *chain;
	CodeWanted wanted[3] = { 0 };
	UserFrame frame = { 0 };
	uint32_t next = 0;

	start(&replay, path, "3");
	chain = replay_walk(&replay);
	assert_true(replay_next(chain, &next, &frame));
	for (int i = 0; i < 3; i++)
		assert_true(replay.target.file.kind->key_of(&frame, &wanted[i].key));
	wanted[0].key.check ^= 2;
	wanted[1].key.address = 4096; /* which cannot be read */
	luajit_codes_read(&replay.memory, wanted, 3);
	assert_null(wanted[0].code.name);
	assert_null(wanted[1].code.name);
	assert_non_null(wanted[2].code.name);
	/* lines of positions that the function does not have */
	for (uint32_t position = 0; position < 100000; position += 7)
		(void) luajit_line(&wanted[2].code, position);
	assert_int_equal(luajit_line(&wanted[2].code, PFS_LUAJIT_POSITION_MAX), 0);
	runtime_code_fini(&wanted[2].code);
	replay_end(&replay);
}

static void
test_stale_code(void **state)
{
	each_luajit(check_stale);
}

/* No place is found without the stack of a thread that runs Lua. */
static void
check_place(const char *path)
{
	static Replay replay;
	struct pfs_runtime entry = { 0 };
	LuajitThread thread;

	start(&replay, path, "3");
	thread = (LuajitThread){ .thread_pointer = replay.registers.thread_pointer,
							 .code_start = replay.target.entry.luajit.code_start,
							 .code_end = replay.target.entry.luajit.code_end };
	assert_false(luajit_place_find(&replay.memory, &thread, &entry));
	thread.stack_pointer = replay.registers.thread_pointer & ~7ULL;
	assert_false(luajit_place_find(&replay.memory, &thread, &entry));
	thread.stack_pointer = 1 << 20;
	assert_false(luajit_place_find(&replay.memory, &thread, &entry));
	thread.stack_pointer = replay.registers.numbered[PFS_REGISTER_SP];
	assert_true(luajit_place_find(&replay.memory, &thread, &entry));
	thread.code_end = thread.code_start; /* the table of instructions leads elsewhere */
	assert_false(luajit_place_find(&replay.memory, &thread, &entry));
	replay_end(&replay);
}

static void
test_place(void **state)
{
	each_luajit(check_place);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_versions),  cmocka_unit_test(test_marks),
		cmocka_unit_test(test_running),		  cmocka_unit_test(test_deep_recursion),
		cmocka_unit_test(test_broken_memory), cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_other_thread),  cmocka_unit_test(test_stale_code),
		cmocka_unit_test(test_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
