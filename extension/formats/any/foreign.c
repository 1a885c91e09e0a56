/*
 * foreign.c
 *		Recognizes most formats by their first bytes; XML and reports by a word near the beginning.
 */
#include "formats/any/foreign.h"

#include <string.h>

#include "formats/legacy/cursor.h"

/* Number of bytes at the beginning of a file that are searched for a known word. */
#define PROBE_BYTES 2048

typedef struct Signature
{
	const char *begins;	  /* first bytes of the file; for text, those after leading blanks */
	size_t length;		  /* length of the text "begins" */
	const char *contains; /* a word that must follow; NULL: none */
	PfsForeign what;
} Signature;

#define BEGINS(text)			(text), sizeof(text) - 1, NULL
#define BEGINS_WITH(text, word) (text), sizeof(text) - 1, (word)

#define UNPACK "Unpack it first."
#define SVG	   "A picture has no values: import the stacks that it was made of."

static const Signature signatures[] = {
	{ BEGINS("PERFILE2"),
	  { "file is perf.data of Linux perf",
		"Run perf script on it, and import what that prints." } },
	{ BEGINS("# To display the perf.data header info"),
	  { "file is a report of perf", "Import what perf script prints in its place." } },
	{ BEGINS("\xFF\xFE"),
	  { "text is in UTF-16", "Convert it to UTF-8, for instance with iconv -f UTF-16 -t UTF-8." } },
	{ BEGINS("\xFE\xFF"),
	  { "text is in UTF-16", "Convert it to UTF-8, for instance with iconv -f UTF-16 -t UTF-8." } },
	{ BEGINS("\x28\xB5\x2F\xFD"), { "file is packed by zstd", UNPACK } },
	{ BEGINS("\xFD"
			 "7zXZ"),
	  { "file is packed by xz", UNPACK } },
	{ BEGINS_WITH("BZh", "1AY&SY"), { "file is packed by bzip2", UNPACK } },
	{ BEGINS("PK\x03\x04"), { "file is a ZIP archive", UNPACK } },
	{ BEGINS("\x04\x22\x4D\x18"), { "file is packed by lz4", UNPACK } },
	{ BEGINS("\x7F"
			 "ELF"),
	  { "file is a program or a core dump (ELF)", "It is not a profile." } },
	{ BEGINS("SQLite format 3"), { "file is an SQLite database", "It is not a profile." } },
	{ BEGINS("JAVA PROFILE "),
	  { "file is a heap dump of Java", "It contains objects, not stacks with values." } },
	{ BEGINS("Nettrace"),
	  { "file is a trace of .NET (nettrace)",
		"Run dotnet-trace convert --format Speedscope, and import its result." } },
	{ BEGINS_WITH("go 1.", " trace"),
	  { "file is an execution trace of Go",
		"Run go tool trace -pprof=sched, sync, net or syscall, and import its result." } },
	{ BEGINS("heap_v2/"),
	  { "file is a heap profile of jemalloc", "Run jeprof --collapsed, and import its result." } },
	{ BEGINS_WITH("v 1", "\nX "),
	  { "file was written by heaptrack",
		"Run heaptrack_print -F, and import the stacks that it writes." } },
	{ BEGINS("--- symbol"),
	  { "file is a symbolized profile of gperftools",
		"Import the profile without symbols, or what pprof -proto makes of it." } },
	{ BEGINS_WITH("desc: ", "snapshot=0"),
	  { "file was written by Valgrind's Massif", "It contains no stacks with values." } },
	{ BEGINS_WITH("<?xml", "trace-query-result"),
	  { "file is XML of Instruments",
		"Import what speedscope exports of the deep copy of its call tree." } },
	{ BEGINS("Running Time\t"),
	  { "file is a deep copy of Instruments", "Import what speedscope exports of it." } },
	{ BEGINS("Weight\t"),
	  { "file is a deep copy of Instruments", "Import what speedscope exports of it." } },
	{ BEGINS("Bytes Used\t"),
	  { "file is a deep copy of Instruments", "Import what speedscope exports of it." } },
	{ BEGINS_WITH("<?xml", "<svg"), { "file is a flame graph (SVG)", SVG } },
	{ BEGINS("<svg"), { "file is a flame graph (SVG)", SVG } },
	{ BEGINS("<!DOCTYPE html"), { "file is an HTML page", "It is not a profile." } },
	{ BEGINS("<!doctype html"), { "file is an HTML page", "It is not a profile." } },
	{ BEGINS("<html"), { "file is an HTML page", "It is not a profile." } },
	{ BEGINS("<?xml"), { "file is XML", "Profiles in XML are not supported." } },
	{ BEGINS("Flat profile:"), { "file is a report of gprof", "It has no stacks." } },
	{ BEGINS("Analysis of sampling "),
	  { "file was written by sample, a tool of macOS",
		"Convert it to folded stacks with stackcollapse-sample.awk." } },
	{ BEGINS_WITH("Attaching ", " probe"),
	  { "file is output of bpftrace",
		"Convert it to folded stacks with stackcollapse-bpftrace.pl." } },
	{ BEGINS_WITH("@[", "]: "),
	  { "file is output of bpftrace",
		"Convert it to folded stacks with stackcollapse-bpftrace.pl." } },
	{ BEGINS("v8-version,"),
	  { "file is a log of V8", "Record a .cpuprofile, with node --cpu-prof." } },
	{ BEGINS_WITH("20", "\nFull thread dump"),
	  { "file is a thread dump of Java",
		"Convert it to folded stacks with stackcollapse-jstack.pl." } },
	{ BEGINS_WITH("File: ", "Type: "),
	  { "file is a report of pprof", "Import the profile that it was made of." } },
	{ BEGINS_WITH("PeriodType: ", "Samples:"),
	  { "file is a report of pprof", "Import the profile that it was made of." } },
	{ BEGINS("{\x28"),
	  { "file was written by Python's cProfile",
		"It has no stacks. Record with py-spy or Austin instead." } },
	{ BEGINS("{\xA9"),
	  { "file was written by Python's cProfile",
		"It has no stacks. Record with py-spy or Austin instead." } },
	{ BEGINS("\xFB\xA9"),
	  { "file was written by Python's cProfile",
		"It has no stacks. Record with py-spy or Austin instead." } },
	{ BEGINS("\xFB\x28"),
	  { "file was written by Python's cProfile",
		"It has no stacks. Record with py-spy or Austin instead." } },
};

static bool
contains(const uint8_t *bytes, size_t length, const char *word)
{
	uint32_t probed = length < PROBE_BYTES ? (uint32_t) length : PROBE_BYTES;

	return pfs_text_contains((PfsText){ (const char *) bytes, probed }, word);
}

const PfsForeign *
pfs_foreign_find(const uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < sizeof(signatures) / sizeof(signatures[0]); i++)
	{
		const Signature *one = &signatures[i];

		if (length >= one->length && memcmp(bytes, one->begins, one->length) == 0 &&
			(one->contains == NULL || contains(bytes, length, one->contains)))
			return &one->what;
	}
	return NULL;
}
