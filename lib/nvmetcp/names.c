// SPDX-License-Identifier: BSD-2-Clause
/* What the numbers are called, and what each type of PDU may be (TCP, 3.6.2). */
#include "priv.h"

#define WHYS(type)                                                                                           \
	{                                                                                                    \
		[NTCP_WHY_ROLE] = type ": is not for this end",                                              \
		[NTCP_WHY_SEQUENCE] = type ": not at this point of a connection",                            \
		[NTCP_WHY_HLEN] = type ": HLEN is not that of the type",                                     \
		[NTCP_WHY_FLAGS] = type ": FLAGS has bits that the type does not allow",                     \
		[NTCP_WHY_HDGST] = type ": the header digest flag is not as agreed",                         \
		[NTCP_WHY_PDO] = type ": PDO is no place for data",                                          \
		[NTCP_WHY_DDGST] = type ": the data digest flag is not as agreed",                           \
		[NTCP_WHY_PLEN] = type ": PLEN is not the sum of the parts",                                 \
		[NTCP_WHY_LIMIT] = type ": more data than is allowed",                                       \
		[NTCP_WHY_DIGEST] = type ": the header digest is wrong",                                     \
		[NTCP_WHY_LENGTH] = type ": length does not match PLEN",                                     \
		[NTCP_WHY_RANGE] = type ": offset and length exceed 4 GiB",                                  \
	}

static const struct ntcp_kind kinds[NTCP_TYPES] = {
	[NTCP_ICREQ] = { 128, NTCP_CTRL, NTCP_NO_DATA, 0, false, WHYS("ICReq") },
	[NTCP_ICRESP] = { 128, NTCP_HOST, NTCP_NO_DATA, 0, false, WHYS("ICResp") },
	[NTCP_H2C_TERM] = { 24, NTCP_CTRL, NTCP_COPY, 0, false, WHYS("H2CTermReq") },
	[NTCP_C2H_TERM] = { 24, NTCP_HOST, NTCP_COPY, 0, false, WHYS("C2HTermReq") },
	[NTCP_CMD] = { 72, NTCP_CTRL, NTCP_MAY_DATA, 0, true, WHYS("CapsuleCmd") },
	[NTCP_RSP] = { 24, NTCP_HOST, NTCP_NO_DATA, 0, true, WHYS("CapsuleResp") },
	[NTCP_H2C_DATA] = { 24, NTCP_CTRL, NTCP_MUST_DATA, NTCP_F_LAST, true, WHYS("H2CData") },
	[NTCP_C2H_DATA] = { 24, NTCP_HOST, NTCP_MUST_DATA, NTCP_F_LAST | NTCP_F_SUCCESS, true, WHYS("C2HData") },
	[NTCP_R2T] = { 24, NTCP_HOST, NTCP_NO_DATA, 0, true, WHYS("R2T") },
};

const struct ntcp_kind *ntcp_kind(unsigned int type)
{
	return type < NTCP_TYPES && kinds[type].hlen ? &kinds[type] : NULL;
}

const char *ntcp_type_str(unsigned int type)
{
	static const char *const names[NTCP_TYPES] = {
		[NTCP_ICREQ] = "ICReq", [NTCP_ICRESP] = "ICResp", [NTCP_H2C_TERM] = "H2CTermReq",
		[NTCP_C2H_TERM] = "C2HTermReq", [NTCP_CMD] = "CapsuleCmd", [NTCP_RSP] = "CapsuleResp",
		[NTCP_H2C_DATA] = "H2CData", [NTCP_C2H_DATA] = "C2HData", [NTCP_R2T] = "R2T",
	};

	return type < NTCP_TYPES && names[type] ? names[type] : "unknown";
}

const char *ntcp_fes_str(unsigned int fes)
{
	static const char *const names[] = {
		[NTCP_FES_INVALID_HDR] = "invalid PDU header field",
		[NTCP_FES_SEQUENCE] = "PDU sequence error",
		[NTCP_FES_HDGST] = "header digest error",
		[NTCP_FES_RANGE] = "data transfer out of range",
		[NTCP_FES_LIMIT] = "R2T or data transfer limit exceeded",
		[NTCP_FES_UNSUPPORTED] = "unsupported parameter",
	};

	return fes < sizeof(names) / sizeof(names[0]) && names[fes] ? names[fes] : "unknown";
}
