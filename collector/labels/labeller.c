/*
 * labeller.c
 *		Makes the label set of a process.
 */
#include "labels/labeller.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MINUTE_NS (60 * UINT64_C(1000000000))
#define SETS_MAX  18432 /* limit of the sets of ten minutes, including those from the reserve */

struct Labeller
{
	LabellerOptions options;
	LabelSetTable *sets;
	LabelSet *other; /* the set of samples whose own set is refused */
	Allowance series;
	Allowance reserve; /* for owners of few series */
	uint64_t generation;
};

bool
label_list_has(const LabelList *list, const char *name)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (strcmp(list->labels[i].name, name) == 0)
			return true;
	return false;
}

bool
label_list_set(LabelList *list, const char *name, const char *value)
{
	uint32_t at = 0;

	while (at < list->count && strcmp(list->labels[at].name, name) != 0)
		at++;
	/* Removing a label that the list does not have succeeds. */
	if (at == list->count && (value[0] == '\0' || at == LABELS_MAX))
		return value[0] == '\0';
	if (value[0] == '\0')
	{
		list->count--;
		memmove(&list->labels[at], &list->labels[at + 1], (list->count - at) * sizeof(BatchLabel));
		return true;
	}
	list->labels[at] = (BatchLabel){ .name = name, .value = value };
	if (at == list->count)
		list->count++;
	return true;
}

int
labeller_create(const LabellerOptions *options, Labeller **result)
{
	Labeller *labeller = calloc(1, sizeof(*labeller));
	LabelList other = { .count = 0 };

	if (labeller == NULL || label_set_table_create(SETS_MAX, &labeller->sets) != 0)
	{
		free(labeller);
		return -ENOMEM;
	}
	labeller->options = *options;
	(void) label_list_set(&other, "node", options->node);
	(void) label_list_set(&other, "comm", LABELLER_OTHER);
	/* This set must be available at any time, so it is made here and never released. */
	labeller->other = label_set_add(labeller->sets, other.labels, other.count, 0);
	if (labeller->other == NULL)
	{
		labeller_free(labeller);
		return -ENOMEM;
	}
	*result = labeller;
	return 0;
}

void
labeller_free(Labeller *labeller)
{
	if (labeller == NULL)
		return;
	label_set_table_free(labeller->sets);
	free(labeller);
}

/* Lists the labels of a process and applies the rule, which may change or drop them. */
static LabelVerdict
list_labels(const Labeller *labeller, const LabelFacts *facts, const char *pid, LabelList *list)
{
	const LabellerOptions *options = &labeller->options;

	list->count = 0;
	/* The list has room for all of these labels, so the calls cannot fail. */
	(void) label_list_set(list, "node", options->node);
	(void) label_list_set(list, "comm", facts->comm);
	(void) label_list_set(list, "exe", facts->exe);
	(void) label_list_set(list, "cgroup", facts->cgroup->path);
	(void) label_list_set(list, "container_id", facts->cgroup->container_id);
	(void) label_list_set(list, "systemd_unit", facts->cgroup->systemd_unit);
	if (options->pid)
		(void) label_list_set(list, "pid", pid);
	if (options->thread)
		(void) label_list_set(list, "thread_name", facts->thread_name);
	/* Rules come last, because they may change or remove any label. */
	return options->rule == NULL ? LABELS_KEPT : options->rule(options->rule_context, facts, list);
}

/* Charges one new series to the process. Returns false if this would exceed the process's limit. */
static bool
labeller_pay_process(const Labeller *labeller, IssuedLabels *issued, uint64_t now_ns)
{
	bool has_many = labeller->options.thread || labeller->options.custom;
	/* Threads and custom labels need more series for each process, so they raise its limit. */
	uint64_t factor = has_many ? LABELLER_THREADS_IN_EXCESS : 1;
	uint64_t cost_ns = MINUTE_NS / LABELLER_PROCESS_A_MINUTE / factor;

	return allowance_take(&issued->series, now_ns, cost_ns,
						  factor * LABELLER_PROCESS_BURST * cost_ns);
}

static bool
labeller_pay(Allowance *allowance, uint64_t now_ns, uint64_t burst, uint64_t a_minute)
{
	uint64_t cost_ns = MINUTE_NS / a_minute;

	return allowance_take(allowance, now_ns, cost_ns, burst * cost_ns);
}

/* Returns true if the owner has made few new series recently. */
static bool
owner_has_few(const Allowance *owner, uint64_t now_ns)
{
	return owner->paid_ns <= now_ns + LABELLER_OWNER_FEW * (MINUTE_NS / LABELLER_OWNER_A_MINUTE);
}

/*
 * Charges one new series to the owner and to the total. If other owners have exhausted the total,
 * owners with few series use the reserve.
 */
static bool
labeller_pay_total(Labeller *labeller, Allowance *owner, uint64_t now_ns)
{
	/* The owner pays first, so that one owner cannot exhaust the total. */
	if (owner != NULL &&
		!labeller_pay(owner, now_ns, LABELLER_OWNER_BURST, LABELLER_OWNER_A_MINUTE))
		return false;
	if (labeller_pay(&labeller->series, now_ns, LABELLER_BURST, LABELLER_A_MINUTE))
		return true;
	return owner != NULL && owner_has_few(owner, now_ns) &&
		   labeller_pay(&labeller->reserve, now_ns, LABELLER_RESERVE_BURST,
						LABELLER_RESERVE_A_MINUTE);
}

