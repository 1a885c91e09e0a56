/*
 * test_capabilities.c
 *		The capabilities that root keeps, as the kernel reports them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/capabilities.h"

/* Reads a set of capabilities from /proc/self/status. */
static uint64_t
read_set(const char *name)
{
	FILE *file = fopen("/proc/self/status", "r");
	unsigned long long set = 0;
	char line[256];

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
	{
		if (strncmp(line, name, strlen(name)) == 0)
			(void) sscanf(line + strlen(name), ":\t%llx", &set);
	}
	if (file != NULL)
		fclose(file);
	return set;
}

/* Returns an exit code: 0, or the number of the set that holds too much. */
static int
drop_and_look(void)
{
	uint64_t before = read_set("CapPrm");
	uint64_t needed = capabilities_needed();

	if (capabilities_drop() != 0)
		return 1;
	if (read_set("CapPrm") != (before & needed) || read_set("CapEff") != (before & needed))
		return 2;
	if (read_set("CapInh") != 0 || (read_set("CapBnd") & ~needed) != 0)
		return 3;
	return 0;
}

static void
keeps_what_it_needs(void **state)
{
	int status;
	pid_t child;

	if (geteuid() != 0 || (~read_set("CapPrm") & (UINT64_C(3) << 38 | 1U << CAP_SETPCAP)) != 0)
		skip();
	child = fork();
	if (child == 0)
		_exit(drop_and_look());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void
needs_little(void **state)
{
	static const int never[] = { CAP_DAC_OVERRIDE, CAP_FOWNER,	   CAP_SYS_MODULE, CAP_SYS_RAWIO,
								 CAP_NET_ADMIN,	   CAP_SYS_CHROOT, CAP_MKNOD,	   CAP_SETFCAP };
	uint64_t needed = capabilities_needed();

	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		assert_int_equal(needed >> never[i] & 1, 0);
	assert_in_range(__builtin_popcountll(needed), 11, 12);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_what_it_needs),
		cmocka_unit_test(needs_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
