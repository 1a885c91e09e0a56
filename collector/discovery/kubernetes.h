/*
 * kubernetes.h
 *		Settings of kubernetes_discovery for callers other than configuration files.
 */
#ifndef COLLECTOR_KUBERNETES_H
#define COLLECTOR_KUBERNETES_H

#include "kubernetes/kube_access.h"

/*
 * Returns settings for discovering the pods of a namespace, reached with access, which must outlive
 * them. selector is a label selector of the API; NULL: all pods. The settings belong to the
 * reader's document and refer to the caller's texts. Returns NULL, with the failure set, if out of
 * memory.
 */
const void *kubernetes_pods_of(ConfigReader *reader, const KubeAccess *access, const char *space,
							   const char *selector);

#endif
