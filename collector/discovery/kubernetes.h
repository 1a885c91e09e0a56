/*
 * kubernetes.h
 *		Settings of kubernetes_discovery that configuration files cannot set.
 */
#ifndef COLLECTOR_KUBERNETES_H
#define COLLECTOR_KUBERNETES_H

#include "kubernetes/kube_access.h"

/*
 * Pods of a namespace, reached as access says, which has to outlive what is made of it; selector:
 * of labels, in the API's words, NULL for none. In the reader's document, but for texts, which are
 * the caller's; NULL, and the failure set, where there is no memory.
 */
const void *kubernetes_pods_of(ConfigReader *reader, const KubeAccess *access, const char *space,
							   const char *selector);

#endif
