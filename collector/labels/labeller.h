/*
 * labeller.h
 *		The labels of a process: made once, relabelled once, issued anew where something changed.
 *
 * What a process is called, and what mapped it where, comes from the process, which may be hostile:
 * each new set of labels is a new series in the database. So many new ones a minute are issued, to
 * each process and in all; the rest goes under "[other]".
 *
 * Not thread-safe, as the processes are not: one owner, with a lock.
 */
#ifndef COLLECTOR_LABELLER_H
#define COLLECTOR_LABELLER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/allowance.h"
#include "labels/cgroup.h"
#include "labels/label_set.h"

#define LABELLER_OTHER	   "[other]"
#define LABELLER_NAME_SIZE 17 /* a name of 16 bytes, which may have no end of its own */
/* As a batch takes, but for one: the label of its kind comes later. */
#define LABELS_MAX		   (BATCH_MAX_LABELS - 1)

/* New series: so many at once, and so many a minute in the long run. */
#define LABELLER_BURST			  4096
#define LABELLER_A_MINUTE		  1024
#define LABELLER_OWNER_BURST	  1024
#define LABELLER_OWNER_A_MINUTE	  256
#define LABELLER_OWNER_FEW		  64 /* of an owner with as few there is a reserve … */
#define LABELLER_RESERVE_BURST	  1024
#define LABELLER_RESERVE_A_MINUTE 256 /* … of so many, once the common ones are spent */
#define LABELLER_PROCESS_BURST	  32
#define LABELLER_PROCESS_A_MINUTE 16
#define LABELLER_THREADS_IN_EXCESS \
	16 /* times that, where threads or labels of theirs have series of their own */

typedef struct Labeller Labeller;

/* Labels under way. Names and values are borrowed until the set is made. */
typedef struct LabelList
{
	BatchLabel labels[LABELS_MAX];
	uint32_t count;
} LabelList;

/* Adds a label, changes it, or takes it away (value ""). False: there are LABELS_MAX already. */
bool label_list_set(LabelList *list, const char *name, const char *value);

/* Is the label there? */
bool label_list_has(const LabelList *list, const char *name);

/* What is known of a process. */
typedef struct LabelFacts
{
	char comm[LABELLER_NAME_SIZE];
	char thread_name[LABELLER_NAME_SIZE];
	Allowance *owner; /* of the processes that are allowed series together; NULL: none */
	const char *exe;  /* "" where not known, as all below */
	const CgroupLabels *cgroup;
	const char *environment; /* "NAME=value" each with its NUL, then another; NULL: not known */
	const char *compiler;	 /* of the executable; NULL or "": not known */
	const char *runtime;	 /* of a language; likewise */
	uint32_t pid;
} LabelFacts;

typedef enum LabelVerdict
{
	LABELS_KEPT,
	LABELS_DROPPED, /* the process is not to be sampled */
	LABELS_FAILED	/* no labels could be made: it goes under LABELLER_OTHER */
} LabelVerdict;

/* Changes labels. What it sets must live until it is called again. */
typedef LabelVerdict (*LabelRule)(void *context, const LabelFacts *facts, LabelList *list);

typedef struct LabellerOptions
{
	const char *node;
	bool pid;		/* adds the label pid */
	bool thread;	/* adds the label thread_name */
	bool custom;	/* samples of a process differ in labels of their own */
	LabelRule rule; /* NULL: none */
	void *rule_context;
} LabellerOptions;

/* The labels that a process has. Zeroed: none yet. */
typedef struct IssuedLabels
{
	LabelSet *set; /* held; NULL: none yet, or dropped */
	bool dropped;  /* by the rule */
	bool capped;   /* there were too many new series: a part of it is under LABELLER_OTHER */
	bool failed;   /* the rule made no labels: all of it is */
	bool stale;	   /* what they were made of has changed */
	uint64_t generation;
	Allowance series;
	Allowance *owner; /* as of the facts */
	char comm[LABELLER_NAME_SIZE];
	char thread_name[LABELLER_NAME_SIZE];
} IssuedLabels;

/* The options' strings outlive the labeller. 0 or -ENOMEM. */
int labeller_create(const LabellerOptions *options, Labeller **labeller);
void labeller_free(Labeller *labeller); /* accepts NULL */

/*
 * The labels of a process for a sample of it: those that it has, where its names, the stale mark
 * and what the rule knows are as they were. Held by issued. NULL: it is not to be sampled.
 */
LabelSet *labeller_issue(Labeller *labeller, IssuedLabels *issued, const LabelFacts *facts,
						 uint64_t now_ns);

/*
 * The set that the process has, with labels of the sample's own beside: it is held for the caller.
 * Each is a new series, and where there are too many (*capped) it is the set without them.
 */
LabelSet *labeller_issue_with(Labeller *labeller, IssuedLabels *issued, const BatchLabel *labels,
							  uint32_t count, bool *capped, uint64_t now_ns);
void issued_labels_fini(IssuedLabels *issued);

/* Another rule from now on, NULL for none; labels are issued anew as processes are sampled. */
void labeller_use_rule(Labeller *labeller, LabelRule rule, void *context);

/* The rule knows more now: labels are issued anew as their processes are sampled. */
void labeller_learned(Labeller *labeller);

/* Call a few times a minute. */
void labeller_sweep(Labeller *labeller, uint64_t now_ns);

#endif
