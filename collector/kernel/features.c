/*
 * features.c
 *		Checks which features the kernel and the process's capabilities offer.
 */
#include "kernel/features.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/libbpf.h>
#include <linux/perf_event.h>

#include "base/log.h"
#include "kernel/capabilities.h"
#include "kernel/kernel_version.h"

#define BTF_FILE "/sys/kernel/btf/vmlinux"

/* Inode number of the initial pid namespace in every kernel (PROC_PID_INIT_INO). */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu

static uint64_t
effective_capabilities(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (syscall(SYS_capget, &header, data) != 0)
		return 0;
	return (uint64_t) data[1].effective << 32 | data[0].effective;
}

static bool
has_capability(uint64_t capabilities, int capability)
{
	return (capabilities >> capability & 1) != 0;
}

/* Returns true if the process has the capability, or CAP_SYS_ADMIN, from which it was split off. */
static bool
has_capability_or_admin(uint64_t capabilities, int capability)
{
	return has_capability(capabilities, capability) || has_capability(capabilities, CAP_SYS_ADMIN);
}

static Feature *
features_add(Feature *features, size_t *count, const char *group, const char *name,
			 FeatureNeed need, bool present, const char *consequence)
{
	Feature *feature = &features[(*count)++];

	feature->group = group;
	feature->name = name;
	feature->need = need;
	feature->present = present;
	feature->consequence = consequence;
	feature->hint = NULL;
	feature->detail[0] = '\0';
	return feature;
}

static bool
probe_perf_event(int *error)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = 1,
		.freq = 1,
		.disabled = 1,
	};
	/* Opening the event shows whether it is permitted; it need not count. */
	int fd = (int) syscall(SYS_perf_event_open, &attributes, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	*error = fd < 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool
in_initial_pid_namespace(void)
{
	struct stat status;

	return stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == INITIAL_PID_NAMESPACE;
}

static void
probe_version(bool allow_unsafe_kernel, Feature *features, size_t *count)
{
	char text[128];
	bool locks_up = kernel_locks_up(text, sizeof(text));
	Feature *feature = features_add(
		features, count, "kernel", "user_copy_in_interrupt",
		allow_unsafe_kernel ? FEATURE_WANTED : FEATURE_REQUIRED, !locks_up,
		"This kernel can lock up when user stacks are read in interrupts. Affected are 5.19, 6.0, "
		"6.1 before 6.1.36, 6.2, and 6.3 before 6.3.10.");

	feature->hint = "Update the kernel. If the distribution has backported the fix (\"mm: Fix "
					"copy_from_user_nofault()\"), add --allow-unsafe-kernel.";
	if (!locks_up)
		memcpy(feature->detail, text, sizeof(text));
}

/* Adds the features that every agent requires of the kernel. */
static void
probe_kernel(Feature *features, size_t *count)
{
	Feature *feature;
	int error;

	feature = features_add(features, count, "kernel", "btf", FEATURE_REQUIRED,
						   access(BTF_FILE, R_OK) == 0,
						   "The kernel must be built with CONFIG_DEBUG_INFO_BTF.");
	snprintf(feature->detail, sizeof(feature->detail), BTF_FILE);
	features_add(
		features, count, "kernel", "bpf_perf_event", FEATURE_REQUIRED,
		libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_PERF_EVENT, NULL) > 0,
		"BPF programs on perf events require CONFIG_BPF_EVENTS and permission to load BPF.");
	features_add(features, count, "kernel", "bpf_ring_buffer", FEATURE_REQUIRED,
				 libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, NULL) > 0,
				 "BPF ring buffers require Linux 5.8 and permission to load BPF.");
	feature = features_add(
		features, count, "kernel", "perf_event", FEATURE_REQUIRED, probe_perf_event(&error),
		"Perf events on all processes require CAP_PERFMON; see kernel.perf_event_paranoid.");
	if (error != 0)
		snprintf(feature->detail, sizeof(feature->detail), "%s", strerror(error));
	features_add(
		features, count, "kernel", "host_pid_namespace", FEATURE_REQUIRED,
		in_initial_pid_namespace(),
		"Processes are looked up under /proc by the host's pids: run the container with the "
		"host's pid namespace (hostPID: true).");
}

