// SPDX-License-Identifier: BSD-2-Clause
/*
 * Targets that break the protocol, in every state of a connection and in every field: an error that says what it is,
 * no hang, and a good target is as good as before. What breaks during a job costs a connection and not the job.
 */
#include "tcp_target.h"

static void log_line(void *arg, enum accel_log_level level, const char *message)
{
	(void)arg;
	print_message("# %d %s\n", level, message);
}

static int try_open(struct target *t, const char *options, struct accel_ctx **ctx, struct accel_dev **dev)
{
	char name[300];

	*ctx = ctx_new();
	if (getenv("TCP_LOG"))
		accel_ctx_set_log(*ctx, log_line, NULL, ACCEL_LOG_DEBUG);
	*dev = NULL;
	return accel_dev_open(*ctx, target_name(t, name, sizeof(name), options), dev);
}

static void forget(struct accel_ctx *ctx, struct accel_dev *dev)
{
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
}

/* A job of n bytes through a new handle. */
static void job(struct target *t, const char *options, size_t n, struct accel_result *r)
{
	uint8_t *in = malloc(n), *out = calloc(1, n);
	struct accel_ctx *ctx;
	struct accel_dev *dev;
	struct accel_plan *plan;

	assert_int_equal(try_open(t, options, &ctx, &dev), 0);
	plan = copy_plan(ctx, dev, ACCEL_DEVICE_ONLY);
	fill_text(in, n);
	assert_int_equal(accel_run(dev, plan, in, n, out, n, NULL, 15000, r), 0);
	if (r->status)
		print_error("%s, os %d nvme %x retries %u\n", accel_status_str(r->status), r->os_error, r->nvme_status,
			    r->retries);
	assert_int_equal(r->status, ACCEL_ST_OK);
	assert_int_equal(r->out_len, n);
	assert_memory_equal(in, out, n);
	accel_plan_unref(plan);
	forget(ctx, dev);
	free(in);
	free(out);
}

static void good(struct target *t)
{
	struct accel_result r;

	job(t, "", 5000, &r);
	assert_int_equal(r.retries, 0);
}

static void bad_open(struct target *t, const char *options, int want, const char *what)
{
	uint64_t start = now_ns();
	struct accel_ctx *ctx;
	struct accel_dev *dev;
	int ret = try_open(t, options, &ctx, &dev);

	if (ret != want)
		print_error("%s: %d (%s), expected %d\n", what, ret, accel_strerror(ret), want);
	assert_int_equal(ret, want);
	assert_true(now_ns() - start < 8000000000u);
	forget(ctx, dev);
}

/* ---- While a device is opened ---- */

static void test_stages(void **state)
{
	static const enum tgt_stage stages[] = { TGT_ACCEPT, TGT_ICREQ, TGT_CONNECT, TGT_PROPERTY, TGT_ADMIN };
	static const struct {
		enum tgt_act act;
		int want;
	} acts[] = {
		{ TGT_CLOSE, -ECONNRESET }, { TGT_SILENT, -ETIMEDOUT }, { TGT_TERM, -EPROTO },
		{ TGT_GARBAGE, -EPROTO }, { TGT_CUT, -ECONNRESET },
	};
	struct target *t = target_new();
	char what[64];
	size_t i, k;

	(void)state;
	for (i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
		for (k = 0; k < sizeof(acts) / sizeof(acts[0]); k++) {
			target_wrong(t, stages[i], acts[k].act, 0);
			snprintf(what, sizeof(what), "stage %d act %d", (int)stages[i], (int)acts[k].act);
			bad_open(t, acts[k].act == TGT_SILENT ? "&timeout=300" : "", acts[k].want, what);
			target_right(t);
			good(t);
		}
	}
	/* Later commands of the set-up, too. */
	for (i = 1; i < 4; i++) {
		target_wrong(t, i < 3 ? TGT_PROPERTY : TGT_ADMIN, TGT_CLOSE, (unsigned int)i);
		bad_open(t, "", -ECONNRESET, "later");
	}
	target_right(t);
	good(t);
	target_free(t);
}

