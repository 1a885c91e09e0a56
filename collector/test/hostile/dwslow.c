/*
 * dwslow.c
 *		Like dwbomb.c, with fewer entries: its DWARF fits the symbol worker's memory, but takes long
 *		to read.
 */
#define ENTRIES 25000000
#include "dwbomb.c"
