/*
 * kubernetes_names.h
 *		Names of a pod's properties in rules of agent and scrape. They are equal to Prometheus'
 *		names.
 */
#ifndef COLLECTOR_KUBERNETES_NAMES_H
#define COLLECTOR_KUBERNETES_NAMES_H

#define KUBE_META "__meta_kubernetes_"

#define KUBE_NAMESPACE			 "namespace"
#define KUBE_POD_NAME			 "pod_name"
#define KUBE_POD_UID			 "pod_uid"
#define KUBE_POD_IP				 "pod_ip"
#define KUBE_POD_PHASE			 "pod_phase"
#define KUBE_POD_NODE_NAME		 "pod_node_name"
#define KUBE_POD_CONTROLLER_KIND "pod_controller_kind"
#define KUBE_POD_CONTROLLER_NAME "pod_controller_name"
#define KUBE_CONTAINER_NAME		 "pod_container_name"
#define KUBE_CONTAINER_ID		 "pod_container_id"
#define KUBE_CONTAINER_IMAGE	 "pod_container_image"
#define KUBE_CONTAINER_INIT		 "pod_container_init"
#define KUBE_PORT_NAME			 "pod_container_port_name"
#define KUBE_PORT_NUMBER		 "pod_container_port_number"

#endif