struct patched {
	enum { IC, CAP, CSTS, VS, CTRL, NS } of;
	struct tgt_patch patch;
	int want;
	const char *what;
};

static struct tgt_patch *place(struct target *t, const struct patched *p)
{
	struct tgt_patch *places[] = { &t->ic, &t->cap, &t->csts, &t->vs, &t->ctrl[0], &t->ns };

	return places[p->of];
}

static void test_fields(void **state)
{
	static const struct patched table[] = {
		{ IC, { 0, 1, 0 }, -EPROTO, "type ICReq" },
		{ IC, { 0, 1, 5 }, -EPROTO, "type CapsuleResp" },
		{ IC, { 1, 1, 1 }, -EPROTO, "flags" },
		{ IC, { 2, 1, 127 }, -EPROTO, "HLEN" },
		{ IC, { 3, 1, 128 }, -EPROTO, "PDO" },
		{ IC, { 4, 4, 127 }, -EPROTO, "PLEN" },
		{ IC, { 4, 4, 0xffffffff }, -EPROTO, "PLEN" },
		{ IC, { 8, 2, 1 }, -EPROTO, "PFV" },
		{ IC, { 10, 1, 32 }, -EPROTO, "CPDA" },
		{ IC, { 11, 1, 4 }, -EPROTO, "DGST reserved" },
		{ IC, { 11, 1, 1 }, -EPROTO, "DGST that nobody asked for" },
		{ IC, { 12, 4, 0 }, -EPROTO, "MAXH2CDATA 0" },
		{ IC, { 12, 4, 4098 }, -EPROTO, "MAXH2CDATA odd" },
		{ CAP, { 0, 2, 0 }, -EPROTO, "MQES 0" },
		{ CAP, { 6, 1, 0x0f }, -EPROTO, "MPSMIN above MPSMAX" },
		{ CAP, { 4, 2, 0 }, -EPROTO, "CSS" },
		{ VS, { 0, 4, 0 }, -EPROTO, "VS 0" },
		{ CSTS, { 0, 1, 2 }, -EPROTO, "CFS" },
		{ CTRL, { 78, 2, 77 }, -EPROTO, "CNTLID" },
		{ CTRL, { 111, 1, 2 }, -EINVAL, "CNTRLTYPE discovery" },
		{ CTRL, { 512, 1, 0 }, -EPROTO, "SQES 0" },
		{ CTRL, { 512, 1, 0x77 }, -EPROTO, "SQES 7" },
		{ CTRL, { 513, 1, 0x55 }, -EPROTO, "CQES 5" },
		{ CTRL, { 514, 2, 1 }, -EPROTO, "MAXCMD 1" },
		{ CTRL, { 1792, 4, 0 }, -EPROTO, "IOCCSZ 0" },
		{ CTRL, { 1796, 4, 0 }, -EPROTO, "IORCSZ 0" },
		{ NS, { 0, 8, 0 }, -ENOENT, "NSZE 0" },
		{ NS, { 26, 1, 0x0f }, -EPROTO, "FLBAS" },
		{ NS, { 130, 1, 8 }, -EPROTO, "LBADS 8" },
		{ NS, { 130, 1, 40 }, -EPROTO, "LBADS 40" },
		{ NS, { 128, 2, 8 }, -ENODEV, "metadata" },
		{ NS, { 384, 1, 0 }, -ENODEV, "no magic" },
		{ NS, { 400, 1, 99 }, -EPROTO, "HDRCRC" },
		/* Odd, but good. */
		{ CTRL, { 0, 4, 0 }, 0, "VID and SSVID 0" },
		{ CTRL, { 0, 4, 0x1de51de5 }, 0, "VID and SSVID of another vendor" },
		{ CTRL, { 77, 1, 255 }, 0, "MDTS 255" },
		{ CTRL, { 77, 1, 0 }, 0, "MDTS 0" },
		{ CTRL, { 514, 2, 0 }, 0, "MAXCMD 0" },
		{ CTRL, { 514, 2, 0xffff }, 0, "MAXCMD FFFFh" },
		{ CTRL, { 1792, 4, 0xffffffff }, 0, "IOCCSZ FFFFFFFFh" },
		{ CTRL, { 1792, 4, 4 }, 0, "IOCCSZ 4" },
		{ CTRL, { 1800, 2, 1 }, 0, "ICDOFF 1" },
		{ CTRL, { 4, 8, 0x0a0d1b0700ffull }, 0, "a serial number of control characters" },
		{ CTRL, { 111, 1, 0 }, 0, "CNTRLTYPE not reported" },
		{ CAP, { 0, 2, 0xffff }, 0, "MQES FFFFh" },
		{ IC, { 12, 4, 0xfffffffc }, 0, "MAXH2CDATA FFFFFFFCh" },
	};
	struct target *t = target_new();
	struct accel_result r;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		*place(t, &table[i]) = table[i].patch;
		if (table[i].want)
			bad_open(t, "&timeout=2000", table[i].want, table[i].what);
		else
			job(t, "", 20000, &r);
		*place(t, &table[i]) = (struct tgt_patch){ 0, 0, 0 };
		good(t);
	}
	/* Not ready, for as long as CAP.TO allows. */
	t->csts = (struct tgt_patch){ 0, 1, 0 };
	t->cap = (struct tgt_patch){ 3, 1, 1 };
	bad_open(t, "", -ETIMEDOUT, "RDY");
	target_free(t);
}

