/*
 * walks.c
 *		A program whose stacks are hard to walk. All of its CPU time goes into burn(), below
 *		functions that the mode names.
 *
 *		walks plain MS			main, outer, middle
 *		walks signal MS			… a handler on a stack of its own, and what it interrupted
 *		walks assembly MS		… functions of assembly.S, a third of the time below each
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SIGNAL_STACK_BYTES (256 * 1024)

void with_cfi(void (*callee)(void));
void with_frame_pointer(void (*callee)(void));
void with_nothing(void (*callee)(void));

static volatile unsigned sink;
static long burn_ms;

__attribute__((noinline)) static void
burn(void)
{
	clock_t until = clock() + burn_ms * (CLOCKS_PER_SEC / 1000);
	unsigned value = sink;

	while (clock() < until)
	{
		for (unsigned i = 0; i < 100000; i++)
			value = value * 1664525u + 1013904223u;
		sink = value;
	}
}

__attribute__((noinline)) static void
middle(void)
{
	volatile char pad[64];

	pad[0] = 0;
	burn();
	pad[1] = pad[0];
}

__attribute__((noinline)) static void
outer(void)
{
	volatile char pad[200];

	pad[0] = 0;
	middle();
	pad[1] = pad[0];
}

__attribute__((noinline)) static void
on_signal(int signal_number)
{
	(void) signal_number;
	burn();
	sink++;
}

__attribute__((noinline)) static int
interrupted(void)
{
	stack_t stack = { .ss_sp = malloc(SIGNAL_STACK_BYTES), .ss_size = SIGNAL_STACK_BYTES };
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_signal;
	action.sa_flags = SA_ONSTACK;
	if (stack.ss_sp == NULL || sigaltstack(&stack, NULL) != 0 ||
		sigaction(SIGUSR1, &action, NULL) != 0)
		return 1;
	return raise(SIGUSR1);
}

#ifdef WITH_ASSEMBLY
__attribute__((noinline)) static void
below_assembly(void)
{
	burn_ms /= 3;
	with_cfi(burn);
	sink++;
	with_frame_pointer(burn);
	sink++;
	with_nothing(burn);
	sink++;
}
#endif

int
main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	burn_ms = atol(argv[2]);
	if (strcmp(argv[1], "signal") == 0)
		return interrupted();
#ifdef WITH_ASSEMBLY
	if (strcmp(argv[1], "assembly") == 0)
		below_assembly();
#endif
	if (strcmp(argv[1], "plain") == 0)
		outer();
	return 0;
}
