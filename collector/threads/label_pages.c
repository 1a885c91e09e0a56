/*
 * label_pages.c
 *		Remembers recently read pages, and the owners' allowances.
 */
#include "threads/label_pages.h"

#include <stddef.h>

#include "base/clock.h"

#define PAGE_BITS	 12
#define AGAIN_NS	 (60 * NS_PER_S)
#define PAGE_COST_NS NS_PER_S
#define BURST_NS	 (LABEL_PAGES_AT_ONCE * PAGE_COST_NS)

/* Returns the entry of a page; NULL if it was not read recently. */
static KnownPage *
label_pages_find_page(LabelPages *pages, const ExecImage *image, uint64_t page)
{
	for (uint32_t i = 0; i < LABEL_PAGES_KNOWN; i++)
	{
		KnownPage *known = &pages->known[i];

		if (known->until_ns != 0 && known->page == page && exec_image_equal(&known->image, image))
			return known;
	}
	return NULL;
}

bool
label_pages_take(LabelPages *pages, const ExecImage *image, uint64_t owner, uint64_t address,
				 uint64_t now_ns)
{
	uint64_t page = address >> PAGE_BITS;
	KnownPage *known = label_pages_find_page(pages, image, page);
	Allowance *allowance;

	if (known != NULL && known->until_ns > now_ns)
		return false;
	allowance = allowance_of(pages->owners, LABEL_PAGES_OWNERS, owner);
	if (!allowance_take(allowance, now_ns, PAGE_COST_NS, BURST_NS))
		return false;
	if (known == NULL)
		known = &pages->known[pages->next++ % LABEL_PAGES_KNOWN];
	*known = (KnownPage){ *image, page, now_ns + AGAIN_NS };
	return true;
}
