/*
 * labeller.h
 *		The labels of a process. They are made and relabelled once, and again after a change.
 *
 * Processes choose their names and may be hostile, and each new set of labels is a new series in
 * the database. So the number of new sets is limited for each process, for each owner and in total;
 * samples beyond the limits get "[other]" as labels.
 *
 * Not thread-safe: the caller's lock guards the labeller, as it guards the processes.
 */
#ifndef COLLECTOR_LABELLER_H
#define COLLECTOR_LABELLER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/allowance.h"
#include "labels/cgroup.h"
#include "labels/label_set.h"

#define LABELLER_OTHER	   "[other]"
#define LABELLER_NAME_SIZE 17 /* a name of up to 16 bytes, and its NUL */
/* One less than in a batch: the label of the sample's kind is added later. */
#define LABELS_MAX		   (BATCH_MAX_LABELS - 1)

/* Limits of new series: a burst, and a rate for each minute. */
#define LABELLER_BURST			   4096
#define LABELLER_A_MINUTE		   1024
#define LABELLER_OWNER_BURST	   1024
#define LABELLER_OWNER_A_MINUTE	   256
#define LABELLER_OWNER_FEW		   64 /* an owner with fewer new series may use the reserve */
#define LABELLER_RESERVE_BURST	   1024
/* size of the reserve, which is used when the total is spent */
#define LABELLER_RESERVE_A_MINUTE  256
#define LABELLER_PROCESS_BURST	   32
#define LABELLER_PROCESS_A_MINUTE  16
/* factor of an owner's limits if threads or labels of its processes have series of their own */
#define LABELLER_THREADS_IN_EXCESS 16

typedef struct Labeller Labeller;

/* Labels that are being made. Names and values are borrowed until the set is made. */
typedef struct LabelList
{
	BatchLabel labels[LABELS_MAX];
	uint32_t count;
} LabelList;

/*
 * Adds or changes a label; an empty value removes it. Returns false if there are LABELS_MAX labels.
 */
bool label_list_set(LabelList *list, const char *name, const char *value);

/* Returns true if the list has a label of this name. */
bool label_list_has(const LabelList *list, const char *name);

/* Facts about a process that labels are made of. */
typedef struct LabelFacts
{
	char comm[LABELLER_NAME_SIZE];
	char thread_name[LABELLER_NAME_SIZE];
	Allowance *owner; /* shared by processes whose new series are limited together; NULL if none */
	const char *exe;  /* "" if not known */
	const CgroupLabels *cgroup;
	/* "NAME=value" strings, ended by an empty string; NULL if not known. */
	const char *environment;
	const char *compiler; /* compiler of the executable; NULL or "" if not known */
	const char *runtime;  /* language runtime; NULL or "" if not known */
	uint32_t pid;
} LabelFacts;

typedef enum LabelVerdict
{
	LABELS_KEPT,
	LABELS_DROPPED, /* the process must not be sampled */
	LABELS_FAILED	/* the rule failed, so the labels of the process become LABELLER_OTHER */
} LabelVerdict;

/* Changes the list of labels. Texts that the rule sets must stay valid until it is called again. */
typedef LabelVerdict (*LabelRule)(void *context, const LabelFacts *facts, LabelList *list);

typedef struct LabellerOptions
{
	const char *node;
	bool pid;		/* adds the label pid */
	bool thread;	/* adds the label thread_name */
	bool custom;	/* samples of one process may have further labels */
	LabelRule rule; /* NULL: there is no rule */
	void *rule_context;
} LabellerOptions;

/* The labels that were made for a process. A zeroed structure means none. */
typedef struct IssuedLabels
{
	LabelSet *set; /* a reference; NULL if no labels were made, or if the process is dropped */
	bool dropped;  /* the rule decided that the process must not be sampled */
	bool capped;   /* the limit of new series was reached: some labels are LABELLER_OTHER */
	bool failed;   /* the rule failed: all labels are LABELLER_OTHER */
	bool stale;	   /* set by the owner if the facts have changed */
	uint64_t generation;
	Allowance series;
	Allowance *owner; /* copied from the facts */
	char comm[LABELLER_NAME_SIZE];
	char thread_name[LABELLER_NAME_SIZE];
} IssuedLabels;

/* The strings in options must outlive the labeller. Returns 0 or -ENOMEM. */
int labeller_create(const LabellerOptions *options, Labeller **labeller);
void labeller_free(Labeller *labeller); /* accepts NULL */

/*
 * Returns the labels of a process for a sample. Makes them again if the names, the stale mark or
 * the data of the rule have changed. The reference belongs to issued. Returns NULL if the process
 * must not be sampled.
 */
LabelSet *labeller_issue(Labeller *labeller, IssuedLabels *issued, const LabelFacts *facts,
						 uint64_t now_ns);

/*
 * Returns a reference to the set of issued with additional labels of the sample. Each such set is a
 * new series: if the limits refuse it, sets *capped and returns the set without the additional
 * labels.
 */
LabelSet *labeller_issue_with(Labeller *labeller, IssuedLabels *issued, const BatchLabel *labels,
							  uint32_t count, bool *capped, uint64_t now_ns);

/*
 * Returns a reference to the set of the node's name and these labels, for amounts that belong to no
 * process. The caller must limit the number of such sets. NULL if there is no room.
 */
LabelSet *labeller_issue_host(Labeller *labeller, const BatchLabel *labels, uint32_t count,
							  uint64_t now_ns);
void issued_labels_fini(IssuedLabels *issued);

/* Replaces the rule (NULL: none). The labels of each process are made again at its next sample. */
void labeller_use_rule(Labeller *labeller, LabelRule rule, void *context);

/*
 * Call this when the data of the rule has changed: the labels of each process are made again at its
 * next sample.
 */
void labeller_learned(Labeller *labeller);

/* Frees unused sets. Call it a few times a minute. */
void labeller_sweep(Labeller *labeller, uint64_t now_ns);

#endif
