/*
 * test_runtimes_steps.c
 *		Interpreters' chains at each instruction: programs that call functions all the time are
 *		executed step by step. Between two instructions of a call or a return a frame may be half
 *		made, or left but still linked.
 *
 * Each function of the programs has one caller, whose name is its own without the last letter: fab
 * is called by fa, which f calls. If the last letter is r, the function may also call itself. So
 * each chain shows whether the program can have it. A line of Lua has the function's name in a
 * comment, because Lua's functions are named by lines. All other functions are passed over.
 *
 * STEPS: number of steps of each program.
 */
#include "runtime_replay.h"

#include <ctype.h>
#include <inttypes.h>

#define STEPS		   16000
#define CHAINS		   60 /* least number of chains */
#define RUNS		   2  /* number of times that a program is stopped, to be stepped through */
/* exceptions and collections of garbage take many instructions, in which no chain changes */
#define RUNS_MOST	   40
#define KNOWN_BITS	   12
#define PATH_MAX_BYTES 32

static const char python_program[] = "import sys\n"
									 "def fax(n): return n\n"
									 "def far(n): return far(n - 1) if n else 0\n"
									 "def fa():\n"
									 "    fax(1); fax(n=2); return far(2)\n"
									 "def fbgh():\n"
									 "    yield 1\n"
									 "    yield 2\n"
									 "def fbg():\n"
									 "    for each in fbgh(): yield each\n"
									 "def fbi():\n"
									 "    yield from [1, 2]\n"
									 "def fb():\n"
									 "    for each in fbg(): pass\n"
									 "    return list(fbi())\n"
									 "def fcs(x): return -x\n"
									 "def fc():\n"
									 "    return sorted([3, 1, 2], key=fcs)\n"
									 "def fdx(*a, **k): raise ValueError\n"
									 "def fd():\n"
									 "    try: fdx(*[1], **{'k': 2})\n"
									 "    except ValueError: pass\n"
									 "def feix(i): return i\n"
									 "class C:\n"
									 "    def __init__(self): self.fei()\n"
									 "    def fei(self): feix(1)\n"
									 "    def fem(self): return self\n"
									 "    def feph(self): return 1\n"
									 "    @property\n"
									 "    def fep(self): return self.feph()\n"
									 "    def __getitem__(self, i): return self.feg(i)\n"
									 "    def feg(self, i): return i\n"
									 "def fe():\n"
									 "    c = C(); c.fem(); c.fep; c[1]; return c\n"
									 "async def fqaw(): return 1\n"
									 "async def fqa(): return await fqaw()\n"
									 "def fq():\n"
									 "    try: fqa().send(None)\n"
									 "    except StopIteration: pass\n"
									 "def fks(x): return -x\n"
									 "def fkm(x): return fkmx(x)\n"
									 "def fkmx(x): return x\n"
									 "def fkg():\n"
									 "    yield 1\n"
									 "    yield fkgx(2)\n"
									 "def fkgx(x): return x\n"
									 "def fkh():\n"
									 "    yield from map(fkhm, [1, 2])\n"
									 "def fkhm(x): return x\n"
									 "def fk():\n"
									 "    sorted([3, 1, 2], key=fks); list(map(fkm, [1, 2]))\n"
									 "    for each in zip(fkg(), fkh(), map(fks, [1, 2])): fkm(1)\n"
									 "    return max([1, 2], key=fkm)\n"
									 "def f():\n"
									 "    fa(); fb(); fc(); fd(); fe(); fq(); fk()\n"
									 "sys.stdout.write('ready\\n')\n"
									 "sys.stdout.flush()\n"
									 "while True: f()\n";

