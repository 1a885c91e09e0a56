/*
 * dump_reader.c
 *		Turns a jitdump's records into regions of code.
 */
#include "jit/dump_reader.h"

#include <errno.h>
#include <string.h>

#include "jit/perf_map.h"

/* Sets file and line from the DEBUG record that came before, unless the name contains them. */
static void
add_place(const DumpReader *reader, const JitdumpRecord *load, CodeName *name)
{
	if (!reader->has_debug || reader->debug.start != load->start || name->file[0] != '\0')
		return;
	name->file = reader->debug.text;
	name->start_line = reader->debug.line;
	name->line = reader->debug.line;
}

static int
take_load(const DumpReader *reader, const CodeSink *sink, JitdumpRecord *load)
{
	CodeName name = perf_map_name(load->text);
	CodeObject *code;

	/* the code is empty, or has no name */
	if (load->start == load->end || load->text[0] == '\0')
		return -ENOENT;
	add_place(reader, load, &name);
	code = code_table_add(sink->table, &name);
	return code != NULL ? code_map_add(sink->map, load->start, load->end, code) : -ENOMEM;
}

/* Applies one record to the map, at the time that the record carries. */
static void
dump_take_record(DumpReader *reader, const CodeSink *sink, JitdumpRecord *record, uint64_t now_ns)
{
	int result = 0;

	code_tally_one(&sink->tally->pieces);
	if (record->kind == JITDUMP_DEBUG)
	{
		reader->debug = *record;
		reader->has_debug = true;
		return;
	}
	if (record->kind == JITDUMP_OTHER)
		return;
	/*
	 * some runtimes have a clock that runs ahead of ours; but a record that was read has happened
	 */
	reader->told_ns = record->time_ns < now_ns ? record->time_ns : now_ns;
	code_map_at(sink->map, reader->told_ns);
	if (record->kind == JITDUMP_LOAD)
		result = take_load(reader, sink, record);
	else if (record->start < record->end)
		result = code_map_move(sink->map, record->from, record->start, record->end);
	/* A DEBUG record describes only the code that is loaded next. */
	reader->has_debug = false;
	if (result != 0)
		code_tally_one(&sink->tally->bad);
}

/*
 * Parses the header. Returns 0; -EAGAIN if the header is incomplete; otherwise the error to report
 * for the file.
 */
static int
take_header(DumpReader *reader, const CodeSink *sink, const uint8_t *bytes, size_t length)
{
	int result = jitdump_parse_header(bytes, length, &reader->at);

	if (result != 0 && result != -EAGAIN)
		code_tally_one(&sink->tally->refused);
	return result;
}

void
dump_reader_take(DumpReader *reader, const CodeSink *sink, const uint8_t *bytes, size_t length,
				 uint64_t now_ns)
{
	const uint64_t from = reader->at;
	int result = 0;

	if (reader->is_broken)
		return;
	if (reader->at == 0)
		result = take_header(reader, sink, bytes, length);
	while (result == 0 && reader->at - from < length)
	{
		uint64_t place = reader->at - from;
		JitdumpRecord record;

		result = jitdump_parse_record(bytes + place, length - (size_t) place, &record);
		if (result == -EBADMSG)
		{
			code_tally_one(&sink->tally->pieces);
			code_tally_one(&sink->tally->bad);
		}
		if (result != 0)
			break;
		dump_take_record(reader, sink, &record, now_ns);
		reader->at += record.length;
	}
	/* Behind a bad record there is no telling where the next one begins. */
	reader->is_broken = result != 0 && result != -EAGAIN;
}

void
dump_reader_begin(DumpReader *reader)
{
	*reader = (DumpReader){ 0 };
}
