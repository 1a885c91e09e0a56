/*
 * unwind_rule.h
 *		How to get from a frame to its caller: what the CFI compiler makes and the walker applies.
 *
 * One rule per stretch of code. With the registers of the frame at hand:
 *
 *		CFA       = value(cfa_register) + cfa_offset              for UNWIND_CFI
 *		CFA       = *(value(cfa_register) + cfa_offset) + cfa_add  with UNWIND_CFA_DEREF
 *		caller pc = *(CFA + ra_offset), or the register ra_register where UNWIND_RA_IN_REGISTER is set
 *		caller fp = the fp itself (UNWIND_FP_SAME), *(CFA + fp_offset) (UNWIND_FP_AT_CFA), or
 *		            *(fp + fp_offset) (UNWIND_FP_AT_FP)
 *		caller sp = CFA
 *
 * Registers carry their DWARF numbers (System V x86-64 psABI table 3.36; AArch64 DWARF ABI section 4.1). Only the stack and
 * the frame pointer are followed from frame to frame; a rule on any other register holds for the innermost frame
 * alone, where the kernel has saved all of them.
 */
#ifndef COLLECTOR_UNWIND_RULE_H
#define COLLECTOR_UNWIND_RULE_H

#include <stdint.h>

typedef enum UnwindKind
{
	UNWIND_INVALID = 0,	 /* nothing known here: no CFI covers it, or CFI that we do not express */
	UNWIND_CFI,			 /* the formulas above */
	UNWIND_END_OF_STACK, /* the return address is undefined: a proven root */
	UNWIND_PLT,	  /* a lazy PLT entry: CFA = sp + 8, 8 more from byte plt_threshold of each 16 on */
	UNWIND_SIGNAL /* signal trampoline: all registers lie in the frame that the kernel pushed */
} UnwindKind;

typedef enum UnwindFp
{
	UNWIND_FP_SAME = 0,
	UNWIND_FP_AT_CFA,
	UNWIND_FP_AT_FP,
	UNWIND_FP_LOST /* overwritten, or saved in a way that we do not express: unusable above this frame */
} UnwindFp;

#define UNWIND_CFA_DEREF	  0x01
#define UNWIND_RA_IN_REGISTER 0x02

typedef struct UnwindRule
{
	uint8_t kind;		  /* UnwindKind */
	uint8_t cfa_register; /* DWARF number */
	uint8_t fp;			  /* UnwindFp */
	uint8_t flags;
	int32_t cfa_offset; /* bytes */
	int16_t fp_offset;	/* bytes */
	union
	{
		int16_t ra_offset;	   /* bytes, from the CFA */
		int16_t ra_register;   /* DWARF number, with UNWIND_RA_IN_REGISTER */
		int16_t plt_threshold; /* UNWIND_PLT */
	};
	int16_t cfa_add; /* bytes, with UNWIND_CFA_DEREF */
	int16_t unused;	 /* 0, so that rules compare by their bytes */
} UnwindRule;

_Static_assert(sizeof(UnwindRule) == 16, "rules are compared and shared by their bytes");

#endif
