/*
 * test_scrape.c
 *		Targets of groups that appear, change and disappear, by a discovery that the test controls.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scrape/fetcher.h"
#include "scrape/job_run.h"

#define NOW_NS INT64_C(1000000000000)

static DiscoverySink sink; /* sink of the run that was started last */

static Discovery *
start(const void *settings, const DiscoveryParts *parts)
{
	Discovery *discovery = calloc(1, sizeof(Discovery));

	assert_non_null(discovery);
	discovery->parts = *parts;
	discovery->due_ns = INT64_MAX;
	discovery->kind = settings;
	sink = parts->sink;
	return discovery;
}

static void
stop(Discovery *discovery)
{
	free(discovery);
}

static const DiscoveryKind kind = { .key = "test", .start = start, .stop = stop };

typedef struct World
{
	ScrapeConfig *config;
	ScrapeJob job;
	DiscoverySettings settings;
	Schedule schedule;
	TargetQueue changed;
	JobHost host;
	JobRun *run;
	int gone;
} World;

static void
on_gone(void *context, ScrapeTarget *target)
{
	World *world = context;

	world->gone++;
}

static void
world_init(World *world)
{
	static const char text[] =
		"scrape_configs:\n"
		"  - job_name: j\n"
		"    profiling_config: {pprof_config: {block: {enabled: false}, mutex: {enabled: false}}}\n"
		"    relabel_configs:\n"
		"      - {source_labels: [__meta_x], target_label: x}\n"
		"      - {source_labels: [drop], regex: yes, action: drop}\n";
	char path[] = "/tmp/profstore-scrape-XXXXXX";
	int fd = mkstemp(path);
	Failure failure;

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	*world = (World){ .config = scrape_config_read(path, &failure) };
	unlink(path);
	if (world->config == NULL)
		fail_msg("%s", failure.detail);
	world->job = *(const ScrapeJob *) world->config->jobs.items;
	world->settings = (DiscoverySettings){ &kind, &kind };
	world->job.discoveries = (ConfigList){ &world->settings, 1 };
	world->host = (JobHost){ .schedule = &world->schedule,
							 .changed = &world->changed,
							 .gone = on_gone,
							 .context = world,
							 .targets_max = 100000 };
	world->run = job_run_start(world->config, &world->job, &world->host);
	assert_non_null(world->run);
}

static void
forget_changes(World *world)
{
	ScrapeTarget *target;

	while ((target = target_queue_take(&world->changed)) != NULL)
		scrape_target_release(target);
}

static void
world_fini(World *world)
{
	job_run_free(world->run);
	forget_changes(world);
	assert_int_equal(world->schedule.count, 0);
	schedule_fini(&world->schedule);
	scrape_config_release(world->config);
}

/* Adds a target with a label x, if that is not NULL. */
static void
put(TargetGroup *group, const char *address, const char *x)
{
	TargetLabels *labels = target_group_add(group);

	target_group_label(group, labels, "__address__", address);
	target_group_label(group, labels, "__meta_x", x);
}

/* Returns a group of count targets; those from changed on have another label. */
static TargetGroup *
many(const char *source, int count, int changed)
{
	TargetGroup *group = target_group_create(source);

	for (int i = 0; i < count; i++)
	{
		char address[40];

		snprintf(address, sizeof(address), "host%d:1", i);
		put(group, address, i >= changed ? "new" : "old");
	}
	return group;
}

static void
find(const World *world, TargetGroup *group)
{
	sink.update(sink.context, group);
}

/* Runs overdue ticks until no work is left; returns their number. */
static int
settle(const World *world)
{
	int ticks = 1;

	while (job_run_tick(world->run, NOW_NS, 0) <= NOW_NS)
		ticks++;
	return ticks;
}

static const char *
label_of(const ScrapeTarget *target, const char *name)
{
	for (size_t i = 0; i < target->label_count; i++)
		if (strcmp(target->labels[i].name, name) == 0)
			return target->labels[i].value;
	return "";
}

