/*
 * test_features.c
 *		Kernels that can lock up are refused, with reason and hint, unless they are allowed by a
 *		flag.
 *
 * The program replaces uname(); everything else is that of this machine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/utsname.h>

#include "kernel/features.h"

static const char *release;
static const char *build;

int
uname(struct utsname *names)
{
	memset(names, 0, sizeof(*names));
	snprintf(names->sysname, sizeof(names->sysname), "Linux");
	snprintf(names->release, sizeof(names->release), "%s", release);
	snprintf(names->version, sizeof(names->version), "%s", build);
	return 0;
}

static int refusal; /* errno of reading memory of processes; 0: allowed */

ssize_t
process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count,
				 const struct iovec *remote, unsigned long remote_count, unsigned long flags)
{
	(void) pid, (void) local, (void) local_count, (void) remote, (void) remote_count, (void) flags;
	errno = refusal;
	return refusal != 0 ? -1 : 1;
}

static void
be_kernel(const char *its_release, const char *its_build)
{
	release = its_release;
	build = its_build;
}

static Feature
feature_of(const char *name, bool allowed)
{
	Feature features[FEATURES_MAX];
	size_t count = features_probe_processes(features, features_probe(allowed, features));

	for (size_t i = 0; i < count; i++)
		if (strcmp(features[i].name, name) == 0)
			return features[i];
	fail_msg("%s is not among %zu features", name, count);
	return (Feature){ 0 };
}

static Feature
feature_of_copies(bool allowed)
{
	return feature_of("user_copy_in_interrupt", allowed);
}

/*
 * If a security module forbids reading memory of processes, this is reported, but sampling
 * continues.
 */
static void
test_process_memory(void **state)
{
	static const int refusals[] = { EPERM, EACCES, ENOSYS };
	Feature feature;

	be_kernel("6.12.0", "#1 SMP");
	refusal = 0;
	assert_true(feature_of("process_memory", false).present);
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
	{
		refusal = refusals[i];
		feature = feature_of("process_memory", false);
		assert_false(feature.present);
		assert_int_equal(feature.need, FEATURE_WANTED);
		assert_non_null(strstr(feature.detail, strerror(refusal)));
		assert_non_null(strstr(feature.consequence, "are incomplete"));
	}
	refusal = 0;
}

static void
test_refused(void **state)
{
	Failure failure = { 0 };
	Feature feature;

	be_kernel("6.1.0-9-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.27-1 (2023-05-08)");
	feature = feature_of_copies(false);
	assert_false(feature.present);
	assert_int_equal(feature.need, FEATURE_REQUIRED);
	assert_int_equal(features_check(false, &failure), EXIT_PRIVILEGE);
	assert_string_equal(failure.message, "cannot sample on this host");
	assert_non_null(strstr(failure.detail, "user_copy_in_interrupt"));
}

/* "check" reports it nevertheless. */
static void
test_allowed(void **state)
{
	Failure failure = { 0 };
	Feature feature;

	be_kernel("6.1.0-9-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.27-1 (2023-05-08)");
	feature = feature_of_copies(true);
	assert_false(feature.present);
	assert_int_equal(feature.need, FEATURE_WANTED);
	assert_non_null(strstr(feature.consequence, "can lock up"));
	assert_non_null(strstr(feature.hint, "--allow-unsafe-kernel"));
	if (features_check(true, &failure) != EXIT_OK)
		assert_null(strstr(failure.detail, "user_copy_in_interrupt"));
}

static void
test_mended(void **state)
{
	Failure failure = { 0 };
	Feature feature;

	be_kernel("6.1.0-13-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.55-1 (2023-09-29)");
	feature = feature_of_copies(false);
	assert_true(feature.present);
	assert_string_equal(feature.detail, "6.1.0-13-amd64");
	if (features_check(false, &failure) != EXIT_OK)
		assert_null(strstr(failure.detail, "user_copy_in_interrupt"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_process_memory),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_allowed),
		cmocka_unit_test(test_mended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