static const char php_program[] =
	"function fax($n) { return $n; }\n"
	"function far($n) { return $n ? far($n - 1) : 0; }\n"
	"function fa() { fax(1); return far(2); }\n"
	/* a generator that delegates to another one has no frame while the other one runs */
	"function fbg() { yield 1; yield fbgx(2); }\n"
	"function fbgx($n) { return $n; }\n"
	"function fbh() { yield from [1]; yield 3; }\n"
	"function fb() { foreach (fbg() as $x) { } foreach (fbh() as $x) { } }\n"
	"function fcs($a, $b) { return $a - $b; }\n"
	"function fct($a) { return -$a; }\n"
	"function fc() { $x = [3, 1, 2]; usort($x, 'fcs'); return array_map('fct', $x); }\n"
	"function fdx(...$a) { throw new Exception('x'); }\n"
	"function fdy() { return 1; }\n"
	"function fd() { try { fdx(...[1]); } catch (Exception $e) { } finally { fdy(); } }\n"
	"class C {\n"
	"    function fem() { return $this; }\n"
	"    static function fes() { return new static; }\n"
	"    function __get($name) { return $this->feg(); }\n"
	"    function feg() { return 1; }\n"
	"    function __call($name, $a) { return $this->fek(); }\n"
	"    function fek() { return 1; }\n"
	"    function __toString() { return $this->feo(); }\n"
	"    function feo() { return 'x'; }\n"
	"    function __destruct() { $this->fez(); }\n"
	"    function fez() { return 1; }\n"
	"}\n"
	"function fe() { $c = C::fes(); $c->fem(); $c->zork; $c->zork(); \"$c\"; unset($c); }\n"
	"function fkx() { return 1; }\n"
	"function fk() { return eval('return fkx();'); }\n"
	"function fhi() { Fiber::suspend(1); return fhix(); }\n"
	"function fhix() { return 1; }\n"
	"function fh() { $x = new Fiber('fhi'); $x->start(); $x->resume(); }\n"
	"function f() { fa(); fb(); fc(); fd(); fe(); fk(); if (class_exists('Fiber')) fh(); }\n"
	"echo \"ready\\n\";\n"
	"while (true) f();\n";

static const char perl_program[] =
	"use strict;\n"
	"package C;\n"
	"use overload '\"\"' => sub { $_[0]->feo() };\n"
	"our $AUTOLOAD;\n"
	"sub new { return bless {}, shift }\n"
	"sub fem { return $_[0] }\n"
	"sub feg { return 1 }\n"
	"sub feo { return 'x' }\n"
	"sub fez { return 1 }\n"
	"sub AUTOLOAD { return feg() }\n"
	"sub DESTROY { fez(); return }\n"
	"package main;\n"
	"sub fax { return $_[0] }\n"
	"sub far { my $n = shift; return $n ? far($n - 1) : 0 }\n"
	"sub fa { fax(1); return far(2) }\n"
	"sub fbs { return $a <=> $b }\n"
	"sub fbm { return $_[0] + 1 }\n"
	"sub fb { my @x = sort fbs 3, 1, 2; @x = map { fbm($_) } @x; return grep { fbm($_) } @x }\n"
	"sub fcl { return $_[0] }\n"
	"my $closure = sub { my $y = fcl($_[0]); return $y };\n"
	"sub fc { $closure->(1); &$closure(2); return 1 }\n"
	"sub fdx { die \"x\\n\" }\n"
	"sub fdy { return 1 }\n"
	"sub fd { eval { fdx() }; eval 'fdy(); 1' or die; return 1 }\n"
	"sub fe { my $c = C->new; $c->fem; $c->zork; my $s = \"$c\"; undef $c; return $s }\n"
	"sub fw { return 1 }\n"
	"sub fv { goto &fw }\n"
	"sub fpx { return 'y' }\n"
	"sub fp { my $s = 'abc'; $s =~ s/b/fpx()/e; return $s }\n"
	"sub fl { for my $x (1, 2) { flx($x) } return wantarray }\n"
	"sub flx { local $_ = $_[0]; return $_ }\n"
	"sub f { fa(); my @x = fb(); fc(); fd(); fe(); fv(); fp(); @x = fl(); return }\n"
	"$| = 1;\n"
	"print \"ready\\n\";\n"
	"f() while 1;\n";

static const char ruby_program[] =
	"def fax(n); n; end\n"
	"def far(n); n > 0 ? far(n - 1) : 0; end\n"
	"def fa; fax(1); far(2); end\n"
	"def fbyx(n); n; end\n"
	"def fby; yield 1; yield 2; end\n"
	"def fbx(n); n; end\n"
	"def fb\n"
	"  fby { |x| fbyx(x) }\n"
	"  [1, 2].each { |x| fbx(x) }\n"
	"  2.times { |x| fbx(x) }\n"
	"  [3, 1, 2].sort_by { |x| fbx(x) }\n"
	"  [1, 2].inject { |x, y| fbx(x + y) }\n"
	"end\n"
	"def fcl(n); n; end\n"
	"CALLS = lambda { |x| fcl(x) }\n"
	"def fc; CALLS.call(1); CALLS.(2); [1].map(&CALLS); end\n"
	"def fdx; raise 'x'; end\n"
	"def fdy; 1; end\n"
	"def fdz; 1; end\n"
	"def fd\n"
	"  begin\n"
	"    fdx\n"
	"  rescue\n"
	"    fdz\n"
	"  ensure\n"
	"    fdy\n"
	"  end\n"
	"end\n"
	"class C\n"
	"  attr_accessor :each\n"
	"  def initialize; fei; end\n"
	"  def fei; 1; end\n"
	"  def fem; self; end\n"
	"  def method_missing(name, *a); feg; end\n"
	"  def feg; 1; end\n"
	"  def to_s; feo; end\n"
	"  def feo; 'x'; end\n"
	"end\n"
	"def fe; c = C.new; c.fem; c.zork; c.each = 1; c.send(:fem); \"#{c}\"; end\n"
	"def fhi; 1; end\n"
	"def fh; x = Fiber.new { fhi; Fiber.yield 1; fhi; 2 }; x.resume; x.resume; end\n"
	"def ftx; throw :done; end\n"
	"def ft; catch(:done) { ftx }; end\n"
	"def f; fa; fb; fc; fd; fe; fh; ft; end\n"
	"$stdout.sync = true\n"
	"puts 'ready'\n"
	"f while true\n";

