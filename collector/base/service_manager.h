/*
 * service_manager.h
 *		What a service manager is told, by the protocol of systemd's sd_notify(3): datagrams to the
 *		socket that NOTIFY_SOCKET names.
 */
#ifndef COLLECTOR_SERVICE_MANAGER_H
#define COLLECTOR_SERVICE_MANAGER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Belongs to one thread. */
typedef struct ServiceManager
{
	int fd; /* -1: there is none */
	struct sockaddr_un address;
	socklen_t address_bytes;
	int64_t watchdog_ns; /* a sign of life is due that often; 0: none is */
	int64_t next_ns;
} ServiceManager;

/* By the environment. Without a service manager all calls do nothing. */
void service_manager_open(ServiceManager *manager);
void service_manager_close(ServiceManager *manager);

void service_manager_ready(const ServiceManager *manager);
void service_manager_stopping(const ServiceManager *manager);

/*
 * Is it time for a sign of life? now_ns is CLOCK_MONOTONIC. If so, send one with
 * service_manager_lives(), unless a thread is stuck: the manager then starts the service again.
 */
bool service_manager_waits(const ServiceManager *manager, int64_t now_ns);
void service_manager_lives(ServiceManager *manager, int64_t now_ns);

#endif
