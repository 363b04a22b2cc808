/* SPDX-License-Identifier: BSD-2-Clause */
/** Devices: finding accelerators and what they can do. */
#ifndef ACCEL_DEV_H
#define ACCEL_DEV_H

#include <accel/ctx.h>

#ifdef __cplusplus
extern "C" {
#endif

struct accel_dev;
struct accel_list;

enum accel_type {
	ACCEL_TYPE_ANY = 0,
	ACCEL_TYPE_COMPRESSION = 1,
	ACCEL_TYPE_ERASURE = 2,
	ACCEL_TYPE_CIPHER = 3,
	ACCEL_TYPE_DIGEST = 4,
	ACCEL_TYPE_CHECKSUM = 5,
	ACCEL_TYPE_PROGRAM = 6,
	ACCEL_TYPE_DATA = 8,
	ACCEL_TYPE_MULTI = 9,
};

enum accel_op {
	ACCEL_OP_COMPRESS = 1, ACCEL_OP_DECOMPRESS = 2, ACCEL_OP_EC_ENCODE = 3, ACCEL_OP_EC_DECODE = 4,
	ACCEL_OP_EC_UPDATE = 5, ACCEL_OP_ENCRYPT = 6, ACCEL_OP_DECRYPT = 7, ACCEL_OP_DIGEST = 8,
	ACCEL_OP_CHECKSUM = 9, ACCEL_OP_PROGRAM = 10, ACCEL_OP_COPY = 11, ACCEL_OP_FILL = 12,
	ACCEL_OP_COMPARE = 13, ACCEL_OP_XOR = 14, ACCEL_OP_PQ_GEN = 15,
};

enum accel_alg {
	ACCEL_DEFLATE = 1, ACCEL_ZLIB = 2, ACCEL_GZIP = 3, ACCEL_LZ4_BLOCK = 4, ACCEL_LZ4_FRAME = 5,
	ACCEL_ZSTD = 6,
	ACCEL_RS_CAUCHY = 1, ACCEL_EC_MATRIX = 2, ACCEL_EC_XOR = 3, ACCEL_EC_PQ = 4,
	ACCEL_AES_GCM = 1, ACCEL_AES_XTS = 2, ACCEL_AES_CTR = 3, ACCEL_CHACHA20_POLY1305 = 4,
	ACCEL_SHA256 = 1, ACCEL_SHA512 = 2, ACCEL_SHA3_256 = 3, ACCEL_BLAKE2B = 5,
	ACCEL_CRC32C = 1, ACCEL_CRC32 = 2, ACCEL_T10DIF = 3, ACCEL_CRC64_NVME = 4, ACCEL_ADLER32 = 6,
};

#define ACCEL_FILTER_HARDWARE	(1u << 0)
#define ACCEL_FILTER_SOFTWARE	(1u << 1)
#define ACCEL_FILTER_FREE	(1u << 2)	/**< only with a free slot now */

/** What to look for; zero fields match anything. */
struct accel_filter {
	uint32_t size;
	uint32_t flags;			/**< ACCEL_FILTER_* */
	uint16_t type;			/**< enum accel_type */
	uint16_t op, alg;		/**< alg only with op */
	int16_t numa_node;		/**< node + 1; 0: any */
	const char *transport;		/**< "soft", "pcie", "tcp", "rdma", "loop", "fc", "block" */
	const char *name;		/**< of the accelerator, exact */
	const uint8_t *uuid;		/**< 16 bytes */
	uint64_t reserved[4];
};

struct accel_dev_info {
	char path[256];			/**< what accel_dev_open() takes */
	char name[49];
	char transport[16];
	uint8_t uuid[16], implid[16];
	uint16_t type, subtype;
	uint8_t ifmajor, ifminor;
	uint8_t software;		/**< 1: the engine is software */
	uint8_t state;			/**< 0 not ready, 1 ready, 2 degraded, 3 needs reset, 4 failed */
	uint32_t implver;
	uint64_t feat;			/**< the interface's feature bits */
	uint32_t nslot, slots_free, nlease, neng, engdepth;
	uint32_t block_nbytes;
	uint32_t max_stages;
	uint64_t max_in, max_out;	/**< bytes of one job */
	uint32_t lease_min_ms, lease_max_ms, hold_max_ms;
	uint64_t boot_id;
	uint32_t build_date;
	uint8_t source_id[20];
	int32_t numa_node;		/**< -1: unknown */
	uint32_t nops;
};

/** One operation of a device, and its limits. */
struct accel_caps {
	uint16_t op, alg;
	uint8_t first, middle, last, alone;	/**< places in a chain where it may stand */
	uint8_t level_min, level_max, k_max, m_max;
	uint16_t key_bits_mask;		/**< bit 0: 128, 1: 192, 2: 256, 3: 512 */
	uint16_t align;
	uint32_t min_in, granule;
	uint64_t max_in, max_out;
	uint32_t est_mbps, est_overhead_ns;
};

struct accel_dev_stats {
	uint64_t jobs, errors, bytes_in, bytes_out, queue_ns, exec_ns, uptime_ns;
	uint64_t lease_grants, lease_refusals, lease_expiries, lease_breaks, resets;
	uint64_t protocol_errors, duplicates, in_place, copied;
	uint64_t by_code[32];		/**< jobs ended, by status code */
	uint64_t latency_ns_log2[40];	/**< bin i: [2^i, 2^(i+1)) ns from arrival to end */
	uint32_t nop;
	struct {
		uint16_t op, alg;
		uint64_t jobs, errors, bytes_in, bytes_out, exec_ns;
	} op[52];
};

/** How a device is reached. Strings are "", numbers -1 or 0, where something is not known or does not apply. */
struct accel_path_info {
	uint32_t size;
	uint32_t npath;			/**< controllers that the kernel reaches it by (multipath) */
	char transport[16];		/**< "soft", "tcp", "pcie", "rdma", "loop", "fc"; "block": some block device */
	char address[128];		/**< "traddr=127.0.0.1,trsvcid=4420", "0000:00:04.0" */
	char subnqn[224], serial[24], model[48], firmware[16];	/**< of the subsystem and its controller */
	int32_t numa_node;
	uint32_t reserved32;
	int64_t kato_ms, ctrl_loss_tmo_s, reconnect_delay_s;
	uint64_t max_nbytes;		/**< bytes that travel as one command; 0: any number */
	/** Commands of this handle from and to the caller's memory; those that needed a copy, and its bytes. */
	uint64_t direct, copied, copied_nbytes;
	uint64_t reserved[8];
};

/** What a target, such as acceld, has done since it started. Counters only grow, but for those in _now. */
struct accel_target_stats {
	uint32_t size;
	uint32_t nsc;			/**< entries of sc that are used */
	uint64_t uptime_ns;
	uint64_t conns, conns_now;	/**< TCP connections */
	uint64_t conns_refused;		/**< by a limit */
	uint64_t conns_failed;		/**< that a transport error or a slow handshake ended */
	uint64_t ctrls, ctrls_now, connects_refused;	/**< associations */
	uint64_t cmds_admin, cmds_read, cmds_write, cmds_other, cmds_failed, cmds_aborted, cmds_now;
	uint64_t bytes_in, bytes_out;
	uint64_t term_sent, term_received, digest_errors, keepalive_expiries;
	uint64_t mem_limit, mem_used, mem_waits, held_now;
	uint64_t fes[8];		/**< fatal transport errors by their FES code */
	uint64_t latency_ns_log2[40];	/**< I/O commands: bin i is [2^i, 2^(i+1)) ns from capsule to response */
	struct {
		uint16_t status;	/**< SCT << 8 | SC, not success */
		uint16_t reserved16[3];
		uint64_t count;
	} sc[64];
	uint64_t reserved[8];
};

/**
 * All accelerators that match (filter NULL: all), in the order of device names: nodes of the inbox driver (PCIe, TCP,
 * RDMA, loop), each namespace once; those that accel_ctx_opts.discover tells of; the software accelerator. May block
 * for the time of a few Identify commands each. A device that cannot be asked is logged, and the others are listed.
 * An empty list is success. -ENOMEM; -EINVAL (filter); -EACCES (devices are there but may not be opened, and no
 * other matched); what made discovery fail (-ECONNREFUSED, -ETIMEDOUT, ...). Free with accel_list_free().
 */
ACCEL_API int accel_scan(struct accel_ctx *ctx, const struct accel_filter *filter, struct accel_list **list);
ACCEL_API size_t accel_list_count(const struct accel_list *list);
/** Entry i, owned by the list; NULL if i is out of range. */
ACCEL_API const struct accel_dev_info *accel_list_get(const struct accel_list *list, size_t i);
ACCEL_API void accel_list_free(struct accel_list *list);

/**
 * Opens by name: /dev/nvme0n1, /dev/ng0n1, tcp://HOST[:PORT][/NQN][?nsid=N], uuid:..., name:..., soft:,
 * soft:threads=2, soft:nsid=3. "soft:" without nsid is the namespace with all functions. A node is opened for writing
 * only after it has proven to be an accelerator. -ENOENT: nothing has that name; -EACCES; -ENODEV: it is there but
 * is no accelerator; -ENOTBLK, -ENOTTY: no block device, no generic node of the NVMe driver; -ENOTCONN: its
 * controller is not connected now; -EPROTO: its identity is malformed; -EINVAL: the name; -ENOTSUP: the kernel lacks
 * what such a node needs; others as connecting or opening gives them.
 *
 * tcp:// is NVMe/TCP by the library itself and needs no privileges. HOST is a name or an address ([::1] for IPv6),
 * PORT 4420 if it is not said. Without NQN discovery there must find one subsystem with accelerators; without nsid
 * it must have one accelerator, or one with all functions (-EINVAL, and the log names the candidates). Further
 * options, with '&' between them: hdgst=1, ddgst=1 (digests), kato=MS (keep alive, 120000; 0: none), timeout=MS
 * (for an answer, 30000; what is not a job's has 10000 at most), poll=US (how long to look at the socket before
 * sleeping on it, where that has proven worth it; 20), hostnqn=NQN, hostid=UUID. Looking HOST up may block as long
 * as the system's resolver does. -ECONNREFUSED, -EHOSTUNREACH, -ETIMEDOUT, -ECONNRESET: so the connection ended;
 * -EACCES: the target does not let this host in; -EBUSY: it has no room for it; -ENOENT: no such host, subsystem
 * or namespace; -EPROTO: the target broke the protocol. Malformed names and refusals are told in the log. A
 * connection that is lost later is made again by what is called next; jobs wait for it as long as they may.
 */
ACCEL_API int accel_dev_open(struct accel_ctx *ctx, const char *name, struct accel_dev **dev);
/** The best match: hardware before software, then most free slots. -ENODEV: nothing matches. */
ACCEL_API int accel_find(struct accel_ctx *ctx, const struct accel_filter *filter, struct accel_dev **dev);
ACCEL_API struct accel_dev *accel_dev_ref(struct accel_dev *dev);
/** Drops a reference; NULL is allowed. */
ACCEL_API void accel_dev_close(struct accel_dev *dev);
/** As read when it was opened; owned by the device. */
ACCEL_API const struct accel_dev_info *accel_dev_info(const struct accel_dev *dev);
/** How it is reached; no command is sent. -EINVAL: info->size. */
ACCEL_API int accel_dev_path_info(struct accel_dev *dev, struct accel_path_info *info);
/** -ENOTSUP: the device does not have it. alg 0: the first of that operation. */
ACCEL_API int accel_dev_caps(const struct accel_dev *dev, uint16_t op, uint16_t alg, struct accel_caps *caps);
/** Operation i of nops. -ERANGE. */
ACCEL_API int accel_dev_cap(const struct accel_dev *dev, uint32_t i, struct accel_caps *caps);
/** Reads state, free slots and boot id anew. */
ACCEL_API int accel_dev_state(struct accel_dev *dev, struct accel_dev_info *info);
ACCEL_API int accel_dev_stats(struct accel_dev *dev, struct accel_dev_stats *stats);
/**
 * Statistics of the target behind the device. -ENOTSUP: it is no such target; -EACCES: the kernel does not let this
 * user ask; -EPROTO: the answer is malformed; -EINVAL: stats->size.
 */
ACCEL_API int accel_dev_target_stats(struct accel_dev *dev, struct accel_target_stats *stats);
/**
 * A subsystem reset: all jobs end, all leases end. Needs ACCEL_RESET_YES in flags so that it is not typed by
 * accident. -ENOTSUP where the transport cannot.
 */
#define ACCEL_RESET_YES 0x52535421u
ACCEL_API int accel_dev_reset(struct accel_dev *dev, uint32_t flags);

struct accel_selftest {
	uint32_t ran, failed;
	uint16_t op, alg;		/**< of the first failure */
	uint32_t status;
	char what[96];			/**< of the first failure */
};

/**
 * Runs known-answer jobs for every operation of the device. 0 if all were right, -EBADMSG if one was not
 * (report says which), -EBUSY if no lease could be had within timeout_ms.
 */
ACCEL_API int accel_dev_selftest(struct accel_dev *dev, int timeout_ms, struct accel_selftest *report);

#ifdef __cplusplus
}
#endif
#endif
