// SPDX-License-Identifier: BSD-2-Clause
/* Transfers that this end has announced: their parts come in order, none is missing and none too many. */
#include "priv.h"

static int refuse(uint32_t *fei, const char **why, enum ntcp_fes fes, uint32_t at, const char *text)
{
	*fei = at;
	*why = text;
	return fes;
}

int ntcp_xfer_take(struct ntcp_xfer *x, const struct ntcp_pdu *pdu, uint32_t *fei, const char **why)
{
	bool h2c = pdu->type == NTCP_H2C_DATA, last = pdu->flags & NTCP_F_LAST;

	if (pdu->data.cid != x->cid)
		return refuse(fei, why, NTCP_FES_INVALID_HDR, NTCP_AT_CCCID, "CCCID is not that of the transfer");
	if (h2c && pdu->data.ttag != x->ttag)
		return refuse(fei, why, NTCP_FES_INVALID_HDR, NTCP_AT_TTAG, "TTAG is not that of the R2T");
	/* next <= end always, so the difference says whether there is room without a sum that could overflow. */
	if (pdu->data.offset != x->next || pdu->data.len > x->end - x->next)
		return refuse(fei, why, NTCP_FES_RANGE, 0, "data are not the next part of the transfer");
	if (last != (pdu->data.len == x->end - x->next))
		return refuse(fei, why, NTCP_FES_INVALID_HDR, NTCP_AT_FLAGS,
			      last ? "LAST before the end of the transfer"
				   : "the transfer's last data lack LAST");
	x->next += pdu->data.len;
	return 0;
}
