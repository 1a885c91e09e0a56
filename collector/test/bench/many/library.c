/*
 * library.c
 *		One of many libraries: functions whose frames differ from library to library.
 */
#include <string.h>

#define LEVEL(number, next)                                              \
	static __attribute__((noinline)) unsigned level_##number(unsigned n) \
	{                                                                    \
		volatile unsigned char room[16 + 8 * ((NUMBER + number) % 97)];  \
		memset((void *) room, (int) n, sizeof(room));                    \
		return next(n + room[n % sizeof(room)]) + number;                \
	}

static __attribute__((noinline)) unsigned
leaf(unsigned n)
{
	for (unsigned i = 0; i < 2000; i++)
		n = n * 1664525 + NUMBER;
	return n;
}

LEVEL(0, leaf)
LEVEL(1, level_0)
LEVEL(2, level_1)
LEVEL(3, level_2)
LEVEL(4, level_3)
LEVEL(5, level_4)
LEVEL(6, level_5)
LEVEL(7, level_6)
LEVEL(8, level_7)
LEVEL(9, level_8)
LEVEL(10, level_9)
LEVEL(11, level_10)

unsigned work(unsigned n);

unsigned
work(unsigned n)
{
	return level_11(n) + 1;
}
