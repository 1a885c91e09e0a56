/*
 * db_error.c
 *		Classifies SQLSTATEs by what to do about them, and formats messages for humans.
 */
#include "database/db_error.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

typedef struct StateRule
{
	const char *prefix; /* beginning of the SQLSTATE */
	DbOutcome outcome;
	const char *hint;
} StateRule;

static const char password_hint[] =
	"Check the user, the server's pg_hba.conf, and the password in a password file (PGPASSFILE) or "
	"connection service; do not put it on the command line, which other users can read.";

static const char address_hint[] =
	"Check that the server is running, and the host and port in the connection string or environment.";

static const char pooler_hint[] =
	"A connection pooler gives each transaction another session. From now on statements are not "
	"prepared; writers with a selector need a pool of sessions.";

/*
 * The first matching rule counts. States without a rule are refused: classes 22, 23 and others
 * about data.
 */
static const StateRule rules[] = {
	{ "28", DB_DENIED, password_hint },
	{ "3D000", DB_DENIED, "Create the database or connect to another one." },
	{ "3F000", DB_DENIED, "Run \"CREATE EXTENSION profstore\" in this database." },
	{ "26000", DB_AWAY, pooler_hint },
	{ "42P05", DB_AWAY, pooler_hint },
	{ "42501", DB_DENIED,
	  "Let the owner of the extension run \"SELECT profstore.grant_write('ROLE')\" for a role that "
	  "stores, or \"SELECT profstore.grant_read('ROLE')\" for one that reads." },
	/* a typing error of the user, which the server's message explains */
	{ "42601", DB_DENIED, NULL },
	{ "42", DB_DENIED, "Check that the versions of extension and collector are compatible." },
	{ "55000", DB_EPOCH, NULL },
	{ "08", DB_AWAY, NULL },
	{ "25006", DB_AWAY, "The server is a standby or read-only. Connect to the primary." },
	{ "25P03", DB_AWAY, NULL },	   /* idle in transaction for too long */
	{ "25P04", DB_AWAY, NULL },	   /* transaction timeout */
	{ "40", DB_AWAY, NULL },	   /* deadlock, serialization failure */
	{ "53", DB_AWAY, NULL },	   /* disk full, out of memory, too many connections */
	{ "55006", DB_AWAY, NULL },	   /* object or database in use */
	{ "55P03", DB_AWAY, NULL },	   /* lock timeout */
	{ "57014", DB_TIMEOUT, NULL }, /* statement timeout or cancelled by a user */
	{ "57P", DB_AWAY, NULL },	   /* shut down, starting up, terminated */
	{ "58P01", DB_DENIED,
	  "Check that the extension's library is where the server looks for it: \"make install\" puts "
	  "it there." },
	{ "58", DB_AWAY, NULL }, /* I/O error */
};

static const StateRule *
rule_of(const char *sqlstate)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (strncmp(sqlstate, rules[i].prefix, strlen(rules[i].prefix)) == 0)
			return &rules[i];
	return NULL;
}

void
db_error_set(DbError *error, const char *sqlstate, const char *message, const char *detail,
			 const char *hint)
{
	snprintf(error->sqlstate, sizeof(error->sqlstate), "%s", sqlstate ? sqlstate : "");
	failure_set(&error->failure, EXIT_DATABASE, message);
	failure_detail(&error->failure, "%s", detail ? detail : "");
	failure_hint(&error->failure, "%s", hint ? hint : "");
}

DbOutcome
db_outcome_of(const char *sqlstate)
{
	const StateRule *rule = rule_of(sqlstate);

	return rule ? rule->outcome : DB_REFUSED;
}

/*
 * Appends text as one line for the log: a line break and the spaces after it become one space.
 * Omits lines with only a "^" marker, which would point nowhere.
 */
static void
append_joined(char *to, size_t size, const char *text)
{
	size_t used = strlen(to);
	const char *begin = text;

	while (*begin != '\0')
	{
		size_t length = strcspn(begin, "\r\n");
		size_t blank = begin > text ? strspn(begin, " \t") : 0;
		bool is_pointer = begin > text && strspn(begin + blank, "^ \t") == length - blank;

		if (!is_pointer && used < size)
			used += (size_t) snprintf(to + used, size - used, "%s%.*s", begin > text ? " " : "",
									  (int) (length - blank), begin + blank);
		begin += length;
		begin += strspn(begin, "\r\n");
	}
}

