/*
 * table_account.c
 *		Arithmetic of the owners' CPU time for unwind tables.
 */
#include "agent/reader/table_account.h"

#include "base/clock.h"

#define PART	   4			   /* an owner may use 1/PART of what --max-cpu allows */
#define AT_ONCE_NS (30 * NS_PER_S) /* an owner may use what --max-cpu allows in this time at once */

/* Time in which an owner's part of --max-cpu adds up to AT_ONCE_NS of all of --max-cpu. */
#define BURST_NS (AT_ONCE_NS * PART)

bool
table_account_may(const TableAccount *account, uint64_t owner, uint64_t now_ns)
{
	const Allowance *allowance = allowance_find(account->owners, TABLE_ACCOUNT_OWNERS, owner);

	if (account->cpu_percent == 0 || allowance == NULL || allowance->paid_ns <= now_ns)
		return true;
	return !account->resting && allowance->paid_ns - now_ns < BURST_NS;
}

void
table_account_charge(TableAccount *account, uint64_t owner, uint64_t now_ns, uint64_t cpu_ns)
{
	/* The time in which the owner's part of --max-cpu pays for the table. */
	uint64_t cost_ns = account->cpu_percent > 0 ? cpu_ns * 100 * PART / account->cpu_percent : 0;

	(void) allowance_take(allowance_of(account->owners, TABLE_ACCOUNT_OWNERS, owner), now_ns,
						  cost_ns, UINT64_MAX);
}
