/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of namespaces and of exports, for the tables of those verbs of accel target that take them. */
#ifndef ACCEL_TARGET_OPTS_H
#define ACCEL_TARGET_OPTS_H

enum { OPT_INFLIGHT = OPT_LONG + 0x20, OPT_BYTES, OPT_CMDS, OPT_TCP, OPT_RDMA, OPT_LOOP, OPT_HOST, OPT_ANY_HOST, OPT_PORT_ID,
       OPT_NQN, OPT_CLEAR_IDS };

#define TG_NS_OPTS \
	{ 'e', "engine", "TYPE[,KEY=VALUE]...", "a namespace that is an accelerator of this kernel's: compression, erasure, cipher, " \
	  "digest, checksum, data, all; keys: threads, slots, driver, window, block, nsid, uuid, allow", "-e, --engine=TYPE[,KEY=VALUE]..." }, \
	{ 'd', "device", "NODE[,KEY=VALUE]...", "a namespace of another controller: /dev/nvmeXnY, or /dev/nvmeX,nsid=N; keys: nsid, as, " \
	  "allow (words joined by +), uuid; shared: others may have it, too", "-d, --device=NODE[,KEY=VALUE]..." }, \
	{ OPT_INFLIGHT, "max-inflight", "N", "at most so many commands at once in each of these namespaces", NULL }, \
	{ OPT_BYTES, "max-bytes-per-sec", "N", "at most so many bytes a second", NULL }, \
	{ OPT_CMDS, "max-cmds-per-sec", "N", "at most so many commands a second", NULL }

#define TG_EXPORT_OPTS \
	{ OPT_TCP, "tcp", "ADDRESS[:PORT]", "export it over TCP at this address of this machine (port 4420)", NULL }, \
	{ OPT_RDMA, "rdma", "ADDRESS[:PORT]", "over RDMA", NULL }, \
	{ OPT_LOOP, "loop", NULL, "to this machine itself", NULL }, \
	{ OPT_HOST, "host", "NQN", "this host may connect (its /etc/nvme/hostnqn); once for each", NULL }, \
	{ OPT_ANY_HOST, "any-host", NULL, "every host may connect", NULL }, \
	{ OPT_PORT_ID, "port-id", "N", "number of the port (default: the one with that address, or a free one)", NULL }, \
	{ OPT_NQN, "nqn", "NQN", "name of the subsystem (default: the controller's)", NULL }, \
	{ OPT_CLEAR_IDS, "clear-ids", NULL, "hide UUIDs of namespaces: for hosts that see them in another way, too", NULL }

#endif