/* Adds the capabilities that the agent requires, and those without which samples lack something. */
static void
probe_privileges(Feature *features, size_t *count)
{
	uint64_t capabilities = effective_capabilities();

	features_add(features, count, "privilege", "CAP_BPF", FEATURE_REQUIRED,
				 has_capability_or_admin(capabilities, CAP_BPF), "BPF programs cannot be loaded.");
	features_add(features, count, "privilege", "CAP_PERFMON", FEATURE_REQUIRED,
				 has_capability_or_admin(capabilities, CAP_PERFMON),
				 "Perf events cannot be opened, kernel memory cannot be read by BPF.");
	features_add(features, count, "privilege", "CAP_SYS_PTRACE", FEATURE_WANTED,
				 has_capability(capabilities, CAP_SYS_PTRACE),
				 "Mappings of other users' processes cannot be read, so their frames are unknown.");
	features_add(features, count, "privilege", "CAP_DAC_READ_SEARCH", FEATURE_WANTED,
				 has_capability(capabilities, CAP_DAC_READ_SEARCH) ||
					 has_capability(capabilities, CAP_DAC_OVERRIDE),
				 "Executables that are not world-readable have no symbols.");
	features_add(features, count, "privilege", "CAP_CHECKPOINT_RESTORE", FEATURE_WANTED,
				 has_capability_or_admin(capabilities, CAP_CHECKPOINT_RESTORE),
				 "Mapped files that were deleted have no symbols.");
	features_add(
		features, count, "privilege", "CAP_SYS_NICE", FEATURE_WANTED,
		has_capability(capabilities, CAP_SYS_NICE),
		"On a busy machine samples are handled late, and processes may end before they are read.");
	/* only an agent that runs as root needs these, because its worker runs as another user */
	if (geteuid() == 0)
		features_add(
			features, count, "privilege", "CAP_SETUID,SETGID,KILL", FEATURE_WANTED,
			has_capability(capabilities, CAP_SETUID) && has_capability(capabilities, CAP_SETGID) &&
				has_capability(capabilities, CAP_KILL),
			"The symbol worker, which reads untrusted files, runs as root or cannot be stopped.");
	features_add(features, count, "privilege", "CAP_SYSLOG", FEATURE_WANTED,
				 has_capability(capabilities, CAP_SYSLOG),
				 "Kernel addresses are hidden, so kernel frames have no names.");
}

/* Reads the first line of a file; "" if it cannot be read. */
static void
features_read_line(const char *path, char line[128])
{
	FILE *file = fopen(path, "re");

	if (file == NULL || fgets(line, 128, file) == NULL)
		line[0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (file != NULL)
		fclose(file);
}

static bool
can_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Tests whether the memory of a process can be read. Returns 0 or errno. */
static int
read_memory_of(pid_t pid)
{
	uint8_t byte = 0;
	const struct iovec local = { &byte, sizeof(byte) };
	const struct iovec remote = { &byte, sizeof(byte) };

	/* The process is a child made by fork(), so this variable has the same address there. */
	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t) sizeof(byte) ? 0 : errno;
}

