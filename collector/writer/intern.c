/*
 * intern.c
 *		Interning in three rounds, since each needs ids of the one before:
 *
 *		1. series, mappings, functions
 *		2. locations, which name mappings and functions
 *		3. stacks, which name locations
 *
 * A round looks its items up in the cache and asks the database for the rest, all in one round
 * trip. Where the caches know everything, which is the rule after some intervals, nothing is sent
 * at all.
 */
#include "writer/intern.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"

/* Budgets of the caches: room for about 65,000 stacks, 50,000 locations, 8,000 functions twice. */
#define SERIES_CACHE_BYTES	 ((size_t) 1 << 20)
#define MAPPING_CACHE_BYTES	 ((size_t) 1 << 19)
#define FUNCTION_CACHE_BYTES ((size_t) 4 << 20)
#define LOCATION_CACHE_BYTES ((size_t) 6 << 20)
#define STACK_CACHE_BYTES	 ((size_t) 8 << 20)

/*
 * Items that one call interns: keeps statements short, and parameters far below PostgreSQL's 1 GB.
 */
#define REQUEST_MAX_ITEMS 20000

typedef struct Work Work;
typedef struct Kind Kind;

/* Items of one kind on their way from index to id. */
struct Kind
{
	IdCache *cache;
	const char *sql;
	const char *failure;
	Oid result_type; /* of the array's elements: int4 or int8 */

	/* The bytes by which the cache knows an item. */
	void (*make_key)(const Work *work, uint32_t index, Buffer *key);

	/* Parameters of sql for some items; each has a buffer of its own. */
	void (*encode)(const Work *work, const uint32_t *indexes, uint32_t count, Buffer *buffers);
	int param_count;
	Oid param_types[STATEMENT_MAX_PARAMS];

	size_t count;
	int64_t *ids;
	uint32_t *missing; /* indexes that the cache did not know */
	uint32_t missing_count;
};

enum
{
	KIND_SERIES,
	KIND_MAPPING,
	KIND_FUNCTION,
	KIND_LOCATION,
	KIND_STACK,
	KIND_COUNT
};

struct Work
{
	Interner *interner;
	Session *session;
	DbError *error;
	bool begun; /* the transaction is open */
	Kind kinds[KIND_COUNT];

	const BatchSeries *series;
	const BatchMapping *mappings;
	const BatchFunction *functions;
	const BatchLocation *locations;
	const BatchStack *stacks;
};

/* Statements of one round trip. Those that intern know for which of a kind's missing items. */
typedef struct Request
{
	Kind *kind; /* NULL: BEGIN, pin_epoch or COMMIT */
	uint32_t first;
	uint32_t count;
	Buffer buffers[STATEMENT_MAX_PARAMS];
} Request;

typedef struct Round
{
	size_t count;
	size_t capacity;
	Request *requests;
	Statement *statements;
	Result **results;
} Round;

static DbOutcome
out_of_memory(const Work *work)
{
	db_error_set(work->error, NULL, "could not intern a batch", "Out of memory.", NULL);
	return DB_REFUSED;
}

static int32_t
mapping_id(const Work *work, const BatchLocation *location)
{
	if (location->mapping == BATCH_NO_MAPPING)
		return 0;
	return (int32_t) work->kinds[KIND_MAPPING].ids[location->mapping];
}

static int32_t
function_id(const Work *work, const BatchLine *line)
{
	return (int32_t) work->kinds[KIND_FUNCTION].ids[line->function];
}

static int32_t
location_id(const Work *work, uint32_t index)
{
	return (int32_t) work->kinds[KIND_LOCATION].ids[index];
}

/* --- keys: contents one after the other, strings with their NUL; but see stacks --- */

static void
put_string(Buffer *key, const char *text)
{
	buffer_put_bytes(key, text, strlen(text) + 1);
}

static void
make_series_key(const Work *work, uint32_t index, Buffer *key)
{
	const BatchSeries *series = &work->series[index];

	buffer_put_int8(key, series->period);
	put_string(key, series->profile_type);
	for (uint32_t i = 0; i < series->label_count; i++)
	{
		put_string(key, series->labels[i].name);
		put_string(key, series->labels[i].value);
	}
}

