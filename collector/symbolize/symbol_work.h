/*
 * symbol_work.h
 *		The part of "symbolize" that uses the database: claims, open addresses, answers.
 *
 * A claim belongs to this process until it is settled or its lease of five minutes ends. A process
 * that loses its claim before that still stores its answers, which are right in any case, but does
 * not settle the claim.
 */
#ifndef COLLECTOR_SYMBOL_WORK_H
#define COLLECTOR_SYMBOL_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "database/connection.h"
#include "symbols/worker/symbol_line.h"

#define BUILD_ID_TEXT_BYTES 257
/* limit for one claim; the next claim of the build finds further ones */
#define OPEN_ADDRESSES_MAX	100000

typedef struct SymbolClaim
{
	char build_id[BUILD_ID_TEXT_BYTES]; /* "": there is no work */
	bool was_read;						/* the fields below are valid */
	int64_t epoch;						/* epoch in which the ids of mappings are valid */
	size_t count;
	int64_t *mappings;	/* mapping of each address */
	int64_t *addresses; /* ascending */
	int64_t *are_named; /* 1: the symbol's name is known, so only an answer with lines is better */
} SymbolClaim;

void symbol_claim_fini(SymbolClaim *claim); /* accepts a zeroed claim */

/* The answers that are stored in one transaction. A zeroed structure has none. */
typedef struct SymbolAnswers
{
	size_t count;
	size_t line_count;
	/* The buffers up to the next comment are arrays with an element for each line. */
	Buffer names;
	Buffer system_names;
	Buffer filenames;
	Buffer start_lines;
	Buffer lines;
	/* The buffers below are arrays with an element for each answer. */
	Buffer mappings;
	Buffer addresses;
	Buffer line_counts;
} SymbolAnswers;

void symbol_answers_add(SymbolAnswers *answers, int64_t mapping, int64_t address,
						const SymbolLines *lines);
void symbol_answers_reset(SymbolAnswers *answers);
void symbol_answers_fini(SymbolAnswers *answers);

/* Counts addresses without lines: in all locations, or only in those that are not packed yet. */
DbOutcome symbol_work_find(Connection *connection, bool all, DbError *error);

DbOutcome symbol_work_claim(Connection *connection, const char *worker, SymbolClaim *claim,
							DbError *error);

/*
 * Reads the open addresses of a claim, unless they were read before. The server must search all
 * locations for them, so call this only if debug information was found. symbol_claim_fini() frees
 * the addresses.
 */
DbOutcome symbol_work_read(Connection *connection, SymbolClaim *claim, DbError *error);

DbOutcome symbol_work_store(Connection *connection, const SymbolClaim *claim,
							const SymbolAnswers *answers, DbError *error);

/* The outcome of an attempt. */
typedef struct SymbolOutcome
{
	int64_t answered;
	const char *source; /* "": no debug information was found */
	const char *error;	/* "": no address is left without an answer */
} SymbolOutcome;

DbOutcome symbol_work_settle(Connection *connection, const char *worker, const SymbolClaim *claim,
							 const SymbolOutcome *outcome, DbError *error);

/* Makes the server send a notice when new debug information may be available. */
DbOutcome symbol_work_listen(Connection *connection, DbError *error);

#endif
