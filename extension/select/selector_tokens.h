/*
 * selector_tokens.h
 *		What selectors are made of, and errors that show where they stand.
 */
#ifndef PFS_SELECTOR_TOKENS_H
#define PFS_SELECTOR_TOKENS_H

#include "profstore.h"

#include "lib/stringinfo.h"

/* Longest selector or filter, in bytes. Each matcher takes a multiple of its text in memory. */
#define PFS_SELECTOR_MAX_BYTES (1024 * 1024)

typedef struct PfsSelectorText
{
	const char *text;
	const char *at;		   /* next byte to read */
	bool frames;		   /* matchers of frames, not of labels */
	const char *argument;  /* the name of it, for errors */
	StringInfoData quoted; /* buffer of the quoted text that is being read */
} PfsSelectorText;

/*
 * A cursor at the beginning of text, in CurrentMemoryContext. Raises PROGRAM_LIMIT_EXCEEDED if text
 * is longer than PFS_SELECTOR_MAX_BYTES.
 */
PfsSelectorText pfs_selector_text(const char *text, const char *argument, bool frames);

/* Raises SYNTAX_ERROR, or INVALID_REGULAR_EXPRESSION, for what stands at a position. */
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

/* The name of a label or field. In CurrentMemoryContext; so the next. */
const char *pfs_selector_read_label(PfsSelectorText *text);

/* A quoted text without its escapes, the cursor on its opening quote. */
const char *pfs_selector_read_quoted(PfsSelectorText *text);

#endif
