/*
 * test_process_facts.c
 *		Facts about sampled processes: control groups, owners, environment, runtimes.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process_fixture.h"

/* A process that has ended belongs to the owner of other processes in its control group. */
static void
test_cgroup_of_gone(void **state)
{
	Fixture *fixture = *state;
	struct pfs_sample sample = sample_of(getpid());
	struct pfs_sample gone = { .pid = (1 << 22) + 1, .cgroup_id = 77, .parent_pid = (1 << 22) + 2 };
	char own[CGROUP_PATH_BYTES];

	sample.cgroup_id = 77;
	sample.time_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	snprintf(own, sizeof(own), "%s",
			 process_cgroup(process_table_get(fixture->processes, &sample, 1))->path);
	/* one sample, taken before the reading: the process may have been moved in between */
	gone.start_time_ns = 1;
	assert_string_equal(process_cgroup(process_table_get(fixture->processes, &gone, 1))->path, "");
	sample.time_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	(void) process_table_get(fixture->processes, &sample, 1);
	gone.start_time_ns = 2;
	assert_string_equal(process_cgroup(process_table_get(fixture->processes, &gone, 1))->path, own);
	/* an equal id in another hierarchy is another group */
	gone.start_time_ns = 3;
	gone.cgroup_id = 0;
	gone.controller_cgroup_id = 77;
	assert_string_equal(process_cgroup(process_table_get(fixture->processes, &gone, 1))->path, "");
}

/*
 * Finds the hierarchy in which this machine allows new groups: that of memory in version 1,
 * otherwise version 2.
 */