static void
make_mapping_key(const Work *work, uint32_t index, Buffer *key)
{
	put_string(key, work->mappings[index].build_id);
	put_string(key, work->mappings[index].file);
}

static void
make_function_key(const Work *work, uint32_t index, Buffer *key)
{
	const BatchFunction *function = &work->functions[index];

	buffer_put_int4(key, function->start_line);
	put_string(key, function->name);
	put_string(key, function->system_name);
	put_string(key, function->filename);
}

static void
make_location_key(const Work *work, uint32_t index, Buffer *key)
{
	const BatchLocation *location = &work->locations[index];

	buffer_put_int4(key, mapping_id(work, location));
	buffer_put_int8(key, (int64_t) location->address);
	for (uint32_t i = 0; i < location->line_count; i++)
	{
		buffer_put_int4(key, function_id(work, &location->lines[i]));
		buffer_put_int4(key, location->lines[i].line);
	}
}

/*
 * A stack is known by 128 bits: whole contents would take ten times the memory. Two hashes under
 * secret seeds are both equal for two stacks that differ with a probability of about 2^-128: for
 * the sixty thousand in the cache less than 10^-28.
 */
static void
make_stack_key(const Work *work, uint32_t index, Buffer *key)
{
	const BatchStack *stack = &work->stacks[index];
	size_t length = strlen(stack->partition);

	for (int i = 0; i < 2; i++)
	{
		uint64_t hash = hash_bytes(work->interner->stack_seeds[i], stack->partition, length);

		for (uint32_t depth = 0; depth < stack->depth; depth++)
			hash = hash_word(hash, (uint32_t) location_id(work, stack->locations[depth]));
		buffer_put_int8(key, (int64_t) hash_word(hash, stack->depth));
	}
}

/* --- parameters --- */

static void
put_json_string(Buffer *buffer, const char *text)
{
	char escape[JSON_ESCAPE_BYTES];

	buffer_put_bytes(buffer, "\"", 1);
	for (; *text != '\0'; text++)
	{
		if (json_escape((unsigned char) *text, escape))
			buffer_put_bytes(buffer, escape, strlen(escape));
		else
			buffer_put_bytes(buffer, text, 1);
	}
	buffer_put_bytes(buffer, "\"", 1);
}

/* jsonb is sent as its version, 1, and text. */
static void
put_labels(Buffer *buffer, const BatchSeries *series)
{
	size_t begun = wire_begin(buffer);

	buffer_put_bytes(buffer, "\001{", 2);
	for (uint32_t i = 0; i < series->label_count; i++)
	{
		if (i > 0)
			buffer_put_bytes(buffer, ",", 1);
		put_json_string(buffer, series->labels[i].name);
		buffer_put_bytes(buffer, ":", 1);
		put_json_string(buffer, series->labels[i].value);
	}
	buffer_put_bytes(buffer, "}", 1);
	wire_end(buffer, begun);
}

static void
encode_series(const Work *work, const uint32_t *indexes, uint32_t count, Buffer *buffers)
{
	wire_array(&buffers[0], WIRE_TEXT, count);
	wire_array(&buffers[1], WIRE_JSONB, count);
	wire_array(&buffers[2], WIRE_INT8, count);
	for (uint32_t i = 0; i < count; i++)
	{
		const BatchSeries *series = &work->series[indexes[i]];

		wire_text_element(&buffers[0], series->profile_type);
		put_labels(&buffers[1], series);
		wire_int8_element(&buffers[2], series->period);
	}
}

static void
encode_mappings(const Work *work, const uint32_t *indexes, uint32_t count, Buffer *buffers)
{
	wire_array(&buffers[0], WIRE_TEXT, count);
	wire_array(&buffers[1], WIRE_TEXT, count);
	for (uint32_t i = 0; i < count; i++)
	{
		wire_text_element(&buffers[0], work->mappings[indexes[i]].build_id);
		wire_text_element(&buffers[1], work->mappings[indexes[i]].file);
	}
}

