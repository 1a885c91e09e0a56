/*
 * table_account.h
 *		Limits the CPU time for making unwind tables, by the owner of the processes that want them.
 *
 * An owner (process/owner.h) may use a quarter of --max-cpu for its tables in the long run, and
 * half a minute of --max-cpu at once. While the agent uses more than --max-cpu, tables are made
 * only for owners without debt. If the walks of one owner need more tables than fit at once, these
 * tables keep replacing each other; the limit bounds how fast they are rebuilt, and tables of other
 * owners are made without delay.
 */
#ifndef COLLECTOR_TABLE_ACCOUNT_H
#define COLLECTOR_TABLE_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/allowance.h"

#define TABLE_ACCOUNT_OWNERS 64

typedef struct TableAccount
{
	uint64_t cpu_percent; /* percent of one CPU, from --max-cpu; 0: no limit */
	bool resting;		  /* the agent uses more CPU time than cpu_percent */
	KeyedAllowance owners[TABLE_ACCOUNT_OWNERS];
} TableAccount;

/* Returns true if a table may be made for the owner. */
bool table_account_may(const TableAccount *account, uint64_t owner, uint64_t now_ns);

/* Charges the CPU time of a table to the owner. */
void table_account_charge(TableAccount *account, uint64_t owner, uint64_t now_ns, uint64_t cpu_ns);

#endif
