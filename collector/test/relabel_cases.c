/*
 * relabel_cases.c
 *		Applies relabelling rules to labels, for a comparison with Prometheus' own package
 *		(sources/relabel).
 *
 * Cases on standard input and results on standard output consist of fields, each of which ends with
 * a zero byte. A case: number of rules; for each rule: action, source labels with commas,
 * separator, regex, modulus, target, replacement (the last six begin with "="; "-" means the
 * default); number of labels; names and values. A result: "error", "dropped", or "kept", then
 * number of labels, names and values by name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labels/relabel.h"

#define ITEMS_MAX 64

static char *
read_field(void)
{
	char *text = NULL;
	size_t size = 0;

	if (getdelim(&text, &size, '\0', stdin) >= 0)
		return text;
	free(text);
	return NULL;
}

static void
put_field(const char *text)
{
	fputs(text, stdout);
	fputc('\0', stdout);
}

/* Returns a field's value: "-" alone is a default; any other value follows a "=". */
static const char *
given(const char *field)
{
	return field[0] == '=' ? field + 1 : NULL;
}

static RelabelRule *
read_rule(void)
{
	char *fields[7];
	const char *sources[ITEMS_MAX];
	RelabelSettings settings = { .sources = sources };
	RelabelRule *rule;
	char error[RELABEL_ERROR_BYTES];

	for (size_t i = 0; i < 7; i++)
		fields[i] = read_field();
	for (char *name = strtok(fields[1], ","); name != NULL; name = strtok(NULL, ","))
		sources[settings.source_count++] = name;
	settings.action = fields[0];
	settings.separator = given(fields[2]);
	settings.regex = given(fields[3]);
	settings.modulus = strtoull(fields[4], NULL, 10);
	settings.target = given(fields[5]);
	settings.replacement = given(fields[6]);
	rule = relabel_rule_create(&settings, error);
	for (size_t i = 0; i < 7; i++)
		free(fields[i]);
	return rule;
}

static void
put_labels(LabelBuilder *builder)
{
	char count[24];

	label_builder_sort(builder);
	put_field("kept");
	snprintf(count, sizeof(count), "%zu", builder->count);
	put_field(count);
	for (size_t i = 0; i < builder->count; i++)
	{
		put_field(builder->labels[i].name);
		put_field(builder->labels[i].value);
	}
}

static void
run_case(RelabelRule *const *rules, size_t rule_count, LabelBuilder *builder)
{
	RelabelEnd end = RELABEL_KEPT;

	for (size_t i = 0; i < rule_count; i++)
		if (rules[i] == NULL)
		{
			put_field("error");
			return;
		}
	for (size_t i = 0; end == RELABEL_KEPT && i < rule_count; i++)
		end = relabel_apply(rules[i], builder);
	if (end == RELABEL_KEPT)
		put_labels(builder);
	else
		put_field(end == RELABEL_DROPPED ? "dropped" : "failed");
}

int
main(void)
{
	LabelBuilder builder;
	char *field;

	label_builder_init(&builder);
	while ((field = read_field()) != NULL)
	{
		RelabelRule *rules[ITEMS_MAX];
		char *texts[2 * ITEMS_MAX];
		size_t rule_count = strtoul(field, NULL, 10);
		size_t label_count;

		free(field);
		for (size_t i = 0; i < rule_count; i++)
			rules[i] = read_rule();
		field = read_field();
		label_count = strtoul(field, NULL, 10);
		free(field);
		label_builder_reset(&builder);
		for (size_t i = 0; i < label_count; i++)
		{
			texts[2 * i] = read_field();
			texts[2 * i + 1] = read_field();
			label_builder_set(&builder, texts[2 * i], texts[2 * i + 1]);
		}
		label_builder_sort(&builder);
		run_case(rules, rule_count, &builder);
		for (size_t i = 0; i < rule_count; i++)
			relabel_rule_free(rules[i]);
		for (size_t i = 0; i < 2 * label_count; i++)
			free(texts[i]);
	}
	label_builder_fini(&builder);
	return 0;
}
