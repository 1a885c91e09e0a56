/*
 * relabel_read.h
 *		Reads relabel_configs from a configuration.
 */
#ifndef COLLECTOR_RELABEL_READ_H
#define COLLECTOR_RELABEL_READ_H

#include "config/config_reader.h"
#include "labels/relabel.h"

/* A ConfigRead into a ConfigList of RelabelRule *, which the document owns. */
bool relabel_rules_read(ConfigReader *reader, const Node *node, void *list);

#endif
