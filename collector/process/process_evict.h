/*
 * process_evict.h
 *		Drops processes from the table, and revokes their verdicts.
 */
#ifndef COLLECTOR_PROCESS_EVICT_H
#define COLLECTOR_PROCESS_EVICT_H

#include "process/process_entry.h"

/*
 * Drops a process. The unwinder keeps its description until process_table_take_forgotten() returns
 * the image.
 */
void process_remove(ProcessTable *table, Process *process);

/*
 * Like process_remove(), but for a process that may still run: also revokes its verdict, because no
 * exit of the process will revoke it.
 */
void process_evict(ProcessTable *table, Process *process);

/* Evicts the least recently sampled process except kept, which may be NULL. */
bool process_evict_oldest(ProcessTable *table, const Process *kept);

/*
 * Charges the memory of the process's lists to its owner. If the total is too large, evicts other
 * processes of the owner with the most memory, least recently sampled first.
 */
void process_charge_mappings(ProcessTable *table, Process *process);

/* Passes the verdict on the process's samples to the kernel. */
void process_tell_verdict(const ProcessTable *table, const Process *process);

/* Releases a mapping that is known from the side-band only. */
void process_release_told(ProcessTable *table, Mapping *told);

#endif