size_t
features_probe_processes(Feature features[FEATURES_MAX], size_t count)
{
	char path[64];
	char scope[128];
	Feature *feature;
	pid_t child = fork();
	int error;

	if (child == 0)
	{
		(void) pause();
		_exit(0);
	}
	if (child < 0)
		return count;
	/* Test with a child, because a process may always read its own memory and mappings. */
	error = read_memory_of(child);
	features_read_line("/proc/sys/kernel/yama/ptrace_scope", scope);
	feature = features_add(
		features, &count, "privilege", "process_memory", FEATURE_WANTED, error == 0,
		"Memory of other processes cannot be read, so stacks of ongoing waits, generated code and "
		"trampolines are incomplete.");
	if (error != 0)
		snprintf(feature->detail, sizeof(feature->detail), "%s%s.",
				 strcmp(scope, "3") == 0 ? "kernel.yama.ptrace_scope is 3 until the next boot: "
										 : "",
				 strerror(error));
	snprintf(path, sizeof(path), "/proc/%d/maps", (int) child);
	(void) features_add(features, &count, "privilege", "process_mappings", FEATURE_WANTED,
						can_open(path),
						"Mappings of other processes cannot be read, so their frames are unknown.");
	(void) kill(child, SIGKILL);
	(void) waitpid(child, NULL, 0);
	return count;
}

/* Checks lockdown. In its mode "confidentiality" BPF programs may not read the kernel's memory. */
static void
probe_lockdown(Feature *features, size_t *count)
{
	char modes[128];
	Feature *feature;

	/* If the file cannot be read, as on kernels without lockdown, no mode is assumed. */
	features_read_line("/sys/kernel/security/lockdown", modes);
	feature = features_add(
		features, count, "kernel", "lockdown", FEATURE_REQUIRED,
		strstr(modes, "[confidentiality]") == NULL,
		"In lockdown mode \"confidentiality\" BPF programs cannot read kernel memory.");
	snprintf(feature->detail, sizeof(feature->detail), "%s", modes);
}

/*
 * Logs messages of libbpf at level debug, because they address developers; our own messages explain
 * the consequences to users.
 */
static int __attribute__((format(printf, 2, 0)))
on_libbpf_message(enum libbpf_print_level level, const char *format, va_list arguments)
{
	char text[1024];
	size_t length;

	(void) level;
	vsnprintf(text, sizeof(text), format, arguments);
	length = strlen(text);
	if (length > 0 && text[length - 1] == '\n')
		text[length - 1] = '\0';
	log_event(LOG_DEBUG, "libbpf", "message of the BPF library", log_text("detail", text));
	return 0;
}

size_t
features_probe(bool allow_unsafe_kernel, Feature features[FEATURES_MAX])
{
	size_t count = 0;

	libbpf_set_print(on_libbpf_message);
	probe_version(allow_unsafe_kernel, features, &count);
	probe_kernel(features, &count);
	probe_lockdown(features, &count);
	probe_privileges(features, &count);
	return count;
}

ExitCode
features_check(bool allow_unsafe_kernel, Failure *failure)
{
	Feature features[FEATURES_MAX];
	size_t count = features_probe(allow_unsafe_kernel, features);
	const char *hint = NULL;
	char missing[sizeof(failure->detail) - 32] = "";
	const char *consequence = NULL;

	for (size_t i = 0; i < count; i++)
	{
		size_t used = strlen(missing);

		if (features[i].need != FEATURE_REQUIRED || features[i].present)
			continue;
		snprintf(missing + used, sizeof(missing) - used, "%s%s", used > 0 ? ", " : "",
				 features[i].name);
		/*
		 * without a capability other checks fail as well, so report the missing capability as the
		 * reason
		 */
		if (consequence == NULL || strncmp(features[i].name, "CAP_", 4) == 0)
		{
			consequence = features[i].consequence;
			hint = features[i].hint;
		}
	}
	if (consequence == NULL)
		return EXIT_OK;
	failure_set(failure, EXIT_PRIVILEGE, "cannot sample on this host");
	failure_detail(failure, "Missing: %s. %s", missing, consequence);
	failure_hint(failure, "%s",
				 hint != NULL
					 ? hint
					 : "Run as root, or with CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_SYSLOG and "
					   "CAP_CHECKPOINT_RESTORE; for details run \"profstore-collector check\".");
	return failure->code;
}
