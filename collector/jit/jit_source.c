/*
 * jit_source.c
 *		Decides when to read a file, and for how long.
 */
#include "jit/jit_source.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "jit/code_files.h"

#define ANSWER_NS	   (50 * NS_PER_MS) /* timeout of one read */
#define LOOK_PAUSE_NS  (10 * NS_PER_MS) /* shortest time between two reads of one file */
/* A process that reused memory is expected to reuse more for this long. */
#define REUSE_NS	   (10 * NS_PER_S)
#define ANOTHER_NS	   NS_PER_S /* time between two checks whether another file is at the path */
#define ABSENT_MIN_NS  (250 * NS_PER_MS)
/* longest pause before a missing file is searched for again */
#define ABSENT_MAX_NS  (30 * NS_PER_S)
#define LOOKS_A_SECOND 200
#define LOOKS_AT_ONCE  64
#define TIME_SHARE	   4		 /* use at most 1/TIME_SHARE of one CPU */
#define LOOK_BYTES_MAX (4 << 20) /* limit of one call; the next call reads the rest */

static const CodeFileOpen open_kind[JIT_SOURCE_KINDS] = {
	[JIT_SOURCE_DUMP] = code_files_open_dump,
	[JIT_SOURCE_MAP] = code_files_open_map,
};

void
jit_source_init(JitSource *source, JitSourceKind kind, JitReading *reading, uint32_t pid)
{
	source->kind = kind;
	source->pid = pid;
	source->absent_ns = ABSENT_MIN_NS;
	code_map_init(&source->map, &reading->budget);
}

void
jit_source_fini(JitSource *source)
{
	file_probe_free(source->probe);
	code_map_fini(&source->map);
}

/* Forgets the content of the file, which is read again from its beginning. */
static void
begin_anew(JitSource *source, uint64_t now_ns)
{
	/* A dump that is written anew does not say when the old code went, so it ends now. */
	if (source->kind == JIT_SOURCE_DUMP)
	{
		dump_reader_begin(&source->reader.dump);
		code_map_at(&source->map, now_ns);
	}
	else
		map_reader_begin(&source->reader.map);
	code_map_void(&source->map);
}

/* Passes the bytes of a read to the reader of this kind of file. */
static void
source_take(JitSource *source, JitReading *reading, const char *bytes)
{
	const CodeSink sink = { reading->table, &source->map, &reading->tallies[source->kind] };
	FileProbe *probe = source->probe;
	DumpReader *dump = &source->reader.dump;
	uint64_t begin;

	if (source->kind == JIT_SOURCE_MAP)
	{
		map_reader_take(&source->reader.map, &sink, bytes, probe->length);
		source->is_behind = probe->more;
		return;
	}
	begin = dump->at;
	dump_reader_take(dump, &sink, (const uint8_t *) bytes, probe->length,
					 (uint64_t) clock_ns(CLOCK_MONOTONIC));
	/* A record that was read in part is read again as a whole. */
	file_probe_go_to(probe, dump->at);
	/*
	 * Without progress the next record is incomplete, so reading on at once would bring nothing
	 * new.
	 */
	source->is_behind = !dump->is_broken && dump->at > begin && dump->at < probe->size;
}

/* Reads the next part of the file. Returns false at its present end. */
static bool
jit_source_read_on(JitSource *source, JitReading *reading)
{
	char *bytes = reading->bytes != NULL ? reading->bytes : malloc(FILE_PROBE_BYTES);
	int64_t begun_ns = clock_ns(CLOCK_MONOTONIC);

	reading->bytes = NULL;
	if (bytes == NULL)
		return false;
	if (file_probe_read(reading->prober, source->probe, bytes, ANSWER_NS) != 0)
	{
		source->probe = NULL;
		/* charge the whole wait, because the walker thread was blocked for as long */
		source->spent_ns += (uint64_t) (clock_ns(CLOCK_MONOTONIC) - begun_ns);
		/* the next probe will read from the beginning of the file */
		begin_anew(source, (uint64_t) clock_ns(CLOCK_MONOTONIC));
		code_tally_one(&reading->tallies[source->kind].timeouts);
		return false;
	}
	reading->bytes = bytes;
	source->spent_ns += source->probe->spent_ns;
	source->is_behind = false;
	if (source->kind == JIT_SOURCE_MAP)
		code_map_told_by(&source->map, source->probe->written_ns);
	if (source->probe->rewritten)
		begin_anew(source, (uint64_t) clock_ns(CLOCK_MONOTONIC));
	if (source->probe->error == 0)
		source_take(source, reading, bytes);
	return source->is_behind;
}

