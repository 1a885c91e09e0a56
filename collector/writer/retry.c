/*
 * retry.c
 *		Keeps the state of the database as the writer sees it.
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

/* A refused batch is retried with fresh ids and partitions before it is given up. */
#define REFUSALS_MAX 3

/*
 * A slow server counts as away. But a batch that reaches the statement timeout (60 s) this many
 * times, while stored alone, must not block all others forever.
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
	/*
	 * 3 attempts for an ordinary batch, 2 for one that can be divided or is a piece, 1 for a piece
	 * that can be divided further
	 */
	return REFUSALS_MAX - retry->is_divisible - retry->is_piece;
}

bool
retry_was_refused(const Retry *retry)
{
	return retry->refusals >= refusals_max(retry);
}

/*
 * Returns a random wait between half of delay_ms and delay_ms, so that many writers do not retry at
 * the same moment.
 */
static int
jitter_delay(int delay_ms)
{
	uint32_t random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t) sizeof(random))
		/* early in the boot; the numbers only have to differ between processes */
		random = (uint32_t) getpid() * UINT32_C(2654435761);
	return delay_ms / 2 + (int) (random % (uint32_t) (delay_ms / 2 + 1));
}

static RetryVerdict
verdict_again(Retry *retry, bool at_once)
{
	retry->wait_ms = at_once ? 0 : jitter_delay(retry->delay_ms);
	if (!at_once)
		retry->delay_ms = retry->delay_ms * 2 < DELAY_MAX_MS ? retry->delay_ms * 2 : DELAY_MAX_MS;
	return VERDICT_AGAIN;
}

static bool
is_new_reason(const Retry *retry, const DbError *error)
{
	/* messages of failures are literals, so the pointer identifies them */
	return retry->message != error->failure.message ||
		   strcmp(retry->sqlstate, error->sqlstate) != 0;
}

static void
retry_enter(Retry *retry, RetryState state, int64_t now_ns)
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

/* Changes to a failure state; logs it if the state or its reason is new. */
static void
retry_fail(Retry *retry, RetryState state, const char *message, const DbError *error,
		   int64_t now_ns)
{
	if (state != retry->state || is_new_reason(retry, error))
		log_reason(retry, message, error);
	retry_enter(retry, state, now_ns);
	retry->message = error->failure.message;
	memcpy(retry->sqlstate, error->sqlstate, sizeof(retry->sqlstate));
}

static void
retry_succeed(Retry *retry, int64_t now_ns)
{
	if (retry->state == RETRY_AWAY || retry->state == RETRY_DENIED)
		log_event(LOG_INFO, MODULE, "database is available again",
				  log_text("target", retry->target), log_number("attempts", retry->attempts),
				  log_number("after_ms", (now_ns - retry->since_ns) / NS_PER_MS));
	retry_enter(retry, RETRY_READY, now_ns);
	retry->attempts = 0;
	retry->message = NULL;
	retry->sqlstate[0] = '\0';
}

static RetryVerdict
judge_away(Retry *retry, const DbError *error, int64_t now_ns)
{
	/* the server will be available soon */
	if (strcmp(error->sqlstate, STARTING_UP) == 0 && retry->delay_ms > DELAY_STARTING_MS)
		retry->delay_ms = DELAY_STARTING_MS;
	retry->away_count += retry->state != RETRY_AWAY;
	retry_fail(retry, RETRY_AWAY, "database is not available; batches stay queued", error, now_ns);
	return verdict_again(retry, false);
}

/*
 * If access is denied at the first attempt, the writer ends, because the user who has just started
 * it must see the error at once. Later, somebody may be about to correct the reason, so the writer
 * waits.
 */
static RetryVerdict
judge_denied(Retry *retry, const DbError *error, int64_t now_ns)
{
	bool is_first = retry->state == RETRY_STARTING;

	retry->denied_count += retry->state != RETRY_DENIED;
	if (!is_first)
		retry_fail(retry, RETRY_DENIED, "database denies access; batches stay queued", error,
				   now_ns);
	if (is_first || now_ns - retry->since_ns >= retry->denied_ms * NS_PER_MS)
	{
		retry_enter(retry, RETRY_ENDED, now_ns);
		return VERDICT_END;
	}
	return verdict_again(retry, false);
}

/*
 * Decides after the server refused a batch. The database is available, so the batch or our cached
 * ids are the reason.
 */
static RetryVerdict
judge_refused(Retry *retry, const DbError *error, bool at_once, int64_t now_ns)
{
	/* an answer shows that the database is available, so a state "away" ends here */
	retry_succeed(retry, now_ns);
	retry->attempts++;
	if (retry->refusals == 0 && !retry->is_piece)
		log_reason(retry, "could not store a batch; will retry", error);
	/* a refusal because of an expired epoch is not the batch's fault, and is not counted */
	if (!at_once && ++retry->refusals == refusals_max(retry))
		return VERDICT_GIVE_UP;
	return verdict_again(retry, at_once || retry->is_divisible || retry->is_piece);
}

RetryVerdict
retry_judge(Retry *retry, DbOutcome outcome, const DbError *error, bool at_once, int64_t now_ns)
{
	if (outcome == DB_OK)
	{
		retry_succeed(retry, now_ns);
		return VERDICT_DONE;
	}
	if (outcome == DB_STOPPED)
		return VERDICT_END;
	retry->attempts++;
	/*
	 * a flight of several batches is halved, a single batch dropped, so that later batches are not
	 * blocked
	 */
	if (outcome == DB_TIMEOUT && ++retry->timeouts == TIMEOUTS_MAX)
		return VERDICT_GIVE_UP;
	if (outcome == DB_AWAY || outcome == DB_TIMEOUT)
		return judge_away(retry, error, now_ns);
	if (outcome == DB_DENIED)
		return judge_denied(retry, error, now_ns);
	return judge_refused(retry, error, at_once, now_ns);
}