static void
encode_functions(const Work *work, const uint32_t *indexes, uint32_t count, Buffer *buffers)
{
	wire_array(&buffers[0], WIRE_TEXT, count);
	wire_array(&buffers[1], WIRE_TEXT, count);
	wire_array(&buffers[2], WIRE_TEXT, count);
	wire_array(&buffers[3], WIRE_INT4, count);
	for (uint32_t i = 0; i < count; i++)
	{
		const BatchFunction *function = &work->functions[indexes[i]];

		wire_text_element(&buffers[0], function->name);
		wire_text_element(&buffers[1], function->system_name);
		wire_text_element(&buffers[2], function->filename);
		wire_int4_element(&buffers[3], function->start_line);
	}
}

static void
encode_locations(const Work *work, const uint32_t *indexes, uint32_t count, Buffer *buffers)
{
	size_t line_count = 0;

	for (uint32_t i = 0; i < count; i++)
		line_count += work->locations[indexes[i]].line_count;
	wire_array(&buffers[0], WIRE_INT4, count);
	wire_array(&buffers[1], WIRE_INT8, count);
	wire_array(&buffers[2], WIRE_INT4, count);
	wire_array(&buffers[3], WIRE_INT4, line_count);
	wire_array(&buffers[4], WIRE_INT4, line_count);
	for (uint32_t i = 0; i < count; i++)
	{
		const BatchLocation *location = &work->locations[indexes[i]];

		wire_int4_element(&buffers[0], mapping_id(work, location));
		wire_int8_element(&buffers[1], (int64_t) location->address);
		wire_int4_element(&buffers[2], (int32_t) location->line_count);
		for (uint32_t j = 0; j < location->line_count; j++)
		{
			wire_int4_element(&buffers[3], function_id(work, &location->lines[j]));
			wire_int4_element(&buffers[4], location->lines[j].line);
		}
	}
}

/* All of one dictionary partition. */
static void
encode_stacks(const Work *work, const uint32_t *indexes, uint32_t count, Buffer *buffers)
{
	const char *partition = work->stacks[indexes[0]].partition;
	size_t frame_count = 0;

	for (uint32_t i = 0; i < count; i++)
		frame_count += work->stacks[indexes[i]].depth;
	buffer_put_bytes(&buffers[0], partition, strlen(partition));
	wire_array(&buffers[1], WIRE_INT4, count);
	wire_array(&buffers[2], WIRE_INT4, frame_count);
	for (uint32_t i = 0; i < count; i++)
	{
		const BatchStack *stack = &work->stacks[indexes[i]];

		wire_int4_element(&buffers[1], (int32_t) stack->depth);
		for (uint32_t j = 0; j < stack->depth; j++)
			wire_int4_element(&buffers[2], location_id(work, stack->locations[j]));
	}
}

/* --- the work on a batch --- */

