/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The conformance test: rules of Documentation/namespace-interface.rst, judged by plain reads and writes,
 * with an encoding and a CRC of its own.
 */
#ifndef ACCEL_CONF_H
#define ACCEL_CONF_H

#include <linux/nvme_accel.h>
#include <pthread.h>
#include "ec_bytes.h"
#include "tool.h"

enum { CONF_PASS = 0, CONF_FAIL = 1, CONF_SKIP = 2 };
enum { CONF_BLOCK_MAX = 4096, CONF_TIMEOUT_MS = 20000 };

/* NVMe status values: SCT << 8 | SC, without DNR. */
enum { CONF_SC_INVALID_FIELD = 0x002, CONF_SC_LBA_RANGE = 0x080, CONF_SC_ACCESS_DENIED = 0x286 };
#define CONF_DNR 0x4000

/* What the identity says, in host numbers. */
struct conf_id {
	uint32_t block, half, wait_off, naliases, nslot, nlease, holdmax_ms, leasemin_ms, leasemax_ms, nops;
	uint64_t feat, maxin, maxout, info_off, lease_off, stats_off, slot_off, nbytes, bootid;
};

/* A lease that the test holds. */
struct conf_lease {
	bool held;
	uint32_t index, epoch, slot, nslot;
	uint8_t claim_id[8], nonce[16];
};

/* The operation that jobs of the test use: one of which the test can tell the right outcome. */
struct conf_probe {
	uint16_t op, alg;
	bool output;			/* the output is the input */
	bool any;			/* there is one */
};

struct conf {
	struct tool *t;
	struct accel_dev *dev;
	_Alignas(8) uint8_t page[NVME_ACCEL_PAGE];	/* Identify Namespace */
	struct conf_id id;
	struct conf_probe probe;
	struct conf_lease lease;	/* of the rule at hand; the runner gives it back */
	uint8_t *buf;			/* scratch of one half window at most */
	size_t nbuf;
	char msg[256];			/* why the rule at hand failed or was skipped */
	bool late;			/* it failed by the time that something took */
};

/* A rule, or several that one exchange shows. */
struct conf_rule {
	const char *ref;		/* rule numbers of the document, "" if it gives none */
	const char *name;
	const char *what;
	int (*check)(struct conf *c);
};

extern const struct conf_rule conf_rules_id[], conf_rules_map[], conf_rules_lease[], conf_rules_job[],
	conf_rules_seq[], conf_rules_hold[], conf_rules_safe[];

/* Runs all; the listing goes to stdout. The exit code. */
int conf_run(struct tool *t, const char *only);

/* ---- Verdicts ---- */

int conf_fail(struct conf *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same where a busy machine, which sends one command too late, could have caused it: the rule is tried again. */
int conf_late(struct conf *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int conf_skip(struct conf *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- Commands (conf_io.c): the NVMe status, or -errno of the path ---- */

int conf_read(struct conf *c, uint64_t off, void *buf, size_t n);
int conf_write(struct conf *c, uint64_t off, const void *buf, size_t n);
/* One command of two pieces. */
int conf_write2(struct conf *c, uint64_t off, const void *a, size_t na, const void *b, size_t nb);
/* A failure that says what was done and how it ended; CONF_PASS if rc is 0. */
int conf_must(struct conf *c, int rc, const char *doing);
/* A failure unless rc is an error with this code (0: any) and DNR. */
int conf_must_fail(struct conf *c, int rc, int sc, const char *doing);

/* A command in a thread of its own. */
struct conf_async {
	pthread_t thread;
	struct conf *c;
	bool write;
	uint64_t off, start_ns, end_ns;
	void *buf;
	size_t n;
	int rc;
	volatile int ended;
};

int conf_async_start(struct conf *c, struct conf_async *a, bool write, uint64_t off, void *buf, size_t n);
void conf_async_join(struct conf_async *a);
void conf_sleep_ms(unsigned int ms);

uint64_t conf_addr(const struct conf *c, uint32_t slot, uint64_t seq, int half);
uint64_t conf_wait_addr(const struct conf *c, uint32_t slot, uint64_t seq);
bool conf_feat(const struct conf *c, uint64_t feat);
/* Reads and decodes the identity; CONF_PASS or CONF_FAIL. */
int conf_identify(struct conf *c);

/* ---- Leases (conf_claim.c) ---- */

struct conf_claim {
	uint16_t op, flags;
	uint32_t index, epoch, wanted, min, duration_ms;
	const uint8_t *claim_id, *nonce;
};

int conf_lease_page(struct conf *c, uint32_t index, struct nvme_accel_lease *page);
void conf_claim_encode(const struct conf *c, const struct conf_claim *claim, uint8_t *block);
int conf_claim_write(struct conf *c, const struct conf_claim *claim);
/* Index and epoch of a record that is free. CONF_PASS, CONF_FAIL or CONF_SKIP. */
int conf_lease_find(struct conf *c, uint32_t *index, uint32_t *epoch);
/* Claims into l. CONF_PASS, CONF_FAIL or CONF_SKIP (no slots are free). */
int conf_lease_get(struct conf *c, struct conf_lease *l, uint32_t wanted, uint16_t flags,
		   uint32_t duration_ms);
int conf_lease_put(struct conf *c, struct conf_lease *l);

/* ---- Jobs (conf_desc.c), in slot c->lease.slot ---- */

#define CONF_JOB_NBYTES 16384u		/* input of the jobs of the test */

void conf_probe_pick(struct conf *c);
void conf_data(uint8_t *p, size_t n, uint32_t seed);
/* A descriptor for the probe on in_len bytes; START unless flags say other things only. */
void conf_desc(const struct conf *c, uint8_t *block, uint64_t seq, uint16_t flags, uint64_t in_len);
void conf_desc_crc(uint8_t *block);
int conf_status(struct conf *c, uint64_t seq, struct nvme_accel_status *st);
/* Polls until the job has ended. */
int conf_wait(struct conf *c, uint64_t seq, struct nvme_accel_status *st);
/* Descriptor and input in one command, then conf_wait(). */
int conf_job(struct conf *c, uint64_t seq, uint16_t flags, const uint8_t *in, uint64_t in_len,
	     struct nvme_accel_status *st);
/* Whether a job that is DONE did what the probe does: status, result, output. */
int conf_right(struct conf *c, uint64_t seq, const struct nvme_accel_status *st, const uint8_t *in,
	       uint64_t in_len);
/* State and code as wanted. */
int conf_state(struct conf *c, const struct nvme_accel_status *st, unsigned int state, unsigned int code);
/* A fresh lease and a probe, or a skip. */
int conf_begin(struct conf *c);

#endif
