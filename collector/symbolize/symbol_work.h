/*
 * symbol_work.h
 *		The database's side of symbolize: claims, open addresses, answers.
 *
 * A claim is this process's until it is settled or its lease of five minutes ends. A process that
 * loses its claim in between still stores its answers, which are right in any case, but does not
 * settle the claim.
 */
#ifndef COLLECTOR_SYMBOL_WORK_H
#define COLLECTOR_SYMBOL_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "database/connection.h"
#include "symbols/worker/symbol_line.h"

#define BUILD_ID_TEXT_BYTES 257
#define OPEN_ADDRESSES_MAX	100000 /* of a claim; further ones are found by the next claim */

typedef struct SymbolClaim
{
	char build_id[BUILD_ID_TEXT_BYTES]; /* "": nothing is to be done */
	bool was_read;						/* the rest is known */
	int64_t epoch;						/* under which mappings are valid */
	size_t count;
	int64_t *mappings;	/* of each address */
	int64_t *addresses; /* ascending */
	int64_t *are_named; /* 1: the name of a symbol is known, so that only lines are better */
} SymbolClaim;

void symbol_claim_fini(SymbolClaim *claim); /* accepts a zeroed claim */

/* The answers for one transaction. Zeroed: none. */
typedef struct SymbolAnswers
{
	size_t count;
	size_t line_count;
	/* elements of arrays: of each line … */
	Buffer names;
	Buffer system_names;
	Buffer filenames;
	Buffer start_lines;
	Buffer lines;
	/* … and of each answer */
	Buffer mappings;
	Buffer addresses;
	Buffer line_counts;
} SymbolAnswers;

void symbol_answers_add(SymbolAnswers *answers, int64_t mapping, int64_t address,
						const SymbolLines *lines);
void symbol_answers_reset(SymbolAnswers *answers);
void symbol_answers_fini(SymbolAnswers *answers);

/* Counts addresses without lines, in all locations or in those that are not packed yet. */
DbOutcome symbol_work_find(Connection *connection, bool all, DbError *error);

DbOutcome symbol_work_claim(Connection *connection, const char *worker, SymbolClaim *claim,
							DbError *error);

/*
 * Reads the open addresses of a claim, if they were not read before. The server goes through all
 * locations for that, so it is asked only if debug information was found. symbol_claim_fini() frees
 * them.
 */
DbOutcome symbol_work_read(Connection *connection, SymbolClaim *claim, DbError *error);

DbOutcome symbol_work_store(Connection *connection, const SymbolClaim *claim,
							const SymbolAnswers *answers, DbError *error);

/* How an attempt ended. */
typedef struct SymbolOutcome
{
	int64_t answered;
	const char *source; /* "": no debug information was found */
	const char *error;	/* "": no address is left */
} SymbolOutcome;

DbOutcome symbol_work_settle(Connection *connection, const char *worker, const SymbolClaim *claim,
							 const SymbolOutcome *outcome, DbError *error);

/* Has the server send a notice when debug information may have come. */
DbOutcome symbol_work_listen(Connection *connection, DbError *error);

#endif
