/*
 * service_manager.h
 *		Notifies the service manager by systemd's protocol, sd_notify(3): datagrams to the socket
 *		that NOTIFY_SOCKET names.
 */
#ifndef COLLECTOR_SERVICE_MANAGER_H
#define COLLECTOR_SERVICE_MANAGER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Must be used by one thread at a time. */
typedef struct ServiceManager
{
	int fd; /* -1 if there is no service manager */
	struct sockaddr_un address;
	socklen_t address_bytes;
	int64_t watchdog_ns; /* watchdog interval; 0 if there is no watchdog */
	int64_t next_ns;
} ServiceManager;

/*
 * Connects to the socket that the environment names. Without a service manager all functions do
 * nothing.
 */
void service_manager_open(ServiceManager *manager);
void service_manager_close(ServiceManager *manager);

void service_manager_ready(const ServiceManager *manager);
void service_manager_stopping(const ServiceManager *manager);

/*
 * Returns true if a watchdog notification is due. The caller then calls service_manager_lives(),
 * unless a thread is stuck: without the notification the manager restarts the service. now_ns is
 * CLOCK_MONOTONIC.
 */
bool service_manager_waits(const ServiceManager *manager, int64_t now_ns);
void service_manager_lives(ServiceManager *manager, int64_t now_ns);

#endif
