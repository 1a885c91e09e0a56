/*
 * symbolize.c
 *		The loop of "symbolize": claims a build, finds debug information, asks the symbol worker,
 *		stores the answers, settles the claim.
 *
 * The worker process reads debug information within limits of time and memory, as it does for the
 * agent. Each claim is settled, whatever the outcome. Only if the connection is lost, the claim
 * ends when its lease does.
 */
#include "symbolize/symbolize.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "database/session.h"
#include "program/stop_signals.h"
#include "symbolize/debug_source.h"
#include "symbolize/server_texts.h"
#include "symbolize/symbol_work.h"
#include "symbolize/uploaded_file.h"
#include "symbols/symbolizer.h"

#define MODULE "symbolize"

#define CACHE_BYTES	   ((size_t) 16 * 1024 * 1024)
#define ASKED_TOGETHER 64
#define STORE_ANSWERS  5000 /* limit for one transaction, because it holds the lock on names */
#define FIND_ALL_NS	   (3600 * NS_PER_S)
#define RETRY_MS	   5000
#define NO_TEXTS_NS	   (3600 * NS_PER_S)

#define LIMIT_EXCEEDED "53400" /* SQLSTATE of put_sources() if the role has no room */

typedef struct Symbolizing
{
	const SymbolizeOptions *options;
	Session session;
	DebugSource *source;
	Symbolizer *symbolizer;
	char worker[96];
	int64_t find_all_ns; /* time at which all locations are examined next */
	int64_t texts_ns;	 /* time from which on source files are stored */
	SymbolAnswers answers;
} Symbolizing;

static void
name_worker(char *name, size_t size)
{
	char host[40] = "";
	uint32_t number = 0;

	if (gethostname(host, sizeof(host) - 1) != 0)
		host[0] = '\0';
	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
		number = (uint32_t) clock_ns(CLOCK_MONOTONIC);
	snprintf(name, size, "%s/%d/%08" PRIx32, host, (int) getpid(), number);
}

static bool
has_lines(const SymbolLines *lines)
{
	return lines->count > 1 || (lines->count == 1 && lines->lines[0].line > 0);
}

/* Stores the gathered answers. */
static DbOutcome
store_answers(Symbolizing *symbolizing, const SymbolClaim *claim, DbError *error)
{
	DbOutcome outcome = DB_OK;

	if (symbolizing->answers.count > 0)
		outcome = symbol_work_store(&symbolizing->session.connection, claim, &symbolizing->answers,
									error);
	symbol_answers_reset(&symbolizing->answers);
	return outcome;
}

/*
 * Asks about the addresses [first, end) of a claim, and collects answers that are better than the
 * stored ones.
 */
static void
symbolize_ask(Symbolizing *symbolizing, Binary *binary, const SymbolClaim *claim, size_t first,
			  size_t end, int64_t *answered)
{
	SymbolLines lines;

	binary_prepare(binary, (const uint64_t *) claim->addresses + first, (uint32_t) (end - first),
				   &SYMBOL_ASK_PATIENT);
	for (size_t i = first; i < end; i++)
	{
		if (binary_symbolize(binary, (uint64_t) claim->addresses[i], &lines) != 0 ||
			!symbol_lines_are_named(&lines) || (claim->are_named[i] != 0 && !has_lines(&lines)))
			continue;
		*answered += has_lines(&lines);
		symbol_answers_add(&symbolizing->answers, claim->mappings[i], claim->addresses[i], &lines);
	}
}

/*
 * Answers a claim from a file. *answered is increased by the number of addresses that have lines
 * now.
 */
static DbOutcome
answer_claim(Symbolizing *symbolizing, SymbolClaim *claim, int fd, int64_t *answered,
			 DbError *error)
{
	DbOutcome outcome = symbol_work_read(&symbolizing->session.connection, claim, error);
	char path[64];
	Binary *binary;

	if (outcome != DB_OK)
		return outcome;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (binary_open(symbolizing->symbolizer, path, claim->build_id, &binary) != 0)
		return DB_OK;
	for (size_t i = 0; outcome == DB_OK && i < claim->count && !stop_asked(); i += ASKED_TOGETHER)
	{
		size_t end = claim->count - i < ASKED_TOGETHER ? claim->count : i + ASKED_TOGETHER;

		symbolize_ask(symbolizing, binary, claim, i, end, answered);
		if (symbolizing->answers.count + ASKED_TOGETHER > STORE_ANSWERS)
			outcome = store_answers(symbolizing, claim, error);
	}
	if (outcome == DB_OK)
		outcome = store_answers(symbolizing, claim, error);
	binary_release(binary);
	return outcome;
}