/* The calls in the last position are in parentheses, because otherwise they leave no frame. */
static const char luajit_program[] =
	"local function fax(n) return n end --@fax\n"
	"local function far(n) if n > 0 then return (far(n - 1)) end return 0 end --@far\n"
	"local function fa() fax(1) return (far(2)) end --@fa\n"
	"local function fbs(x, y) return x < y end --@fbs\n"
	"local function fbt(x) return x end --@fbt\n"
	"local function fb() local t = {3, 1, 2} table.sort(t, fbs) t = string.gsub('a', 'a', fbt) return t end --@fb\n"
	"local function fdx() error('x') end --@fdx\n"
	"local function fdy() return 1 end --@fdy\n"
	"local function fd() pcall(fdx) pcall(fdy) local x = pcall(pcall, fdy) return x end --@fd\n"
	"local meta = {}\n"
	"local function feix(x) return 1 end --@feix\n"
	"meta.__index = function(t, key) local x = feix(key) return x end --@fei\n"
	"meta.__add = function(x, y) return 1 end --@fea\n"
	"meta.__call = function(self, ...) return ... end --@fec\n"
	"meta.__lt = function(x, y) return true end --@fel\n"
	"local function fe() local t = setmetatable({}, meta) local x = t.zork + (t + t) t(1, 2) return t < t end --@fe\n"
	"local function fhix(n) return n end --@fhix\n"
	"local function fhi(n) coroutine.yield(1) local x = fhix(n) return x end --@fhi\n"
	"local function fh() local x = coroutine.wrap(fhi) x(1) local y = x(2) return y end --@fh\n"
	"local function fli(t, i) if i < 2 then return i + 1 end end --@fli\n"
	"local function fl() for i in fli, nil, 0 do end for k, v in pairs({1}) do end end --@fl\n"
	"local function fvx(...) return select('#', ...) end --@fvx\n"
	"local function fv(...) local x = fvx(...) return x end --@fv\n"
	"local function f() fa() fb() fd() fe() fh() fl() fv(1, 2, 3) end --@f\n"
	"io.write('ready\\n') io.flush()\n"
	"while true do f() end\n";

/* Limits of what a program's steps may show, in thousandths of all steps. */
typedef struct Allowance
{
	int wrong; /* chains that the program cannot have, whose caller may be missing */
	int lost;  /* chains that broke off, or with a frame that has no name */
	/* function with which a chain may end, because it is executed in a fiber; NULL: none */
	const char *fiber;
} Allowance;

typedef struct Steps
{
	Replay replay;
	const char *program;
	const Allowance *allowed;
	uint64_t seen; /* hash of the words of the chain before */
	bool is_wrong; /* the chain before is wrong, or lost */
	bool is_lost;
	int count;
	int chains; /* number of different chains, one after the other */
	int wrong;	/* number of steps */
	int lost;
} Steps;

/* Names of frames that were read, by the hash of their words. */
static struct
{
	uint64_t hash;
	char path[PATH_MAX_BYTES];
} known[1 << KNOWN_BITS];

/* Copies the comment in a line of the program, or nothing. */
static void
path_of_line(const char *program, int32_t line, char path[PATH_MAX_BYTES])
{
	const char *end;
	const char *at;

	for (; line > 1 && program != NULL; line--)
	{
		program = strchr(program, '\n');
		program = program != NULL ? program + 1 : NULL;
	}
	path[0] = '\0';
	if (program == NULL)
		return;
	end = strchr(program, '\n');
	at = strchr(program, '@');
	if (at != NULL && at < end)
		snprintf(path, PATH_MAX_BYTES, "%.*s", (int) (end - at - 1), at + 1);
}

