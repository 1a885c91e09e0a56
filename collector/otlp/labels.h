/*
 * labels.h
 *		Attributes as labels of series.
 *
 * A label's name is the attribute's key with "_" in place of other characters than letters, digits
 * and "_" (service.name: service_name). Numbers and truth values become text; the elements of a
 * list are joined by commas. If several levels have an attribute with one key, the innermost is
 * used: sample, profile, scope, resource. Names that the receiver sets itself, and those that begin
 * with "__", get the prefix "exported_". If several keys give one name, the key that equals it gets
 * the name, otherwise the first in order; the others become name_2, name_3 ..., regardless of the
 * order of arrival.
 */
#ifndef COLLECTOR_OTLP_LABELS_H
#define COLLECTOR_OTLP_LABELS_H

#include "base/arena.h"
#include "batch/batch.h"
#include "formats/profile.h"
#include "formats/trace_ids.h"
#include "otlp/otlp_notes.h"

#define LABEL_NAME_MAX	100
#define LABEL_VALUE_MAX 1024

/* Decides which attributes become labels: all except the listed ones. */
typedef struct AttributeRule
{
	/*
	 * List of keys, separated by commas. A trailing star matches any suffix, as in
	 * "process.command*".
	 */
	const char *dropped;
} AttributeRule;

/* Attributes that would make a series for each process, thread or call. */
#define LABELS_DROPPED_DEFAULT                                                        \
	"process.pid,process.parent_pid,process.command*,process.creation.time,"          \
	"process.environment_variable.*,process.context.*,process.executable.build_id.*," \
	"thread.id,cpu.logical_number,host.ip,host.mac,telemetry.*,"                      \
	"k8s.pod.uid,thread_id,cpu"

typedef struct AttributeLabels
{
	uint32_t count;
	uint32_t fixed_count; /* number of labels at the beginning that attributes cannot replace */
	size_t bytes;		  /* bytes of names and values */
	BatchLabel labels[BATCH_MAX_LABELS];
	PfsText keys[BATCH_MAX_LABELS]; /* the keys from which the labels were made */
	BatchNote note;					/* the attributes that are notes; its series is not set */
} AttributeLabels;

/* Returns false if the rule drops the key. */
bool attribute_rule_keeps(const AttributeRule *rule, PfsText key);

/* Returns the label name of a key, in the arena; NULL if out of memory. */
const char *label_name(Arena *arena, PfsText key);

/*
 * Adds a label with its key, which must outlive the set, or replaces the value of a label with that
 * key; the value "" removes it. Returns false if there is no room.
 */
bool attribute_labels_put(AttributeLabels *set, Arena *arena, PfsText key, const char *name,
						  const char *value);

/* Adds a label whose name attributes must not use. Call it before attribute_labels_put(). */
void attribute_labels_fix(AttributeLabels *set, const BatchLabel *label);

/*
 * Writes the labels of a set to *to: with unique names, without empty values, and without the
 * labels of a trace or a span, whose ids are stored instead. *to may be the set itself. Returns the
 * number of labels that were left out for lack of memory.
 */
uint32_t attribute_labels_settle(AttributeLabels *to, const AttributeLabels *from, Arena *arena,
								 PfsTraceIds *ids);

const char *attribute_labels_find(const AttributeLabels *set,
								  const char *name); /* returns "" if the set lacks it */

#endif
