/*
 * labels.h
 *		Attributes as labels of series.
 *
 * A label's name is the attribute's key with "_" for what is no letter, digit or "_" (service.name:
 * service_name); numbers and truth values become text, a list its elements joined by commas. A
 * later attribute replaces an earlier one of the same key: sample over profile over scope over
 * resource. Names that the receiver sets itself, and those that begin with "__", get "exported_"
 * in front. Where keys meet in a name, the one that is it keeps it, else the first in order; the
 * others are name_2, name_3 ...: whatever the order in which they came.
 */
#ifndef COLLECTOR_OTLP_LABELS_H
#define COLLECTOR_OTLP_LABELS_H

#include "base/arena.h"
#include "batch/batch.h"
#include "formats/profile.h"
#include "formats/trace_ids.h"
#include "otlp/notes.h"

#define LABEL_NAME_MAX	100
#define LABEL_VALUE_MAX 1024

/* Which attributes become labels: all but those of the list. */
typedef struct AttributeRule
{
	const char *dropped; /* keys, separated by commas; "process.command*" ends with a star */
} AttributeRule;

/* What would make a series of each process, thread or call. */
#define LABELS_DROPPED_DEFAULT                                                        \
	"process.pid,process.parent_pid,process.command*,process.creation.time,"          \
	"process.environment_variable.*,process.context.*,process.executable.build_id.*," \
	"thread.id,cpu.logical_number,host.ip,host.mac,telemetry.*,"                      \
	"k8s.pod.uid,thread_id,cpu"

typedef struct AttributeLabels
{
	uint32_t count;
	uint32_t fixed_count; /* the first ones: nobody replaces them */
	size_t bytes;		  /* of names and values */
	BatchLabel labels[BATCH_MAX_LABELS];
	PfsText keys[BATCH_MAX_LABELS]; /* of what the labels were made */
	BatchNote note;					/* the attributes that are notes instead; of no series yet */
} AttributeLabels;

/* False where the rule leaves a key out. */
bool attribute_rule_keeps(const AttributeRule *rule, PfsText key);

/* The name that a key becomes, in the arena; NULL without memory. */
const char *label_name(Arena *arena, PfsText key);

/*
 * Adds a label of a key, which outlive the set, or replaces the value of one that is there; "": the
 * label goes. False where there is no room for one more.
 */
bool attribute_labels_put(AttributeLabels *set, Arena *arena, PfsText key, const char *name,
						  const char *value);

/* Adds a label whose name attributes must not use; call it before attribute_labels_put(). */
void attribute_labels_fix(AttributeLabels *set, const BatchLabel *label);

/*
 * Those of a set that become labels, each of a name of its own: without those that have no value,
 * and without those that tell a trace or a span, whose ids are taken instead. *to may be the set
 * itself. The number of those that were left out for lack of memory.
 */
uint32_t attribute_labels_settle(AttributeLabels *to, const AttributeLabels *from, Arena *arena,
								 PfsTraceIds *ids);

const char *attribute_labels_find(const AttributeLabels *set,
								  const char *name); /* "" where it is not there */

#endif
