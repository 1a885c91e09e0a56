/*
 * worker_accounts.h
 *		Allowances of the symbol worker's CPU time, one for each owner of processes that map files.
 *
 * Owners are hashed to 64 accounts under a secret seed. So the owners of a file are a set of bits,
 * and nobody can choose with whom to share an account. An account holds WORKER_ACCOUNT_BURST_NS and
 * earns 1 / WORKER_ACCOUNT_SHARE of a CPU. A file that several owners map is charged to the owner
 * with the smallest debt, so that the names of a library do not depend on its heaviest user.
 */
#ifndef COLLECTOR_WORKER_ACCOUNTS_H
#define COLLECTOR_WORKER_ACCOUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/allowance.h"

#define WORKER_ACCOUNTS			64
#define WORKER_ACCOUNT_BURST_NS INT64_C(3000000000) /* CPU time that an owner may use at once */
/* An account earns 1/WORKER_ACCOUNT_SHARE of a CPU. */
#define WORKER_ACCOUNT_SHARE	50

typedef struct WorkerAccounts
{
	Allowance accounts[WORKER_ACCOUNTS];
} WorkerAccounts;

/* Returns the set that contains the account of one owner. */
static inline uint64_t
worker_account_of(uint64_t owner_hash)
{
	return UINT64_C(1) << owner_hash % WORKER_ACCOUNTS;
}

/*
 * Returns the part of its burst, in ns, that the owner with the smallest debt has used; 0 for an
 * empty set.
 */
int64_t worker_accounts_used(const WorkerAccounts *accounts, uint64_t owners, int64_t now_ns);

/* Returns false if the allowance of every owner is used up. */
bool worker_accounts_may_ask(const WorkerAccounts *accounts, uint64_t owners, int64_t now_ns);

/* Charges the cost to the owner with the smallest debt. */
void worker_accounts_charge(WorkerAccounts *accounts, uint64_t owners, int64_t now_ns,
							int64_t cost_ns);

#endif
