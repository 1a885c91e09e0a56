/*
 * worker_accounts.c
 *		Keeps allowances of the symbol worker's time.
 */
#include "symbols/worker/worker_accounts.h"

#include <stddef.h>

#define BURST_NS ((uint64_t) WORKER_ACCOUNT_BURST_NS * WORKER_ACCOUNT_SHARE)

/* Returns how far ahead of the clock an account is charged, in ns. */
static uint64_t
account_ahead_ns(const Allowance *account, uint64_t now_ns)
{
	return account->paid_ns > now_ns ? account->paid_ns - now_ns : 0;
}

/* Returns the account with the smallest debt; NULL for an empty set. */
static const Allowance *
cheapest_account(const WorkerAccounts *accounts, uint64_t owners)
{
	const Allowance *cheapest = NULL;

	for (; owners != 0; owners &= owners - 1)
	{
		const Allowance *account = &accounts->accounts[__builtin_ctzll(owners)];

		if (cheapest == NULL || account->paid_ns < cheapest->paid_ns)
			cheapest = account;
	}
	return cheapest;
}

int64_t
worker_accounts_used(const WorkerAccounts *accounts, uint64_t owners, int64_t now_ns)
{
	const Allowance *account = cheapest_account(accounts, owners);

	/* nobody is charged for a question without owners */
	if (account == NULL)
		return 0;
	return (int64_t) (account_ahead_ns(account, (uint64_t) now_ns) / WORKER_ACCOUNT_SHARE);
}

bool
worker_accounts_may_ask(const WorkerAccounts *accounts, uint64_t owners, int64_t now_ns)
{
	const Allowance *account = cheapest_account(accounts, owners);

	return account == NULL || account_ahead_ns(account, (uint64_t) now_ns) < BURST_NS;
}

void
worker_accounts_charge(WorkerAccounts *accounts, uint64_t owners, int64_t now_ns, int64_t cost_ns)
{
	const Allowance *account = cheapest_account(accounts, owners);

	/* a question starts only if some burst is left, but its cost may exceed that */
	if (account != NULL)
		(void) allowance_take(&accounts->accounts[account - accounts->accounts], (uint64_t) now_ns,
							  (uint64_t) cost_ns * WORKER_ACCOUNT_SHARE, UINT64_MAX);
}