static void
work_init(Work *work, Interner *interner, Session *session, const Batch *batch, DbError *error)
{
	*work = (Work){ .interner = interner, .session = session, .error = error };
	work->kinds[KIND_SERIES] =
		(Kind){ .cache = &interner->series,
				.sql = "SELECT profstore.intern_series($1, $2, $3)",
				.failure = "could not intern series",
				.result_type = WIRE_INT4,
				.make_key = make_series_key,
				.encode = encode_series,
				.param_count = 3,
				.param_types = { WIRE_TEXT_ARRAY, WIRE_JSONB_ARRAY, WIRE_INT8_ARRAY },
				.count = batch_series(batch, &work->series) };
	work->kinds[KIND_MAPPING] = (Kind){ .cache = &interner->mappings,
										.sql = "SELECT profstore.intern_mappings($1, $2)",
										.failure = "could not intern mappings",
										.result_type = WIRE_INT4,
										.make_key = make_mapping_key,
										.encode = encode_mappings,
										.param_count = 2,
										.param_types = { WIRE_TEXT_ARRAY, WIRE_TEXT_ARRAY },
										.count = batch_mappings(batch, &work->mappings) };
	work->kinds[KIND_FUNCTION] = (Kind){ .cache = &interner->functions,
										 .sql = "SELECT profstore.intern_functions($1, $2, $3, $4)",
										 .failure = "could not intern functions",
										 .result_type = WIRE_INT4,
										 .make_key = make_function_key,
										 .encode = encode_functions,
										 .param_count = 4,
										 .param_types = { WIRE_TEXT_ARRAY, WIRE_TEXT_ARRAY,
														  WIRE_TEXT_ARRAY, WIRE_INT4_ARRAY },
										 .count = batch_functions(batch, &work->functions) };
	work->kinds[KIND_LOCATION] =
		(Kind){ .cache = &interner->locations,
				.sql = "SELECT profstore.intern_locations($1, $2, $3, $4, $5)",
				.failure = "could not intern locations",
				.result_type = WIRE_INT4,
				.make_key = make_location_key,
				.encode = encode_locations,
				.param_count = 5,
				.param_types = { WIRE_INT4_ARRAY, WIRE_INT8_ARRAY, WIRE_INT4_ARRAY, WIRE_INT4_ARRAY,
								 WIRE_INT4_ARRAY },
				.count = batch_locations(batch, &work->locations) };
	work->kinds[KIND_STACK] =
		(Kind){ .cache = &interner->stacks,
				.sql = "SELECT profstore.intern_stacks($1, $2, $3)",
				.failure = "could not intern stacks",
				.result_type = WIRE_INT8,
				.make_key = make_stack_key,
				.encode = encode_stacks,
				.param_count = 3,
				.param_types = { WIRE_TEXT, WIRE_INT4_ARRAY, WIRE_INT4_ARRAY },
				.count = batch_stacks(batch, &work->stacks) };
}

static void
work_fini(Work *work)
{
	for (int i = 0; i < KIND_COUNT; i++)
	{
		free(work->kinds[i].ids);
		free(work->kinds[i].missing);
	}
}

/* Ids from the cache; lists what it does not know. */
static bool
look_up(Work *work, Kind *kind)
{
	Buffer *key = &work->interner->key;

	kind->ids = calloc(kind->count + 1, sizeof(kind->ids[0]));
	kind->missing = calloc(kind->count + 1, sizeof(kind->missing[0]));
	if (kind->ids == NULL || kind->missing == NULL)
		return false;
	for (uint32_t i = 0; i < kind->count; i++)
	{
		/* the empty stack is 0 everywhere */
		if (kind == &work->kinds[KIND_STACK] && work->stacks[i].depth == 0)
			continue;
		buffer_reset(key);
		kind->make_key(work, i, key);
		if (key->failed)
			return false;
		if (!id_cache_find(kind->cache, key->bytes, key->length, &kind->ids[i]))
			kind->missing[kind->missing_count++] = i;
	}
	return true;
}

/* Remembers what was interned, once it is committed. */
static void
remember(Work *work, const Kind *kind)
{
	Buffer *key = &work->interner->key;

	for (uint32_t i = 0; i < kind->missing_count; i++)
	{
		buffer_reset(key);
		kind->make_key(work, kind->missing[i], key);
		if (!key->failed)
			id_cache_put(kind->cache, key->bytes, key->length, kind->ids[kind->missing[i]]);
	}
}

static bool
round_init(Round *round, size_t capacity)
{
	*round = (Round){ .capacity = capacity };
	round->requests = calloc(capacity, sizeof(Request));
	round->statements = calloc(capacity, sizeof(Statement));
	round->results = calloc(capacity, sizeof(Result *));
	return round->requests != NULL && round->statements != NULL && round->results != NULL;
}

static void
round_fini(Round *round)
{
	for (size_t i = 0; round->requests != NULL && i < round->count; i++)
		for (int j = 0; j < STATEMENT_MAX_PARAMS; j++)
			buffer_fini(&round->requests[i].buffers[j]);
	for (size_t i = 0; round->results != NULL && i < round->count; i++)
		result_free(round->results[i]);
	free(round->requests);
	free(round->statements);
	free(round->results);
}

