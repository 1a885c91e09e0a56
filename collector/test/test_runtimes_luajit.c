/*
 * test_runtimes_luajit.c
 *		LuaJIT's frames: the BPF code in plain memory reads processes of each version on this
 *		machine, compared with the stack that the program itself prints, and memory whose reads fail
 *		or return wrong values.
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
 * A program that waits below a recursion, a callback of a C function, a metamethod, a protected
 * call, a function with a variable number of arguments, and two coroutines. It prints its Lua
 * functions first.
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

#define FUNCTIONS 8 /* number of functions, without the recursion */

/*
 * A program that waits below each further way to call a function: metamethods of all kinds of
 * instructions, a sort, xpcall(), a function that C code calls back, a tail call.
 */
static const char calling[] =
	"jit.off()\n"
	"local ffi = require('ffi')\n"
	"ffi.cdef('unsigned sleep(unsigned seconds); void qsort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *));')\n"
	"local out = {}\n"
	"local function note(info)\n"
	"  if info.what ~= 'C' then out[#out + 1] = info.linedefined .. '\\t' .. info.currentline end\n"
	"end\n"
	"local function waits()\n"
	"  for l = 1, 2000 do local i = debug.getinfo(l, 'Sl') if not i then break end note(i) end "
	"  io.write(table.concat(out, '\\n'), '\\nready\\n') io.flush() "
	"  ffi.C.sleep(1000)\n"
	"  return 1\n"
	"end\n"
	"local values = {}\n"
	"local function value() return setmetatable({}, values) end\n"
	"values.__lt = function(a, b)\n"
	"  local v = waits()\n"
	"  return v == 1 end\n"
	"values.__eq = function(a, b)\n"
	"  local v = value() < value()\n"
	"  return v end\n"
	"values.__concat = function(a, b)\n"
	"  local v = value() == value()\n"
	"  return tostring(v) end\n"
	"values.__call = function(self, n)\n"
	"  local v = value() .. 'x'\n"
	"  return v end\n"
	"values.__newindex = function(t, key, v)\n"
	"  local w = value()(7)\n"
	"  rawset(t, key, w) end\n"
	"values.__unm = function(t)\n"
	"  local v = value()\n"
	"  v.x = 1\n"
	"  return 3 end\n"
	"values.__add = function(t)\n"
	"  local v = -value()\n"
	"  return v end\n"
	"local function sorts(a, b)\n"
	"  local v = value() + 1\n"
	"  return a < b\n"
	"end\n"
	"local function guards()\n"
	"  local t = { 2, 1 }\n"
	"  table.sort(t, sorts)\n"
	"  return t\n"
	"end\n"
	"local function handles(e)\n"
	"  return e\n"
	"end\n"
	"local function fails()\n"
	"  local ok, e = xpcall(guards, handles)\n"
	"  return e\n"
	"end\n"
	"local numbers = ffi.new('int[2]', 2, 1)\n"
	"local function compares()\n"
	"  local v = fails()\n"
	"  return 0\n"
	"end\n"
	"local function calls_c()\n"
	"  ffi.C.qsort(numbers, 2, 4, compares)\n"
	"  return 1\n"
	"end\n"
	"local function tail() return calls_c() end\n"
	"local result = tail()\n";

/* A program that runs without end, in a function that another one called. */
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
	skip(); /* the agent finds no frames of LuaJIT on this architecture */
#endif
	replay_each("/usr/bin/luajit", "LUAJITS", check);
}

/*
 * Checks all frames against the program's own stack: first line of the function, line of the call.
 * least: least number of frames. marks: calls of the interpreter by C code.
 */
static void
assert_frames(Replay *replay, int least, uint32_t marks)
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
	assert_true(frames >= least);
	assert_true(chain->mark_count >= marks);
}

static void
check_version(const char *path)
{
	static Replay replay;

	start(&replay, path, "3");
	/* the callback, two coroutines, the chunk, the program */
	assert_frames(&replay, FUNCTIONS + 3, 4);
	replay_end(&replay);
	start_text(&replay, path, calling);
	/* two callbacks, and the chunk */
	assert_frames(&replay, 14, 3);
	replay_end(&replay);
}

