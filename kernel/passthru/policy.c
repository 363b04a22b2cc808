// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which commands may go to a namespace, of what length, and which of their fields travel on.
 *
 * A command's length is computed from its own fields and must equal the data of its request, in size and in direction:
 * what is below moves data by the command, what is above owns the memory by the request. Pointers, PSDT and FUSE never
 * travel; fields that no command of the list uses must be zero, so that nothing is dropped that its sender relied on.
 *
 * Compiled into a unit test, too (tests/unit), which brings its own types.
 */
#ifdef __KERNEL__
#include "nap.h"
#include "../../lib/model/model.h"
#endif

#define CTL_LR		(1u << 15)	/* bits of CDW12's upper half: Limited Retry, Force Unit Access, Deallocate */
#define CTL_FUA		(1u << 14)
#define CTL_DEAC	(1u << 9)
#define DSM_HINT	0xffu		/* of CDW13: what the sender thinks of its data */

#define FIRST_VENDOR	0x80u
#define DIRECTION	3u		/* of an opcode: 0 no data, 1 to the device, 2 from it, 3 both ways */

/* What is known of an opcode that has a name. */
static const struct named_opcode {
	const char *word;
	u8 opcode, len;
	bool data;		/* of NLB blocks; without: they are only a range */
	u16 control;		/* bits that may be set in CDW12's upper half */
	u32 cdw13;		/* and in CDW13 */
} named[] = {
	{ "read",	  0x02, NAP_LEN_RW,   true,  CTL_LR | CTL_FUA,		  DSM_HINT },
	{ "write",	  0x01, NAP_LEN_RW,   true,  CTL_LR | CTL_FUA,		  DSM_HINT },
	{ "flush",	  0x00, NAP_LEN_NONE, false, 0,				  0 },
	{ "compare",	  0x05, NAP_LEN_RW,   true,  CTL_LR | CTL_FUA,		  0 },
	{ "write-zeroes", 0x08, NAP_LEN_RW,   false, CTL_LR | CTL_FUA | CTL_DEAC, 0 },
	{ "verify",	  0x0c, NAP_LEN_RW,   false, CTL_LR | CTL_FUA,		  0 },
};

static const struct named_opcode *find_opcode(u8 opcode)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(named); i++)
		if (named[i].opcode == opcode)
			return &named[i];
	return NULL;
}

static void allow(struct nap_policy *p, u8 opcode, u8 len)
{
	__set_bit(opcode, p->opcode);
	p->len[opcode] = len;
}

void nap_policy_default(struct nap_policy *p)
{
	memset(p, 0, sizeof(*p));
	allow(p, 0x02, NAP_LEN_RW);
	allow(p, 0x01, NAP_LEN_RW);
	allow(p, 0x00, NAP_LEN_NONE);
}

/* ---- Words ---- */

/* The length of a word that ends at a blank or at the end. */
static size_t word_length(const char *s)
{
	return strcspn(s, " \t\n,");
}

static bool word_is(const char *s, size_t n, const char *word)
{
	return n == strlen(word) && !memcmp(s, word, n);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* 0xNN:none or 0xNN:ndt */
static int parse_vendor(struct nap_policy *p, const char *s, size_t n)
{
	int high, low, opcode;

	if (n < 5 || s[0] != '0' || (s[1] | 0x20) != 'x' || s[4] != ':')
		return -EINVAL;
	high = hex_digit(s[2]);
	low = hex_digit(s[3]);
	if (high < 0 || low < 0)
		return -EINVAL;
	opcode = high << 4 | low;
	if (opcode < (int)FIRST_VENDOR || test_bit(opcode, p->opcode))
		return -EINVAL;
	if (word_is(s + 5, n - 5, "none")) {
		allow(p, opcode, NAP_LEN_NONE);
		return 0;
	}
	/* A request moves data one way: an opcode for none or for both has no form of it. */
	if (!word_is(s + 5, n - 5, "ndt") || (opcode & DIRECTION) == 0 || (opcode & DIRECTION) == DIRECTION)
		return -EINVAL;
	allow(p, opcode, NAP_LEN_NDT);
	return 0;
}

static int parse_word(struct nap_policy *p, const char *s, size_t n)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(named); i++) {
		if (!word_is(s, n, named[i].word))
			continue;
		if (test_bit(named[i].opcode, p->opcode))
			return -EINVAL;
		allow(p, named[i].opcode, named[i].len);
		return 0;
	}
	return parse_vendor(p, s, n);
}

/* Words between blanks or commas, each once, at least one. */
int nap_policy_parse(struct nap_policy *p, const char *text)
{
	struct nap_policy new = { };
	unsigned int words = 0;
	size_t n;
	int ret;

	for (;; text += n, words++) {
		text += strspn(text, " \t\n,");
		n = word_length(text);
		if (!n)
			break;
		ret = parse_word(&new, text, n);
		if (ret)
			return ret;
	}
	if (!words)
		return -EINVAL;
	*p = new;
	return 0;
}