/* Copies the last word of a function's name, if it is one of those that show the caller. */
static void
path_of_name(const char *name, char path[PATH_MAX_BYTES])
{
	const char *last = name + strlen(name);

	while (last > name && islower((unsigned char) last[-1]))
		last--;
	path[0] = '\0';
	/* Ruby's blocks have the names of their methods */
	if (*last == 'f' && strlen(last) < PATH_MAX_BYTES && strstr(name, " in ") == NULL &&
		(last == name || strchr("#.:", last[-1]) != NULL))
		snprintf(path, PATH_MAX_BYTES, "%s", last);
}

static uint64_t
frame_hash(const UserFrame *frame)
{
	uint64_t hash = pfs_hash_step(1, frame->code);

	for (uint32_t i = 0; i < frame->more_count; i++)
		hash = pfs_hash_step(hash, frame->more[i]);
	return hash | 1;
}

/*
 * Sets the path that the name of a frame shows; empty: it shows none. Returns false if the frame
 * has no name.
 */
static bool
path_of_frame(Steps *steps, const UserFrame *frame, char path[PATH_MAX_BYTES])
{
	uint64_t hash = frame_hash(frame);
	size_t place = hash >> (64 - KNOWN_BITS);
	RuntimeCode code;
	int32_t line;

	if (known[place].hash == hash)
	{
		memcpy(path, known[place].path, PATH_MAX_BYTES);
		return true;
	}
	replay_read_code(&steps->replay, frame, &code, &line);
	path[0] = '\0';
	if (code.name == NULL)
		return false;
	path_of_name(code.name, path);
	if (path[0] == '\0' && strrchr(code.name, ':') != NULL)
		path_of_line(steps->program, atoi(strrchr(code.name, ':') + 1), path);
	runtime_code_fini(&code);
	known[place].hash = hash;
	memcpy(known[place].path, path, PATH_MAX_BYTES);
	return true;
}

/* Returns whether the function of one path may call that of the other one. */
static bool
may_call(const char *caller, const char *callee)
{
	size_t length = strlen(callee);

	return (strlen(caller) == length - 1 && strncmp(caller, callee, length - 1) == 0) ||
		   (callee[length - 1] == 'r' && strcmp(caller, callee) == 0);
}

/* Returns whether a whole chain may end with the function. */
static bool
may_be_last(const Steps *steps, const char *path)
{
	const char *fiber = steps->allowed->fiber;

	return path[0] == '\0' || strcmp(path, "f") == 0 || (fiber != NULL && strcmp(path, fiber) == 0);
}

/* Finds out whether a chain is wrong, or lost. */
static void
check_chain(Steps *steps, const struct pfs_chain *chain)
{
	char callee[PATH_MAX_BYTES] = "";
	char text[1024] = "";
	UserFrame frame = { 0 };
	uint32_t next = 0;

	steps->chains++;
	steps->is_wrong = false;
	steps->is_lost = chain->status != PFS_CHAIN_WHOLE;
	while (replay_next(chain, &next, &frame))
	{
		char path[PATH_MAX_BYTES];

		steps->is_lost |= !path_of_frame(steps, &frame, path);
		if (path[0] == '\0')
			continue;
		if (strlen(text) + strlen(path) + 2 < sizeof(text))
			strcat(strcat(text, " "), path);
		steps->is_wrong |= callee[0] != '\0' && !may_call(path, callee);
		memcpy(callee, path, sizeof(callee));
	}
	steps->is_wrong |= chain->status == PFS_CHAIN_WHOLE && !may_be_last(steps, callee);
	if (steps->is_wrong)
		print_message("at 0x%" PRIx64 ":%s\n",
					  (uint64_t) steps->replay.registers.numbered[PFS_REGISTER_PC] -
						  steps->replay.target.bias,
					  text);
}

static void
step_through(Steps *steps, int count)
{
	for (int i = 0; i < count; i++)
	{
		const struct pfs_chain *chain;
		const uint64_t *words;
		uint64_t hash = 1;

		replay_step(&steps->replay);
		chain = replay_walk(&steps->replay);
		words = replay_words(chain);
		for (uint32_t j = 0; j < pfs_chain_kept(chain->found); j++)
			hash = pfs_hash_step(hash, words[j]);
		hash = pfs_hash_step(hash, chain->status);
		if (hash != steps->seen)
			check_chain(steps, chain);
		steps->seen = hash;
		steps->count++;
		steps->wrong += steps->is_wrong;
		steps->lost += steps->is_lost;
	}
}

/*
 * Ruby up to 2.6 makes a frame the innermost one before it fills it, and a fiber that ends gives up
 * its stack before the thread continues with another one.
 */
