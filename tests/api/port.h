/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports of targets that go away and come back at the same place. One that the system chose would not do: while nobody
 * listens there it may give it to any connection, even to the one that asks for it, which then talks to itself.
 */
#ifndef TESTS_PORT_H
#define TESTS_PORT_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORT_SPAN 12000u	/* below those that the system gives out */

static inline int port_bind(int fd, unsigned int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	return bind(fd, (struct sockaddr *)&a, sizeof(a));
}

static inline bool port_is_free(unsigned int port)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool ok = fd >= 0 && !port_bind(fd, port) && !listen(fd, 1);

	if (fd >= 0)
		close(fd);
	return ok;
}

/* A free port of 127.0.0.1; programs that run side by side begin at different places. 0: none. */
static inline unsigned int port_pick(void)
{
	static unsigned int turn;
	unsigned int low = 32768, i, port;
	FILE *f = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");

	if (f) {
		if (fscanf(f, "%u", &low) != 1)
			low = 32768;
		fclose(f);
	}
	if (low < PORT_SPAN + 1024)	/* no room below: then where nobody should have set the range to */
		low = 32768;
	for (i = 0; i < PORT_SPAN; i++) {
		port = low - PORT_SPAN + ((unsigned int)getpid() * 31 + turn++) % PORT_SPAN;
		if (port_is_free(port))
			return port;
	}
	return 0;
}

#endif