DbOutcome
db_error_from_result(DbError *error, const char *message, const PGresult *result)
{
	const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	const char *detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
	const char *hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);
	const StateRule *rule;
	char words[sizeof(error->failure.detail)] = "";

	if (sqlstate == NULL)
	{
		/* a message of libpq: the connection broke, or a protocol error */
		append_joined(words, sizeof(words), PQresultErrorMessage(result));
		db_error_set(error, NULL, message, words, NULL);
		return DB_AWAY;
	}
	append_joined(words, sizeof(words), "The server says: ");
	append_joined(words, sizeof(words), primary ? primary : "");
	append_joined(words, sizeof(words), detail ? " DETAIL: " : "");
	append_joined(words, sizeof(words), detail ? detail : "");
	rule = rule_of(sqlstate);
	if (rule != NULL && rule->hint != NULL && !(hint != NULL && strcmp(sqlstate, "42501") == 0))
		/* the server's hint describes a missing privilege better */
		hint = rule->hint;
	db_error_set(error, sqlstate, message, words, hint);
	return rule ? rule->outcome : DB_REFUSED;
}

/*
 * Finds the SQLSTATE in a verbose message such as "FATAL: 28P01: password authentication failed".
 * Returns the text after it; NULL if the message has none. Does not rely on the severity, which
 * depends on the server's language.
 */
static const char *
find_sqlstate(const char *text, char sqlstate[6])
{
	for (const char *at = strstr(text, ":  "); at != NULL; at = strstr(at + 1, ":  "))
	{
		size_t length = 0;

		while (length < 5 &&
			   (isdigit((unsigned char) at[3 + length]) || isupper((unsigned char) at[3 + length])))
			length++;
		if (length == 5 && strncmp(at + 8, ": ", 2) == 0)
		{
			memcpy(sqlstate, at + 3, 5);
			sqlstate[5] = '\0';
			return at + 10;
		}
	}
	return NULL;
}

/* Appends text up to the end of its line. */
static void
append_line(char *to, size_t size, const char *text)
{
	size_t used = strlen(to);

	snprintf(to + used, size - used, "%.*s", (int) strcspn(text, "\n"), text);
}

/*
 * Sets the error from libpq's message, which has a line for each host and address that was tried.
 * The outcome is DB_DENIED only if all of them denied.
 */
DbOutcome
db_error_from_connection(DbError *error, const char *message, PGconn *connection)
{
	static const char attempt[] = "connection to server";
	const char *text = PQerrorMessage(connection);
	const StateRule *rule = NULL;
	DbOutcome outcome = DB_DENIED;
	char detail[sizeof(error->failure.detail)] = "";
	char sqlstate[6] = "";

	for (const char *line = text; *line != '\0'; line += strspn(line, "\n"))
	{
		char state[6] = "";
		char words[sizeof(detail)] = "";
		const char *reason;

		append_line(words, sizeof(words), line);
		line += strcspn(line, "\n");
		reason = find_sqlstate(words, state);
		if (strncmp(words, attempt, strlen(attempt)) != 0 && reason == NULL && detail[0] != '\0')
			/* the location in the server's source, or a continuation of the previous line */
			continue;
		if (detail[0] != '\0')
			append_line(detail, sizeof(detail), "; ");
		append_line(detail, sizeof(detail), reason ? "The server says: " : "");
		append_line(detail, sizeof(detail), reason ? reason : words);
		if (reason == NULL || db_outcome_of(state) != DB_DENIED)
			outcome = DB_AWAY;
		if (reason != NULL)
			memcpy(sqlstate, state, sizeof(sqlstate));
	}
	if (PQconnectionNeedsPassword(connection))
	{
		outcome = DB_DENIED;
		memcpy(sqlstate, "28P01", sizeof(sqlstate));
	}
	else if (detail[0] == '\0')
		outcome = DB_AWAY;
	rule = rule_of(sqlstate);
	db_error_set(error, sqlstate, message, detail,
				 sqlstate[0] == '\0' ? address_hint
				 : rule				 ? rule->hint
									 : NULL);
	return outcome;
}
