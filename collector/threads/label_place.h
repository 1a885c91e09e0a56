/*
 * label_place.h
 *		Finds the place where a program keeps the labels of its threads, from its file.
 *
 * Go programs: by the Go version that built them, whose structures have known offsets (1.18 to
 * 1.27; runtime/runtime2.go), and by the place of g among the thread-local variables. Other
 * programs: if they export the two symbols of custom labels, version 1 (custom-labels-v1.md of
 * polarsignals/custom-labels). Executables only, because thread-local variables of libraries lie at
 * a different offset in each process.
 */
#ifndef COLLECTOR_LABEL_PLACE_H
#define COLLECTOR_LABEL_PLACE_H

#include "files/elf_headers.h"
#include "thread_labels.h"

/* Fills *place; PFS_LABELS_NONE if the file has no labels or their place is not known. */
void label_place_read(const ElfSource *source, struct pfs_label_place *place);

#endif
