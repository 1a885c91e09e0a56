/*
 * own_labels.h
 *		Names of the labels that the agent sets.
 *
 * A label that a program chooses must not replace one of these. Otherwise the program could
 * attribute its samples to another pod or tenant, or mix different kinds of samples.
 */
#ifndef COLLECTOR_OWN_LABELS_H
#define COLLECTOR_OWN_LABELS_H

#include <stdbool.h>

/* Returns true if the label is set for every process or by a kind of sample (PFS_KINDS). */
bool own_label_of_samples(const char *name);

/*
 * Returns true if programs must not choose this name: the names of own_label_of_samples(), those of
 * pods, "tenant", and the database's names, which begin with "__".
 */
bool own_label_is_reserved(const char *name);

#endif
