/*
 * rule_set.h
 *		The distinct rules of all binaries, with 16-bit numbers.
 *
 * Compilers emit few kinds of prologues: some thousand rules cover a whole system. Numbers are not
 * freed individually, because rows in the kernel contain them; number 0 is PFS_UNWIND_INVALID. No
 * file may add more rules than its share, which exceeds any compiler's output, so a forged file
 * harms only itself.
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
	Table rules;  /* table of struct pfs_unwind_rule; a rule's number is its position */
	uint32_t end; /* number at which the share of the current file ends */
	/* Numbers of recently added rules; the bytes of a rule determine its slot. */
	uint16_t recent[RULE_SET_RECENT];
	uint64_t refused; /* rules refused because the set or the share was full */
} RuleSet;

#define RULE_SET_SHARE (PFS_UNWIND_RULES / 4)

/* Makes a set that contains only the invalid rule. Returns 0 or -ENOMEM. */
int rule_set_init(RuleSet *set);
void rule_set_fini(RuleSet *set);

/* Starts the rules of the next file, which may add "share" rules; normally RULE_SET_SHARE. */
void rule_set_next_file(RuleSet *set, uint32_t share);

/*
 * Adds a rule unless the set contains it, and returns its number. Returns 0 (invalid), and counts a
 * refusal, if the set or the file's share is full, or on out of memory.
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