/* Logs the result for a build and stores it, which ends the claim. */
static DbOutcome
settle(Symbolizing *symbolizing, const SymbolClaim *claim, const DebugFile *file, int64_t answered,
	   DbError *error)
{
	SymbolOutcome ended = { .answered = answered,
							.source = file->fd >= 0 ? file->where : "",
							.error = file->fd < 0 ? file->where : "" };
	char left[96];

	if (file->fd >= 0 && (size_t) answered < claim->count)
	{
		snprintf(left, sizeof(left), "%zu of %zu addresses have no lines there",
				 claim->count - (size_t) answered, claim->count);
		ended.error = left;
	}
	log_event(LOG_INFO, MODULE, file->fd >= 0 ? "symbolized a build" : "found no lines for a build",
			  log_text("build_id", claim->build_id),
			  log_number("addresses", (int64_t) claim->count), log_number("answered", answered),
			  log_text("source", ended.source), log_text("reason", ended.error));
	return symbol_work_settle(&symbolizing->session.connection, symbolizing->worker, claim, &ended,
							  error);
}

static void
close_file(DebugFile *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

/*
 * Answers from the upload or, if the upload has no line for any address, from the other sources, so
 * that a poor upload does not hide them. *file becomes the last file used.
 */
static DbOutcome
answer_from_sources(Symbolizing *symbolizing, SymbolClaim *claim, DebugFile *file,
					int64_t *answered, DbError *error)
{
	DbOutcome outcome =
		uploaded_file_open(&symbolizing->session.connection, claim->build_id, file, error);

	if (outcome == DB_OK && file->fd >= 0)
		outcome = answer_claim(symbolizing, claim, file->fd, answered, error);
	if (outcome != DB_OK || *answered > 0 || (claim->was_read && claim->count == 0))
		return outcome;
	close_file(file);
	debug_source_find(symbolizing->source, claim->build_id, file);
	return file->fd >= 0 ? answer_claim(symbolizing, claim, file->fd, answered, error) : DB_OK;
}

/*
 * Stores the source files of a build. If the role has no room for them, none are stored for an
 * hour, in which addresses get their symbols all the same.
 */
static DbOutcome
store_texts(Symbolizing *symbolizing, const char *build_id, DbError *error)
{
	Session *session = &symbolizing->session;
	DbOutcome outcome =
		server_texts_store(&session->connection, symbolizing->source, build_id, error);

	if (outcome == DB_OK || strcmp(error->sqlstate, LIMIT_EXCEEDED) != 0)
		return outcome;
	log_event(LOG_WARNING, MODULE, "no source files will be stored for an hour",
			  log_text("detail", error->failure.detail), log_text("hint", error->failure.hint));
	symbolizing->texts_ns = clock_ns(CLOCK_MONOTONIC) + NO_TEXTS_NS;
	symbolizing->find_all_ns = 0; /* the error has closed the connection, which listened */
	return session_open(session, symbolizing->options->database, error);
}

/* Handles one build. Sets *done if there is no build left to try. */
static DbOutcome
work_off_build(Symbolizing *symbolizing, bool *done, DbError *error)
{
	DebugFile file = { .fd = -1 };
	int64_t answered = 0;
	SymbolClaim claim;
	DbOutcome outcome =
		symbol_work_claim(&symbolizing->session.connection, symbolizing->worker, &claim, error);

	*done = outcome == DB_OK && claim.build_id[0] == '\0';
	if (outcome != DB_OK || *done)
		return outcome;
	outcome = answer_from_sources(symbolizing, &claim, &file, &answered, error);
	if (outcome == DB_OK && !stop_asked())
		outcome = settle(symbolizing, &claim, &file, answered, error);
	/* after the claim, because servers may need longer than its lease */
	if (outcome == DB_OK && symbolizing->options->store_texts && answered > 0 && !stop_asked() &&
		clock_ns(CLOCK_MONOTONIC) >= symbolizing->texts_ns)
		outcome = store_texts(symbolizing, claim.build_id, error);
	close_file(&file);
	symbol_claim_fini(&claim);
	return outcome;
}

/* Looks for new addresses, then handles builds until none is left to try. */
static DbOutcome
work_off_all(Symbolizing *symbolizing, DbError *error)
{
	int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	bool all = now_ns >= symbolizing->find_all_ns;
	DbOutcome outcome = session_open(&symbolizing->session, symbolizing->options->database, error);
	bool done = false;

	if (outcome == DB_OK && all)
		outcome = symbol_work_listen(&symbolizing->session.connection, error);
	if (outcome == DB_OK)
		outcome = symbol_work_find(&symbolizing->session.connection, all, error);
	if (outcome == DB_OK && all)
		symbolizing->find_all_ns = now_ns + FIND_ALL_NS;
	while (outcome == DB_OK && !done && !stop_asked())
		outcome = work_off_build(symbolizing, &done, error);
	return outcome;
}

/*
 * Waits after a failure, for a bounded time or until a signal. The next connection examines all
 * locations.
 */
static void
pause_after(Symbolizing *symbolizing, const DbError *error)
{
	struct pollfd stop = { .fd = stop_signals_fd(), .events = POLLIN };

	log_event(LOG_WARNING, MODULE, error->failure.message,
			  log_text("detail", error->failure.detail), log_text("hint", error->failure.hint),
			  log_text("sqlstate", error->sqlstate));
	connection_close(&symbolizing->session.connection);
	symbolizing->find_all_ns = 0;
	(void) poll(&stop, 1, RETRY_MS);
}

/*
 * Works until a signal or, with --once, until no work is left. A failure of the database ends only
 * a run with --once.
 */
static ExitCode
run_loop(Symbolizing *symbolizing, Failure *failure)
{
	DbError error;

	while (!stop_asked())
	{
		DbOutcome outcome = work_off_all(symbolizing, &error);

		if (outcome == DB_OK && symbolizing->options->once)
			return EXIT_OK;
		if (outcome == DB_OK && !stop_asked())
			outcome = connection_wait_notice(&symbolizing->session.connection,
											 symbolizing->options->interval_ms, &error);
		if (outcome == DB_OK || stop_asked())
			continue;
		if (symbolizing->options->once)
		{
			*failure = error.failure;
			return failure->code;
		}
		pause_after(symbolizing, &error);
	}
	return EXIT_OK;
}

static ExitCode
open_source(Symbolizing *symbolizing, Failure *failure)
{
	const SymbolizeOptions *options = symbolizing->options;
	const SymbolizerOptions symbolizer = { .cache_bytes = CACHE_BYTES,
										   .debug_directory = options->debug_directory,
										   .inlined_lines = true,
										   .style = (NameStyle) options->demangle,
										   .worker_bytes = options->max_memory_bytes };
	int error = debug_source_create(options, &symbolizing->source);

	if (error == -EINVAL)
	{
		failure_set(failure, EXIT_CONFIG, "invalid list of debuginfod servers");
		failure_detail(failure, "\"%s\" must be up to 16 URLs of http or https.", options->servers);
		return failure->code;
	}
	if (error == 0)
		error = symbolizer_create(&symbolizer, &symbolizing->symbolizer);
	if (error == 0)
		return EXIT_OK;
	return failure_of_file(failure, "could not prepare the search for debug information",
						   options->cache_directory, strerror(-error));
}

ExitCode
symbolize_run(const SymbolizeOptions *options)
{
	Symbolizing symbolizing = { .options = options };
	Failure failure;
	DbError error;
	ExitCode code;

	stop_signals_catch(false);
	symbolizing.session.connection.wake_fd = stop_signals_fd();
	name_worker(symbolizing.worker, sizeof(symbolizing.worker));
	if (conninfo_check(options->database, &error))
		code = open_source(&symbolizing, &failure);
	else
	{
		failure = error.failure;
		code = failure_set(&failure, EXIT_CONFIG, error.failure.message);
	}
	if (code == EXIT_OK)
		code = run_loop(&symbolizing, &failure);
	if (code != EXIT_OK)
		failure_log(&failure, MODULE);
	connection_close(&symbolizing.session.connection);
	symbol_answers_fini(&symbolizing.answers);
	symbolizer_free(symbolizing.symbolizer);
	debug_source_free(symbolizing.source);
	return code;
}
