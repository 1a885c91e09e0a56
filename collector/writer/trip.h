/*
 * trip.h
 *		Statements that go to the database in one round trip, and what their answers are for.
 *
 * They are gathered until somebody needs an answer.
 */
#ifndef COLLECTOR_TRIP_H
#define COLLECTOR_TRIP_H

#include "writer/intern_items.h"

/* Whose answer a statement's is, and its parameters where the trip owns them. */
typedef struct TripRequest
{
	InternKind *kind; /* ids of some of its missing items; NULL: none */
	uint32_t first;
	uint32_t count;
	Buffer *buffers; /* NULL, or STATEMENT_MAX_PARAMS of them */
	bool *is_true;	 /* the answer itself; NULL: not asked for */
} TripRequest;

typedef struct Trip
{
	size_t count;
	size_t capacity;
	TripRequest *requests;
	Statement *statements;
	bool failed; /* memory is out */
} Trip;

void trip_fini(Trip *trip); /* a zeroed Trip is empty */

/* The values must stay until the trip is over. is_true, where given, is the answer then. */
void trip_add(Trip *trip, const Statement *statement, bool *is_true);

/* Requests for all that a kind misses; its missing stacks stand in order of partition. */
void trip_add_kind(Trip *trip, const InternWork *work, InternKind *kind);

/* Sends what was gathered, if anything, and empties the trip; ids and answers are there then. */
DbOutcome trip_run(Trip *trip, Connection *connection, DbError *error);

#endif
