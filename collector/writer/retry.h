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
	/* password, role, database, extension or privilege: somebody has to change it */
	RETRY_DENIED,
	RETRY_ENDED /* denied at the first attempt, or for too long */
} RetryState;

typedef enum RetryVerdict
{
	VERDICT_DONE,
	VERDICT_AGAIN,	 /* after wait_ms */
	VERDICT_GIVE_UP, /* the batch is at fault: drop it */
	VERDICT_END		 /* end the writer */
} RetryVerdict;

typedef struct Retry
{
	const char *target; /* for the log; NULL if there is none */
	int64_t denied_ms;	/* maximum duration of RETRY_DENIED */
	RetryState state;
	int64_t since_ns; /* start of the state, CLOCK_MONOTONIC */
	/* SQLSTATE and message of the failure that was logged last; message NULL: none */
	char sqlstate[6];
	const char *message;
	int attempts;	   /* failures since the last success */
	int delay_ms;	   /* next wait, before its random reduction */
	bool is_divisible; /* of the current batch, like the next three members */
	bool is_piece;
	int refusals;
	int timeouts;
	int wait_ms;		 /* of VERDICT_AGAIN */
	uint64_t away_count; /* number of times that the state began */
	uint64_t denied_count;
} Retry;

void retry_init(Retry *retry, const char *target, int64_t denied_ms);

/*
 * Begins a batch. A piece, and a batch that can be divided into pieces with attempts of their own,
 * are given up after fewer refusals and without waits between them. Refusals of pieces are not
 * logged again.
 */
void retry_begin_batch(Retry *retry, bool is_divisible, bool is_piece);

/* Returns true if the current batch was given up because the server refused it. */
bool retry_was_refused(const Retry *retry);

/*
 * Judges an attempt. at_once means that the next attempt may succeed without a wait, because the
 * epoch was read again. DB_STOPPED ends, too.
 */
RetryVerdict retry_judge(Retry *retry, DbOutcome outcome, const DbError *error, bool at_once,
						 int64_t now_ns);

/* Makes the next wait short, because something was changed. */
void retry_hurry(Retry *retry);

#endif
