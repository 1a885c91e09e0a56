/*
 * worker_accounts.h
 *		Time of the symbol worker, an allowance for each owner of the processes that map files.
 *
 * Owners are hashed to 64 accounts under a secret seed, so that a file's owners are a set of bits
 * and nobody can choose whose account is shared. An account holds WORKER_ACCOUNT_BURST_NS and earns
 * a WORKER_ACCOUNT_SHARE th of a CPU. A file that several owners map is paid for by the one that
 * owes least, so that a library's names do not depend on the worst of its users.
 */
#ifndef COLLECTOR_WORKER_ACCOUNTS_H
#define COLLECTOR_WORKER_ACCOUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/allowance.h"

#define WORKER_ACCOUNTS			64
#define WORKER_ACCOUNT_BURST_NS INT64_C(3000000000) /* of CPU time at once */
#define WORKER_ACCOUNT_SHARE	50					/* in the long run: one part in so many */

typedef struct WorkerAccounts
{
	Allowance accounts[WORKER_ACCOUNTS];
} WorkerAccounts;

/* The account of an owner, as a set of one. */
static inline uint64_t
worker_account_of(uint64_t owner_hash)
{
	return UINT64_C(1) << owner_hash % WORKER_ACCOUNTS;
}

/* What the owner that owes least has used of its burst, 0 for nobody. */
int64_t worker_accounts_used(const WorkerAccounts *accounts, uint64_t owners, int64_t now_ns);

/* Returns false if every owner's allowance is used up. */
bool worker_accounts_may_ask(const WorkerAccounts *accounts, uint64_t owners, int64_t now_ns);

/* Charges the owner that owes least. */
void worker_accounts_charge(WorkerAccounts *accounts, uint64_t owners, int64_t now_ns,
							int64_t cost_ns);

#endif