ssize_t nap_policy_show(const struct nap_policy *p, char *page)
{
	unsigned int i, n = 0;

	for (i = 0; i < ARRAY_SIZE(named); i++)
		if (test_bit(named[i].opcode, p->opcode))
			n += scnprintf(page + n, PAGE_SIZE - n, "%s%s", n ? " " : "", named[i].word);
	for (i = FIRST_VENDOR; i < 256; i++)
		if (test_bit(i, p->opcode))
			n += scnprintf(page + n, PAGE_SIZE - n, "%s0x%02x:%s", n ? " " : "", i,
				       p->len[i] == NAP_LEN_NDT ? "ndt" : "none");
	n += scnprintf(page + n, PAGE_SIZE - n, "\n");
	return n;
}

/* ---- Commands ---- */

static u32 cdw(const struct nvme_command *c, unsigned int i)
{
	return le32_to_cpu(((const __le32 *)c)[i]);
}

static bool rest_is_zero(const struct nvme_command *c, unsigned int from)
{
	for (; from <= 15; from++)
		if (cdw(c, from))
			return false;
	return true;
}

/* Fields of a command that has a name; those that its kind does not have, or that need metadata, must be zero. */
static bool named_fields_ok(const struct named_opcode *o, const struct nvme_command *c)
{
	u32 cdw12 = cdw(c, 12);

	if (o->len == NAP_LEN_NONE)
		return rest_is_zero(c, 10);
	return !(cdw12 >> 16 & ~(u32)o->control) && !(cdw(c, 13) & ~o->cdw13) && rest_is_zero(c, 14);
}

static bool vendor_fields_ok(u8 len, const struct nvme_command *c)
{
	/* CDW11 of the vendor format is the number of metadata dwords, which no namespace of ours has. */
	return len != NAP_LEN_NDT || !cdw(c, 11);
}

static bool fields_ok(u8 len, const struct nvme_command *c)
{
	const struct named_opcode *o = find_opcode(c->common.opcode);

	/* FUSE; PSDT is the transport's, and whoever made the request has cleared it. */
	if (c->common.flags || c->common.cdw2[0] || c->common.cdw2[1] || c->common.metadata)
		return false;
	return o ? named_fields_ok(o, c) : vendor_fields_ok(len, c);
}

static u64 first_block(const struct nvme_command *c)
{
	return (u64)cdw(c, 11) << 32 | cdw(c, 10);
}

static u64 nr_blocks(const struct nvme_command *c)
{
	return (u64)(cdw(c, 12) & 0xffff) + 1;
}

/* Bytes of data that the command moves. */
static u64 data_bytes(u8 len, const struct nvme_command *c, u8 lba_shift)
{
	const struct named_opcode *o = find_opcode(c->common.opcode);

	switch (len) {
	case NAP_LEN_RW:
		return o && o->data ? nr_blocks(c) << lba_shift : 0;
	case NAP_LEN_NDT:
		return (u64)cdw(c, 10) << 2;
	default:
		return 0;
	}
}

/* The block layer's requests without data (zero these blocks) may have a length all the same. */
static u32 request_bytes(struct request *rq)
{
	return blk_rq_nr_phys_segments(rq) ? blk_rq_payload_bytes(rq) : 0;
}

static bool length_ok(struct request *rq, const struct nvme_command *c, u64 nbytes)
{
	if (request_bytes(rq) != nbytes)
		return false;
	return !nbytes || (c->common.opcode & DIRECTION) == (rq_data_dir(rq) == WRITE ? 1 : 2);
}

u16 nap_policy_check(const struct nap_policy *p, struct nap_req *r, u8 lba_shift, u64 nblocks, enum nap_reason *reason)
{
	const struct nvme_command *c = &r->cmd;
	struct request *rq = nap_rq(r);
	u8 opcode = c->common.opcode, len = p->len[opcode];
	u64 nbytes, first;

	if (!test_bit(opcode, p->opcode)) {
		*reason = NAP_R_OPCODE;
		return MODEL_SC_INVALID_OPCODE;
	}
	if (!fields_ok(len, c) || (rq->rq_flags & RQF_SPECIAL_PAYLOAD) || (rq->cmd_flags & REQ_INTEGRITY)) {
		*reason = NAP_R_FIELD;
		return MODEL_SC_INVALID_FIELD;
	}
	nbytes = data_bytes(len, c, lba_shift);
	if (!length_ok(rq, c, nbytes)) {
		*reason = NAP_R_LENGTH;
		return MODEL_SC_INVALID_FIELD;
	}
	first = first_block(c);
	if (len == NAP_LEN_RW && (first >= nblocks || nr_blocks(c) > nblocks - first)) {
		*reason = NAP_R_RANGE;
		return MODEL_SC_LBA_RANGE;
	}
	r->nbytes = (u32)nbytes;	/* a request's length has 32 bits */
	return 0;
}

void nap_policy_command(const struct nap_policy *p, const struct nap_req *r, struct nvme_command *out, u32 nsid)
{
	const __le32 *from = (const __le32 *)&r->cmd + 10;
	__le32 *to = (__le32 *)out + 10;
	unsigned int i, n;

	memset(out, 0, sizeof(*out));
	out->common.opcode = r->cmd.common.opcode;
	out->common.nsid = cpu_to_le32(nsid);
	/* Of reads, writes and the like CDW10 to CDW13; of vendor commands all six are theirs; Flush has none. */
	n = r->cmd.common.opcode >= FIRST_VENDOR ? 6 : p->len[r->cmd.common.opcode] == NAP_LEN_RW ? 4 : 0;
	for (i = 0; i < n; i++)
		to[i] = from[i];
}
