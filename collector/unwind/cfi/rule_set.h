/*
 * rule_set.h
 *		The distinct rules of all binaries, with 16-bit numbers.
 *
 * Compilers use few prologues: some thousand rules cover a whole system. Numbers are not freed
 * individually, so that rows in the kernel stay valid; number 0 is PFS_UNWIND_INVALID. No file may
 * add more than its share, which exceeds any compiler's output, so that a forged file harms only
 * itself.
 */
#ifndef COLLECTOR_RULE_SET_H
#define COLLECTOR_RULE_SET_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/table.h"
#include "unwind_types.h"

#define RULE_SET_RECENT 256

typedef struct RuleSet
{
	Budget budget;
	Table rules;  /* of struct pfs_unwind_rule; a rule's number is its position */
	uint32_t end; /* limit from the share of the current file */
	/* numbers of recently added rules, each in the slot that its bytes determine */
	uint16_t recent[RULE_SET_RECENT];
	uint64_t refused; /* rules refused because the set or the share was full */
} RuleSet;

#define RULE_SET_SHARE (PFS_UNWIND_RULES / 4)

/* Returns 0 or -ENOMEM. */
int rule_set_init(RuleSet *set);
void rule_set_fini(RuleSet *set);

/* Starts the rules of another file, which may add share rules; normally RULE_SET_SHARE. */
void rule_set_next_file(RuleSet *set, uint32_t share);

/*
 * Returns the rule's number. Returns 0 (invalid), and counts it, if the set or the file's share is
 * full or memory is short.
 */
uint16_t rule_set_add(RuleSet *set, const struct pfs_unwind_rule *rule);

static inline bool
rule_set_is_full(const RuleSet *set)
{
	return set->rules.count >= PFS_UNWIND_RULES;
}

static inline uint32_t
rule_set_count(const RuleSet *set)
{
	return set->rules.count;
}

static inline const struct pfs_unwind_rule *
rule_set_get(const RuleSet *set, uint16_t number)
{
	return table_item(&set->rules, number);
}

#endif