static bool
is_old_ruby(const RuntimeFile *file)
{
	return file->kind->kind == PFS_RUNTIME_RUBY && file->ruby.layout->major == 2 &&
		   file->ruby.layout->minor < 7;
}

/*
 * CPython 3.11 and 3.12 link a loop's record, and a generator, before these lead to their callers,
 * and then there is no chain.
 */
static bool
has_records(const RuntimeFile *file)
{
	return file->kind->kind == PFS_RUNTIME_PYTHON &&
		   (file->python.layout.minor == 11 || file->python.layout.minor == 12);
}

static void
check_steps(const char *const arguments[], const char *program, enum pfs_runtime_kind kind,
			const Allowance *allowed)
{
	const Allowance of_old_ruby = { .wrong = 5, .lost = 20, .fiber = allowed->fiber };
	const Allowance of_records = { .lost = 40 };
	Steps steps = { .program = program, .allowed = allowed };
	int count = getenv("STEPS") != NULL ? atoi(getenv("STEPS")) : STEPS;

	memset(known, 0, sizeof(known));
	replay_start(&steps.replay, arguments);
	replay_find(&steps.replay, kind);
	if (is_old_ruby(&steps.replay.target.file))
		steps.allowed = &of_old_ruby;
	if (has_records(&steps.replay.target.file))
		steps.allowed = &of_records;
	for (int run = 0; run < RUNS || (steps.chains < CHAINS && run < RUNS_MOST); run++)
	{
		usleep(10000 + 1234 * run);
		replay_stop(&steps.replay);
		step_through(&steps, count / RUNS);
		replay_go_on(&steps.replay);
	}
	replay_end(&steps.replay);
	print_message("%s: %d steps, %d chains; steps with a wrong one %d, with a lost one %d\n",
				  arguments[0], steps.count, steps.chains, steps.wrong, steps.lost);
	assert_true(steps.chains >= CHAINS);
	assert_true(steps.wrong <= steps.count * steps.allowed->wrong / 1000);
	assert_true(steps.lost <= steps.count * steps.allowed->lost / 1000);
}

static void
check_python(const char *path)
{
	const Allowance allowed = { .lost = 20 };
	const char *const arguments[] = { path, "-c", python_program, NULL };

	check_steps(arguments, python_program, PFS_RUNTIME_PYTHON, &allowed);
}

static void
test_python(void **state)
{
	replay_each("{/root/.pyenv/versions/3.*/bin/python3,/usr/bin/python3.[0-9]*[0-9]}", "PYTHONS",
				check_python);
}

static void
check_php(const char *path)
{
	/* a generator is linked before it leads to its caller, and then there is no chain */
	const Allowance allowed = { .lost = 5, .fiber = "fhi" };
	const char *const arguments[] = { path, "-r", php_program, NULL };

	check_steps(arguments, php_program, PFS_RUNTIME_PHP, &allowed);
}

static void
test_php(void **state)
{
	replay_each("/usr/bin/php[0-9].[0-9]", "PHPS", check_php);
}

static void
check_perl(const char *path)
{
	const Allowance allowed = { .fiber = NULL };
	const char *const arguments[] = { path, "-e", perl_program, NULL };

	check_steps(arguments, perl_program, PFS_RUNTIME_PERL, &allowed);
}

static void
test_perl(void **state)
{
	replay_each("/usr/bin/perl", "PERLS", check_perl);
}

static void
check_ruby(const char *path)
{
	const Allowance allowed = { .fiber = "fhi" };
	const char *const arguments[] = { path, "-e", ruby_program, NULL };

	check_steps(arguments, ruby_program, PFS_RUNTIME_RUBY, &allowed);
}

static void
test_ruby(void **state)
{
	replay_each("/usr/bin/ruby[0-9].[0-9]", "RUBIES", check_ruby);
}

static void
check_luajit(const char *path)
{
	/* a frame is innermost one instruction before it gets its link */
	const Allowance allowed = { .lost = 50 };
	const char *const arguments[] = { path, "-joff", "-e", luajit_program, NULL };

	check_steps(arguments, luajit_program, PFS_RUNTIME_LUAJIT, &allowed);
}

static void
test_luajit(void **state)
{
#ifdef __aarch64__
	skip(); /* the agent finds no frames of LuaJIT on this architecture */
#endif
	replay_each("/usr/bin/luajit", "LUAJITS", check_luajit);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_python), cmocka_unit_test(test_php),	  cmocka_unit_test(test_perl),
		cmocka_unit_test(test_ruby),   cmocka_unit_test(test_luajit),
	};

	return cmocka_run_group_tests_name("runtimes_steps", tests, NULL, NULL);
}
