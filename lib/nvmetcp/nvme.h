/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What travels between an NVMe host and a controller over a fabric, as far as this project speaks it: the
 * numbers and layouts of the NVMe Base Specification 2.0 (here "Base"), the NVM Command Set Specification 1.0
 * and the NVMe/TCP Transport Specification 1.0, whose names these are. All integers are little endian; fields
 * are read and written by lib/base/bits.h. Byte offsets are those of the specifications.
 */
#ifndef ACCEL_NVMETCP_NVME_H
#define ACCEL_NVMETCP_NVME_H

#include <linux/types.h>
#include <stddef.h>

/* Submission queue entry (Base, figure 86). */
struct nvme_sqe {
	__u8	opc;
	__u8	flags;		/* FUSE 1:0, PSDT 7:6 (01b: an SGL; what fabrics insists on) */
	__le16	cid;
	__le32	nsid;		/* Fabrics commands: byte 4 is FCTYPE */
	__le32	cdw2, cdw3;
	__le64	mptr;
	struct {		/* SGL descriptor 1 */
		__le64	addr;	/* with type NVME_SGL_OFFSET: offset into the capsule's data */
		__le32	len;
		__u8	rsvd[3];
		__u8	type;	/* 7:4 type, 3:0 subtype */
	} sgl;
	__le32	cdw10, cdw11, cdw12, cdw13, cdw14, cdw15;
};
_Static_assert(sizeof(struct nvme_sqe) == 64, "SQE");

#define NVME_SQE_FUSE	0x03u
#define NVME_SQE_PSDT	0xc0u
#define NVME_SQE_SGL	0x40u
#define NVME_SGL_OFFSET		0x01u	/* Data Block, subtype offset: in-capsule data */
#define NVME_SGL_TRANSPORT	0x5au	/* Transport Data Block, subtype transport specific A */

/* Completion queue entry. */
struct nvme_cqe {
	__le64	result;		/* dwords 0 and 1 */
	__le16	sqhd;
	__le16	sqid;		/* reserved over fabrics */
	__le16	cid;
	__le16	status;		/* SC 8:1, SCT 11:9, CRD 13:12, M 14, DNR 15; bit 0 reserved over fabrics */
};
_Static_assert(sizeof(struct nvme_cqe) == 16, "CQE");

/*
 * Status codes as the rest of the project has them: SCT << 8 | SC, bit 13 M(ore), bit 14 DNR; the wire's field
 * is this shifted left by one.
 */
enum nvme_sc {
	NVME_SC_OK = 0x000,
	NVME_SC_INVALID_OPCODE = 0x001, NVME_SC_INVALID_FIELD = 0x002, NVME_SC_CID_CONFLICT = 0x003,
	NVME_SC_DATA_XFER_ERROR = 0x004, NVME_SC_INTERNAL = 0x006, NVME_SC_ABORT_REQ = 0x007,
	NVME_SC_SQ_DELETED = 0x008, NVME_SC_INVALID_NS = 0x00b, NVME_SC_CMD_SEQ_ERROR = 0x00c,
	NVME_SC_SGL_INVALID_LAST = 0x00d, NVME_SC_SGL_INVALID_COUNT = 0x00e, NVME_SC_SGL_INVALID_LEN = 0x00f,
	NVME_SC_SGL_INVALID_TYPE = 0x011, NVME_SC_SGL_INVALID_OFFSET = 0x016, NVME_SC_HOSTID_INCONSISTENT = 0x018,
	NVME_SC_KATO_EXPIRED = 0x019, NVME_SC_KATO_INVALID = 0x01a, NVME_SC_TRANSIENT_TRANSPORT = 0x022,
	NVME_SC_LBA_RANGE = 0x080, NVME_SC_CAPACITY = 0x081, NVME_SC_NS_NOT_READY = 0x082,
	NVME_SC_ABORT_LIMIT = 0x103, NVME_SC_AER_LIMIT = 0x105, NVME_SC_INVALID_LOG_PAGE = 0x109,
	NVME_SC_FEATURE_NOT_SAVEABLE = 0x10d,
	NVME_SC_FEATURE_NOT_CHANGEABLE = 0x10e, NVME_SC_FEATURE_NOT_NS = 0x10f,
	NVME_SC_CONNECT_FORMAT = 0x180, NVME_SC_CONNECT_BUSY = 0x181, NVME_SC_CONNECT_INVALID_PARAM = 0x182,
	NVME_SC_CONNECT_RESTART_DISC = 0x183, NVME_SC_CONNECT_INVALID_HOST = 0x184,
	NVME_SC_INVALID_QUEUE_TYPE = 0x185,
	NVME_SC_DISCOVERY_RESTART = 0x190, NVME_SC_AUTH_REQUIRED = 0x191,
	NVME_SC_ACCESS_DENIED = 0x286,
	NVME_SC_DNR = 0x4000,
};

