/*
 * relabel.h
 *		Rules that change, keep and drop label sets: Prometheus' relabel_configs.
 *
 * The actions behave as in Prometheus 3 (model/relabel, with UTF-8 label names); regular
 * expressions are those of regex_syntax.h.
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

/* A rule as configured; fields of settings that are not given are NULL. */
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
	RELABEL_FAILED /* a regular expression exceeded its limit, or out of memory */
} RelabelEnd;

/*
 * Makes a rule from settings, which it copies. NULL if they are wrong, with the reason in error
 * (without a period).
 */
RelabelRule *relabel_rule_create(const RelabelSettings *settings, char error[RELABEL_ERROR_BYTES]);
void relabel_rule_free(RelabelRule *rule); /* accepts NULL */

/*
 * Applies a rule to a set of labels. The set must be sorted before the first rule. A rule must not
 * be used by two threads at once.
 */
RelabelEnd relabel_apply(RelabelRule *rule, LabelBuilder *labels);

#endif