/* Doubles the pause before a missing file is searched for again. */
static void
note_absence(JitSource *source, JitReading *reading, uint64_t now_ns)
{
	if (source->probe != NULL && source->probe->error == -EPERM)
		code_tally_one(&reading->tallies[source->kind].refused);
	source->again_ns = now_ns + source->absent_ns;
	source->absent_ns *= 2;
	if (source->absent_ns > ABSENT_MAX_NS)
		source->absent_ns = ABSENT_MAX_NS;
}

/*
 * Reads the file up to its end, LOOK_BYTES_MAX or a timeout, and sets the pause before the next
 * read.
 */
static void
source_look(JitSource *source, JitReading *reading, uint64_t now_ns)
{
	bool known;
	size_t bytes = 0;
	uint64_t begun_ns = (uint64_t) clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t pause_ns;

	if (source->probe == NULL)
		source->probe = file_probe_create(open_kind[source->kind], source->pid);
	if (source->probe == NULL)
		return;
	known = source->probe->fd >= 0;
	/* Looking for another file costs an open() along the path, so it is done only now and then. */
	source->probe->look_for_another = now_ns - source->another_ns >= ANOTHER_NS;
	if (source->probe->look_for_another)
		source->another_ns = now_ns;
	if (source->kind == JIT_SOURCE_MAP)
		code_map_look(&source->map, now_ns);
	source->looked_ns = now_ns;
	source->spent_ns = 0;
	/* Only the first part of a look can find another file. */
	while (jit_source_read_on(source, reading) && (bytes += FILE_PROBE_BYTES) < LOOK_BYTES_MAX)
		source->probe->look_for_another = false;
	source->spent_ns += (uint64_t) clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns;
	pause_ns = TIME_SHARE * source->spent_ns;
	reading->looks.paid_ns += pause_ns;
	/*
	 * A timeout or an error counts as absence, so a file system that hangs is asked less and less
	 * often.
	 */
	if (source->probe == NULL || source->probe->error != 0)
	{
		note_absence(source, reading, now_ns);
		return;
	}
	source->again_ns = now_ns + (pause_ns > LOOK_PAUSE_NS ? pause_ns : LOOK_PAUSE_NS);
	source->absent_ns = ABSENT_MIN_NS;
	if (!known)
		code_tally_one(&reading->tallies[source->kind].files);
}

/*
 * Returns true if the process has reused memory recently, so that the unread part may replace known
 * code.
 */
static bool
reuses_memory(const JitSource *source)
{
	return source->map.reused_ns > 0 && source->map.reused_ns + REUSE_NS > source->looked_ns;
}

static void
sleep_until(uint64_t time_ns)
{
	const struct timespec time = { (time_t) (time_ns / NS_PER_S), (long) (time_ns % NS_PER_S) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
		;
}

/*
 * If other samples wait for names, one read serves all of them, so they wait once and not one after
 * the other.
 */
void
jit_source_read(JitSource *source, JitReading *reading, uint64_t time_ns, uint64_t now_ns)
{
	/* Where memory is reused, an outdated name is likely, so waiting out the pause is worth it. */
	uint64_t wait_ns = reuses_memory(source) ? LOOK_PAUSE_NS : 0;

	if (source->looked_ns >= time_ns || now_ns + wait_ns < source->again_ns ||
		!allowance_take(&reading->looks, now_ns, NS_PER_S / LOOKS_A_SECOND,
						LOOKS_AT_ONCE * (NS_PER_S / LOOKS_A_SECOND)))
		return;
	if (now_ns < source->again_ns)
	{
		sleep_until(source->again_ns);
		now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	}
	source_look(source, reading, now_ns);
}

/* Returns true if all code that was reported up to time_ns has been read. */
static bool
is_read_to(const JitSource *source, uint64_t time_ns)
{
	const DumpReader *dump = &source->reader.dump;

	/* Code may have been replaced since the last read. */
	if (time_ns > source->looked_ns && reuses_memory(source))
		return false;
	/*
	 * Records of a dump are in order of time, so a later record proves that all earlier ones
	 * were read.
	 */
	if (source->kind == JIT_SOURCE_DUMP)
		return time_ns < dump->told_ns || (!source->is_behind && !dump->is_broken);
	return !source->is_behind;
}

CodeObject *
jit_source_find(const JitSource *source, uint64_t address, uint64_t time_ns)
{
	return is_read_to(source, time_ns) ? code_map_find(&source->map, address, time_ns) : NULL;
}
