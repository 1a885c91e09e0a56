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
	int attempts; /* in vain, since the last that went well */
	int delay_ms; /* of the next wait, before it is cut at random */
	int refusals; /* of the batch at hand */
	int timeouts;
	int wait_ms;		 /* of VERDICT_AGAIN */
	uint64_t away_count; /* how often the state began */
	uint64_t denied_count;
} Retry;

void retry_init(Retry *retry, const char *target, int64_t denied_ms);

/* Before the first attempt at a batch. */
void retry_begin_batch(Retry *retry);

/*
 * Judges an attempt; at_once where nothing speaks against the very next one (the epoch is known
 * anew). DB_STOPPED ends too.
 */
RetryVerdict retry_judge(Retry *retry, DbOutcome outcome, const DbError *error, bool at_once,
						 int64_t now_ns);

/* The next wait is a short one again: something was changed. */
void retry_hurry(Retry *retry);

#endif
