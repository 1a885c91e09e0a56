/*
 * sample_labels.c
 *		Converts labels to and from jsonb.
 */
#include "profstore.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "base/arrays.h"
#include "import/profile_text.h"
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
labels_find(Jsonb *object, const char *name)
{
	JsonbValue key = string_value(name);

	return JB_ROOT_IS_OBJECT(object) ? findJsonbValueFromContainer(&object->root, JB_FOBJECT, &key)
									 : NULL;
}

char *
pfs_label_value(Jsonb *labels, const char *name)
{
	JsonbValue *value = labels_find(labels, name);

	return value == NULL || value->type != jbvString
			   ? NULL
			   : pnstrdup(value->val.string.val, value->val.string.len);
}

static bool
is_name_label(const JsonbValue *key)
{
	return key->val.string.len == strlen(PFS_NAME_LABEL) &&
		   memcmp(key->val.string.val, PFS_NAME_LABEL, strlen(PFS_NAME_LABEL)) == 0;
}

PfsLabels
pfs_labels_own(Jsonb *labels)
{
	PfsLabels own = { PFS_ARRAY(PfsLabel, JB_ROOT_COUNT(labels)), 0 };
	JsonbIterator *iterator = JsonbIteratorInit(&labels->root);
	JsonbIteratorToken token;
	JsonbValue value;

	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY && !is_name_label(&value))
			own.labels[own.count++] =
				(PfsLabel){ { value.val.string.val, (uint32) value.val.string.len }, { "", 0 } };
		else if (token == WJB_KEY)
			JsonbIteratorNext(&iterator, &value, true);
		else if (token == WJB_VALUE && value.type == jbvString)
			own.labels[own.count - 1].value =
				(PfsText){ value.val.string.val, (uint32) value.val.string.len };
	}
	return own;
}

/*
 * Copies all labels but __name__, the profile's name. A value that is not an object is copied as it
 * is, so that interning rejects it.
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
			skip = is_name_label(&value);
		if ((token == WJB_KEY || token == WJB_VALUE) && !skip)
			pushJsonbValue(state, token, &value);
	}
}

Jsonb *
pfs_series_labels(const PfsImport *import, const PfsLabels *of_sample)
{
	JsonbParseState *state = NULL;

	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	push_base(&state, import->labels);
	for (uint32 i = 0; i < of_sample->count; i++)
		push_pair(&state, pfs_import_text(import, of_sample->labels[i].name),
				  pfs_import_text(import, of_sample->labels[i].value));
	return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL));
}

/* Applies PFS_LABEL_KINDS to one label, to restore its original form. */
static void
restore_kind(Jsonb *kinds, const char *name, PfsSampleLabel *label)
{
	JsonbValue *kind = labels_find(kinds, name);
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
