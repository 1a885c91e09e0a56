/*
 * labels.c
 *		Checks and normalizes label sets.
 */
#include "profstore.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "dictionary/intern/labels.h"

PG_FUNCTION_INFO_V1(profstore_normalize_labels);

/* Most bytes of a label set: a query that lists labels reads the sets of all visible series. */
#define MAX_LABELS_BYTES (64 * 1024)

static bool
is_label_name(const char *name, int length)
{
	for (int i = 0; i < length; i++)
	{
		bool is_letter = (name[i] >= 'a' && name[i] <= 'z') || (name[i] >= 'A' && name[i] <= 'Z');
		bool is_digit = name[i] >= '0' && name[i] <= '9';

		if (!is_letter && name[i] != '_' && !(is_digit && i > 0))
			return false;
	}
	return length > 0;
}

static void
check_label(const JsonbValue *key, JsonbValue *value)
{
	if (!is_label_name(key->val.string.val, key->val.string.len))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid label name: \"%.*s\"", key->val.string.len, key->val.string.val),
				 errhint("A label name has letters, digits and underscores, and does not begin "
						 "with a digit.")));
	if (value->type != jbvString)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("value of label \"%.*s\" must be a string, not %s",
							   key->val.string.len, key->val.string.val, JsonbTypeName(value))));
}

Jsonb *
pfs_labels_normalize(Jsonb *labels)
{
	JsonbParseState *state = NULL;
	JsonbIterator *iterator;
	JsonbValue key;
	JsonbValue value;
	bool has_empty = false;

	if (!JB_ROOT_IS_OBJECT(labels))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("labels must be a JSON object, not %s",
							   TextDatumGetCString(
								   DirectFunctionCall1(jsonb_typeof, JsonbPGetDatum(labels))))));
	if (VARSIZE(labels) > MAX_LABELS_BYTES)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("label set is too large"),
						errdetail("It has %zu bytes, at most %d are allowed.",
								  (size_t) VARSIZE(labels), MAX_LABELS_BYTES)));
	iterator = JsonbIteratorInit(&labels->root);
	/* The first token begins the object. */
	JsonbIteratorNext(&iterator, &key, true);
	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	while (JsonbIteratorNext(&iterator, &key, true) == WJB_KEY)
	{
		JsonbIteratorNext(&iterator, &value, true);
		check_label(&key, &value);
		has_empty |= value.val.string.len == 0;
		/* An empty label is the same as none, as in Prometheus. */
		if (value.val.string.len == 0)
			continue;
		pushJsonbValue(&state, WJB_KEY, &key);
		pushJsonbValue(&state, WJB_VALUE, &value);
	}
	/* Nothing was left out: the argument itself is normal already, because jsonb sorts its keys. */
	return has_empty ? JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL)) : labels;
}

/* normalize_labels(labels jsonb) -> jsonb */
PGDLLEXPORT Datum
profstore_normalize_labels(PG_FUNCTION_ARGS)
{
	PG_RETURN_JSONB_P(pfs_labels_normalize(PG_GETARG_JSONB_P(0)));
}
