/*
 * retry.h
 *		What follows from how an attempt at the database ended: when to try again, when to give up.
 *
 *		starting ──► ready ◄──► away		for ever
 *			│		  ▲ └─────► denied		until it has lasted denied_ms
 *			└─► ended	└────────┘ └─► ended
 *
 * Each change of state, and each new reason for one, is one line in the log; what repeats is not
 * told again. Belongs to the writer's thread; knows neither queue nor connection.
 */
#ifndef COLLECTOR_RETRY_H
#define COLLECTOR_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "database/db_error.h"

typedef enum RetryState
{
	RETRY_STARTING, /* no answer yet */
	RETRY_READY,	/* the last attempt went well, or was at fault itself */
	RETRY_AWAY,		/* down, full, too slow: comes back by itself */
	RETRY_DENIED,	/* password, role, database, extension, privilege: somebody has to change it */
	RETRY_ENDED		/* denied at once, or for too long */
} RetryState;

typedef enum RetryVerdict
{
	VERDICT_DONE,
	VERDICT_AGAIN,	 /* after wait_ms */
	VERDICT_GIVE_UP, /* the batch alone is at fault */
	VERDICT_END		 /* all of it */
} RetryVerdict;

typedef struct Retry
{
	const char *target; /* for the log; NULL: none */
	int64_t denied_ms;	/* bound of the state denied */
	RetryState state;
	int64_t since_ns; /* of the state, CLOCK_MONOTONIC */
	char sqlstate[6]; /* and message: why, as it was last told */
	const char *message;
	int attempts;	   /* in vain, since the last that went well */
	int delay_ms;	   /* of the next wait, before it is cut at random */
	bool is_divisible; /* the batch at hand; so the next three */
	bool is_piece;
	int refusals;
	int timeouts;
	int wait_ms;		 /* of VERDICT_AGAIN */
	uint64_t away_count; /* how often the state began */
	uint64_t denied_count;
} Retry;

void retry_init(Retry *retry, const char *target, int64_t denied_ms);

/*
 * Begins a batch. One that can be divided, whose pieces have attempts of their own, and a piece are
 * given up after fewer refusals, without a wait between them. A piece's are not logged again.
 */
void retry_begin_batch(Retry *retry, bool is_divisible, bool is_piece);

/* True if the batch at hand was given up because the server refused it. */
bool retry_was_refused(const Retry *retry);

/*
 * Judges an attempt; at_once where nothing speaks against the very next one (the epoch is known
 * anew). DB_STOPPED ends too.
 */
RetryVerdict retry_judge(Retry *retry, DbOutcome outcome, const DbError *error, bool at_once,
						 int64_t now_ns);

/* The next wait is a short one again: something was changed. */
void retry_hurry(Retry *retry);

#endif