static bool
find_cgroups(char *path, size_t size)
{
	static const char *const places[] = { "/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified",
										  "/sys/fs/cgroup" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
	{
		snprintf(path, size, "%s/pfs-test-%d", places[i], getpid());
		if (mkdir(path, 0755) == 0)
			return true;
	}
	return false;
}

static void
move_to_cgroup(const char *place, pid_t pid)
{
	char file[256];
	FILE *members;

	snprintf(file, sizeof(file), "%s/cgroup.procs", place);
	members = fopen(file, "we");
	assert_non_null(members);
	fprintf(members, "%d\n", pid);
	assert_int_equal(fclose(members), 0);
}

/*
 * Groups that a service creates below its own belong to the service; other services and users are
 * other owners.
 */
static void
test_owners(void **state)
{
	Fixture *fixture = *state;
	static const char *const names[] = { "", "/a.service", "/a.service/1", "/a.service/2",
										 "/b.service" };
	pid_t user = start_mapper(1, 65001);
	pid_t pid = start_mapper(1, 0);
	uint64_t owners[5];
	struct pfs_sample sample;
	char place[128];
	char group[192];

	if (!find_cgroups(place, sizeof(place)))
	{
		stop_child(pid);
		stop_child(user);
		skip();
	}
	for (int i = 1; i < 5; i++)
	{
		snprintf(group, sizeof(group), "%s%s", place, names[i]);
		(void) mkdir(group, 0755);
		move_to_cgroup(group, pid);
		owners[i] = owner_of_process((uint32_t) pid);
		sample = sample_of(pid);
		sample.cgroup_id = 10 + (uint64_t) i;
		sample.exec_id += (uint64_t) i;
		assert_int_equal(process_owner(process_table_get(fixture->processes, &sample, 1)),
						 owners[i]);
	}
	move_to_cgroup(group, user);
	owners[0] = owner_of_process((uint32_t) user);
	stop_child(pid);
	stop_child(user);
	for (int i = 4; i >= 0; i--)
	{
		snprintf(group, sizeof(group), "%s%s", place, names[i]);
		(void) rmdir(group);
	}
	assert_int_equal(owners[1], owners[2]);
	assert_int_equal(owners[1], owners[3]);
	assert_int_not_equal(owners[1], owners[4]);
	assert_int_not_equal(owners[0], owners[4]);
	assert_int_equal(owner_of_process((uint32_t) pid), OWNER_ENDED);
}

/* A process that is moved has its new group's labels from the next sample on. */
static void
test_moved_to_cgroup(void **state)
{
	Fixture *fixture = *state;
	char place[128];
	pid_t pid = start_sleeper("/bin/sleep");
	struct pfs_sample sample = sample_of(pid);
	Process *process;

	if (!find_cgroups(place, sizeof(place)))
	{
		stop_child(pid);
		skip();
	}
	sample.cgroup_id = 1;
	process = process_table_get(fixture->processes, &sample, 1);
	assert_null(strstr(process_cgroup(process)->path, "pfs-test"));
	move_to_cgroup(place, pid);
	process = process_table_get(fixture->processes, &sample, 2);
	assert_null(strstr(process_cgroup(process)->path, "pfs-test"));
	sample.cgroup_id = 2;
	process = process_table_get(fixture->processes, &sample, 3);
	stop_child(pid);
	(void) rmdir(place);
	assert_non_null(strstr(process_cgroup(process)->path, "pfs-test"));
}

static uint32_t told_verdict;
static uint32_t told_pid;
static int told_count;

static void
note_verdict(void *context, const ExecImage *image, uint32_t verdict)
{
	assert_null(context);
	told_pid = image->pid;
	told_verdict = verdict;
	told_count++;
}

/*
 * The kernel gets the verdict on images whose stacks cannot be walked, and again after it has lost
 * it.
 */
static void
test_verdicts(void **state)
{
	Fixture *fixture = *state;
	struct pfs_sample gone = { .pid = (1 << 22) + 1, .flags = PFS_SAMPLE_LATE };
	struct pfs_sample sample = sample_of(getpid());
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	ProcessDescription description;
	Process *process;

	process_table_tell_verdicts(fixture->processes, note_verdict, NULL);
	told_count = 0;
	(void) process_table_get(fixture->processes, &gone, now_ns);
	assert_int_equal(told_pid, gone.pid);
	assert_int_equal(told_verdict, PFS_VERDICT_NO_COPY);
	(void) process_table_get(fixture->processes, &gone, now_ns);
	assert_int_equal(told_count, 2);
	gone.flags = 0;
	(void) process_table_get(fixture->processes, &gone, now_ns);
	assert_int_equal(told_count, 2);

	/* an image for whose mappings the unwinder has no memory, until it has */
	process = process_table_get(fixture->processes, &sample, now_ns);
	assert_int_equal(told_count, 2);
	assert_true(process_take_description(fixture->processes, process, &description));
	process_described(fixture->processes, process, 0, now_ns);
	assert_int_equal(told_pid, getpid());
	assert_int_equal(told_verdict, PFS_VERDICT_NO_COPY);
	process_described(fixture->processes, process, description.count, now_ns);
	assert_int_equal(told_verdict, 0);
	assert_int_equal(told_count, 4);
	process_description_fini(fixture->files, &description);
}

/* Returns true if the process has this environment variable. */
static bool
has_variable(const Process *process, const char *variable)
{
	const char *at = process_environment(process);

	while (at != NULL && *at != '\0' && strcmp(at, variable) != 0)
		at += strlen(at) + 1;
	return at != NULL && *at != '\0';
}

/*
 * Of a process's initial environment the wanted variables are known, and others once they are
 * wanted.
 */
static void
test_environment(void **state)
{
	Fixture *fixture = *state;
	const char *const wanted[] = { "SERVICE", "LONG" };
	const char *const other[] = { "OTHER" };
	char longer[2 * PROC_VALUE_BYTES] = "LONG=";
	char service[] = "SERVICE=shop";
	char another[] = "OTHER=b";
	char empty[] = "";
	char path[] = "/bin/sleep";
	char seconds[] = "60";
	char *const arguments[] = { path, seconds, NULL };
	char *const variables[] = { service, empty, another, longer, NULL };
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	struct pfs_sample sample;
	Process *process;
	pid_t child;

	memset(longer + 5, 'x', sizeof(longer) - 6);
	child = start_with(arguments, variables);
	sample = sample_of(child);
	process = process_table_get(fixture->processes, &sample, now_ns);
	assert_null(process_environment(process));
	assert_int_equal(process_table_want_environment(fixture->processes, wanted, 2), 0);
	process = process_table_get(fixture->processes, &sample, now_ns);
	assert_true(has_variable(process, "SERVICE=shop"));
	assert_false(has_variable(process, "OTHER=b"));
	longer[5 + PROC_VALUE_BYTES] = '\0';
	assert_true(has_variable(process, longer));
	process_labels(process)->stale = false;
	assert_int_equal(process_table_want_environment(fixture->processes, other, 1), 0);
	process = process_table_get(fixture->processes, &sample, now_ns);
	assert_true(has_variable(process, "OTHER=b"));
	assert_true(process_labels(process)->stale);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static const char *
runtime_of(const char *exe, const char *library)
{
	Mapping mapping = { .map = { .name = library }, .kind = MAPPING_FILE };
	MappingList list = { .mappings = &mapping, .count = library[0] != '\0' };

	return runtime_find(exe, &list);
}

static void
test_runtimes(void **state)
{
	assert_string_equal(runtime_of("/usr/bin/python3.11", ""), "python");
	assert_string_equal(runtime_of("/usr/bin/node", ""), "nodejs");
	assert_string_equal(runtime_of("/usr/sbin/php-fpm8.2", ""), "php");
	assert_string_equal(runtime_of("/opt/erlang/beam.smp", ""), "erlang");
	assert_string_equal(runtime_of("/usr/bin/luajit-2.1.0", ""), "luajit");
	assert_string_equal(runtime_of("/usr/bin/app", "/usr/lib/jvm/lib/server/libjvm.so"), "java");
	assert_string_equal(runtime_of("/usr/bin/app", "/usr/lib/libpython3.11.so.1.0"), "python");
	assert_string_equal(runtime_of("/usr/bin/python3", "/usr/lib/libperl.so.5.36"), "python");
	assert_string_equal(runtime_of("/usr/bin/app", "/usr/lib/x86_64-linux-gnu/libc.so.6"), "");
	assert_string_equal(runtime_of("/usr/bin/node_exporter", ""), "");
	assert_string_equal(runtime_of("/usr/bin/nodeup", ""), "");
	assert_string_equal(runtime_of("/usr/bin/monitor", ""), "");
	assert_string_equal(runtime_of("", ""), "");
}

/* No sample shows that a dropped process has become another image: it is checked again. */
static void
test_drops_end(void **state)
{
	Fixture *fixture = *state;
	struct pfs_sample sample = sample_of(getpid());
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	const uint64_t minute_ns = 60 * UINT64_C(1000000000);
	Process *process;

	process_table_tell_verdicts(fixture->processes, note_verdict, NULL);
	process = process_table_get(fixture->processes, &sample, now_ns);
	process_set_verdict(fixture->processes, process, PFS_VERDICT_DROP, true);
	assert_int_equal(told_verdict, PFS_VERDICT_DROP);
	process_table_sweep(fixture->processes, now_ns + minute_ns);
	assert_int_equal(told_verdict, PFS_VERDICT_DROP);
	process_table_sweep(fixture->processes, now_ns + minute_ns + 1);
	assert_int_equal(told_verdict, 0);
	assert_true(process_labels(process)->stale);
	/* a dropped process is checked at once if new facts are known */
	process_set_verdict(fixture->processes, process, PFS_VERDICT_DROP, true);
	process_table_judge_again(fixture->processes, UINT64_MAX);
	assert_int_equal(told_verdict, 0);
	/* it would stay dropped if the process was forgotten */
	process_set_verdict(fixture->processes, process, PFS_VERDICT_DROP, true);
	process_evict(fixture->processes, process);
	assert_int_equal(told_verdict, 0);
}

/*
 * A caller that may not signal a process still finds its files below its root. Returns exit code 0.
 */
static int
find_root_as_nobody(pid_t parent)
{
	Process process = { .key = { .pid = (uint64_t) parent }, .parent_pid = 0 };

	if (setresuid(65534, 65534, 65534) != 0 || kill(parent, 0) == 0)
		return 1;
	return process_root_pid(&process) == (uint32_t) parent ? 0 : 2;
}

static void
test_root_without_right_to_signal(void **state)
{
	pid_t parent = getpid();
	int status;
	pid_t child;

	if (geteuid() != 0)
		skip();
	child = fork();
	if (child == 0)
		_exit(find_root_as_nobody(parent));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_cgroup_of_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_moved_to_cgroup, setup, teardown),
		cmocka_unit_test_setup_teardown(test_owners, setup, teardown),
		cmocka_unit_test_setup_teardown(test_verdicts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_drops_end, setup, teardown),
		cmocka_unit_test(test_runtimes),
		cmocka_unit_test_setup_teardown(test_environment, setup, teardown),
		cmocka_unit_test(test_root_without_right_to_signal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
