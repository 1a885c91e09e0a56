/*
 * release.c
 *		A library to preload: uname() returns the release FAKE_RELEASE, so that tests see how the
 *		agent refuses a kernel that is not available.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

int
uname(struct utsname *names)
{
	const char *release = getenv("FAKE_RELEASE");
	long status = syscall(SYS_uname, names);

	if (status == 0 && release != NULL)
	{
		snprintf(names->release, sizeof(names->release), "%s", release);
		snprintf(names->version, sizeof(names->version), "#1 SMP");
	}
	return (int) status;
}
