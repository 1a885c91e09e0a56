/*
 * cfi_program.h
 *		Runs the instructions of one FDE on the abstract machine of DWARF 5 section 6.4.2.
 */
#ifndef COLLECTOR_CFI_PROGRAM_H
#define COLLECTOR_CFI_PROGRAM_H

#include <stdbool.h>

#include "unwind/cfi/cfi_reader.h"
#include "unwind/cfi/rule_set.h"
#include "unwind_types.h"

/* Receives each row of the FDE, in ascending order. Returns 0; an -errno ends the run. */
typedef int (*CfiRowSink)(void *context, uint64_t address, const struct pfs_unwind_rule *rule);

/* Like a CfiRowSink, but receives the number of the rule in the rule set. */
typedef int (*CfiNumberSink)(void *context, uint64_t address, uint16_t rule);

typedef struct CfiMachine CfiMachine;

/*
 * Creates a machine for the FDEs of one file, whose rules are added to the set. It caches the
 * states of CIEs and some rules. *steps_left limits the instructions that it runs for all FDEs
 * together. Returns NULL if out of memory.
 */
CfiMachine *cfi_machine_create(uint16_t machine, RuleSet *rules, uint64_t *steps_left);
void cfi_machine_free(CfiMachine *machine); /* accepts NULL */

/*
 * Runs the program of an FDE. Returns 0; -EBADMSG if it is malformed (earlier rows are valid);
 * -E2BIG if no steps are left; or the sink's error. *unsupported counts the rows that became
 * PFS_UNWIND_INVALID.
 */
int cfi_program_run(CfiMachine *machine, const CfiFde *fde, CfiNumberSink sink, void *context,
					uint64_t *unsupported);

/* Recognizes a CFA that is given as an expression. Returns false if rules cannot express it. */
bool cfi_recognize_cfa(const uint8_t *expression, size_t length, uint16_t machine,
					   struct pfs_unwind_rule *rule);

/*
 * Recognizes a register that is saved at the address of an expression of one register and an offset
 * (DW_OP_breg), the form that compilers emit for realigned stacks.
 */
bool cfi_recognize_address(const uint8_t *expression, size_t length, uint8_t *dwarf_register,
						   int64_t *offset);

#endif
