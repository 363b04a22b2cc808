// SPDX-License-Identifier: BSD-2-Clause
/*
 * Decoding a header, in two steps. The common header alone is refused as soon as it cannot be right, so that
 * nothing waits for bytes that need never come; the lengths that the second step relies on are fixed by then.
 */
#include "../base/bits.h"
#include "priv.h"

int ntcp_fail(struct ntcp_rx *rx, uint16_t fes, uint32_t fei, const char *why)
{
	rx->state = NTCP_RX_FAILED;
	rx->fes = fes;
	rx->fei = fei;
	rx->why = why;
	return -1;
}

static int bad(struct ntcp_rx *rx, const struct ntcp_kind *k, enum ntcp_field at, enum ntcp_why why)
{
	return ntcp_fail(rx, NTCP_FES_INVALID_HDR, at, k->why[why]);
}

/* ICReq and ICResp come before all else and only there. A TermReq ends a connection at any point of it. */
static bool in_sequence(const struct ntcp_rx *rx)
{
	uint8_t type = rx->pdu.type;

	if (type == NTCP_H2C_TERM || type == NTCP_C2H_TERM)
		return true;
	return rx->ready != (type == NTCP_ICREQ || type == NTCP_ICRESP);
}

static int check_flags(struct ntcp_rx *rx, const struct ntcp_kind *k)
{
	uint8_t flags = rx->pdu.flags, known = k->flags;

	if (k->digests)
		known |= NTCP_F_HDGST | NTCP_F_DDGST;
	if (flags & ~known || (flags & NTCP_F_SUCCESS && !(flags & NTCP_F_LAST)))
		return bad(rx, k, NTCP_AT_FLAGS, NTCP_WHY_FLAGS);
	if (k->digests && !!(flags & NTCP_F_HDGST) != rx->p.hdgst)
		return bad(rx, k, NTCP_AT_FLAGS, NTCP_WHY_HDGST);
	return 0;
}

/* PDO is 0 without data. Data begin behind the header and its digest, where this end asked to have them. */
static int check_pdo(struct ntcp_rx *rx, const struct ntcp_kind *k, unsigned int first)
{
	unsigned int pdo = rx->pdu.pdo, align = (rx->p.rx_pda + 1u) * 4;

	if (!pdo ? k->data == NTCP_MUST_DATA
		 : k->data == NTCP_NO_DATA || k->data == NTCP_COPY || pdo < first ||
			   pdo > first + NTCP_MAX_PAD || pdo % align)
		return bad(rx, k, NTCP_AT_PDO, NTCP_WHY_PDO);
	if (k->digests && !!(rx->pdu.flags & NTCP_F_DDGST) != (rx->p.ddgst && pdo))
		return bad(rx, k, NTCP_AT_FLAGS, NTCP_WHY_DDGST);
	return 0;
}

static int check_limit(struct ntcp_rx *rx, const struct ntcp_kind *k)
{
	uint32_t n = rx->pdu.data_len;

	if (rx->pdu.type == NTCP_CMD && n > rx->p.max_icd)
		return bad(rx, k, NTCP_AT_PLEN, NTCP_WHY_LIMIT);
	if (rx->pdu.type == NTCP_H2C_DATA && n > rx->p.max_data)
		return ntcp_fail(rx, NTCP_FES_LIMIT, 0, k->why[NTCP_WHY_LIMIT]);
	/* To a controller FES 5 speaks of R2Ts, so more than any command asked for is out of range. */
	if (rx->pdu.type == NTCP_C2H_DATA && n > rx->p.max_data)
		return ntcp_fail(rx, NTCP_FES_RANGE, 0, k->why[NTCP_WHY_LIMIT]);
	return 0;
}

static int check_plen(struct ntcp_rx *rx, const struct ntcp_kind *k, unsigned int first)
{
	struct ntcp_pdu *pdu = &rx->pdu;
	uint32_t around = pdu->pdo ? pdu->pdo : first, most = 0;

	if (pdu->flags & NTCP_F_DDGST)
		around += NTCP_DIGEST_LEN;
	if (pdu->pdo)
		most = UINT32_MAX;
	else if (k->data == NTCP_COPY)
		most = NTCP_TERM_DATA;
	/* Where there is a PDO there are data. */
	if (pdu->plen < around + !!pdu->pdo || pdu->plen - around > most)
		return bad(rx, k, NTCP_AT_PLEN, NTCP_WHY_PLEN);
	pdu->data_len = pdu->plen - around;
	rx->pad = pdu->pdo ? pdu->pdo - first : 0;
	return check_limit(rx, k);
}

int ntcp_decode_common(struct ntcp_rx *rx)
{
	struct ntcp_pdu *pdu = &rx->pdu;
	const struct ntcp_kind *k;

	pdu->type = rx->hdr[NTCP_AT_TYPE];
	pdu->flags = rx->hdr[NTCP_AT_FLAGS];
	pdu->hlen = rx->hdr[NTCP_AT_HLEN];
	pdu->pdo = rx->hdr[NTCP_AT_PDO];
	pdu->plen = le32_get(rx->hdr + NTCP_AT_PLEN);
	pdu->data_len = 0;
	k = ntcp_kind(pdu->type);
	if (!k)
		return ntcp_fail(rx, NTCP_FES_INVALID_HDR, NTCP_AT_TYPE, "there is no PDU of this type");
	if (k->to != rx->p.role)
		return bad(rx, k, NTCP_AT_TYPE, NTCP_WHY_ROLE);
	if (!in_sequence(rx))
		return ntcp_fail(rx, NTCP_FES_SEQUENCE, 0, k->why[NTCP_WHY_SEQUENCE]);
	if (pdu->hlen != k->hlen)
		return bad(rx, k, NTCP_AT_HLEN, NTCP_WHY_HLEN);
	if (check_flags(rx, k))
		return -1;
	rx->want = k->hlen + (pdu->flags & NTCP_F_HDGST ? NTCP_DIGEST_LEN : 0);
	if (check_pdo(rx, k, rx->want))
		return -1;
	return check_plen(rx, k, rx->want);
}

