/*
 * remote_text.h
 *		Texts of a process's memory, many by one call.
 */
#ifndef COLLECTOR_REMOTE_TEXT_H
#define COLLECTOR_REMOTE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/remote_memory.h"

#define REMOTE_TEXTS_MAX 64

/* Where the characters of a text are. */
typedef struct RemoteText
{
	uint64_t address;
	uint64_t bytes; /* at most CODE_TEXT_BYTES; 0: there is no text */
	char *text;		/* out, the caller's: valid UTF-8; NULL: it could not be read */
} RemoteText;

/* Reads texts, REMOTE_TEXTS_MAX at most. A text ends at its first NUL. */
void remote_texts_read(RemoteMemory *memory, RemoteText *texts, size_t count);

/* Reads pieces of words words, one for each address that is not 0. Sets other pieces to 0. */
void remote_words_read(RemoteMemory *memory, const uint64_t *addresses, size_t count, size_t words,
					   uint64_t *to, bool *had);

#endif
