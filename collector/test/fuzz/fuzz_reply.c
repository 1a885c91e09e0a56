/*
 * fuzz_reply.c
 *		Any bytes as the answer of a symbol worker that a hostile file has taken over.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/worker/worker_protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SymbolLine lines[WORKER_FRAMES_MAX];
	size_t length = 0;
	size_t used_bytes;
	uint32_t count;
	/* memory of exactly that size, for the sanitizer */
	char *message = malloc(size > 0 ? size : 1);

	if (message == NULL)
		return 0;
	memcpy(message, data, size);
	if (worker_reply_decode(message, size, lines, &count, &used_bytes) == 0)
		for (uint32_t i = 0; i < count; i++)
			length +=
				strlen(lines[i].name) + strlen(lines[i].system_name) + strlen(lines[i].filename);
	free(message);
	return length > (size_t) 3 * WORKER_FRAMES_MAX * WORKER_MESSAGE_BYTES;
}
