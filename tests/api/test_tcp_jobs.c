// SPDX-License-Identifier: BSD-2-Clause
/* Jobs over NVMe/TCP against a target that does right, in every way that the protocol leaves it. */
#include "tcp_target.h"

struct handle {
	struct accel_ctx *ctx;
	struct accel_dev *dev;
	struct accel_plan *plan;
};

static void log_line(void *arg, enum accel_log_level level, const char *message)
{
	(void)arg;
	print_message("# %d %s\n", level, message);
}

static void handle_open(struct handle *h, struct target *t, const char *options)
{
	char name[300];

	h->ctx = ctx_new();
	if (getenv("TCP_LOG"))
		accel_ctx_set_log(h->ctx, log_line, NULL, ACCEL_LOG_DEBUG);
	h->dev = dev_open(h->ctx, target_name(t, name, sizeof(name), options));
	h->plan = copy_plan(h->ctx, h->dev, ACCEL_DEVICE_ONLY);
}

static void handle_close(struct handle *h)
{
	accel_plan_unref(h->plan);
	accel_dev_close(h->dev);
	accel_ctx_unref(h->ctx);
}

static void one_size(struct handle *h, size_t n)
{
	uint8_t *in = malloc(n + 1), *out = calloc(1, n + 1);
	struct accel_result r;
	int ret;

	fill_text(in, n);
	ret = accel_run(h->dev, h->plan, in, n, out, n, NULL, 20000, &r);
	if (ret || r.status)
		print_error("%zu bytes: %d, %s, os %d nvme %x\n", n, ret, accel_status_str(r.status), r.os_error,
			    r.nvme_status);
	assert_int_equal(ret, 0);
	assert_int_equal(r.status, ACCEL_ST_OK);
	assert_int_equal(r.out_len, n);
	assert_int_equal(r.retries, 0);
	assert_memory_equal(in, out, n);
	free(in);
	free(out);
}

static void sizes(struct target *t, const char *options)
{
	static const size_t table[] = { 1, 511, 512, 4096, 7680, 7681, 12345, 65536, 131072, 1048064, 1048065, 3000000,
					4000000 };
	struct handle h;
	size_t i;

	handle_open(&h, t, options);
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		one_size(&h, table[i]);
	handle_close(&h);
}

static void test_sizes(void **state)
{
	struct target *t = target_new();

	(void)state;
	sizes(t, "");
	sizes(t, "&hdgst=1");
	sizes(t, "&ddgst=1");
	sizes(t, "&hdgst=1&ddgst=1");
	sizes(t, "&poll=0");
	sizes(t, "&poll=5000");
	target_free(t);
}

static void test_variants(void **state)
{
	struct target *t = target_new();

	(void)state;
	t->success = true;
	sizes(t, "");
	sizes(t, "&hdgst=1&ddgst=1");
	t->success = false;
	t->c2h_chunk = 4000;
	sizes(t, "&ddgst=1");
	t->c2h_chunk = 100000;
	t->success = true;
	sizes(t, "");
	t->r2t_chunk = 5000;
	sizes(t, "&ddgst=1");
	t->r2ts = 4;
	sizes(t, "&hdgst=1");
	t->maxh2c = 4096;
	sizes(t, "");
	t->icd = 0;
	sizes(t, "");
	t->cpda = 31;
	sizes(t, "&hdgst=1&ddgst=1");
	t->ctrl[0] = (struct tgt_patch){ 77, 1, 0 };	/* MDTS: none */
	sizes(t, "");
	t->ctrl[0] = (struct tgt_patch){ 77, 1, 1 };	/* 8 KiB */
	t->ctrl[1] = (struct tgt_patch){ 514, 2, 0 };	/* MAXCMD */
	sizes(t, "");
	t->ctrl[1] = (struct tgt_patch){ 514, 2, 3 };
	sizes(t, "");
	t->cap = (struct tgt_patch){ 0, 2, 2 };		/* three entries: two commands at a time */
	sizes(t, "");
	target_free(t);
}

static void test_bytewise(void **state)
{
	struct target *t = target_new();
	struct handle h;

	(void)state;
	t->bytewise = true;
	handle_open(&h, t, "&hdgst=1&ddgst=1");
	one_size(&h, 1000);
	one_size(&h, 9000);
	handle_close(&h);
	target_free(t);
}

/* A target that takes and gives little at a time: PDUs leave in parts, and so do they come. */
static void test_narrow(void **state)
{
	struct target *t = target_new();
	struct handle h;

	(void)state;
	target_stop(t);
	t->sockbuf = 4096;
	t->gulp = 3000;
	target_start(t);
	handle_open(&h, t, "&ddgst=1");
	one_size(&h, 600000);
	one_size(&h, 100);
	t->icd = 0;
	t->r2ts = 3;
	t->r2t_chunk = 50000;
	one_size(&h, 600000);
	handle_close(&h);
	target_free(t);
}

