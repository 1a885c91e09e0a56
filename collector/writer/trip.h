/*
 * trip.h
 *		One round trip of interning: statements for what the caches lack, ids from the answers.
 */
#ifndef COLLECTOR_TRIP_H
#define COLLECTOR_TRIP_H

#include "writer/intern_items.h"

/* A statement that interns knows for which of a kind's missing items it does. */
typedef struct InternRequest
{
	InternKind *kind; /* NULL: BEGIN, pin_epoch or COMMIT */
	uint32_t first;
	uint32_t count;
	Buffer buffers[STATEMENT_MAX_PARAMS];
} InternRequest;

typedef struct InternRound
{
	size_t count;
	InternRequest *requests;
	Statement *statements;
	Result **results;
} InternRound;

/* How many requests these kinds' missing items make. */
size_t intern_request_count(const InternWork *work, int first_kind, int last_kind);

/* Room for so many statements; false where memory is out. To be given back in either case. */
bool intern_round_init(InternRound *round, size_t capacity);
void intern_round_fini(InternRound *round);

/* Begins the transaction, and pins the epoch of the ids that are known. Two statements. */
void intern_round_add_begin(InternRound *round, const InternWork *work);

/* Requests for all that a kind misses; its missing stacks stand in order of partition. */
void intern_round_add_kind(InternRound *round, const InternWork *work, InternKind *kind);
void intern_round_add_command(InternRound *round, const char *sql, const char *failure);

/* Sends the round, fills in the ids. */
DbOutcome intern_round_run(InternRound *round, InternWork *work);

#endif