/* What ICReq and ICResp have in common; another version of the PDUs is what FES 6 is for. */
static int decode_ic(struct ntcp_rx *rx)
{
	const uint8_t *h = rx->hdr;

	rx->pdu.icreq.pfv = le16_get(h + NTCP_AT_PFV);
	rx->pdu.icreq.hpda = h[NTCP_AT_PDA];
	rx->pdu.icreq.dgst = h[NTCP_AT_DGST];
	rx->pdu.icreq.maxr2t = le32_get(h + NTCP_AT_MAXR2T);
	if (rx->pdu.icreq.pfv)
		return ntcp_fail(rx, NTCP_FES_UNSUPPORTED, NTCP_AT_PFV, "PFV is not 0, the only version known");
	if (rx->pdu.icreq.hpda > NTCP_MAX_PDA)
		return ntcp_fail(rx, NTCP_FES_INVALID_HDR, NTCP_AT_PDA, "HPDA or CPDA is more than 31");
	if (rx->pdu.icreq.dgst & ~(NTCP_F_HDGST | NTCP_F_DDGST))
		return ntcp_fail(rx, NTCP_FES_INVALID_HDR, NTCP_AT_DGST, "DGST has reserved bits");
	return 0;
}

static int decode_icresp(struct ntcp_rx *rx)
{
	struct ntcp_pdu *pdu = &rx->pdu;

	if (decode_ic(rx))
		return -1;
	if (pdu->icresp.maxh2cdata < NTCP_MAXH2C_MIN || pdu->icresp.maxh2cdata % 4)
		return ntcp_fail(rx, NTCP_FES_INVALID_HDR, NTCP_AT_MAXH2C,
				 "ICResp: MAXH2CDATA is below 4096 or no multiple of 4");
	return 0;
}

/* H2CData, C2HData (without a tag) and R2T differ in what their length is of. */
static int decode_data(struct ntcp_rx *rx)
{
	const uint8_t *h = rx->hdr;
	struct ntcp_pdu *pdu = &rx->pdu;
	const struct ntcp_kind *k = ntcp_kind(pdu->type);
	uint32_t len = le32_get(h + NTCP_AT_LENGTH);

	pdu->data.cid = le16_get(h + NTCP_AT_CCCID);
	pdu->data.ttag = pdu->type == NTCP_C2H_DATA ? 0 : le16_get(h + NTCP_AT_TTAG);
	pdu->data.offset = le32_get(h + NTCP_AT_OFFSET);
	pdu->data.len = len;
	if (pdu->type == NTCP_R2T ? !len : len != pdu->data_len)
		return pdu->type == NTCP_R2T ? ntcp_fail(rx, NTCP_FES_INVALID_HDR, NTCP_AT_LENGTH,
							 "R2T: asks for no data")
					     : bad(rx, k, NTCP_AT_LENGTH, NTCP_WHY_LENGTH);
	if ((uint64_t)pdu->data.offset + len > UINT32_MAX)
		return ntcp_fail(rx, NTCP_FES_RANGE, 0, k->why[NTCP_WHY_RANGE]);
	return 0;
}

static int check_digest(struct ntcp_rx *rx)
{
	unsigned int hlen = rx->pdu.hlen;
	uint32_t came;

	if (!(rx->pdu.flags & NTCP_F_HDGST))
		return 0;
	came = le32_get(rx->hdr + hlen);
	if (came == base_crc32c(0, rx->hdr, hlen))
		return 0;
	return ntcp_fail(rx, NTCP_FES_HDGST, came, ntcp_kind(rx->pdu.type)->why[NTCP_WHY_DIGEST]);
}

int ntcp_decode_header(struct ntcp_rx *rx)
{
	struct ntcp_pdu *pdu = &rx->pdu;

	if (check_digest(rx))
		return -1;
	switch (pdu->type) {
	case NTCP_ICREQ:
		return decode_ic(rx);
	case NTCP_ICRESP:
		return decode_icresp(rx);
	case NTCP_CMD:
		memcpy(&pdu->sqe, rx->hdr + NTCP_COMMON_LEN, sizeof(pdu->sqe));
		return 0;
	case NTCP_RSP:
		memcpy(&pdu->cqe, rx->hdr + NTCP_COMMON_LEN, sizeof(pdu->cqe));
		return 0;
	case NTCP_H2C_TERM:
	case NTCP_C2H_TERM:
		pdu->term.fes = le16_get(rx->hdr + NTCP_AT_FES);
		pdu->term.fei = le32_get(rx->hdr + NTCP_AT_FEI);
		return 0;
	default:
		return decode_data(rx);
	}
}
