/*
 * asked.c
 *		Finds a session for a client's credentials, and converts errors of the database to those of
 *		the protocol.
 */
#include "serve/asked.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define MODULE	"serve"
#define RETRY_S 1

/* Part of --max-memory that one answer may take; all answers of a client may take half of it. */
#define ANSWER_PARTS	 5
#define ANSWER_TOO_LARGE "the answer is larger than a fifth of --max-memory: select less"

bool
asked_refuse(Asked *asked, GrpcCode code, const char *text)
{
	metric_add(&asked->serving->metrics.questions_refused_total, 1);
	call_fail(asked->call, code, text);
	return false;
}

bool
asked_no_memory(Asked *asked)
{
	metric_add(&asked->serving->host.metrics.requests_throttled_total, 1);
	/* A retry helps only if the memory is in use by other requests. */
	if (asked->call->memory->is_beyond)
	{
		call_fail(asked->call, GRPC_RESOURCE_EXHAUSTED, "the answer is larger than --max-memory");
		return false;
	}
	call_retry(asked->call, TOO_MUCH_UNDER_WAY, RETRY_S);
	asked->call->answer.http_status = 429;
	return false;
}

/* Releases the unused part of a buffer, which has grown by doubling. */
static void
asked_trim(Buffer *buffer)
{
	char *bytes = buffer->length > 0 ? realloc(buffer->bytes, buffer->length) : NULL;

	if (bytes == NULL)
		return;
	buffer->bytes = bytes;
	buffer->capacity = buffer->length;
}

/*
 * Charges the answer until its call is freed. Returns false after answering with an error: if it is
 * too large, or if other requests have the memory.
 */
static bool
asked_charge_answer(Asked *asked)
{
	Call *call = asked->call;
	size_t bytes;

	asked_trim(&call->answer.body);
	bytes = call->answer.body.capacity;
	/* One client that reads slowly must not hold the memory of all others. */
	if (bytes > asked->serving->host.memory.limit_bytes / ANSWER_PARTS)
		return asked_refuse(asked, GRPC_RESOURCE_EXHAUSTED, ANSWER_TOO_LARGE);
	if (!share_charge(call->memory, bytes))
		return asked_no_memory(asked);
	share_hand_over(call->memory, bytes);
	call->answer_bytes = bytes;
	return true;
}

void
asked_end(Asked *asked, bool is_good)
{
	Call *call = asked->call;

	/* Before the answer is sent, so that a slow client does not keep a session. */
	reader_pool_release(&asked->serving->pool, asked->session);
	if (is_good && call->answer.body.failed)
		is_good = asked_no_memory(asked);
	if (!is_good || !asked_charge_answer(asked))
		buffer_fini(&call->answer.body); /* the answer has the text of an error in another field */
	host_give_back(&asked->serving->host, call);
}

void
asked_answered(Host *host)
{
	metric_add(&serving_of(host)->metrics.questions_answered_total, 1);
}