static void test_refusals(void **state)
{
	static const struct {
		uint16_t status;
		uint32_t result;
		int want;
	} table[] = {
		{ 0x184, 0, -EACCES },	     { 0x4184, 0, -EACCES },	{ 0x4182, 0x10100, -ENOENT },
		{ 0x4182, 0x10200, -EACCES }, { 0x182, 44, -EPROTO },	{ 0x181, 0, -EBUSY },
		{ 0x191, 0, -EACCES },	     { 0x286, 0, -EACCES },	{ 0x180, 0, -EPROTO },
		{ 0x002, 0, -EPROTO },
	};
	struct target *t = target_new();
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev;
	char name[300];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		t->connect_status = table[i].status;
		t->connect_result = table[i].result;
		bad_open(t, "", table[i].want, "Connect");
	}
	t->connect_status = 0;
	snprintf(name, sizeof(name), "tcp://127.0.0.1:%u/nqn.2026-11.test:two?nsid=7", t->port);
	assert_int_equal(accel_dev_open(ctx, name, &dev), -ENOENT);
	snprintf(name, sizeof(name), "tcp://127.0.0.1:%u/" TGT_NQN "?nsid=3", t->port);
	assert_int_equal(accel_dev_open(ctx, name, &dev), -ENOENT);
	/* Digests that are not granted are not done without. */
	t->dgst = 0;
	bad_open(t, "&ddgst=1", -EPROTO, "no digests");
	good(t);
	target_stop(t);
	bad_open(t, "", -ECONNREFUSED, "nobody there");
	target_start(t);
	good(t);
	accel_ctx_unref(ctx);
	target_free(t);
}

/* Each command of the set-up is refused. */
static bool refuse_nth(struct tgt_conn *c, struct tgt_req *r)
{
	if (c->qid || (r->sqe.opc == NVME_OPC_FABRICS && ((uint8_t *)&r->sqe)[4] == NVME_FC_CONNECT))
		return false;
	return c->t->hooked-- == 0 && tgt_rsp(c, r, NVME_SC_INTERNAL | NVME_SC_DNR, 0);
}

static void test_refused_setup(void **state)
{
	struct target *t = target_new();
	unsigned int i;

	(void)state;
	t->hook = refuse_nth;
	for (i = 0; i < 7; i++) {
		t->hooked = i;
		bad_open(t, "", -EPROTO, "a command of the set-up");
	}
	t->hook = NULL;
	good(t);
	target_free(t);
}

