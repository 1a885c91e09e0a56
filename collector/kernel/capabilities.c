/*
 * capabilities.c
 *		Drops capabilities. The bounding set comes first, because changing it needs CAP_SETPCAP.
 */
#include "kernel/capabilities.h"

#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PARANOID_FILE "/proc/sys/kernel/perf_event_paranoid"

static const int needed[] = {
	CAP_BPF,	  CAP_PERFMON, CAP_SYS_PTRACE,	 CAP_DAC_READ_SEARCH, CAP_CHECKPOINT_RESTORE,
	CAP_SYS_NICE, CAP_SYSLOG,  CAP_SYS_RESOURCE, CAP_SETUID,		  CAP_SETGID,
	CAP_KILL,
};

/*
 * Returns the capabilities for perf events. Kernels of some distributions have a
 * perf_event_paranoid level above 2, at which CAP_PERFMON is not enough.
 */
static uint64_t
needed_for_perf(void)
{
	FILE *file = fopen(PARANOID_FILE, "re");
	int level = 0;

	if (file == NULL)
		return 0;
	if (fscanf(file, "%d", &level) != 1)
		level = 0;
	fclose(file);
	return level > 2 ? UINT64_C(1) << CAP_SYS_ADMIN : 0;
}

uint64_t
capabilities_needed(void)
{
	uint64_t set = needed_for_perf();

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		set |= UINT64_C(1) << needed[i];
	return set;
}

int
capabilities_drop(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };
	uint64_t kept = capabilities_needed();
	uint64_t permitted;

	if (syscall(SYS_capget, &header, data) != 0)
		return -errno;
	permitted = (uint64_t) data[1].permitted << 32 | data[0].permitted;
	/*
	 * If only CAP_SYS_ADMIN was granted, keep it in place of the newer capabilities that were split
	 * off from it.
	 */
	if ((~permitted & (UINT64_C(1) << CAP_BPF | UINT64_C(1) << CAP_PERFMON)) != 0)
		kept |= UINT64_C(1) << CAP_SYS_ADMIN;
	/*
	 * Without CAP_SETPCAP the bounding set stays as it is, which only affects programs that root
	 * starts.
	 */
	for (int capability = 0; capability < 64; capability++)
	{
		if ((kept >> capability & 1) == 0)
			(void) prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
	}
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
	{
		data[i].permitted &= (uint32_t) (kept >> 32 * i);
		data[i].effective &= data[i].permitted;
		data[i].inheritable &= data[i].permitted;
	}
	return syscall(SYS_capset, &header, data) == 0 ? 0 : -errno;
}
