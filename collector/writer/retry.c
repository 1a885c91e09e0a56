/*
 * retry.c
 *		States of the database as the writer sees it.
 */
#include "writer/retry.h"

#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define MODULE "writer"

#define DELAY_MIN_MS 100
#define DELAY_MAX_MS 30000

#define STARTING_UP		  "57P03"
#define DELAY_STARTING_MS 1000

/*
 * A batch that the server refuses is tried anew with fresh ids and partitions before it is given
 * up.
 */
#define REFUSALS_MAX 3

/*
 * A server that is slow is away; a batch that alone runs into the statement timeout (60 s) so often
 * must not hold up all others for ever.
 */
#define TIMEOUTS_MAX 10

void
retry_init(Retry *retry, const char *target, int64_t denied_ms)
{
	*retry = (Retry){ .target = target, .denied_ms = denied_ms, .delay_ms = DELAY_MIN_MS };
}

void
retry_hurry(Retry *retry)
{
	retry->delay_ms = DELAY_MIN_MS;
}

void
retry_begin_batch(Retry *retry, bool is_divisible, bool is_piece)
{
	retry->is_divisible = is_divisible;
	retry->is_piece = is_piece;
	retry->refusals = 0;
	retry->timeouts = 0;
	retry_hurry(retry);
}

static int
refusals_max(const Retry *retry)
{
	return REFUSALS_MAX - retry->is_divisible - retry->is_piece;
}

bool
retry_was_refused(const Retry *retry)
{
	return retry->refusals >= refusals_max(retry);
}

/* Between half and all of delay_ms, so that many writers do not come at once. */
static int
jitter(int delay_ms)
{
	uint32_t random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t) sizeof(random))
		random = (uint32_t) getpid() * UINT32_C(2654435761);
	return delay_ms / 2 + (int) (random % (uint32_t) (delay_ms / 2 + 1));
}

static RetryVerdict
again(Retry *retry, bool at_once)
{
	retry->wait_ms = at_once ? 0 : jitter(retry->delay_ms);
	if (!at_once)
		retry->delay_ms = retry->delay_ms * 2 < DELAY_MAX_MS ? retry->delay_ms * 2 : DELAY_MAX_MS;
	return VERDICT_AGAIN;
}

static bool
is_new_reason(const Retry *retry, const DbError *error)
{
	return retry->message != error->failure.message ||
		   strcmp(retry->sqlstate, error->sqlstate) != 0;
}

static void
enter(Retry *retry, RetryState state, int64_t now_ns)
{
	if (state != retry->state)
		retry->since_ns = now_ns;
	retry->state = state;
}

static void
log_reason(const Retry *retry, const char *message, const DbError *error)
{
	log_event(LOG_WARNING, MODULE, message, log_text("target", retry->target),
			  log_text("reason", error->failure.message), log_text("detail", error->failure.detail),
			  log_text("hint", error->failure.hint), log_text("sqlstate", error->sqlstate),
			  log_number("attempt", retry->attempts));
}

/* Enters a state of failure; tells it where it, or the reason for it, is new. */
static void
fail(Retry *retry, RetryState state, const char *message, const DbError *error, int64_t now_ns)
{
	if (state != retry->state || is_new_reason(retry, error))
		log_reason(retry, message, error);
	enter(retry, state, now_ns);
	retry->message = error->failure.message;
	memcpy(retry->sqlstate, error->sqlstate, sizeof(retry->sqlstate));
}

static void
succeed(Retry *retry, int64_t now_ns)
{
	if (retry->state == RETRY_AWAY || retry->state == RETRY_DENIED)
		log_event(LOG_INFO, MODULE, "database is there again", log_text("target", retry->target),
				  log_number("attempts", retry->attempts),
				  log_number("after_ms", (now_ns - retry->since_ns) / NS_PER_MS));
	enter(retry, RETRY_READY, now_ns);
	retry->attempts = 0;
	retry->message = NULL;
	retry->sqlstate[0] = '\0';
}

static RetryVerdict
judge_away(Retry *retry, const DbError *error, int64_t now_ns)
{
	/* the server is about to be there */
	if (strcmp(error->sqlstate, STARTING_UP) == 0 && retry->delay_ms > DELAY_STARTING_MS)
		retry->delay_ms = DELAY_STARTING_MS;
	retry->away_count += retry->state != RETRY_AWAY;
	fail(retry, RETRY_AWAY, "database is away, batches wait in the queue", error, now_ns);
	return again(retry, false);
}

/* Who has just typed it wants to know at once; later somebody is about to put it right. */
static RetryVerdict
judge_denied(Retry *retry, const DbError *error, int64_t now_ns)
{
	bool is_first = retry->state == RETRY_STARTING;

	retry->denied_count += retry->state != RETRY_DENIED;
	if (!is_first)
		fail(retry, RETRY_DENIED, "database denies access, batches wait in the queue", error,
			 now_ns);
	if (is_first || now_ns - retry->since_ns >= retry->denied_ms * NS_PER_MS)
	{
		enter(retry, RETRY_ENDED, now_ns);
		return VERDICT_END;
	}
	return again(retry, false);
}

/* The database is there: it is the batch that it does not take, or what we remember. */
static RetryVerdict
judge_refused(Retry *retry, const DbError *error, bool at_once, int64_t now_ns)
{
	succeed(retry, now_ns);
	retry->attempts++;
	if (retry->refusals == 0 && !retry->is_piece)
		log_reason(retry, "could not store a batch and will try again", error);
	if (!at_once && ++retry->refusals == refusals_max(retry))
		return VERDICT_GIVE_UP;
	return again(retry, at_once || retry->is_divisible || retry->is_piece);
}

RetryVerdict
retry_judge(Retry *retry, DbOutcome outcome, const DbError *error, bool at_once, int64_t now_ns)
{
	if (outcome == DB_OK)
	{
		succeed(retry, now_ns);
		return VERDICT_DONE;
	}
	if (outcome == DB_STOPPED)
		return VERDICT_END;
	retry->attempts++;
	if (outcome == DB_TIMEOUT && ++retry->timeouts == TIMEOUTS_MAX)
		return VERDICT_GIVE_UP;
	if (outcome == DB_AWAY || outcome == DB_TIMEOUT)
		return judge_away(retry, error, now_ns);
	if (outcome == DB_DENIED)
		return judge_denied(retry, error, now_ns);
	return judge_refused(retry, error, at_once, now_ns);
}