/* Counts all profiles of targets with a label. */
static int
count_with(const World *world, const char *name, const char *value)
{
	int count = 0;

	for (ScrapeTarget *target = job_run_targets(world->run); target != NULL;
		 target = target->hh.next)
		count += strcmp(label_of(target, name), value) == 0;
	return count;
}

/* Returns the memory profile of a target. */
static ScrapeTarget *
memory_of(const World *world, const char *instance)
{
	ScrapeTarget *target = job_run_targets(world->run);

	while (strcmp(label_of(target, "instance"), instance) != 0 ||
		   strcmp(label_of(target, "__name__"), "memory") != 0)
		target = target->hh.next;
	return target;
}

/* 1,000 targets are created over many turns of the loop; unchanged ones cost no work. */
static void
test_only_changes_are_work(void **state)
{
	World world;
	ScrapeTarget *first;
	ScrapeTarget *last;

	world_init(&world);
	find(&world, many("a", 1000, 1000));
	assert_true(settle(&world) > 20);
	assert_int_equal(job_run_counts(world.run).targets, 3000);
	assert_int_equal(world.schedule.count, 3000);
	first = memory_of(&world, "host0:1");
	forget_changes(&world);

	find(&world, many("a", 1000, 1000));
	assert_int_equal(settle(&world), 1);

	/* one of them changes, and keeps its place in the schedule */
	last = memory_of(&world, "host999:1");
	last->due_ns = NOW_NS + 12345;
	find(&world, many("a", 1000, 999));
	(void) settle(&world);
	assert_int_equal(count_with(&world, "x", "old"), 2997);
	assert_int_equal(count_with(&world, "x", "new"), 3);
	assert_ptr_equal(memory_of(&world, "host0:1"), first);
	assert_false(first->changed);
	last = memory_of(&world, "host999:1");
	assert_string_equal(label_of(last, "x"), "new");
	assert_int_equal(last->due_ns, NOW_NS + 12345);
	assert_int_equal(world.gone, 0);

	/* a newer group arrives while the older one is being created */
	find(&world, many("a", 500, 500));
	(void) job_run_tick(world.run, NOW_NS, 0);
	find(&world, many("a", 2000, 2000));
	(void) job_run_tick(world.run, NOW_NS, 0);
	find(&world, many("a", 10, 0));
	(void) settle(&world);
	assert_int_equal(job_run_counts(world.run).targets, 30);
	assert_int_equal(count_with(&world, "x", "new"), 30);
	find(&world, target_group_create("a"));
	(void) settle(&world);
	assert_int_equal(job_run_counts(world.run).targets, 0);
	assert_int_equal(world.schedule.count, 0);
	world_fini(&world);
}

static TargetGroup *
one(const char *source, const char *address, const char *x)
{
	TargetGroup *group = target_group_create(source);

	put(group, address, x);
	return group;
}

/*
 * A target of two groups is removed with the second one; equal URLs with other labels are two
 * targets.
 */
static void
test_groups_share_targets(void **state)
{
	World world;

	world_init(&world);
	find(&world, one("a", "h:1", "p"));
	find(&world, one("b", "h:1", "p"));
	find(&world, one("c", "h:1", "q"));
	(void) settle(&world);
	assert_int_equal(count_with(&world, "x", "p"), 3);
	assert_int_equal(count_with(&world, "x", "q"), 3);
	find(&world, target_group_create("a"));
	(void) settle(&world);
	assert_int_equal(count_with(&world, "x", "p"), 3);
	assert_int_equal(world.gone, 0);
	find(&world, target_group_create("b"));
	(void) settle(&world);
	assert_int_equal(count_with(&world, "x", "p"), 0);
	assert_int_equal(count_with(&world, "x", "q"), 3);
	assert_int_equal(world.gone, 3);

	/* again with both groups, and only with the other */
	find(&world, one("a", "h:1", "p"));
	find(&world, one("b", "h:1", "q"));
	(void) settle(&world);
	assert_int_equal(count_with(&world, "x", "p"), 3);
	assert_int_equal(count_with(&world, "x", "q"), 3);
	find(&world, one("a", "h:1", "q"));
	(void) settle(&world);
	assert_int_equal(count_with(&world, "x", "p"), 0);
	assert_int_equal(count_with(&world, "x", "q"), 3);
	world_fini(&world);
}

