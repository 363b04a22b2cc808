// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands: from requests to the model and back.
 *
 * Every command lends its buffers (MODEL_CMD_BORROW): a request's pages stay until it is completed, no timeout takes them
 * away, and so jobs are done from and to the pages of the page cache, of a user or of nvmet without a copy. What the owner
 * of a page does with it meanwhile spoils his own result only. None is LOCAL: nvmet's hosts may lose a connection and with
 * it an answer (they run the job again), and its pages come with what was in them before, so all of a read is written.
 */
#include <linux/slab.h>
#include "engine.h"

blk_status_t eng_queue(struct nap_ns *ns, struct nap_req *r)
{
	struct nap_engine *e = ns->priv;

	/* On a list that is not empty there is one before us whose sender wakes the worker. */
	if (llist_add(&r->eng.node, &e->in))
		wake_up_process(e->worker);
	return BLK_STS_OK;
}

/* ---- Pieces ---- */

struct pieces {
	struct kvec *iov;
	unsigned int n, max;		/* n may get larger than max: what it takes */
	size_t head;			/* bytes of the first block that are still to come */
	bool behind;			/* the last piece lies behind the first block */
};

static void put(struct pieces *p, void *base, size_t len, bool joins)
{
	struct kvec *last = p->n && p->n <= p->max ? &p->iov[p->n - 1] : NULL;

	if (joins && last && last->iov_base + last->iov_len == base) {
		last->iov_len += len;
		return;
	}
	if (p->n < p->max)
		p->iov[p->n] = (struct kvec){ .iov_base = base, .iov_len = len };
	p->n++;
}

/*
 * The first block is a piece of its own where it is contiguous: then the model can lend all that follows to an engine
 * as it is.
 */
static void add(struct pieces *p, void *base, size_t len)
{
	size_t part = min(p->head, len);

	if (part) {
		put(p, base, part, true);
		p->head -= part;
		base += part;
		len -= part;
	}
	if (len) {
		put(p, base, len, p->behind);
		p->behind = true;
	}
}

/* Fills iov[max] with the request's memory; returns how many elements it takes, which may be more. */
static unsigned int fill(struct request *rq, u8 lba_shift, struct kvec *iov, unsigned int max)
{
	struct pieces p = { .iov = iov, .max = max, .head = 1u << lba_shift };
	struct req_iterator it;
	struct bio_vec bv;

	rq_for_each_bvec(bv, rq, it)
		add(&p, page_address(bv.bv_page) + bv.bv_offset, bv.bv_len);
	return p.n;
}

/* ---- Memory for lists of many pieces ---- */

/* As many as a request can have, if each piece is a part of a page. */
static unsigned int max_pieces(const struct nap_engine *e)
{
	return (e->ns->max_bytes >> PAGE_SHIFT) + ENG_INLINE_IOV;
}

int eng_spare_init(struct nap_engine *e)
{
	unsigned int i;

	spin_lock_init(&e->spare_lock);
	for (i = 0; i < ENG_NSPARE; i++) {
		e->spare[i] = kvmalloc_array(max_pieces(e), sizeof(struct kvec), GFP_KERNEL);
		if (!e->spare[i])
			return -ENOMEM;
	}
	return 0;
}

void eng_spare_free(struct nap_engine *e)
{
	unsigned int i;

	for (i = 0; i < ENG_NSPARE; i++)
		kvfree(e->spare[i]);
}

static bool spare_take(struct nap_engine *e, struct eng_cmd *c, unsigned int n)
{
	unsigned long i;

	if (n > max_pieces(e))
		return false;
	spin_lock(&e->spare_lock);
	i = find_first_zero_bit(&e->spare_used, ENG_NSPARE);
	if (i < ENG_NSPARE) {
		__set_bit(i, &e->spare_used);
		c->spare = i;
		c->list = e->spare[i];
	}
	e->starved = i == ENG_NSPARE;
	spin_unlock(&e->spare_lock);
	return i < ENG_NSPARE;
}

static void spare_give(struct nap_engine *e, struct eng_cmd *c)
{
	bool wake;

	spin_lock(&e->spare_lock);
	__clear_bit(c->spare, &e->spare_used);
	wake = e->starved;
	spin_unlock(&e->spare_lock);
	if (wake)
		wake_up_process(e->worker);
}

/*
 * Never waits: the worker is the one who ends the commands that have the spare lists. Those that the model holds end
 * within HOLDMAX, those of running jobs with the job, and then it goes on.
 */
static bool list_get(struct nap_engine *e, struct eng_cmd *c, unsigned int n)
{
	if (n <= ENG_INLINE_IOV)
		return true;
	c->list = kmalloc_array(n, sizeof(struct kvec), GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN);
	return c->list || spare_take(e, c, n);
}

static void list_put(struct nap_engine *e, struct eng_cmd *c)
{
	if (c->spare >= 0)
		spare_give(e, c);
	else
		kfree(c->list);
}

/* ---- To the model ---- */

/* Makes the model's command of a request; false: no memory, now. */
bool eng_cmd_prepare(struct nap_engine *e, struct nap_req *r)
{
	struct eng_cmd *c = eng_cmd(r);
	struct request *rq = nap_rq(r);
	u8 shift = e->ns->lba_shift;
	unsigned int n;

	c->list = NULL;
	c->spare = -1;
	n = r->nbytes ? fill(rq, shift, c->iov, ENG_INLINE_IOV) : 0;
	if (!list_get(e, c, n))
		return false;
	if (n > ENG_INLINE_IOV)
		n = fill(rq, shift, c->list, n);
	c->m = (struct model_cmd){
		.opcode = r->cmd.common.opcode,
		.flags = MODEL_CMD_BORROW,
		.nbytes = r->nbytes,
		.iov = c->list ? c->list : c->iov,
		.niov = n,
	};
	/* nap_policy_check() has seen that it does not overflow. */
	if (r->nbytes)
		c->m.off = le64_to_cpu(r->cmd.rw.slba) << shift;
	return true;
}

/* ---- And back ---- */

void eng_cmd_done(void *ctx, struct model_cmd *cmd, u16 status)
{
	struct nap_engine *e = ctx;

	container_of(cmd, struct eng_cmd, m)->status = status;
	cmd->next = NULL;
	*e->done_end = cmd;
	e->done_end = &cmd->next;
}

static enum nap_reason reason(u16 status)
{
	switch (status) {
	case MODEL_SC_OK:
		return NAP_R_OK;
	case MODEL_SC_INVALID_OPCODE:
		return NAP_R_OPCODE;
	case MODEL_SC_INVALID_FIELD:
		return NAP_R_FIELD;
	case MODEL_SC_LBA_RANGE:
		return NAP_R_RANGE;
	case MODEL_SC_NOT_READY:
	case MODEL_SC_ABORTED:
		return NAP_R_GONE;
	default:
		return NAP_R_LOWER;
	}
}

/* Without the lock: what follows a completion takes its time. */
void eng_cmd_complete(struct nap_engine *e, struct model_cmd *list)
{
	union nvme_result none = { };
	struct eng_cmd *c;

	while (list) {
		c = container_of(list, struct eng_cmd, m);
		list = list->next;
		list_put(e, c);
		/* From here on the command is not ours. */
		nap_complete(eng_req(c), c->status, none, reason(c->status));
	}
}
