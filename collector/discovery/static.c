/*
 * static.c
 *		static_configs: targets listed in the configuration.
 */
#include <stdlib.h>

#include "discovery/discovery.h"

typedef struct StaticDiscovery
{
	Discovery base;
	const GroupSettings *settings;
} StaticDiscovery;

static Discovery *
static_sd_start(const void *settings, const DiscoveryParts *parts)
{
	StaticDiscovery *discovery = calloc(1, sizeof(StaticDiscovery));

	if (discovery == NULL)
		return NULL;
	discovery->base = (Discovery){ .kind = &static_discovery, .parts = *parts };
	discovery->settings = settings;
	return &discovery->base;
}

static void
static_sd_tick(Discovery *base, int64_t now_ns)
{
	StaticDiscovery *discovery = (StaticDiscovery *) base;

	/* The targets never change. */
	base->due_ns = INT64_MAX;
	discovery_update(base, discovery_make_group(discovery->settings, "", NULL));
}

static void
static_sd_stop(Discovery *base)
{
	free(base);
}

const DiscoveryKind static_discovery = { .key = "static_configs",
										 .read = discovery_read_group,
										 .settings_bytes = sizeof(GroupSettings),
										 .start = static_sd_start,
										 .tick = static_sd_tick,
										 .stop = static_sd_stop };