/* ---- While jobs run ---- */

static bool once(struct tgt_conn *c, const struct tgt_req *r, uint8_t opc)
{
	return c->qid && r->sqe.opc == opc && c->t->hooked++ == 0;
}

static uint16_t cid_of(const struct tgt_req *r)
{
	return le16_get(&r->sqe.cid);
}

static bool wrong_cid(struct tgt_conn *c, struct tgt_req *r)
{
	return once(c, r, NVME_IO_WRITE) && tgt_rsp_cid(c, (uint16_t)(cid_of(r) + 1), 0, 0);
}

static bool old_cid(struct tgt_conn *c, struct tgt_req *r)
{
	return once(c, r, NVME_IO_WRITE) && tgt_rsp_cid(c, (uint16_t)(cid_of(r) - 1024), 0, 0);
}

static bool data_for_write(struct tgt_conn *c, struct tgt_req *r)
{
	return once(c, r, NVME_IO_WRITE) && tgt_c2h(c, cid_of(r), r->buf, 0, 512, true, false);
}

static bool data_beyond(struct tgt_conn *c, struct tgt_req *r)
{
	return once(c, r, NVME_IO_READ) && tgt_c2h(c, cid_of(r), r->buf, r->nbytes, 512, true, false);
}

static bool data_far_beyond(struct tgt_conn *c, struct tgt_req *r)
{
	return once(c, r, NVME_IO_READ) && tgt_c2h(c, cid_of(r), r->buf, 0xfffffff0, 8, true, false);
}

static bool data_too_long(struct tgt_conn *c, struct tgt_req *r)
{
	static uint8_t zeros[1 << 20];

	return once(c, r, NVME_IO_READ) && tgt_c2h(c, cid_of(r), zeros, 0, r->nbytes + 4, true, false);
}

static bool data_no_last(struct tgt_conn *c, struct tgt_req *r)
{
	return once(c, r, NVME_IO_READ) && tgt_c2h(c, cid_of(r), r->buf, 0, r->nbytes, false, false);
}

static bool data_early_last(struct tgt_conn *c, struct tgt_req *r)
{
	return once(c, r, NVME_IO_READ) && tgt_c2h(c, cid_of(r), r->buf, 0, 512, true, false);
}

static bool data_gap(struct tgt_conn *c, struct tgt_req *r)
{
	return once(c, r, NVME_IO_READ) && tgt_c2h(c, cid_of(r), r->buf, 512, 512, false, false);
}

static bool data_twice(struct tgt_conn *c, struct tgt_req *r)
{
	return once(c, r, NVME_IO_READ) && tgt_c2h(c, cid_of(r), r->buf, 0, r->nbytes, true, false) &&
	       tgt_c2h(c, cid_of(r), r->buf, 0, r->nbytes, true, false);
}

static bool success_without_data(struct tgt_conn *c, struct tgt_req *r)
{
	return once(c, r, NVME_IO_READ) && tgt_rsp(c, r, 0, 0);
}

static bool success_after_half(struct tgt_conn *c, struct tgt_req *r)
{
	return once(c, r, NVME_IO_READ) && tgt_c2h(c, cid_of(r), r->buf, 0, 512, false, false) && tgt_rsp(c, r, 0, 0);
}

/* The data of the first answer are rubbish: not those of a lease page, which would be believed to be one. */
static bool answer_twice(struct tgt_conn *c, struct tgt_req *r)
{
	return r->nbytes > 4096 && once(c, r, NVME_IO_READ) &&
	       tgt_c2h(c, cid_of(r), r->buf, 0, r->nbytes, true, true) && tgt_rsp(c, r, 0, 0);
}

static bool r2t_for_capsule(struct tgt_conn *c, struct tgt_req *r)
{
	return once(c, r, NVME_IO_WRITE) && tgt_r2t(c, cid_of(r), 0, 0, 512);
}

static bool r2t_for_read(struct tgt_conn *c, struct tgt_req *r)
{
	return once(c, r, NVME_IO_READ) && tgt_r2t(c, cid_of(r), 0, 0, 512);
}

