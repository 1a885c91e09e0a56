/*
 * functions.h
 *		The functions that the test programs spend their time in. BURN_INLINED makes them part of
 *		main.
 */
#ifndef E2E_FUNCTIONS_H
#define E2E_FUNCTIONS_H

#ifdef BURN_INLINED
#define BURN_LINKAGE static inline __attribute__((always_inline))
#else
#define BURN_LINKAGE __attribute__((noinline))
#endif

BURN_LINKAGE void burn_sixty(void);
BURN_LINKAGE void burn_thirty(void);
BURN_LINKAGE void burn_ten(void);

#endif