static void
test_all_versions(void **state)
{
	each_luajit(check_version);
}

/* Searches again for the traces, because nothing was compiled at the first search. */
static void
find_rest(Replay *replay)
{
	RuntimeTarget *target = &replay->target;

	target->stack_pointer = replay->registers.numbered[PFS_REGISTER_SP];
	if (target->is_partial)
		(void) target->file.kind->place(&replay->memory, target, replay->registers.thread_pointer,
										true);
}

/*
 * Returns in how many of 50 samples the innermost function was the one that loops, at its line,
 * after the first such sample. At a few instructions the interpreter uses the registers that lead
 * to these for other values.
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
		find_rest(&replay);
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
	assert_true(count_running(path, text, true) > 25);
}

static void
test_running(void **state)
{
	each_luajit(check_running);
}

/*
 * A loop that calls two functions, each of which stores, so that the loop's trace contains all of
 * them. One calls the other in a tail call, and so leaves the stack of calls. The collector's list
 * of objects leads to coroutines.
 */
static const char inlining[] = "local t = {1, 2, 3, 4, 5, 6, 7, 8}\n"
							   "local function stores(x)\n"
							   "  t[x % 7 + 1] = x % 1009\n"
							   "  t[x % 6 + 1] = t[x % 5 + 1] % 1013\n"
							   "  return t[x % 3 + 1]\n"
							   "end\n"
							   "local function last(x)\n"
							   "  t[x % 8 + 1] = t[x % 2 + 1]\n"
							   "  return stores(x + 1)\n"
							   "end\n"
							   "local function spins(x)\n"
							   "  while true do\n"
							   "    x = x + stores(x)\n"
							   "    x = (x + last(x)) % 1000003\n"
							   "    t[x % 4 + 1] = x\n"
							   "    if x % 64 == 0 then coroutine.create(stores) end\n"
							   "  end\n"
							   "end\n"
							   "io.write('ready\\n') io.flush()\n"
							   "local v = spins(1)\n";

/* Describes a walk, from the innermost function outwards: first line : line, for each. */
static void
describe_frames(Replay *replay, char *text, size_t size)
{
	const struct pfs_chain *chain = replay_walk(replay);
	UserFrame frame = { 0 };
	uint32_t next = 0;
	size_t length = 0;

	assert_int_equal(chain->status, PFS_CHAIN_WHOLE);
	text[0] = '\0';
	while (replay_next(chain, &next, &frame))
	{
		RuntimeCode code;
		int32_t line;

		replay_read_code(replay, &frame, &code, &line);
		assert_non_null(code.name);
		length += (size_t) snprintf(text + length, size - length, "%d:%d ", code.first_line, line);
		assert_true(length < size);
		runtime_code_fini(&code);
	}
}

/*
 * Returns true if a walk's description is a possible state of the program: functions, and lines in
 * them.
 */
static bool
is_moment(const char *text)
{
	int inner;
	int inner_line;
	int outer_line;
	int length = 0;

	if (sscanf(text, "11:%d 0:20 %n", &outer_line, &length) == 1 && text[length] == '\0')
		return outer_line >= 12 && outer_line <= 17;
	if (sscanf(text, "%d:%d 11:%d 0:20 %n", &inner, &inner_line, &outer_line, &length) != 3 ||
		text[length] != '\0')
		return false;
	/* last() has been left when it has called stores() */
	return (inner == 2 && inner_line >= 3 && inner_line <= 5 && outer_line >= 13 &&
			outer_line <= 14) ||
		   (inner == 7 && inner_line >= 8 && inner_line <= 9 && outer_line == 14);
}

static bool
is_compiled(const Replay *replay)
{
	const struct pfs_luajit_layout *layout = &replay->target.entry.luajit;
	uint64_t pc = replay->registers.numbered[PFS_REGISTER_PC];

	return !replay->target.is_partial && (pc < layout->code_start || pc >= layout->code_end);
}

/*
 * The first instructions of a trace run before its number is stored, and a trace that ends with a
 * call of C code does not store from where: then the function of the state's stack has no line.
 */