static void
round_add_command(Round *round, const char *sql, const char *failure)
{
	round->statements[round->count++] = (Statement){ .sql = sql, .failure = failure };
}

/*
 * Ids that are known from earlier transactions stay valid until this one ends; where their epoch is
 * over, it fails.
 */
static void
round_add_begin(Round *round, const Work *work)
{
	Request *request;

	round_add_command(round, "BEGIN", "could not begin a transaction");
	request = &round->requests[round->count];
	buffer_put_int8(&request->buffers[0], work->session->identity.epoch);
	round->statements[round->count++] =
		(Statement){ .sql = "SELECT profstore.pin_epoch($1)",
					 .failure = "could not pin the epoch of ids",
					 .param_count = 1,
					 .params = { { WIRE_INT8, &request->buffers[0] } } };
}

static void
round_add_request(Round *round, const Work *work, Kind *kind, uint32_t first, uint32_t count)
{
	Request *request = &round->requests[round->count];
	Statement *statement = &round->statements[round->count++];

	*request = (Request){ .kind = kind, .first = first, .count = count };
	kind->encode(work, kind->missing + first, count, request->buffers);
	*statement =
		(Statement){ .sql = kind->sql, .failure = kind->failure, .param_count = kind->param_count };
	for (int i = 0; i < kind->param_count; i++)
		statement->params[i] =
			(StatementParam){ .type = kind->param_types[i], .value = &request->buffers[i] };
}

/* How many of the missing items from first on go into one request: stacks of one partition. */
static uint32_t
request_length(const Work *work, const Kind *kind, uint32_t first)
{
	uint32_t count = 1;

	while (first + count < kind->missing_count && count < REQUEST_MAX_ITEMS)
	{
		if (kind == &work->kinds[KIND_STACK] &&
			work->stacks[kind->missing[first]].partition !=
				work->stacks[kind->missing[first + count]].partition)
			break;
		count++;
	}
	return count;
}

static size_t
request_count(const Work *work, int first_kind, int last_kind)
{
	size_t count = 0;

	for (int i = first_kind; i <= last_kind; i++)
		for (uint32_t at = 0; at < work->kinds[i].missing_count; count++)
			at += request_length(work, &work->kinds[i], at);
	return count;
}

/* Requests for all that a kind misses. */
static void
round_add_kind(Round *round, const Work *work, Kind *kind)
{
	uint32_t length;

	for (uint32_t first = 0; first < kind->missing_count; first += length)
	{
		length = request_length(work, kind, first);
		round_add_request(round, work, kind, first, length);
	}
}

/* False where the answer is not an array with an id for each item of the request. */
static bool
ids_from_result(const Kind *kind, const Request *request, const Result *result)
{
	const uint32_t *indexes = kind->missing + request->first;
	size_t count = request->count;
	int64_t *ids = calloc(count, sizeof(int64_t));
	bool good = false;

	if (ids != NULL && result_is_row(result, 1))
	{
		size_t length;
		const char *bytes = result_bytes(result, 0, &length);

		good = wire_ints(bytes, length, (int32_t) kind->result_type, count, ids);
	}
	for (size_t i = 0; good && i < count; i++)
		kind->ids[indexes[i]] = ids[i];
	free(ids);
	return good;
}

/* Sends a round, fills in the ids. */
static DbOutcome
round_run(Round *round, Work *work)
{
	DbOutcome outcome = connection_run(&work->session->connection, round->statements, round->count,
									   round->results, work->error);

	for (size_t i = 0; outcome == DB_OK && i < round->count; i++)
	{
		const Request *request = &round->requests[i];
		Kind *kind = request->kind;

		if (kind == NULL)
			continue;
		if (!ids_from_result(kind, request, round->results[i]))
		{
			db_error_set(work->error, NULL, kind->failure,
						 "The answer is not an array with an id for each item.", NULL);
			connection_close(&work->session->connection);
			return DB_REFUSED;
		}
	}
	return outcome;
}

