/*
 * retry.h
 *		Decides after each attempt when to try again and when to give up.
 *
 *   starting ──► ready ◄──► away      forever
 *       │          ▲ └─────► denied   until it has lasted denied_ms
 *       └─► ended  └────────┘ └─► ended
 *
 * Each change of state, and each new reason for one, is one line in the log; repetitions are not
 * logged. Belongs to the writer's thread; knows neither queue nor connection.
 */
#ifndef COLLECTOR_RETRY_H
#define COLLECTOR_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "database/db_error.h"

typedef enum RetryState
{
	RETRY_STARTING, /* no answer yet */
	RETRY_READY,	/* the last attempt succeeded, or failed because of its batch */
	RETRY_AWAY,		/* down, full or too slow: temporary */
	/* Wrong password, role, database, extension or privilege: somebody has to change it. */
	RETRY_DENIED,
	RETRY_ENDED /* denied at the first attempt, or for too long */
} RetryState;

typedef enum RetryVerdict
{
	VERDICT_DONE,
	VERDICT_AGAIN,	 /* try again after wait_ms */
	VERDICT_GIVE_UP, /* the batch is the reason: drop it */
	VERDICT_END		 /* end the writer */
} RetryVerdict;

typedef struct Retry
{
	const char *target; /* name in the log; NULL: none */
	int64_t denied_ms;	/* maximum duration of RETRY_DENIED */
	RetryState state;
	int64_t since_ns; /* CLOCK_MONOTONIC at which the state began */
	/*
	 * SQLSTATE and message of the failure that was logged last; message is NULL if there was none.
	 */
	char sqlstate[6];
	const char *message;
	int attempts;	   /* failures since the last success */
	int delay_ms;	   /* next wait, before it is randomly shortened */
	bool is_divisible; /* this and the next three fields belong to the current batch */
	bool is_piece;
	int refusals;
	int timeouts;
	int wait_ms;		 /* valid for VERDICT_AGAIN */
	uint64_t away_count; /* how often the state RETRY_AWAY began */
	uint64_t denied_count;
} Retry;

void retry_init(Retry *retry, const char *target, int64_t denied_ms);

/*
 * Begins a batch. A piece, and a batch that can be divided, are given up after fewer refusals and
 * without waits in between, because smaller pieces get attempts of their own. Refusals of pieces
 * are not logged again.
 */
void retry_begin_batch(Retry *retry, bool is_divisible, bool is_piece);

/* Returns true if the current batch was given up because the server refused it. */
bool retry_was_refused(const Retry *retry);

/*
 * Decides after an attempt. at_once means that the next attempt may succeed without a wait, because
 * the epoch was read again. DB_STOPPED also ends the writer.
 */
RetryVerdict retry_judge(Retry *retry, DbOutcome outcome, const DbError *error, bool at_once,
						 int64_t now_ns);

/* Makes the next wait short, because a setting was changed. */
void retry_hurry(Retry *retry);

#endif
