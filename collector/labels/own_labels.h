/*
 * own_labels.h
 *		Names of the labels that the agent gives by itself.
 *
 * A label that a program chooses must not take the place of one of these: it would put its samples
 * under another pod or tenant, or mix up what they count.
 */
#ifndef COLLECTOR_OWN_LABELS_H
#define COLLECTOR_OWN_LABELS_H

#include <stdbool.h>

/* Is it a label of every process, or one of a kind of sample (PFS_KINDS)? */
bool own_label_of_samples(const char *name);

/*
 * Is it one that no program may choose? Those above, those of pods, "tenant", and names that begin
 * with "__", which are the database's.
 */
bool own_label_is_reserved(const char *name);

#endif