enum nvme_opc_admin {
	NVME_ADM_GET_LOG = 0x02, NVME_ADM_IDENTIFY = 0x06, NVME_ADM_ABORT = 0x08, NVME_ADM_SET_FEATURES = 0x09,
	NVME_ADM_GET_FEATURES = 0x0a, NVME_ADM_AER = 0x0c, NVME_ADM_KEEP_ALIVE = 0x18, NVME_OPC_FABRICS = 0x7f,
};
enum nvme_opc_io { NVME_IO_FLUSH = 0x00, NVME_IO_WRITE = 0x01, NVME_IO_READ = 0x02 };
enum nvme_fctype { NVME_FC_PROPERTY_SET = 0x00, NVME_FC_CONNECT = 0x01, NVME_FC_PROPERTY_GET = 0x04,
		   NVME_FC_AUTH_SEND = 0x05, NVME_FC_AUTH_RECEIVE = 0x06, NVME_FC_DISCONNECT = 0x08 };

enum nvme_prop { NVME_PROP_CAP = 0x00, NVME_PROP_VS = 0x08, NVME_PROP_CC = 0x14, NVME_PROP_CSTS = 0x1c,
		 NVME_PROP_NSSR = 0x20 };
enum nvme_fid { NVME_FID_ARBITRATION = 0x01, NVME_FID_POWER = 0x02, NVME_FID_TEMPERATURE = 0x04,
		NVME_FID_ERROR_RECOVERY = 0x05, NVME_FID_VWC = 0x06, NVME_FID_NUM_QUEUES = 0x07,
		NVME_FID_ASYNC_EVENT = 0x0b, NVME_FID_KATO = 0x0f, NVME_FID_HOST_BEHAVIOR = 0x16,
		NVME_FID_HOST_ID = 0x81 };
enum nvme_lid { NVME_LOG_SUPPORTED = 0x00, NVME_LOG_ERROR = 0x01, NVME_LOG_SMART = 0x02, NVME_LOG_FIRMWARE = 0x03,
		NVME_LOG_CHANGED_NS = 0x04, NVME_LOG_EFFECTS = 0x05, NVME_LOG_DISCOVERY = 0x70 };

#define NVME_NQN_FIELD		256u	/* bytes of a field that holds an NQN */
#define NVME_NQN_MAX		223u	/* characters of an NQN */
#define NVME_DISCOVERY_NQN	"nqn.2014-08.org.nvmexpress.discovery"

/* Fabrics commands: byte 4 of the SQE is FCTYPE; from byte 40 what follows. */
struct nvmf_connect_cmd {
	__u8	opc, flags;
	__le16	cid;
	__u8	fctype, rsvd5[19];
	__u8	sgl[16];
	__le16	recfmt, qid, sqsize;	/* sqsize is 0's based */
	__u8	cattr;			/* bit 2: SQ flow control disabled */
	__u8	rsvd47;
	__le32	kato;			/* ms */
	__u8	rsvd52[12];
};
_Static_assert(sizeof(struct nvmf_connect_cmd) == 64, "Connect");
#define NVMF_CATTR_NO_SQFLOW	0x04u

struct nvmf_connect_data {
	__u8	hostid[16];
	__le16	cntlid;			/* FFFFh on the admin queue: any */
	__u8	rsvd18[238];
	char	subnqn[NVME_NQN_FIELD];
	char	hostnqn[NVME_NQN_FIELD];
	__u8	rsvd768[256];
};
_Static_assert(sizeof(struct nvmf_connect_data) == 1024, "Connect data");

struct nvmf_property_cmd {
	__u8	opc, flags;
	__le16	cid;
	__u8	fctype, rsvd5[35];
	__u8	attrib;			/* bits 2:0 = 1: eight bytes */
	__u8	rsvd41[3];
	__le32	ofst;
	__le64	value;			/* Property Set */
	__u8	rsvd56[8];
};
_Static_assert(sizeof(struct nvmf_property_cmd) == 64, "Property");

/* Discovery log page (Base, figures 264 and 265). */
struct nvmf_disc_entry {
	__u8	trtype, adrfam, subtype, treq;
	__le16	portid, cntlid, asqsz, eflags;
	__u8	rsvd12[20];
	char	trsvcid[32];
	__u8	rsvd64[192];
	char	subnqn[NVME_NQN_FIELD];
	char	traddr[256];
	__u8	tsas[256];		/* TCP: byte 0 SECTYPE, 0 none */
};
_Static_assert(sizeof(struct nvmf_disc_entry) == 1024, "discovery entry");
struct nvmf_disc_log {
	__le64	genctr, numrec;
	__le16	recfmt;
	__u8	rsvd18[1006];
};
_Static_assert(sizeof(struct nvmf_disc_log) == 1024, "discovery log");
enum { NVMF_TRTYPE_TCP = 3, NVMF_ADRFAM_IPV4 = 1, NVMF_ADRFAM_IPV6 = 2, NVMF_SUBTYPE_DISC = 1,
       NVMF_SUBTYPE_NVME = 2, NVMF_SUBTYPE_DISC_SELF = 3 };

#endif
