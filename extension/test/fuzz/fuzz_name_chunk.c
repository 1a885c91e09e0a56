/*
 * fuzz_name_chunk.c
 *		Fuzzes the unpacking of names. Input: a chunk, into whose first four bytes the right CRC is
 *		put; its header has the kind and the number of rows.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/bytes.h"
#include "codec/crc32c.h"
#include "codec/name_chunk.h"
#include "test/unit/codec_harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Results of reads, so that the compiler does not remove the reads. */
volatile size_t fuzz_sum;

/* Reads every byte to which rows point. */
static size_t
sum_functions(const PfsPackedFunction *functions, uint32_t count)
{
	size_t sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += strlen(functions[i].name) + strlen(functions[i].system_name) +
			   strlen(functions[i].filename);
	return sum;
}

static size_t
sum_locations(const PfsPackedLocation *locations, uint32_t count)
{
	size_t sum = 0;

	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < locations[i].line_count; j++)
			sum += (size_t) (locations[i].function_ids[j] ^ locations[i].lines[j]);
	return sum;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static PfsPackedFunction functions[PFS_NAME_CHUNK_ROWS];
	static PfsPackedLocation locations[PFS_NAME_CHUNK_ROWS];
	TestHeap heap = { 0 };
	PfsAllocator allocator = test_allocator(&heap);
	PfsError error = { 0 };
	PfsStatus status;
	void *memory;
	uint32_t count;
	uint8_t *bytes;

	if (size < PFS_NAME_CHUNK_HEADER_SIZE)
		return 0;
	/*
	 * copy the input to a block of its exact size, so that the sanitizer sees a read past the end
	 */
	bytes = malloc(size);
	if (bytes == NULL)
		abort();
	memcpy(bytes, data, size);
	pfs_store32(bytes, pfs_crc32c(bytes + 4, size - 4));
	count = bytes[7] + 1u;
	status = pfs_functions_unpack(bytes, size, count, allocator, functions, &memory, &error);
	if (status == PFS_OK)
		fuzz_sum = sum_functions(functions, count);
	else if (error.message == NULL)
		abort();
	allocator.realloc(allocator.context, memory, 0);

	status = pfs_locations_unpack(bytes, size, count, allocator, locations, &memory, &error);
	if (status == PFS_OK)
		fuzz_sum = sum_locations(locations, count);
	else if (error.message == NULL)
		abort();
	allocator.realloc(allocator.context, memory, 0);
	free(bytes);
	if (heap.live != 0)
		abort();
	return 0;
}
