/*
 * label_pages.h
 *		Decides which pages of a process the agent reads to make labels available to BPF programs.
 *
 * A page that was never accessed is not resident, and BPF programs cannot fault it in; a program
 * whose keys and values are literals may never access their page. One read by the agent makes the
 * page resident. A page is read again after a minute, because it may have been reclaimed. Each read
 * is charged to the process's owner (process/owner.h): a burst of LABEL_PAGES_AT_ONCE pages, then
 * one a second.
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
	uint64_t until_ns; /* the page must not be read again before this time; 0: the slot is free */
} KnownPage;

/* A zeroed structure has no recently read page. */
typedef struct LabelPages
{
	KnownPage known[LABEL_PAGES_KNOWN];
	uint32_t next; /* index of the slot that is reused next */
	KeyedAllowance owners[LABEL_PAGES_OWNERS];
} LabelPages;

/* Returns true if the page of the address should be read, and records the read. */
bool label_pages_take(LabelPages *pages, const ExecImage *image, uint64_t owner, uint64_t address,
					  uint64_t now_ns);

#endif
