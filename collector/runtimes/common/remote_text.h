/*
 * remote_text.h
 *		Reads many texts of a process's memory in one call.
 */
#ifndef COLLECTOR_REMOTE_TEXT_H
#define COLLECTOR_REMOTE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/remote_memory.h"

#define REMOTE_TEXTS_MAX 64

/* The position of a text's characters. */
typedef struct RemoteText
{
	uint64_t address;
	uint64_t bytes; /* at most CODE_TEXT_BYTES; 0: there is no text */
	char *text;		/* out, owned by the caller: valid UTF-8; NULL: unreadable */
} RemoteText;

/* Reads at most REMOTE_TEXTS_MAX texts. A text ends at its first NUL. */
void remote_texts_read(RemoteMemory *memory, RemoteText *texts, size_t count);

/*
 * Reads pieces of the given number of words, one for each address other than 0. Sets the other
 * pieces to 0.
 */
void remote_words_read(RemoteMemory *memory, const uint64_t *addresses, size_t count, size_t words,
					   uint64_t *to, bool *had);

#endif
