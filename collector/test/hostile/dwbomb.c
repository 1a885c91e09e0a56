/*
 * dwbomb.c
 *		A program whose DWARF has a unit of many entries, all equal, of one byte each: the
 *		compressed file has some kilobytes, and its DWARF unpacks to as many bytes as there are
 *		entries.
 */
#ifndef ENTRIES
#define ENTRIES 100000000
#endif

#define TEXT_OF(number) #number
#define TEXT(number)	TEXT_OF(number)

/* abbreviations: 1 a unit with code and name, 2 an entry without attributes */
__asm__(".pushsection .debug_abbrev,\"\",@progbits\n"
		"bomb_abbreviations:\n"
		".byte 1,0x11,1, 0x11,1, 0x12,7, 3,8, 0,0\n"
		".byte 2,0x34,0,0,0\n"
		".byte 0\n"
		".popsection\n"
		".pushsection .debug_info,\"\",@progbits\n"
		"1: .long 3f-2f\n"
		"2: .short 4\n"
		".long bomb_abbreviations\n"
		".byte 8\n"
		".byte 1\n"
		".quad spin\n"
		".quad 0x100000\n"
		".asciz \"x\"\n"
		".fill " TEXT(ENTRIES) ",1,2\n"
							   ".byte 0\n"
							   "3:\n"
							   ".popsection\n");

void spin(void);

__attribute__((noinline)) void
spin(void)
{
	for (;;)
		__asm__ volatile("");
}

int
main(void)
{
	spin();
	return 0;
}
