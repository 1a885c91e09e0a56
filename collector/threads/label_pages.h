/*
 * label_pages.h
 *		Which pages with labels are to be read, because the kernel's side could not read them.
 *
 * A page that nobody has touched yet is not resident, and BPF programs cannot fault it in: a
 * program whose keys and values are literals may never touch them. One reading from outside makes
 * it resident. It is read once a minute at most, since it may be reclaimed. Each reading is on an
 * account of the process's owner (process/owner.h): LABEL_PAGES_AT_ONCE pages, and one a second in
 * the long run.
 */
#ifndef COLLECTOR_LABEL_PAGES_H
#define COLLECTOR_LABEL_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/allowance.h"
#include "process/exec_image.h"

#define LABEL_PAGES_AT_ONCE 64
#define LABEL_PAGES_KNOWN	256
#define LABEL_PAGES_OWNERS	32

typedef struct KnownPage
{
	ExecImage image;
	uint64_t page;
	uint64_t until_ns; /* not read again before then; 0: slot is free */
} KnownPage;

/* Zeroed: none was read yet. */
typedef struct LabelPages
{
	KnownPage known[LABEL_PAGES_KNOWN];
	uint32_t next; /* the slot that goes next */
	KeyedAllowance owners[LABEL_PAGES_OWNERS];
} LabelPages;

/* Returns true if the owner's page at the address is to be read, and notes that it was. */
bool label_pages_take(LabelPages *pages, const ExecImage *image, uint64_t owner, uint64_t address,
					  uint64_t now_ns);

#endif
