/*
 * kubernetes.h
 *		Settings of kubernetes_discovery for callers other than configuration files.
 */
#ifndef COLLECTOR_KUBERNETES_H
#define COLLECTOR_KUBERNETES_H

#include "kubernetes/kube_access.h"

/*
 * Returns settings for the pods of a namespace, reached with access, which must outlive them.
 * selector is a label selector of the API; NULL: all pods. The settings are in the reader's
 * document, but refer to the caller's texts. Returns NULL with the failure set if out of memory.
 */
const void *kubernetes_pods_of(ConfigReader *reader, const KubeAccess *access, const char *space,
							   const char *selector);

#endif