static bool r2t_beyond(struct tgt_conn *c, struct tgt_req *r)
{
	return once(c, r, NVME_IO_WRITE) && tgt_r2t(c, cid_of(r), 0, 0, r->nbytes + 4);
}

static bool r2t_far_beyond(struct tgt_conn *c, struct tgt_req *r)
{
	return once(c, r, NVME_IO_WRITE) && tgt_r2t(c, cid_of(r), 0, 0xfffffff0, 8);
}

static bool r2t_skips(struct tgt_conn *c, struct tgt_req *r)
{
	return r->nbytes > 512 && once(c, r, NVME_IO_WRITE) && tgt_r2t(c, cid_of(r), 0, 512, 512);
}

static bool r2t_nothing(struct tgt_conn *c, struct tgt_req *r)
{
	return once(c, r, NVME_IO_WRITE) && tgt_r2t(c, cid_of(r), 0, 0, 0);
}

/* In one go, so that none of them can have been answered before the last one comes. */
static bool r2t_many(struct tgt_conn *c, struct tgt_req *r)
{
	uint8_t pdus[8 * NTCP_MAX_HDR];
	size_t n = 0;
	uint32_t i;

	if (r->nbytes < 4096 || !once(c, r, NVME_IO_WRITE))
		return false;
	for (i = 0; i < 8; i++)
		n += ntcp_put_r2t(&c->p, pdus + n, cid_of(r), 0, i * 512, 512);
	return tgt_send(c, pdus, n);
}

static bool success_before_data(struct tgt_conn *c, struct tgt_req *r)
{
	return once(c, r, NVME_IO_WRITE) && tgt_rsp(c, r, 0, 0);
}

static bool command_to_host(struct tgt_conn *c, struct tgt_req *r)
{
	uint8_t hdr[NTCP_MAX_HDR];

	return once(c, r, NVME_IO_WRITE) && tgt_send(c, hdr, ntcp_put_cmd(&c->p, hdr, &r->sqe, 0));
}

static bool second_icresp(struct tgt_conn *c, struct tgt_req *r)
{
	uint8_t hdr[NTCP_MAX_HDR];

	return once(c, r, NVME_IO_WRITE) && tgt_send(c, hdr, ntcp_put_icresp(hdr, 0, 0, 131072));
}

static bool raw(struct tgt_conn *c, const uint8_t *pdu, size_t n)
{
	return tgt_send(c, pdu, n);
}

static bool long_pdu(struct tgt_conn *c, struct tgt_req *r)
{
	static const uint8_t pdu[24] = { 7, 4, 24, 24, 0xff, 0xff, 0xff, 0xff };

	return once(c, r, NVME_IO_READ) && raw(c, pdu, sizeof(pdu));
}

static bool short_pdu(struct tgt_conn *c, struct tgt_req *r)
{
	static const uint8_t pdu[24] = { 5, 0, 24, 0, 23, 0, 0, 0 };

	return once(c, r, NVME_IO_READ) && raw(c, pdu, sizeof(pdu));
}

static bool unknown_type(struct tgt_conn *c, struct tgt_req *r)
{
	static const uint8_t pdu[24] = { 8, 0, 24, 0, 24, 0, 0, 0 };

	return once(c, r, NVME_IO_READ) && raw(c, pdu, sizeof(pdu));
}

static bool wrong_hdgst(struct tgt_conn *c, struct tgt_req *r)
{
	uint8_t hdr[NTCP_MAX_HDR];
	struct nvme_cqe cqe = { 0 };
	size_t n;

	if (!once(c, r, NVME_IO_WRITE))
		return false;
	n = ntcp_put_rsp(&c->p, hdr, &cqe);
	hdr[n - 1] ^= 1;
	return tgt_send(c, hdr, n);
}

static bool wrong_pda(struct tgt_conn *c, struct tgt_req *r)
{
	static const uint8_t pdu[24] = { 7, 4, 24, 26, 30, 0, 0, 0 };

	return once(c, r, NVME_IO_READ) && raw(c, pdu, sizeof(pdu));
}

