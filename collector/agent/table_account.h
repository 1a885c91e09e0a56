/*
 * table_account.h
 *		The CPU time that unwind tables may take, by the owner of the processes that want them.
 *
 * An owner (process/owner.h) has a quarter of --max-cpu for its tables in the long run, and half a
 * minute of --max-cpu at once. While the agent takes more than --max-cpu allows, only owners that
 * have nothing to pay back get tables. So tables that turn, because one owner's take more room than
 * there is, come back no faster than that, and those of other owners are not affected.
 */
#ifndef COLLECTOR_TABLE_ACCOUNT_H
#define COLLECTOR_TABLE_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/allowance.h"

#define TABLE_ACCOUNT_OWNERS 64

typedef struct TableAccount
{
	uint64_t cpu_percent; /* --max-cpu, of one CPU; 0: no limit */
	bool resting;		  /* the agent takes more than that */
	KeyedAllowance owners[TABLE_ACCOUNT_OWNERS];
} TableAccount;

/* May a table be made for the owner? */
bool table_account_may(const TableAccount *account, uint64_t owner, uint64_t now_ns);

/* One was made, and took so much CPU time. */
void table_account_charge(TableAccount *account, uint64_t owner, uint64_t now_ns, uint64_t cpu_ns);

#endif