#define MOMENTS			 300
#define MOMENTS_NO_LINES 6 /* one of 3,000 was observed */

/* A loop whose trace contains a metamethod, which is called by an instruction that is no call. */
static const char indexing[] = "local t = {1, 2, 3, 4, 5, 6, 7, 8}\n"
							   "local values = setmetatable({}, { __index = function(o, x)\n"
							   "  t[x % 7 + 1] = x % 1009\n"
							   "  t[x % 6 + 1] = t[x % 5 + 1] % 1013\n"
							   "  return t[x % 3 + 1] end })\n"
							   "local function spins(x)\n"
							   "  while true do\n"
							   "    x = (x + values[x % 10007]) % 1000003\n"
							   "    t[x % 4 + 1] = x\n"
							   "  end\n"
							   "end\n"
							   "io.write('ready\\n') io.flush()\n"
							   "local v = spins(1)\n";

/* Returns true if the description is a state of that program. */
static bool
is_indexing(const char *text)
{
	int inner_line;
	int outer_line;
	int length = 0;

	if (sscanf(text, "6:%d 0:13 %n", &outer_line, &length) == 1 && text[length] == '\0')
		return outer_line >= 7 && outer_line <= 10;
	return sscanf(text, "2:%d 6:8 0:13 %n", &inner_line, &length) == 1 && length > 0 &&
		   text[length] == '\0' && inner_line >= 3 && inner_line <= 5;
}

/* A program in compiled code, and what its walks must describe. */
typedef struct Compiled
{
	const char *program;
	bool (*is_moment)(const char *text);
	const char *without_lines; /* the function of the state's stack, without a line */
	const char *calls[2];	   /* beginnings of descriptions that must be frequent */
} Compiled;

/*
 * Functions in one trace have their names and lines, each with its caller's, in nearly all samples
 * of compiled code. The other samples have the function of the state's stack.
 */
static void
check_traces(const char *path, const Compiled *expected)
{
	static Replay replay;
	int calls[2] = { 0 };
	int compiled = 0;
	int without_lines = 0;

	start_text(&replay, path, expected->program);
	for (int tries = 0; compiled < MOMENTS; tries++)
	{
		char text[256];

		assert_true(tries < 10000);
		usleep(1000);
		replay_stop(&replay);
		find_rest(&replay);
		if (is_compiled(&replay))
		{
			describe_frames(&replay, text, sizeof(text));
			if (strcmp(text, expected->without_lines) == 0)
				without_lines++;
			else if (!expected->is_moment(text))
				fail_msg("no moment of the program: %s", text);
			compiled++;
			for (int i = 0; i < 2; i++)
				calls[i] += strncmp(text, expected->calls[i], strlen(expected->calls[i])) == 0;
			if (compiled == MOMENTS)
				replay_check_broken(&replay);
		}
		replay_go_on(&replay);
	}
	assert_true(without_lines <= MOMENTS_NO_LINES);
	assert_true(calls[0] > 10 && calls[1] > 10);
	replay_end(&replay);
}

static void
check_inlined(const char *path)
{
	/* stores() is called by both lines of spins() */
	const Compiled in_calls = { inlining, is_moment, "11:0 0:20 ", { "2:4 11:13", "2:4 11:14" } };
	const Compiled in_metamethods = {
		indexing, is_indexing, "6:0 0:13 ", { "2:4 6:8", "2:5 6:8" }
	};

	check_traces(path, &in_calls);
	check_traces(path, &in_metamethods);
}

static void
test_inlined(void **state)
{
	each_luajit(check_inlined);
}

/* Marks ascend, and lie on the thread's own stack. */
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

/* A recursion with more words than are kept, and fewer frames than are followed. */
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

/* With layouts that no build has, and registers that point anywhere, the walk ends. */
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

/* Another thread that does not run Lua has no frames at this thread's state. */
static void
check_other_thread(const char *path)
{
	static Replay replay;

	start(&replay, path, "3");
	replay.target.entry.luajit.thread_pointer += 64;
	replay.registers.numbered[PFS_REGISTER_R14] =
		0; /* a register that may point to the state in C code, too */
	assert_int_equal(replay_walk(&replay)->status, PFS_CHAIN_NO_STATE);
	replay_end(&replay);
}