struct breach {
	bool (*hook)(struct tgt_conn *c, struct tgt_req *r);
	bool early;			/* before data are asked for, none being in capsules */
	uint16_t fes;			/* that the host ends the connection with */
	const char *options, *what;
};

static void breach(struct target *t, const struct breach *b)
{
	struct accel_result r;
	unsigned int i, nterm = t->nterm;

	t->hooked = 0;
	t->icd = b->early ? 0 : TGT_ICD;
	if (b->early)
		t->early = b->hook;
	else
		t->hook = b->hook;
	/* Leases and pages go the same way: the first read and write are theirs. A handle's job comes after all. */
	job(t, b->options, 6000, &r);
	t->hook = t->early = NULL;
	for (i = 0; i < 2000 && t->nterm == nterm; i++)
		sleep_ms(5);
	if (!t->hooked || t->nterm != nterm + 1 || t->last_fes != b->fes)
		print_error("%s: hook %u, H2CTermReq %u, FES %u, expected %u\n", b->what, t->hooked, t->nterm - nterm,
			    t->last_fes, b->fes);
	assert_true(t->hooked);
	assert_int_equal(t->nterm, nterm + 1);
	assert_int_equal(t->last_fes, b->fes);
	t->icd = TGT_ICD;
	good(t);
}

static void test_breaches(void **state)
{
#define B(hook, early, fes, options) { hook, early, fes, options, #hook }
	static const struct breach table[] = {
		B(wrong_cid, false, 1, ""),	    B(old_cid, false, 1, ""),
		B(data_for_write, false, 1, ""),    B(data_beyond, false, 4, ""),
		B(data_far_beyond, false, 4, ""),   B(data_too_long, false, 4, ""),
		B(data_no_last, false, 1, ""),	    B(data_early_last, false, 1, ""),
		B(data_gap, false, 4, ""),	    B(data_twice, false, 4, ""),
		B(success_without_data, false, 2, ""), B(success_after_half, false, 2, ""),
		B(answer_twice, false, 1, ""),	    B(r2t_for_capsule, false, 1, ""),
		B(r2t_for_read, true, 1, ""),	    B(r2t_beyond, true, 4, ""),
		B(r2t_far_beyond, true, 4, ""),	    B(r2t_skips, true, 4, ""),
		B(r2t_nothing, true, 1, ""),	    B(success_before_data, true, 2, ""),
		B(command_to_host, false, 1, ""),   B(second_icresp, false, 2, ""),
		B(long_pdu, false, 1, ""),	    B(short_pdu, false, 1, ""),
		B(unknown_type, false, 1, ""),	    B(wrong_pda, false, 1, ""),
		B(wrong_hdgst, false, 3, "&hdgst=1"), B(data_beyond, false, 4, "&hdgst=1&ddgst=1"),
	};
	struct target *t = target_new();
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		breach(t, &table[i]);
	target_free(t);
}

/* More R2Ts than were offered: the write must be long enough for that many. */
static void test_r2t_limit(void **state)
{
	static const struct breach b = B(r2t_many, true, 5, "");
	struct target *t = target_new();

	(void)state;
	breach(t, &b);
	target_free(t);
}

/* The connection ends, or is silent, at each of the first commands of a job. */
static void test_cut_jobs(void **state)
{
	static const enum tgt_act acts[] = { TGT_CLOSE, TGT_TERM, TGT_GARBAGE, TGT_CUT, TGT_SILENT };
	struct target *t = target_new();
	struct accel_result r;
	unsigned int skip;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		for (skip = 0; skip < 8; skip += acts[i] == TGT_SILENT ? 3 : 1) {
			/* What comes after is right again. */
			t->once = true;
			target_wrong(t, TGT_IO, acts[i], skip);
			job(t, acts[i] == TGT_SILENT ? "&timeout=1000" : "", 5000, &r);
			target_right(t);
		}
	}
	good(t);
	target_free(t);
}

