/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The one table of responder errors (IBTA vol 1, 9.9, table 63): which answer
 * each earns, what becomes of the QP and of the receive WQE; and what a
 * requester reports when it is the one that is answered.
 */
#ifndef RXE_PROTO_ERRORS_H
#define RXE_PROTO_ERRORS_H

#include "types.h"

enum resp_error {
	RESP_OK,
	RESP_ERR_PSN_SEQ,		/* a packet before this one is missing */
	RESP_ERR_OPCODE_SEQ,		/* FIRST, MIDDLE, LAST out of order */
	RESP_ERR_OPCODE_UNSUPPORTED,	/* not for this QP, or not known */
	RESP_ERR_LENGTH,		/* packet or message length is illegal */
	RESP_ERR_RKEY,			/* key, bounds or access rights */
	RESP_ERR_RECV_TOO_SHORT,	/* SEND longer than the receive buffer */
	RESP_ERR_ALIGN,			/* atomic on an unaligned address */
	RESP_ERR_TOO_MANY_READS,	/* than max_dest_rd_atomic */
	RESP_ERR_RNR,			/* no receive WQE */
	RESP_ERR_LOCAL_OP,		/* local fault on the receive buffer */
	RESP_ERR_RECV_WQE,		/* receive WQE that no post has written */
	RESP_ERR_CQ_OVERRUN,		/* no room for the receive completion */
	RESP_ERR_INVALIDATE,		/* SEND WITH INVALIDATE of a wrong key */
	RESP_ERR_REPLAY_LOST,		/* duplicate READ or atomic, not saved */
	RESP_ERR_REPLAY_RKEY,		/* duplicate READ, its memory is gone */
	RESP_ERR_COUNT
};

enum error_class {
	CLASS_NONE,		/* no error */
	CLASS_B,		/* NAK, the QP stays: the requester decides */
	CLASS_C,		/* NAK, and the QP goes to the error state */
	CLASS_D,		/* silent drop, not an error of this connection */
	CLASS_RNR,		/* RNR NAK: the requester waits and sends again */
	CLASS_SEQ		/* sequence NAK, once per gap: sends again */
};

/* Completion statuses, numbered like enum ib_wc_status */
enum {
	WCS_SUCCESS		= 0,
	WCS_LOC_LEN_ERR		= 1,
	WCS_LOC_QP_OP_ERR	= 2,
	WCS_LOC_PROT_ERR	= 4,
	WCS_WR_FLUSH_ERR	= 5,
	WCS_BAD_RESP_ERR	= 7,
	WCS_LOC_ACCESS_ERR	= 8,
	WCS_REM_INV_REQ_ERR	= 9,
	WCS_REM_ACCESS_ERR	= 10,
	WCS_REM_OP_ERR		= 11,
	WCS_RETRY_EXC_ERR	= 12,
	WCS_RNR_RETRY_EXC_ERR	= 13,
	WCS_REM_INV_RD_REQ_ERR	= 15
};

/**
 * struct resp_error_info - consequences of a responder error
 * @name: for people
 * @class: what kind of answer it gets
 * @syndrome: AETH syndrome of the NAK; 0 if none is sent. For RNR the caller
 *	adds the QP's timer code
 * @qp_error: the QP goes to the error state
 * @wc_status_responder: status of the receive WQE that the message took or
 *	would take; 0 if none completes
 * @access_event: without a receive WQE, raise the access error event of the QP
 * @request_event: without a receive WQE, raise the request error event of the QP
 * @local: a fault of this side, which ends an unreliable connection, too; to that
 *	any other error is a packet to be dropped (9.8.2)
 */
struct resp_error_info {
	const char *name;
	enum error_class class;
	u8 syndrome;
	bool qp_error;
	u8 wc_status_responder;
	bool access_event;
	bool request_event;
	bool local;
};

const struct resp_error_info *resp_error_info(enum resp_error e);
u8 nak_wc_status(u8 syndrome);

#endif /* RXE_PROTO_ERRORS_H */