/* Full depth from a queue, by waiting and by polling its descriptor. */
static void deep(struct target *t, const char *options, bool use_fd, uint32_t depth, size_t len, unsigned int njobs)
{
	struct handle h;
	struct accel_lease *lease;
	struct accel_queue *q;
	uint8_t *in = malloc(len * depth), *out = malloc(len * depth);
	struct iovec *vin = calloc(depth, sizeof(*vin)), *vout = calloc(depth, sizeof(*vout));
	struct accel_result r[16];
	unsigned int sent = 0, got = 0, i;
	struct pollfd p;
	int n, k;

	handle_open(&h, t, options);
	lease = lease_new(h.dev, depth, 0, 0);
	q = queue_of(lease, depth);
	fill_text(in, len * depth);
	p = (struct pollfd){ use_fd ? accel_queue_fd(q) : -1, POLLIN, 0 };
	while (got < njobs) {
		while (sent < njobs && sent - got < depth) {
			struct accel_job job = ACCEL_INIT(struct accel_job);

			i = sent % depth;
			vin[i] = (struct iovec){ in + i * len, len };
			vout[i] = (struct iovec){ out + i * len, len };
			job.plan = h.plan;
			job.in = &vin[i];
			job.out = &vout[i];
			job.nin = job.nout = 1;
			if (accel_queue_submit(q, &job, 1) != 1)
				break;
			sent++;
		}
		if (use_fd) {
			assert_true(poll(&p, 1, 20000) > 0);
			n = accel_queue_reap(q, r, 16, 0, 0);
		} else {
			n = accel_queue_reap(q, r, 16, 1, 20000);
			assert_true(n > 0);
		}
		assert_true(n >= 0);
		for (k = 0; k < n; k++) {
			if (r[k].status)
				print_error("%s, os %d, nvme %x\n", accel_status_str(r[k].status), r[k].os_error,
					    r[k].nvme_status);
			assert_int_equal(r[k].status, ACCEL_ST_OK);
			assert_int_equal(r[k].out_len, len);
		}
		got += (unsigned int)n;
		/* Buffers are used again only when all jobs have ended. */
		if (got == sent)
			assert_memory_equal(in, out, len * BASE_MIN(sent, depth));
	}
	free(in);
	free(out);
	free(vin);
	free(vout);
	accel_queue_free(q);
	accel_lease_release(lease);
	handle_close(&h);
}

static void test_deep(void **state)
{
	struct target *t = target_new();

	(void)state;
	deep(t, "", false, 32, 4096, 2000);
	deep(t, "", true, 32, 4096, 2000);
	deep(t, "&poll=0&ddgst=1", true, 8, 70000, 100);
	deep(t, "", false, 16, 1 << 20, 64);
	t->cap = (struct tgt_patch){ 0, 2, 7 };		/* eight entries: jobs wait here */
	deep(t, "", false, 32, 4096, 300);
	deep(t, "", true, 32, 4096, 300);
	target_free(t);
}

/* Faults above the wire: a path that is split, fails and carries little, over one that keeps the order. */
static void test_faults(void **state)
{
	static const char *const table[] = {
		"max=8192", "failw@2/3", "lostr@3/5", "max=65536;lostw@2/5;failr@3/7", "reorderw@1/2", "splitw@1/2",
	};
	struct target *t = target_new();
	char name[300], whole[400];
	uint8_t *in = malloc(100000), *out = malloc(100000);
	struct accel_result r;
	struct handle h;
	size_t i;
	int k;

	(void)state;
	fill_text(in, 100000);
	h.ctx = ctx_new();
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		snprintf(whole, sizeof(whole), "fault:%s,%s", table[i], target_name(t, name, sizeof(name), ""));
		h.dev = dev_open(h.ctx, whole);
		h.plan = copy_plan(h.ctx, h.dev, ACCEL_DEVICE_ONLY);
		for (k = 0; k < 12; k++) {
			memset(out, 0, 100000);
			assert_int_equal(accel_run(h.dev, h.plan, in, 100000, out, 100000, NULL, 10000, &r), 0);
			assert_int_equal(r.status, ACCEL_ST_OK);
			assert_int_equal(r.out_len, 100000);
			assert_memory_equal(in, out, 100000);
		}
		accel_plan_unref(h.plan);
		accel_dev_close(h.dev);
	}
	accel_ctx_unref(h.ctx);
	free(in);
	free(out);
	target_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_variants),
		cmocka_unit_test(test_bytewise),
		cmocka_unit_test(test_narrow),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_faults),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