/* Returns the protocol's code for an error of the server. */
static GrpcCode
asked_code_of(const char *sqlstate)
{
	static const struct
	{
		const char *sqlstate; /* an SQLSTATE, or its first characters */
		GrpcCode code;
	} rules[] = {
		{ "57014", GRPC_DEADLINE_EXCEEDED },   /* statement_timeout */
		{ "42501", GRPC_PERMISSION_DENIED },   /* insufficient_privilege */
		{ "42601", GRPC_INVALID_ARGUMENT },	   /* a malformed selector */
		{ "22", GRPC_INVALID_ARGUMENT },	   /* data exceptions */
		{ "0A", GRPC_UNIMPLEMENTED },		   /* feature_not_supported */
		{ "54", GRPC_RESOURCE_EXHAUSTED },	   /* program_limit_exceeded */
		{ "3F000", GRPC_FAILED_PRECONDITION }, /* no schema: the extension is missing */
		{ "42883", GRPC_FAILED_PRECONDITION }, /* no function: it is too old */
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (strncmp(sqlstate, rules[i].sqlstate, strlen(rules[i].sqlstate)) == 0)
			return rules[i].code;
	return GRPC_INTERNAL;
}

/* Answers with an error of a query. */
static void
asked_fail(Asked *asked, DbOutcome outcome, const DbError *error)
{
	ServeMetrics *metrics = &asked->serving->metrics;
	const Failure *failure = &error->failure;
	const GrpcCode code = asked_code_of(error->sqlstate);

	if (outcome == DB_STOPPED)
	{
		if (atomic_load(&asked->call->is_unwanted))
			metric_add(&metrics->questions_cancelled_total, 1);
		call_retry(asked->call, "the query was stopped", RETRY_S);
		return;
	}
	if (code == GRPC_DEADLINE_EXCEEDED)
	{
		metric_add(&metrics->questions_timed_out_total, 1);
		call_fail(asked->call, code, "the query took longer than --query-timeout");
		return;
	}
	if (outcome == DB_AWAY && code == GRPC_INTERNAL)
	{
		metric_add(&asked->serving->host.metrics.requests_unavailable_total, 1);
		log_event(LOG_WARNING, MODULE, "could not query the database",
				  log_text("detail", failure->detail));
		call_retry(asked->call, "the database is not available", RETRY_S);
		return;
	}
	metric_add(&metrics->questions_refused_total, 1);
	call_fail_with(asked->call, code, "%s: %s", failure->message, failure->detail);
}

/*
 * Answers with an error of a connection. The reason is only logged, because the client has not been
 * authenticated.
 */
static void
asked_fail_login(Asked *asked, DbOutcome outcome, const DbError *error)
{
	if (outcome == DB_AWAY || outcome == DB_TIMEOUT || outcome == DB_STOPPED)
	{
		asked_fail(asked, outcome, error);
		return;
	}
	metric_add(&asked->serving->metrics.logins_refused_total, 1);
	log_event(LOG_WARNING, MODULE, "the database rejected the login of a client",
			  log_text("role", asked->call->tenant), log_text("detail", error->failure.detail),
			  log_text("hint", error->failure.hint));
	if (asked->serving->options->authenticate == SERVE_AS_LOGIN)
		call_fail(asked->call, GRPC_UNAUTHENTICATED,
				  "a user and a password of the database are required");
	else
		call_fail(asked->call, GRPC_FAILED_PRECONDITION, "the database refuses this server");
}

/*
 * Takes a session of the client, or reopens the session that was lost. Returns false after
 * answering.
 */
static bool
asked_open(Asked *asked)
{
	char text[IDENTITY_BASIC_MAX + 1];
	Reader reader = { .role = asked->call->tenant };
	DbOutcome outcome = DB_DENIED;
	DbError error;

	db_error_set(&error, "28000", "could not connect to database",
				 "The request has no Basic authentication.", NULL);
	if (asked->serving->options->authenticate != SERVE_AS_LOGIN ||
		identity_login(asked->call->authorization, text, &reader.user, &reader.password))
		outcome = reader_pool_take(&asked->serving->pool, &reader, &asked->call->is_unwanted,
								   &asked->session, &error);
	/* The text holds a password. */
	OPENSSL_cleanse(text, sizeof(text));
	if (outcome != DB_OK)
		asked_fail_login(asked, outcome, &error);
	return outcome == DB_OK;
}

/*
 * Returns true if a query failed for a reason other than the query: the server has ended the
 * connection since an earlier query, or a pooler has changed the session.
 */
static bool
asked_is_unlucky(const DbError *error, bool is_reused)
{
	static const struct
	{
		const char *sqlstate;
		bool is_of_reuse;
	} rules[] = {
		{ "", true },		/* the connection is lost */
		{ "57P01", true },	/* ended by an administrator or a shutdown */
		{ "57P05", true },	/* idle for too long */
		{ "26000", false }, /* the session does not know a prepared statement */
		{ "42P05", false }, /* the session has prepared it already */
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (strcmp(error->sqlstate, rules[i].sqlstate) == 0)
			return is_reused || !rules[i].is_of_reuse;
	return false;
}

/*
 * Runs a query. If the connection was the reason of a failure, repeats the query once with another
 * connection.
 */
static DbOutcome
asked_run(Asked *asked, const Statement *statement, Result **result, DbError *error)
{
	ReaderPool *pool = &asked->serving->pool;
	const char *role = asked->call->tenant;
	const bool is_reused = asked->session->is_reused;
	DbOutcome outcome = reader_pool_run(pool, asked->session, role, statement, result, error);

	/*
	 * A second failure is answered, because a server that ends each connection would be asked
	 * forever.
	 */
	if (outcome != DB_AWAY || !asked_is_unlucky(error, is_reused))
		return outcome;
	return asked_open(asked) ? reader_pool_run(pool, asked->session, role, statement, result, error)
							 : DB_STOPPED;
}

Result *
asked_query(Asked *asked, const Statement *statement)
{
	Result *result;
	DbError error;
	DbOutcome outcome;

	if (asked->session == NULL && !asked_open(asked))
		return NULL;
	outcome = asked_run(asked, statement, &result, &error);
	if (outcome != DB_OK)
	{
		if (asked->session != NULL) /* if there is no session, the call was answered already */
			asked_fail(asked, outcome, &error);
		return NULL;
	}
	/* The rows are in memory already, so this limits what the answer adds to them. */
	if (share_charge(asked->call->memory, result_memory(result)))
		return result;
	result_free(result);
	asked_no_memory(asked);
	return NULL;
}
