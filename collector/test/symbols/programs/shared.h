/* A function that is inlined into both units. */
static inline __attribute__((always_inline)) unsigned
shared_turn(unsigned a, unsigned by)
{
	for (unsigned i = 0; i < by; i++)
		a = a << 3 | a >> 29;
	return a;
}

unsigned shared_sum(unsigned count);
