/*
 * label_pages.h
 *		Decides which pages with labels to read because the BPF program could not.
 *
 * A page that was never accessed is not resident, and BPF programs cannot fault it in; a program
 * whose keys and values are literals may never access them itself. One read from outside makes the
 * page resident. Each page is read once a minute at most, because it may be reclaimed. Each read is
 * charged to the process's owner (process/owner.h): a burst of LABEL_PAGES_AT_ONCE pages, then one
 * a second.
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
	uint64_t until_ns; /* not to be read again before then; 0 if the slot is free */
} KnownPage;

/* Zeroed: no page has been read. */
typedef struct LabelPages
{
	KnownPage known[LABEL_PAGES_KNOWN];
	uint32_t next; /* slot to be reused next */
	KeyedAllowance owners[LABEL_PAGES_OWNERS];
} LabelPages;

/* Returns true if the page of the address should be read, and records the read. */
bool label_pages_take(LabelPages *pages, const ExecImage *image, uint64_t owner, uint64_t address,
					  uint64_t now_ns);

#endif
