/*
 * sample_labels.c
 *		Names are made legal and unique; what that changed is kept beside them.
 */
#include "profstore.h"

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/json.h"

#include "base/arrays.h"
#include "import/sample_labels.h"

static JsonbValue
string_value(const char *text)
{
	JsonbValue value;

	value.type = jbvString;
	value.val.string.val = unconstify(char *, text);
	value.val.string.len = (int) strlen(text);
	return value;
}

static void
push_pair(JsonbParseState **state, const char *key, const char *value)
{
	JsonbValue name = string_value(key);
	JsonbValue text = string_value(value);

	pushJsonbValue(state, WJB_KEY, &name);
	pushJsonbValue(state, WJB_VALUE, &text);
}

static JsonbValue *
find(Jsonb *object, const char *name)
{
	JsonbValue key = string_value(name);

	return JB_ROOT_IS_OBJECT(object) ? findJsonbValueFromContainer(&object->root, JB_FOBJECT, &key)
									 : NULL;
}

char *
pfs_label_value(Jsonb *labels, const char *name)
{
	JsonbValue *value = find(labels, name);

	return value == NULL || value->type != jbvString
			   ? NULL
			   : pnstrdup(value->val.string.val, value->val.string.len);
}

/* The key with every character that a label's name may not have replaced. */
static char *
legal_name(const char *key)
{
	StringInfoData name;

	initStringInfo(&name);
	if (*key == '\0' || (*key >= '0' && *key <= '9'))
		appendStringInfoChar(&name, '_');
	for (const char *c = key; *c != '\0'; c += pg_mblen(c))
	{
		bool legal = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
					 (*c >= '0' && *c <= '9') || *c == '_';

		appendStringInfoChar(&name, legal ? *c : '_');
	}
	return name.data;
}

static bool
is_taken(Jsonb *base, const char *const *names, uint32 count, const char *name)
{
	for (uint32 i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return find(base, name) != NULL || strcmp(name, PFS_LABEL_KINDS) == 0;
}

/* A name of its own for each label. */
static const char **
choose_names(Jsonb *base, const PfsSampleLabel *labels, uint32 count)
{
	const char **names = PFS_ARRAY(const char *, count);

	for (uint32 i = 0; i < count; i++)
	{
		char *name = legal_name(labels[i].key);
		char *candidate;

		if (find(base, name) != NULL)
			name = psprintf("exported_%s", name);
		candidate = name;
		for (uint32 n = 2; is_taken(base, names, i, candidate); n++)
			candidate = psprintf("%s_%u", name, n);
		names[i] = candidate;
	}
	return names;
}

/* What pfs_labels_of_series needs to know beside names and values; NULL where nothing. */
static char *
describe_kinds(const PfsSampleLabel *labels, const char *const *names, uint32 count)
{
	StringInfoData kinds;

	initStringInfo(&kinds);
	for (uint32 i = 0; i < count; i++)
	{
		bool renamed = strcmp(labels[i].key, names[i]) != 0;

		if (!renamed && !labels[i].numeric)
			continue;
		appendStringInfoChar(&kinds, kinds.len == 0 ? '{' : ',');
		escape_json(&kinds, names[i]);
		appendStringInfoString(&kinds, ":{");
		if (renamed)
		{
			appendStringInfoString(&kinds, "\"key\":");
			escape_json(&kinds, labels[i].key);
		}
		if (labels[i].numeric)
		{
			appendStringInfoString(&kinds, renamed ? ",\"unit\":" : "\"unit\":");
			escape_json(&kinds, labels[i].text);
		}
		appendStringInfoChar(&kinds, '}');
	}
	if (kinds.len == 0)
		return NULL;
	appendStringInfoChar(&kinds, '}');
	return kinds.data;
}

/*
 * Copies all but the profile's name; what is no object goes on as it is, for interning to refuse.
 */
static void
push_base(JsonbParseState **state, Jsonb *base)
{
	JsonbIterator *iterator = JsonbIteratorInit(&base->root);
	JsonbIteratorToken token;
	JsonbValue value;
	bool skip = false;

	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			skip = value.val.string.len == strlen(PFS_NAME_LABEL) &&
				   memcmp(value.val.string.val, PFS_NAME_LABEL, strlen(PFS_NAME_LABEL)) == 0;
		if ((token == WJB_KEY || token == WJB_VALUE) && !skip)
			pushJsonbValue(state, token, &value);
	}
}

Jsonb *
pfs_series_labels(Jsonb *base, const PfsSampleLabel *labels, uint32 count)
{
	JsonbParseState *state = NULL;
	const char **names = choose_names(base, labels, count);
	char *kinds = describe_kinds(labels, names, count);

	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	push_base(&state, base);
	for (uint32 i = 0; i < count; i++)
		push_pair(&state, names[i],
				  labels[i].numeric ? psprintf(INT64_FORMAT, labels[i].number) : labels[i].text);
	if (kinds != NULL)
		push_pair(&state, PFS_LABEL_KINDS, kinds);
	return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL));
}

/* Undoes what describe_kinds tells of one label. */
static void
restore_kind(Jsonb *kinds, const char *name, PfsSampleLabel *label)
{
	JsonbValue *kind = find(kinds, name);
	JsonbValue *value;
	JsonbValue key;

	if (kind == NULL || kind->type != jbvBinary)
		return;
	key = string_value("key");
	value = findJsonbValueFromContainer(kind->val.binary.data, JB_FOBJECT, &key);
	if (value != NULL && value->type == jbvString)
		label->key = pnstrdup(value->val.string.val, value->val.string.len);
	key = string_value("unit");
	value = findJsonbValueFromContainer(kind->val.binary.data, JB_FOBJECT, &key);
	if (value != NULL && value->type == jbvString)
	{
		label->numeric = true;
		label->number = pg_strtoint64(label->text);
		label->text = pnstrdup(value->val.string.val, value->val.string.len);
	}
}

uint32
pfs_labels_of_series(Jsonb *series_labels, PfsSampleLabel **labels)
{
	JsonbIterator *iterator = JsonbIteratorInit(&series_labels->root);
	char *kinds_text = pfs_label_value(series_labels, PFS_LABEL_KINDS);
	Jsonb *kinds = kinds_text == NULL
					   ? NULL
					   : DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(kinds_text)));
	JsonbIteratorToken token;
	JsonbValue value;
	const char *name = NULL;
	uint32 count = 0;

	*labels = PFS_ARRAY(PfsSampleLabel, JB_ROOT_COUNT(series_labels));
	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			name = pnstrdup(value.val.string.val, value.val.string.len);
		if (token != WJB_VALUE || value.type != jbvString || strcmp(name, PFS_LABEL_KINDS) == 0)
			continue;
		(*labels)[count] =
			(PfsSampleLabel){ .key = name,
							  .text = pnstrdup(value.val.string.val, value.val.string.len) };
		if (kinds != NULL)
			restore_kind(kinds, name, &(*labels)[count]);
		count++;
	}
	return count;
}
