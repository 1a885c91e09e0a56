/*
 * label_place.h
 *		Where a program keeps the labels of what its threads are doing, by its file.
 *
 * Go's programs: by the version of Go that built them, whose structures have known offsets (1.18 to
 * 1.27; runtime/runtime2.go), and where g lies among the thread's variables. Others: where they
 * export the two symbols of custom labels, version 1 (custom-labels-v1.md of
 * polarsignals/custom-labels). Executables alone: a library's variables lie elsewhere in each
 * process.
 */
#ifndef COLLECTOR_LABEL_PLACE_H
#define COLLECTOR_LABEL_PLACE_H

#include "files/elf_headers.h"
#include "thread_labels.h"

/* PFS_LABELS_NONE where the file has none, or it is not known where. */
void label_place_read(const ElfSource *source, struct pfs_label_place *place);

#endif
