// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The table of responder errors. A reader who wants to know what the driver
 * answers to something wrong needs to look nowhere else.
 */
#include "errors.h"
#include "aeth.h"

static const struct resp_error_info table[RESP_ERR_COUNT] = {
	[RESP_OK] = {
		.name = "ok",
		.class = CLASS_NONE,
	},
	[RESP_ERR_PSN_SEQ] = {
		.name = "PSN out of sequence",
		.class = CLASS_SEQ,
		.syndrome = NAK_PSN_SEQ,
	},
	[RESP_ERR_OPCODE_SEQ] = {
		.name = "opcode out of sequence",
		.class = CLASS_C,
		.syndrome = NAK_INVALID_REQ,
		.qp_error = true,
		.wc_status_responder = WCS_REM_INV_REQ_ERR,
		.request_event = true,
	},
	[RESP_ERR_OPCODE_UNSUPPORTED] = {
		.name = "opcode not supported",
		.class = CLASS_C,
		.syndrome = NAK_INVALID_REQ,
		.qp_error = true,
		.wc_status_responder = WCS_REM_INV_REQ_ERR,
		.request_event = true,
	},
	[RESP_ERR_LENGTH] = {
		.name = "illegal length",
		.class = CLASS_C,
		.syndrome = NAK_INVALID_REQ,
		.qp_error = true,
		.wc_status_responder = WCS_REM_INV_REQ_ERR,
		.request_event = true,
	},
	[RESP_ERR_RKEY] = {
		.name = "remote access",
		.class = CLASS_C,
		.syndrome = NAK_REM_ACCESS,
		.qp_error = true,
		/* of a WRITE with immediate data, whose memory is here (11.6.2) */
		.wc_status_responder = WCS_LOC_ACCESS_ERR,
		.access_event = true,
	},
	[RESP_ERR_RECV_TOO_SHORT] = {
		.name = "receive buffer too short",
		.class = CLASS_C,
		.syndrome = NAK_INVALID_REQ,
		.qp_error = true,
		.wc_status_responder = WCS_LOC_LEN_ERR,
	},
	[RESP_ERR_ALIGN] = {
		.name = "atomic not aligned",
		.class = CLASS_C,
		.syndrome = NAK_INVALID_REQ,
		.qp_error = true,
		.request_event = true,
	},
	[RESP_ERR_TOO_MANY_READS] = {
		.name = "too many READs or atomics",
		.class = CLASS_C,
		.syndrome = NAK_INVALID_REQ,
		.qp_error = true,
		.request_event = true,
	},
	[RESP_ERR_RNR] = {
		.name = "receiver not ready",
		.class = CLASS_RNR,
		.syndrome = AETH_RNR,
	},
	[RESP_ERR_LOCAL_OP] = {
		.name = "fault on receive buffer",
		.class = CLASS_C,
		.syndrome = NAK_REM_OP,
		.qp_error = true,
		.wc_status_responder = WCS_LOC_PROT_ERR,
		.local = true,
	},
	[RESP_ERR_RECV_WQE] = {
		.name = "malformed receive request",
		.class = CLASS_C,
		.syndrome = NAK_REM_OP,
		.qp_error = true,
		.wc_status_responder = WCS_LOC_QP_OP_ERR,
		.local = true,
	},
	[RESP_ERR_CQ_OVERRUN] = {
		.name = "CQ overrun",
		.class = CLASS_C,
		.syndrome = NAK_REM_OP,
		.qp_error = true,
		.local = true,
	},
	[RESP_ERR_INVALIDATE] = {
		.name = "invalidate failed",
		.class = CLASS_C,
		.syndrome = NAK_REM_ACCESS,
		.qp_error = true,
		.wc_status_responder = WCS_REM_INV_REQ_ERR,
		.access_event = true,
	},
	[RESP_ERR_REPLAY_LOST] = {
		.name = "duplicate not saved",
		.class = CLASS_D,
	},
	/*
	 * Who has all responses and has had the key ended since may see the network
	 * repeat its request: to it this PSN is history, and the NAK nothing. Who waits
	 * for responses still fails by it.
	 */
	[RESP_ERR_REPLAY_RKEY] = {
		.name = "remote access, duplicate",
		.class = CLASS_B,
		.syndrome = NAK_REM_ACCESS,
	},
};

/**
 * resp_error_info() - what follows from a responder error
 * @e: the error
 *
 * Context: any.
 * Return: a line of the table, never NULL; an undefined @e counts as a local
 * fault, so that a mistake of ours still answers the requester.
 */
const struct resp_error_info *resp_error_info(enum resp_error e)
{
	if ((unsigned int)e >= RESP_ERR_COUNT)
		e = RESP_ERR_LOCAL_OP;
	return &table[e];
}

/**
 * nak_wc_status() - how a requester completes the WQE that was answered
 * @syndrome: AETH syndrome of the answer
 *
 * For a sequence or RNR NAK this is the status once the retries are used up.
 *
 * Context: any.
 * Return: WCS_ number; WCS_SUCCESS for an ACK, WCS_BAD_RESP_ERR for a code that
 * no responder may send (9.9).
 */
u8 nak_wc_status(u8 syndrome)
{
	switch (aeth_kind(syndrome)) {
	case AETH_KIND_ACK:
		return WCS_SUCCESS;
	case AETH_KIND_RNR:
		return WCS_RNR_RETRY_EXC_ERR;
	default:
		break;
	}
	switch (syndrome) {
	case NAK_PSN_SEQ:
		return WCS_RETRY_EXC_ERR;
	case NAK_INVALID_REQ:
		return WCS_REM_INV_REQ_ERR;
	case NAK_REM_ACCESS:
		return WCS_REM_ACCESS_ERR;
	case NAK_REM_OP:
		return WCS_REM_OP_ERR;
	case NAK_INVALID_RD_REQ:
		return WCS_REM_INV_RD_REQ_ERR;
	default:
		return WCS_BAD_RESP_ERR;
	}
}