/*
 * Returns the set of these labels if it exists or a new one is allowed; otherwise the set without
 * the names that the process chose itself; otherwise the set "other".
 */
static LabelSet *
labeller_find_or_add(Labeller *labeller, IssuedLabels *issued, const LabelFacts *facts,
					 const char *pid, LabelList *list, uint64_t now_ns)
{
	LabelSet *set = label_set_find(labeller->sets, list->labels, list->count, now_ns);
	LabelFacts without_names = *facts;

	if (set != NULL)
		return set;
	if (labeller_pay_process(labeller, issued, now_ns) &&
		labeller_pay_total(labeller, issued->owner, now_ns))
	{
		set = label_set_add(labeller->sets, list->labels, list->count, now_ns);
		if (set != NULL)
			return set;
	}
	/* Names that a process chooses are the usual cause of too many series, so they are replaced. */
	issued->capped = true;
	strcpy(without_names.comm, LABELLER_OTHER);
	strcpy(without_names.thread_name, LABELLER_OTHER);
	if (list_labels(labeller, &without_names, pid, list) != LABELS_KEPT)
		return label_set_retain(labeller->other);
	set = label_set_find(labeller->sets, list->labels, list->count, now_ns);
	/* Only the owner is charged, because the process has exhausted its own allowance. */
	if (set == NULL && labeller_pay_total(labeller, issued->owner, now_ns))
		set = label_set_add(labeller->sets, list->labels, list->count, now_ns);
	return set != NULL ? set : label_set_retain(labeller->other);
}

/*
 * Returns true if the labels are still valid. Capped labels are never valid, because the limits may
 * allow more later.
 */
static bool
issued_labels_hold(const Labeller *labeller, const IssuedLabels *issued, const LabelFacts *facts,
				   uint64_t generation)
{
	return (issued->set != NULL || issued->dropped) && !issued->stale && !issued->capped &&
		   issued->generation == generation && strcmp(issued->comm, facts->comm) == 0 &&
		   (!labeller->options.thread || strcmp(issued->thread_name, facts->thread_name) == 0);
}

LabelSet *
labeller_issue(Labeller *labeller, IssuedLabels *issued, const LabelFacts *facts, uint64_t now_ns)
{
	uint64_t generation = labeller->generation;
	LabelVerdict verdict;
	LabelList list;
	char pid[16];

	if (issued_labels_hold(labeller, issued, facts, generation))
		return issued->set;
	issued->owner = facts->owner;
	snprintf(pid, sizeof(pid), "%u", facts->pid);
	label_set_release(issued->set);
	issued->set = NULL;
	verdict = list_labels(labeller, facts, pid, &list);
	issued->dropped = verdict == LABELS_DROPPED;
	issued->failed = verdict == LABELS_FAILED;
	issued->capped = false;
	if (verdict == LABELS_KEPT)
		issued->set = labeller_find_or_add(labeller, issued, facts, pid, &list, now_ns);
	else if (verdict == LABELS_FAILED)
		issued->set = label_set_retain(labeller->other);
	issued->stale = false;
	issued->generation = generation;
	/* A change of these names makes the labels invalid. */
	memcpy(issued->comm, facts->comm, sizeof(issued->comm));
	memcpy(issued->thread_name, facts->thread_name, sizeof(issued->thread_name));
	return issued->set;
}

LabelSet *
labeller_issue_with(Labeller *labeller, IssuedLabels *issued, const BatchLabel *labels,
					uint32_t count, bool *capped, uint64_t now_ns)
{
	const BatchLabel *own;
	LabelList list = { .count = label_set_labels(issued->set, &own) };
	LabelSet *set;

	memcpy(list.labels, own, list.count * sizeof(*own));
	*capped = false;
	for (uint32_t i = 0; i < count; i++)
		*capped |= !label_list_set(&list, labels[i].name, labels[i].value);
	set = label_set_find(labeller->sets, list.labels, list.count, now_ns);
	if (set == NULL && !*capped && labeller_pay_process(labeller, issued, now_ns) &&
		labeller_pay_total(labeller, issued->owner, now_ns))
		set = label_set_add(labeller->sets, list.labels, list.count, now_ns);
	*capped |= set == NULL;
	/* If the own set is refused, the sample keeps the labels of its process. */
	return set != NULL ? set : label_set_retain(issued->set);
}

LabelSet *
labeller_issue_host(Labeller *labeller, const BatchLabel *labels, uint32_t count, uint64_t now_ns)
{
	LabelList list = { .count = 0 };
	LabelSet *set;

	(void) label_list_set(&list, "node", labeller->options.node);
	for (uint32_t i = 0; i < count; i++)
		(void) label_list_set(&list, labels[i].name, labels[i].value);
	/* Series of the host are few, so they are not charged. */
	set = label_set_find(labeller->sets, list.labels, list.count, now_ns);
	return set != NULL ? set : label_set_add(labeller->sets, list.labels, list.count, now_ns);
}

void
issued_labels_fini(IssuedLabels *issued)
{
	label_set_release(issued->set);
	issued->set = NULL;
}

void
labeller_use_rule(Labeller *labeller, LabelRule rule, void *context)
{
	labeller->options.rule = rule;
	labeller->options.rule_context = context;
	/* All labels that the former rule made become invalid. */
	labeller_learned(labeller);
}

void
labeller_learned(Labeller *labeller)
{
	labeller->generation++;
}

void
labeller_sweep(Labeller *labeller, uint64_t now_ns)
{
	label_set_table_sweep(labeller->sets, now_ns);
}
