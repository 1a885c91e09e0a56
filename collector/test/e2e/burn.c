/*
 * burn.c
 *		Burns CPU until it is told to stop.
 */
#include "functions.h"

#ifdef BURN_INLINED
#include "functions.c"
#endif

int
main(void)
{
	for (;;)
	{
		burn_sixty();
		burn_thirty();
		burn_ten();
	}
}
