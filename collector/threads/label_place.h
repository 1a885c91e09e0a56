/*
 * label_place.h
 *		Finds where a program keeps the labels of its threads, by reading its file.
 *
 * For Go programs the place follows from the Go version, whose structures have known offsets (1.18
 * to 1.27; runtime/runtime2.go), and from the place of g among the thread-local variables. Other
 * programs are searched for the two symbols of custom labels, version 1 (custom-labels-v1.md of
 * polarsignals/custom-labels). Thread-local variables of libraries are not supported, because they
 * have a different offset in each process. profstore's own library, which PostgreSQL loads, has a
 * variable that is not thread-local: its place is an address in the file.
 */
#ifndef COLLECTOR_LABEL_PLACE_H
#define COLLECTOR_LABEL_PLACE_H

#include "files/elf_headers.h"
#include "thread_labels.h"

/*
 * Fills *place; its kind is PFS_LABELS_NONE if the file has no labels or their place is not known.
 * path is that of the mapping.
 */
void label_place_read(const ElfSource *source, const char *path, struct pfs_label_place *place);

#endif
