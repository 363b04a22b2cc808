/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints: /sys/kernel/tracing/events/nvme_accel_pt. nsid is the upper one, lower_nsid 0 where there is none. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM nvme_accel_pt

#if !defined(NAP_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define NAP_TRACE_H

#include <linux/tracepoint.h>
#include "nap.h"

#ifndef NAP_TRACE_HELPERS
#define NAP_TRACE_HELPERS
#define NAP_TRACE_NAME_LEN 32	/* longer names are cut */

static inline u32 nap_trace_lower_nsid(const struct nap_req *r)
{
	return r->ns && r->ns->conf.kind == NAP_KIND_DEVICE ? r->ns->conf.device_nsid : 0;
}
#endif

#define nap_show_opcode(op) \
	__print_symbolic(op, { nvme_cmd_flush, "flush" }, { nvme_cmd_write, "write" }, { nvme_cmd_read, "read" }, \
			 { nvme_cmd_compare, "compare" }, { nvme_cmd_write_zeroes, "write_zeroes" }, \
			 { nvme_cmd_verify, "verify" })

#define nap_show_reason(reason) \
	__print_symbolic(reason, { NAP_R_OK, "ok" }, { NAP_R_OPCODE, "opcode" }, { NAP_R_FIELD, "field" }, \
			 { NAP_R_LENGTH, "length" }, { NAP_R_RANGE, "lba_range" }, { NAP_R_NSID, "nsid" }, \
			 { NAP_R_GONE, "device_gone" }, { NAP_R_NOMEM, "no_memory" }, \
			 { NAP_R_LOWER, "device_status" }, { NAP_R_RESET, "device_reset" })

/* A command has been checked and goes on to what is below. */
TRACE_EVENT(nvme_accel_pt_submit,
	TP_PROTO(struct nap_req *r),
	TP_ARGS(r),
	TP_STRUCT__entry(
		__array(char, ctrl, NAP_TRACE_NAME_LEN)
		__field(u64, slba)
		__field(u32, nsid)
		__field(u32, lower_nsid)
		__field(u32, bytes)
		__field(int, tag)
		__field(u16, cid)
		__field(u8, opcode)
	),
	TP_fast_assign(
		strscpy(__entry->ctrl, nap_ctrl_name(r->ctrl), NAP_TRACE_NAME_LEN);
		__entry->slba = le64_to_cpu(r->cmd.rw.slba);
		__entry->nsid = le32_to_cpu(r->cmd.common.nsid);
		__entry->lower_nsid = nap_trace_lower_nsid(r);
		__entry->bytes = r->nbytes;
		__entry->tag = nap_rq(r)->tag;
		__entry->cid = r->cmd.common.command_id;
		__entry->opcode = r->cmd.common.opcode;
	),
	TP_printk("ctrl=%s nsid=%u lower_nsid=%u opcode=0x%02x (%s) cid=0x%04x tag=%d slba=%llu bytes=%u", __entry->ctrl,
		  __entry->nsid, __entry->lower_nsid, __entry->opcode, nap_show_opcode(__entry->opcode), __entry->cid,
		  __entry->tag, __entry->slba, __entry->bytes)
);

/* A command ends. status: SCT << 8 | SC, bit 14 DNR; ns: since queue_rq took it. */
TRACE_EVENT(nvme_accel_pt_complete,
	TP_PROTO(struct nap_req *r, u16 status, enum nap_reason reason),
	TP_ARGS(r, status, reason),
	TP_STRUCT__entry(
		__array(char, ctrl, NAP_TRACE_NAME_LEN)
		__field(u64, slba)
		__field(u64, ns)
		__field(u32, nsid)
		__field(u32, lower_nsid)
		__field(u32, bytes)
		__field(int, tag)
		__field(u16, cid)
		__field(u16, status)
		__field(u8, opcode)
		__field(u8, reason)
	),
	TP_fast_assign(
		strscpy(__entry->ctrl, nap_ctrl_name(r->ctrl), NAP_TRACE_NAME_LEN);
		__entry->slba = le64_to_cpu(r->cmd.rw.slba);
		__entry->ns = ktime_get_ns() - r->start_ns;
		__entry->nsid = le32_to_cpu(r->cmd.common.nsid);
		__entry->lower_nsid = nap_trace_lower_nsid(r);
		__entry->bytes = r->nbytes;
		__entry->tag = nap_rq(r)->tag;
		__entry->cid = r->cmd.common.command_id;
		__entry->status = status;
		__entry->opcode = r->cmd.common.opcode;
		__entry->reason = reason;
	),
	TP_printk("ctrl=%s nsid=%u lower_nsid=%u opcode=0x%02x (%s) cid=0x%04x tag=%d slba=%llu bytes=%u status=0x%04x "
		  "reason=%s ns=%llu", __entry->ctrl, __entry->nsid, __entry->lower_nsid, __entry->opcode,
		  nap_show_opcode(__entry->opcode), __entry->cid, __entry->tag, __entry->slba, __entry->bytes,
		  __entry->status, nap_show_reason(__entry->reason), __entry->ns)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
