/*
 * trip.h
 *		Statements that are sent to the database in one round trip, and where their answers are
 *		stored.
 *
 * Statements are collected until an answer is needed.
 */
#ifndef COLLECTOR_TRIP_H
#define COLLECTOR_TRIP_H

#include "writer/intern_items.h"

/* Place for a statement's answer, and the statement's parameters if the trip owns them. */
typedef struct TripRequest
{
	/* the answer contains the ids of missing items of this kind; NULL: it contains no ids */
	InternKind *kind;
	uint32_t first;
	uint32_t count;
	Buffer *buffers; /* NULL, or STATEMENT_MAX_PARAMS buffers */
	bool *is_true;	 /* receives the boolean answer; NULL: the answer is not needed */
} TripRequest;

typedef struct Trip
{
	size_t count;
	size_t capacity;
	TripRequest *requests;
	Statement *statements;
	bool failed; /* an allocation failed */
} Trip;

void trip_fini(Trip *trip); /* a zeroed Trip is valid and empty */

/*
 * Adds a statement. Its parameter values must stay valid until trip_run(). If is_true is not NULL,
 * it receives the answer.
 */
void trip_add(Trip *trip, const Statement *statement, bool *is_true);

/* Adds requests for all missing items of a kind; missing stacks must be sorted by partition. */
void trip_add_kind(Trip *trip, const InternWork *work, InternKind *kind);

/*
 * Sends the collected statements, if there are any, stores ids and answers, and empties the trip.
 */
DbOutcome trip_run(Trip *trip, Connection *connection, DbError *error);

#endif
