/*
 * relabel.h
 *		Rules that change, keep and drop sets of labels: Prometheus' relabel_configs.
 *
 * What each action does is Prometheus' (model/relabel of its version 3, names of labels in UTF-8);
 * regular expressions are those of regex_syntax.h.
 */
#ifndef COLLECTOR_RELABEL_H
#define COLLECTOR_RELABEL_H

#include <stdint.h>

#include "labels/label_builder.h"
#include "labels/regex.h"

#define RELABEL_ERROR_BYTES 320

typedef enum RelabelAction
{
	RELABEL_REPLACE,
	RELABEL_KEEP,
	RELABEL_DROP,
	RELABEL_KEEPEQUAL,
	RELABEL_DROPEQUAL,
	RELABEL_HASHMOD,
	RELABEL_LABELMAP,
	RELABEL_LABELDROP,
	RELABEL_LABELKEEP,
	RELABEL_LOWERCASE,
	RELABEL_UPPERCASE,
	RELABEL_ACTION_COUNT
} RelabelAction;

/* As it stands in a configuration; NULL where it is not given. */
typedef struct RelabelSettings
{
	const char *action;
	const char *const *sources; /* names of labels */
	size_t source_count;
	const char *separator;
	const char *regex;
	const char *target;
	const char *replacement;
	uint64_t modulus;
} RelabelSettings;

typedef struct RelabelRule RelabelRule;

typedef enum RelabelEnd
{
	RELABEL_KEPT,
	RELABEL_DROPPED,
	RELABEL_FAILED /* a regular expression took too much, or memory is out */
} RelabelEnd;

/* NULL where the settings are wrong, as error says without a full stop. They are copied. */
RelabelRule *relabel_rule_create(const RelabelSettings *settings, char error[RELABEL_ERROR_BYTES]);
void relabel_rule_free(RelabelRule *rule); /* accepts NULL */

/* One rule over a set, which is to be sorted before the first one; not by two threads at once. */
RelabelEnd relabel_apply(RelabelRule *rule, LabelBuilder *labels);

#endif