/* Puts stacks of one partition side by side: a batch holds one pointer for equal strings. */
static int
compare_partitions(const void *a, const void *b, void *stacks)
{
	uintptr_t left = (uintptr_t) ((const BatchStack *) stacks)[*(const uint32_t *) a].partition;
	uintptr_t right = (uintptr_t) ((const BatchStack *) stacks)[*(const uint32_t *) b].partition;

	return (left > right) - (left < right);
}

/* One round trip for these kinds; the last round commits what was begun. */
static DbOutcome
intern_kinds(Work *work, int first_kind, int last_kind, bool last_round)
{
	size_t missing_count = 0;
	Round round;
	DbOutcome outcome = DB_OK;

	for (int i = first_kind; i <= last_kind; i++)
	{
		if (!look_up(work, &work->kinds[i]))
			return out_of_memory(work);
		missing_count += work->kinds[i].missing_count;
	}
	if (missing_count == 0 && !(last_round && work->begun))
		return DB_OK;
	if (work->kinds[KIND_STACK].missing_count > 0)
		qsort_r(work->kinds[KIND_STACK].missing, work->kinds[KIND_STACK].missing_count,
				sizeof(uint32_t), compare_partitions, (void *) (uintptr_t) work->stacks);

	if (!round_init(&round, request_count(work, first_kind, last_kind) + 3))
		outcome = out_of_memory(work);
	else
	{
		if (!work->begun)
			round_add_begin(&round, work);
		for (int i = first_kind; i <= last_kind; i++)
			round_add_kind(&round, work, &work->kinds[i]);
		if (last_round)
			round_add_command(&round, "COMMIT", "could not commit interned ids");
		outcome = round_run(&round, work);
		work->begun = true;
	}
	round_fini(&round);
	return outcome;
}

void
interner_init(Interner *interner)
{
	id_cache_init(&interner->series, SERIES_CACHE_BYTES);
	id_cache_init(&interner->mappings, MAPPING_CACHE_BYTES);
	id_cache_init(&interner->functions, FUNCTION_CACHE_BYTES);
	id_cache_init(&interner->locations, LOCATION_CACHE_BYTES);
	id_cache_init(&interner->stacks, STACK_CACHE_BYTES);
	interner->key = (Buffer){ NULL };
	interner->stack_seeds[0] = hash_seed();
	interner->stack_seeds[1] = hash_word(hash_seed(), 1);
}

void
interner_clear(Interner *interner)
{
	id_cache_clear(&interner->series);
	id_cache_clear(&interner->mappings);
	id_cache_clear(&interner->functions);
	id_cache_clear(&interner->locations);
	id_cache_clear(&interner->stacks);
}

void
interner_fini(Interner *interner)
{
	interner_clear(interner);
	buffer_fini(&interner->key);
}

void
batch_ids_fini(BatchIds *ids)
{
	free(ids->series);
	free(ids->stacks);
	*ids = (BatchIds){ NULL };
}

DbOutcome
intern_batch(Interner *interner, Session *session, const Batch *batch, BatchIds *ids,
			 DbError *error)
{
	Work work;
	DbOutcome outcome;

	work_init(&work, interner, session, batch, error);
	outcome = intern_kinds(&work, KIND_SERIES, KIND_FUNCTION, false);
	if (outcome == DB_OK)
		outcome = intern_kinds(&work, KIND_LOCATION, KIND_LOCATION, false);
	if (outcome == DB_OK)
		outcome = intern_kinds(&work, KIND_STACK, KIND_STACK, true);
	if (outcome == DB_OK)
	{
		for (int i = 0; i < KIND_COUNT; i++)
			remember(&work, &work.kinds[i]);
		ids->series = work.kinds[KIND_SERIES].ids;
		ids->stacks = work.kinds[KIND_STACK].ids;
		work.kinds[KIND_SERIES].ids = NULL;
		work.kinds[KIND_STACK].ids = NULL;
	}
	work_fini(&work);
	return outcome;
}
