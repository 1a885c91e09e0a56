/*
 * discovery.c
 *		Functions that all kinds of discovery share.
 */
#include "discovery/discovery.h"

#include <string.h>

#include "base/log.h"

const DiscoveryKind *const discovery_kinds[] = {
	&static_discovery,
	&file_discovery,
	&http_discovery,
	&dns_discovery,
	&kubernetes_discovery,
	&consul_discovery,
	NULL,
};

bool
discovery_update(Discovery *discovery, TargetGroup *group)
{
	if (group != NULL && !group->failed)
		return discovery->parts.sink.update(discovery->parts.sink.context, group);
	/*
	 * A group that is too large is dropped as a whole, because a part of it would remove targets.
	 */
	discovery_warn(discovery, group == NULL ? "" : group->source,
				   "It exceeds the memory of a group of targets.");
	target_group_free(group);
	return true;
}

void
discovery_warn(const Discovery *discovery, const char *where, const char *detail)
{
	log_event(LOG_WARNING, "discovery", "could not discover targets",
			  log_text("job", discovery->parts.job), log_text("kind", discovery->kind->key),
			  log_text("source", where), log_text("detail", detail));
}

void
discovery_remove(Discovery *discovery, const char *source)
{
	/* A group without targets removes the former targets of this source. */
	(void) discovery_update(discovery, target_group_create(source));
}

bool
discovery_read_group(ConfigReader *reader, const Node *node, void *group_settings)
{
	static const ConfigField fields[] = {
		{ "targets", config_read_texts, offsetof(GroupSettings, targets) },
		{ "labels", config_read_pairs, offsetof(GroupSettings, labels) },
	};

	return config_read_fields(reader, node, CONFIG_FIELDS(fields), group_settings);
}

TargetGroup *
discovery_make_group(const GroupSettings *settings, const char *source, const BatchLabel *meta)
{
	const char *const *targets = settings->targets.items;
	const ConfigPair *labels = settings->labels.items;
	TargetGroup *group = target_group_create(source);

	if (group == NULL)
		return NULL;
	for (size_t i = 0; i < settings->targets.count; i++)
		target_group_label(group, target_group_add(group), "__address__", targets[i]);
	for (size_t i = 0; i < settings->labels.count; i++)
		target_group_label(group, &group->labels, labels[i].name, labels[i].value);
	if (meta != NULL)
		target_group_label(group, &group->labels, meta->name, meta->value);
	return group;
}