/* A data digest that is wrong costs a command, not the connection. */
static void test_data_digest(void **state)
{
	struct target *t = target_new();
	struct accel_ctx *ctx;
	struct accel_dev *dev;
	struct accel_plan *plan;
	uint8_t in[5000], out[5000];
	struct accel_result r;
	unsigned int accepted;

	(void)state;
	assert_int_equal(try_open(t, "&ddgst=1", &ctx, &dev), 0);
	plan = copy_plan(ctx, dev, ACCEL_DEVICE_ONLY);
	fill_text(in, sizeof(in));
	assert_int_equal(accel_run(dev, plan, in, 5000, out, 5000, NULL, 5000, &r), 0);
	assert_int_equal(r.retries, 0);
	accepted = t->accepted;
	t->bad_ddgst = true;
	memset(out, 0, sizeof(out));
	assert_int_equal(accel_run(dev, plan, in, 5000, out, 5000, NULL, 5000, &r), 0);
	assert_int_equal(r.status, ACCEL_ST_OK);
	assert_true(r.retries >= 1);
	assert_memory_equal(in, out, 5000);
	assert_int_equal(t->accepted, accepted);
	assert_int_equal(t->nterm, 0);
	accel_plan_unref(plan);
	forget(ctx, dev);
	target_free(t);
}

/*
 * An error while the data that were asked for are on their way: more than sockets hold, so that a PDU has left in
 * part. It leaves whole, and then the command has ended.
 */
static bool refuse_early(struct tgt_conn *c, struct tgt_req *r)
{
	if (r->nbytes < 500000 || !once(c, r, NVME_IO_WRITE))
		return false;
	r->refused = true;
	return tgt_r2t(c, cid_of(r), (uint16_t)(r - c->req), 0, r->nbytes) && (sleep_ms(100), true) &&
	       tgt_rsp(c, r, NVME_SC_INTERNAL, 0);
}

/* Along with the R2T: nothing of the data leaves. */
static bool refuse_at_once(struct tgt_conn *c, struct tgt_req *r)
{
	struct nvme_cqe cqe = { .cid = r->sqe.cid };
	uint8_t pdus[2 * NTCP_MAX_HDR];
	size_t n;

	if (r->nbytes < 500000 || !once(c, r, NVME_IO_WRITE))
		return false;
	r->refused = true;
	n = ntcp_put_r2t(&c->p, pdus, cid_of(r), (uint16_t)(r - c->req), 0, r->nbytes);
	le16_put(&cqe.status, NVME_SC_INTERNAL << 1);
	n += ntcp_put_rsp(&c->p, pdus + n, &cqe);
	return tgt_send(c, pdus, n);
}

static bool drop_refused(struct tgt_conn *c, struct tgt_req *r)
{
	(void)c;
	return r->refused;
}

static void test_refused_early(void **state)
{
	struct target *t = target_new();
	struct accel_result r;
	unsigned int accepted, i;

	(void)state;
	target_stop(t);
	t->sockbuf = 4096;		/* so that the data do not leave at once */
	target_start(t);
	t->icd = 0;
	t->ctrl[0] = (struct tgt_patch){ 77, 1, 0 };	/* MDTS: any */
	good(t);
	t->hook = drop_refused;
	for (i = 0; i < 2; i++) {
		accepted = t->accepted;
		t->hooked = 0;
		t->early = i ? refuse_at_once : refuse_early;
		job(t, "", 4000000, &r);
		assert_true(t->hooked > 0);
		assert_true(r.retries > 0);
		assert_int_equal(t->nterm, 0);
		/* The admin queue, that of pages and that of jobs: no connection was lost. */
		assert_int_equal(t->accepted, accepted + 3);
	}
	target_free(t);
}

