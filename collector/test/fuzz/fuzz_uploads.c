/*
 * fuzz_uploads.c
 *		Any bytes as a message about an upload of debug information: no finding of the sanitizers,
 *		and an accepted build ID can be part of a path.
 *
 * A byte chooses the message. Then the message.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "uploads/upload_messages.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void
check_question(const UploadQuestion *question)
{
	const size_t length = strlen(question->build_id);

	if (length < 16 || length > 64 || length % 2 != 0 ||
		strspn(question->build_id, "0123456789abcdef") != length)
		abort();
	if (strlen(question->upload_id) >= UPLOAD_ID_BYTES ||
		strlen(question->hash) >= UPLOAD_HASH_BYTES || strlen(question->name) >= UPLOAD_NAME_BYTES)
		abort();
}

/* Reads a message of a stream, and checks that a chunk lies within the message. */
static void
try_part(Span message, bool is_first)
{
	UploadQuestion question;
	Span chunk;

	if (upload_part_read(message, is_first, &question, &chunk) != NULL)
		return;
	if (is_first)
		check_question(&question);
	else if (chunk.length > 0 && (chunk.bytes < message.bytes ||
								  chunk.bytes + chunk.length > message.bytes + message.length))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	UploadQuestion question;
	Span message;
	uint8_t *copy; /* memory of exactly that size, for the sanitizer */

	if (length < 2)
		return 0;
	copy = malloc(length - 1);
	if (copy == NULL)
		return 0;
	memcpy(copy, bytes + 1, length - 1);
	message = (Span){ copy, length - 1 };
	if (bytes[0] % 8 < UPLOAD_MESSAGES)
	{
		if (upload_question_read((UploadMessage) (bytes[0] % 8), message, &question) == NULL)
			check_question(&question);
	}
	else
		try_part(message, bytes[0] % 8 == UPLOAD_MESSAGES);
	free(copy);
	return 0;
}
