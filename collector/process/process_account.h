/*
 * process_account.h
 *		Accounts of owners for memory and reads that their processes cause.
 */
#ifndef COLLECTOR_PROCESS_ACCOUNT_H
#define COLLECTOR_PROCESS_ACCOUNT_H

#include "process/process_entry.h"

/* Assign a new process to its owner, and release the charges of a dropped one. */
void process_join_owner(ProcessTable *table, Process *process);
void process_leave_owner(ProcessTable *table, Process *process);

/* Sets the memory that the owner is charged for the process's mappings. */
void process_charge(ProcessTable *table, Process *process, size_t bytes);

/*
 * Returns how many mappings of the process may be read: MAPPINGS_MAX, or REREAD_AT_ONE_COST if its
 * owner has used up its allowance for long lists.
 */
size_t process_mapping_limit(const ProcessTable *table, const Process *process, uint64_t now_ns);

/* Charges the read of a list of count mappings to the owner. */
void process_pay_reading(const Process *process, size_t count, uint64_t now_ns);

/* Frees owners without processes. Call it from time to time. */
void process_sweep_owners(ProcessTable *table, uint64_t now_ns);

#endif