/* Lists and logs of a hostile target: bounded, and told what is wrong. */
static bool bad_list(struct tgt_conn *c, struct tgt_req *r)
{
	uint8_t page[4096];

	if (c->qid || r->sqe.opc != NVME_ADM_IDENTIFY || le32_get(&r->sqe.cdw10) != 2)
		return false;
	memset(page, 0x7f, sizeof(page));	/* the same number again and again */
	return tgt_data(c, r, page, sizeof(page));
}

static bool full_lists(struct tgt_conn *c, struct tgt_req *r)
{
	uint32_t after = le32_get(&r->sqe.nsid), i;
	uint8_t page[4096];

	if (c->qid || r->sqe.opc != NVME_ADM_IDENTIFY || le32_get(&r->sqe.cdw10) != 2)
		return false;
	for (i = 0; i < 1024; i++)
		le32_put(page + 4 * i, after + 1 + i);
	return tgt_data(c, r, page, sizeof(page));
}

/* More namespaces than a list has room for: only the second list names one that is an accelerator, in its middle. */
static bool two_lists(struct tgt_conn *c, struct tgt_req *r)
{
	uint32_t cns = le32_get(&r->sqe.cdw10), nsid = le32_get(&r->sqe.nsid), i;
	uint8_t page[4096] = { 0 };

	if (c->qid || r->sqe.opc != NVME_ADM_IDENTIFY || cns == 1)
		return false;
	if (cns == 0 && nsid == 1500)
		device_identify(c->t->dev[1], page);
	for (i = 0; cns == 2 && i < 1024 && nsid + 1 + i <= 2000; i++)
		le32_put(page + 4 * i, nsid + 1 + i);
	return tgt_data(c, r, page, sizeof(page));
}

static bool long_log(struct tgt_conn *c, struct tgt_req *r)
{
	uint8_t log[4096] = { 0 };

	if (r->sqe.opc != NVME_ADM_GET_LOG || c->qid)
		return false;
	le64_put(log + 8, UINT64_MAX);
	le64_put(log, c->t->hooked++);		/* and it never stays the same */
	return tgt_data(c, r, log, r->nbytes);
}

static bool rubbish_log(struct tgt_conn *c, struct tgt_req *r)
{
	uint8_t log[4096];

	if (r->sqe.opc != NVME_ADM_GET_LOG || c->qid)
		return false;
	memset(log, 0xff, sizeof(log));
	if (le32_get(&r->sqe.cdw12) == 0) {
		memset(log, 0, sizeof(log));
		le64_put(log + 8, 7);
	}
	return tgt_data(c, r, log, r->nbytes);
}

static void test_lists(void **state)
{
	struct target *t = target_new();
	struct accel_ctx *ctx = ctx_new();
	struct accel_dev *dev;
	char name[300], plain[64];

	(void)state;
	snprintf(name, sizeof(name), "tcp://127.0.0.1:%u/" TGT_NQN, t->port);
	snprintf(plain, sizeof(plain), "tcp://127.0.0.1:%u", t->port);
	t->hook = bad_list;
	assert_int_equal(accel_dev_open(ctx, name, &dev), -EPROTO);
	t->hook = full_lists;
	assert_int_equal(accel_dev_open(ctx, name, &dev), 0);
	accel_dev_close(dev);
	t->hook = two_lists;
	assert_int_equal(accel_dev_open(ctx, name, &dev), 0);
	accel_dev_close(dev);
	t->hook = long_log;
	assert_int_equal(accel_dev_open(ctx, plain, &dev), -ENOENT);
	t->hook = rubbish_log;
	assert_int_equal(accel_dev_open(ctx, plain, &dev), -ENOENT);
	t->hook = NULL;
	assert_int_equal(accel_dev_open(ctx, plain, &dev), 0);
	accel_dev_close(dev);
	accel_ctx_unref(ctx);
	target_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stages),	  cmocka_unit_test(test_fields),   cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_refused_setup),
		cmocka_unit_test(test_breaches),  cmocka_unit_test(test_r2t_limit), cmocka_unit_test(test_cut_jobs),
		cmocka_unit_test(test_data_digest), cmocka_unit_test(test_refused_early), cmocka_unit_test(test_lists),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
