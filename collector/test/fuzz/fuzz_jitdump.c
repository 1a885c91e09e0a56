/*
 * fuzz_jitdump.c
 *		Any bytes as a jitdump: read at once, and in pieces as it grows, it has equal content.
 *
 * The first byte is the size of the pieces.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "jit/dump_reader.h"

#define LIMIT_BYTES ((size_t) 64 << 20)
#define NOW_NS		(UINT64_C(1) << 62)

typedef struct Reading
{
	DumpReader reader;
	CodeMap map;
	CodeTally tally;
} Reading;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Returns the bytes of the file so far, from the reader's position on, in memory of exactly that
 * size, for the sanitizer.
 */
static void
take(Reading *reading, CodeTable *table, const uint8_t *data, size_t size)
{
	const CodeSink sink = { table, &reading->map, &reading->tally };
	size_t length;
	uint8_t *bytes;

	if (reading->reader.at >= size)
		return;
	length = size - (size_t) reading->reader.at;
	bytes = malloc(length);
	if (bytes == NULL)
		abort();
	memcpy(bytes, data + reading->reader.at, length);
	dump_reader_take(&reading->reader, &sink, bytes, length, NOW_NS);
	free(bytes);
}

static void
compare(const Reading *a, const Reading *b)
{
	if (a->reader.at != b->reader.at || a->reader.is_broken != b->reader.is_broken ||
		a->reader.told_ns != b->reader.told_ns || a->tally.pieces != b->tally.pieces ||
		a->tally.bad != b->tally.bad)
		abort();
	for (uint64_t address = 0; address < 0x100; address += 8)
	{
		CodeObject *first = code_map_find(&a->map, address, NOW_NS);
		CodeObject *second = code_map_find(&b->map, address, NOW_NS);

		if (first != second)
			abort();
		code_object_release(first);
		code_object_release(second);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Budget budget = { .limit_bytes = LIMIT_BYTES };
	Reading *readings = calloc(2, sizeof(*readings));
	CodeTable *table;
	size_t step;

	if (readings == NULL || code_table_create(LIMIT_BYTES, &table) != 0)
		abort();
	if (size > 0)
	{
		step = 1 + *data++;
		size--;
		code_map_init(&readings[0].map, &budget);
		code_map_init(&readings[1].map, &budget);
		take(&readings[0], table, data, size);
		for (size_t come = step < size ? step : size;; come += step)
		{
			take(&readings[1], table, data, come < size ? come : size);
			if (come >= size)
				break;
		}
		compare(&readings[0], &readings[1]);
		code_map_fini(&readings[0].map);
		code_map_fini(&readings[1].map);
	}
	free(readings);
	code_table_free(table);
	if (budget.used_bytes != 0)
		abort();
	return 0;
}