static void
test_other_thread(void **state)
{
	each_luajit(check_other_thread);
}

/* A prototype that is not the sampled one has no name, whatever replaced it. */
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
	wanted[1].key.address = 4096; /* an address that cannot be read */
	luajit_codes_read(&replay.memory, wanted, 3);
	assert_null(wanted[0].code.name);
	assert_null(wanted[1].code.name);
	assert_non_null(wanted[2].code.name);
	/* lines at positions that the function does not have */
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

/* The state cannot be found without the stack of a thread that runs Lua. */
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
	thread.code_end = thread.code_start; /* the table of instructions points elsewhere */
	assert_false(luajit_place_find(&replay.memory, &thread, &entry));
	replay_end(&replay);
}

static void
test_place(void **state)
{
	each_luajit(check_place);
}

#define LIKENESSES 900 /* number of words that look like references to the running state */
#define CODE	   0x10000

/* Memory of a process that misleads a search; here the test's own. */
static struct
{
	uint64_t stack[8192];
	uint64_t state[PFS_LUAJIT_STATE_WORDS];
	uint64_t global[1024];
	uint64_t traces[2];
	uint64_t trace[PFS_LUAJIT_TRACE_WORDS];
} hostile;

/* Returns true if the search finds the list of traces after a number of misleading words. */
static bool
finds_traces(RemoteMemory *memory, size_t likenesses)
{
	const LuajitThread thread = { .stack_pointer = (uintptr_t) hostile.stack,
								  .code_start = CODE,
								  .code_end = CODE + 0x1000 };
	struct pfs_runtime entry = { 0 };
	uint64_t *word = hostile.global;

	memset(&hostile, 0, sizeof(hostile));
	hostile.stack[0] = (uintptr_t) hostile.state;
	hostile.state[PFS_LUAJIT_STATE_TYPE] = PFS_LUAJIT_TYPE_STATE << 8;
	hostile.state[PFS_LUAJIT_STATE_GLOBAL] = (uintptr_t) hostile.global;
	hostile.traces[1] = (uintptr_t) hostile.trace;
	hostile.trace[PFS_LUAJIT_TRACE_TYPE] = PFS_LUAJIT_TYPE_TRACE << 8;
	hostile.trace[PFS_LUAJIT_TRACE_NUMBER] = 1;
	*word++ = 1;						 /* number of the running trace */
	*word++ = (uintptr_t) hostile.state; /* the main state */
	word++;
	*word++ = (uintptr_t) hostile.state; /* the running state, without a base */
	word++;
	for (size_t i = 0; i < likenesses; i++)
		/* each state is followed by a base outside the stack */
		*word++ = (uintptr_t) hostile.state;
	*word++ = 1;
	*word++ = (uintptr_t) hostile.traces;
	*word++ = UINT64_C(2) << 32 | 2;
	for (size_t i = 0; i < 64; i++)
		*word++ = CODE + 8 * i;
	assert_true(luajit_place_find(memory, &thread, &entry));
	assert_int_equal(entry.luajit.current, 3 * sizeof(*word));
	return entry.luajit.traces != 0;
}

/* A process cannot make a search longer by words that resemble the searched ones. */
static void
test_hostile_place(void **state)
{
	Patience patience;
	RemoteMemory memory = { .patience = &patience, .pid = (uint32_t) getpid() };

	assert_int_equal(patience_init(&patience), 0);
	assert_true(finds_traces(&memory, 0));
	assert_true(finds_traces(&memory, 40));
	assert_false(finds_traces(&memory, LIKENESSES));
	patience_fini(&patience);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_versions),  cmocka_unit_test(test_marks),
		cmocka_unit_test(test_running),		  cmocka_unit_test(test_deep_recursion),
		cmocka_unit_test(test_broken_memory), cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_other_thread),  cmocka_unit_test(test_stale_code),
		cmocka_unit_test(test_place),		  cmocka_unit_test(test_hostile_place),
		cmocka_unit_test(test_inlined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
