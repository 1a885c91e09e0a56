/*
 * selector_tokens.h
 *		What selectors are made of, and errors that show where they stand.
 */
#ifndef PFS_SELECTOR_TOKENS_H
#define PFS_SELECTOR_TOKENS_H

#include "profstore.h"

typedef struct PfsSelectorText
{
	const char *text;
	const char *at;		  /* next byte to read */
	bool frames;		  /* matchers of frames, not of labels */
	const char *argument; /* the name of it, for errors */
} PfsSelectorText;

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

/* A quoted text, the cursor on its opening quote. */
const char *pfs_selector_read_quoted(PfsSelectorText *text);

#endif