/* Other targets that are due earlier, and wait, do not delay a delta profile. */
static void
test_deltas_are_scheduled_apart(void **state)
{
	World world;
	ScrapeTarget *target;

	world_init(&world);
	find(&world, many("a", 20, 20));
	(void) settle(&world);
	assert_int_equal(world.schedule.count, 60);
	for (size_t i = 0; i < 40; i++)
	{
		target = schedule_first(&world.schedule, DUE_PROMPT);
		assert_non_null(target);
		assert_false(target->profile->delta);
		schedule_remove(&world.schedule, target);
	}
	assert_null(schedule_first(&world.schedule, DUE_PROMPT));
	target = schedule_first(&world.schedule, DUE_DELTA);
	assert_non_null(target);
	assert_true(target->profile->delta);
	assert_int_equal(world.schedule.count, 20);
	world_fini(&world);
}

/* Starts a server that accepts connections and never answers. */
static int
open_silent_server(char address[40])
{
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t length = sizeof(here);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *) &here, sizeof(here)), 0);
	assert_int_equal(listen(fd, 100), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *) &here, &length), 0);
	snprintf(address, 40, "127.0.0.1:%d", ntohs(here.sin_port));
	return fd;
}

/*
 * One slot, and targets that hang: each releases the slot after a time, and then makes no other
 * request before targets that answer.
 */
static void
test_hanging_targets_give_slots_back(void **state)
{
	World world;
	Fetcher fetcher = {
		.schedule = &world.schedule, .changed = &world.changed, .concurrency = 1, .body_max = 1000
	};
	TargetGroup *group = target_group_create("a");
	char address[40];
	int fd = open_silent_server(address);
	int64_t now_ns = NOW_NS + 10 * INT64_C(1000000000); /* an interval later all are due */

	world_init(&world);
	assert_int_equal(http_client_create(1000000, &fetcher.client), 0);
	put(group, address, NULL);
	find(&world, group);
	(void) settle(&world);
	assert_int_equal(world.schedule.count, 3);

	(void) fetcher_tick(&fetcher, now_ns);
	assert_int_equal(fetcher.silent, 1);
	assert_int_equal(fetcher.running, 1);
	(void) fetcher_tick(&fetcher, now_ns + INT64_C(1000000000));
	assert_int_equal(fetcher.running, 1);
	assert_int_equal(fetcher.slow, 0);
	now_ns += 3 * INT64_C(1000000000);
	(void) fetcher_tick(&fetcher, now_ns);
	assert_int_equal(fetcher.running, 1);
	assert_int_equal(fetcher.slow, 1);
	now_ns += 3 * INT64_C(1000000000);
	(void) fetcher_tick(&fetcher, now_ns);
	assert_int_equal(fetcher.running, 0);
	assert_int_equal(fetcher.slow, 2);
	assert_int_equal(fetcher.silent, 1);

	fetcher.concurrency = 0;
	http_client_free(fetcher.client);
	assert_int_equal(fetcher.silent + fetcher.slow, 0);
	assert_null(schedule_first(&world.schedule, DUE_PROMPT));
	assert_non_null(schedule_first(&world.schedule, DUE_SLOW));
	assert_non_null(schedule_first(&world.schedule, DUE_DELTA));
	world_fini(&world);
	close(fd);
}

/* A row that could not be stored is stored before one that changed meanwhile. */
static void
test_rows_are_put_back_in_order(void **state)
{
	World world;
	ScrapeTarget *first;

	world_init(&world);
	find(&world, one("a", "h:1", "p"));
	(void) settle(&world);
	first = target_queue_take(&world.changed);
	assert_non_null(first);
	target_queue_put_back(&world.changed, first);
	scrape_target_release(first);
	assert_ptr_equal(world.changed.first, first);
	assert_int_equal(world.changed.count, 3);
	forget_changes(&world);
	target_queue_put_back(&world.changed, first);
	assert_ptr_equal(world.changed.last, first);
	world_fini(&world);
}

