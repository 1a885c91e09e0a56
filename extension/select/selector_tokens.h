/*
 * selector_tokens.h
 *		Tokens of selectors, and errors that show their position.
 */
#ifndef PFS_SELECTOR_TOKENS_H
#define PFS_SELECTOR_TOKENS_H

#include "profstore.h"

#include "lib/stringinfo.h"

/* Longest selector or filter, in bytes. The memory of a matcher is a multiple of its text. */
#define PFS_SELECTOR_MAX_BYTES (1024 * 1024)

typedef struct PfsSelectorText
{
	const char *text;
	const char *at;		   /* next byte to read */
	bool frames;		   /* true for matchers of frames, false for matchers of labels */
	const char *argument;  /* name of the argument, which errors show */
	StringInfoData quoted; /* buffer of the quoted text being read */
} PfsSelectorText;

/*
 * Returns a cursor at the beginning of text, in CurrentMemoryContext. Raises PROGRAM_LIMIT_EXCEEDED
 * if text is longer than PFS_SELECTOR_MAX_BYTES.
 */
PfsSelectorText pfs_selector_text(const char *text, const char *argument, bool frames);

/* Raises SYNTAX_ERROR, or INVALID_REGULAR_EXPRESSION, at a position of the text. */
pg_noreturn void pfs_selector_fail(const PfsSelectorText *text, const char *position,
								   const char *reason);
pg_noreturn void pfs_selector_fail_regex(const PfsSelectorText *text, const char *position,
										 const char *reason);

static inline bool
pfs_selector_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static inline bool
pfs_selector_at_quote(const PfsSelectorText *text)
{
	return *text->at == '"' || *text->at == '\'' || *text->at == '`';
}

void pfs_selector_skip_blanks(PfsSelectorText *text);

/*
 * Reads the name of a label or field. Its result, like that of pfs_selector_read_quoted(), is in
 * CurrentMemoryContext.
 */
const char *pfs_selector_read_label(PfsSelectorText *text);

/* Reads a quoted text and resolves its escapes. The cursor is at its opening quote. */
const char *pfs_selector_read_quoted(PfsSelectorText *text);

#endif