static void
test_counts_and_limit(void **state)
{
	World world;
	TargetGroup *group;

	world_init(&world);
	world.host.targets_max = 10;
	job_run_free(world.run);
	world.run = job_run_start(world.config, &world.job, &world.host);
	group = many("a", 4, 4);
	target_group_label(group, &group->labels, "drop", "yes");
	find(&world, group);
	find(&world, one("bad", "", NULL));
	(void) settle(&world);
	assert_int_equal(job_run_counts(world.run).dropped, 12);
	assert_int_equal(job_run_counts(world.run).invalid, 3);
	find(&world, many("a", 4, 4));
	find(&world, target_group_create("bad"));
	(void) settle(&world);
	assert_int_equal(job_run_counts(world.run).dropped, 0);
	assert_int_equal(job_run_counts(world.run).targets, 10);
	assert_int_equal(job_run_counts(world.run).invalid, 2);
	world_fini(&world);
}

/*
 * Targets for which there was no memory are created once there is some, whether or not they are
 * discovered again.
 */
static void
test_room_is_taken_later(void **state)
{
	World world;
	int64_t now_ns = NOW_NS;

	world_init(&world);
	world.host.targets_max = 10;
	job_run_free(world.run);
	world.run = job_run_start(world.config, &world.job, &world.host);
	find(&world, one("b", "b:1", "b"));
	find(&world, many("a", 4, 4));
	(void) settle(&world);
	assert_int_equal(job_run_counts(world.run).targets, 10);
	assert_int_equal(count_with(&world, "x", "old"), 7);
	assert_int_equal(job_run_counts(world.run).invalid, 5);

	/* no memory yet: nothing changes, and the next attempt is not at once */
	now_ns += INT64_C(31000000000);
	assert_true(job_run_tick(world.run, now_ns, 0) > now_ns);
	assert_int_equal(job_run_counts(world.run).invalid, 5);

	find(&world, target_group_create("b"));
	for (int i = 0; i < 3; i++)
	{
		now_ns += INT64_C(31000000000);
		while (job_run_tick(world.run, now_ns, 0) <= now_ns)
			;
	}
	assert_int_equal(count_with(&world, "x", "old"), 10);
	assert_int_equal(job_run_counts(world.run).targets, 10);
	assert_int_equal(job_run_counts(world.run).invalid, 2);

	/* the group is removed with its missing targets */
	find(&world, target_group_create("a"));
	now_ns += INT64_C(31000000000);
	while (job_run_tick(world.run, now_ns, 0) <= now_ns)
		;
	assert_int_equal(job_run_counts(world.run).targets, 0);
	assert_int_equal(job_run_counts(world.run).invalid, 0);
	world_fini(&world);
}

/* Targets of an older configuration stay until they are discovered, or until a time has passed. */
static void
test_targets_are_inherited(void **state)
{
	World world;
	JobRun *older;
	int64_t now_ns = NOW_NS;

	world_init(&world);
	find(&world, many("a", 2, 2));
	(void) settle(&world);
	older = world.run;
	world.run = job_run_start(world.config, &world.job, &world.host);
	job_run_inherit(world.run, older, now_ns);
	job_run_free(older);
	assert_int_equal(world.gone, 0);
	find(&world, many("a", 1, 1));
	(void) settle(&world);
	assert_int_equal(count_with(&world, "x", "old"), 6);
	now_ns += INT64_C(31000000000);
	(void) job_run_tick(world.run, now_ns, 0);
	assert_int_equal(count_with(&world, "x", "old"), 3);
	assert_int_equal(world.gone, 3);
	world_fini(&world);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_changes_are_work),
		cmocka_unit_test(test_groups_share_targets),
		cmocka_unit_test(test_deltas_are_scheduled_apart),
		cmocka_unit_test(test_hanging_targets_give_slots_back),
		cmocka_unit_test(test_rows_are_put_back_in_order),
		cmocka_unit_test(test_counts_and_limit),
		cmocka_unit_test(test_room_is_taken_later),
		cmocka_unit_test(test_targets_are_inherited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
