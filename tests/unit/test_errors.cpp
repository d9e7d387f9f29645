// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The table of responder errors against a second one, typed by hand, and rules
 * that must hold for every line of it.
 */
#include <cstring>
#include "proto.hpp"

/* error, class, syndrome, QP error, receive status, access event, request event */
static const struct {
	enum resp_error e;
	enum error_class cls;
	int syndrome;
	bool qp_error;
	int wc;
	bool access_event;
	bool request_event;
} expected[] = {
	{ RESP_OK, CLASS_NONE, 0, false, 0, false, false },
	{ RESP_ERR_PSN_SEQ, CLASS_SEQ, 0x60, false, 0, false, false },
	{ RESP_ERR_OPCODE_SEQ, CLASS_C, 0x61, true, 9, false, true },
	{ RESP_ERR_OPCODE_UNSUPPORTED, CLASS_C, 0x61, true, 9, false, true },
	{ RESP_ERR_LENGTH, CLASS_C, 0x61, true, 9, false, true },
	{ RESP_ERR_RKEY, CLASS_C, 0x62, true, 8, true, false },
	{ RESP_ERR_RECV_TOO_SHORT, CLASS_C, 0x61, true, 1, false, false },
	{ RESP_ERR_ALIGN, CLASS_C, 0x61, true, 0, false, true },
	{ RESP_ERR_TOO_MANY_READS, CLASS_C, 0x61, true, 0, false, true },
	{ RESP_ERR_RNR, CLASS_RNR, 0x20, false, 0, false, false },
	{ RESP_ERR_LOCAL_OP, CLASS_C, 0x63, true, 4, false, false },
	{ RESP_ERR_RECV_WQE, CLASS_C, 0x63, true, 2, false, false },
	{ RESP_ERR_CQ_OVERRUN, CLASS_C, 0x63, true, 0, false, false },
	{ RESP_ERR_INVALIDATE, CLASS_C, 0x62, true, 9, true, false },
	{ RESP_ERR_REPLAY_LOST, CLASS_D, 0, false, 0, false, false },
	{ RESP_ERR_REPLAY_RKEY, CLASS_B, 0x62, false, 0, false, false },
};

TEST_CASE("errors: the table, line by line")
{
	CHECK(sizeof(expected) / sizeof(expected[0]) == RESP_ERR_COUNT);
	for (const auto &x : expected) {
		const struct resp_error_info *info = resp_error_info(x.e);

		CAPTURE(info->name);
		CHECK(info->cls == x.cls);
		CHECK(info->syndrome == x.syndrome);
		CHECK(info->qp_error == x.qp_error);
		CHECK(info->wc_status_responder == x.wc);
		CHECK(info->access_event == x.access_event);
		CHECK(info->request_event == x.request_event);
		/* what an unreliable connection ends of, too (9.8.2) */
		CHECK(info->local == (x.e == RESP_ERR_LOCAL_OP || x.e == RESP_ERR_RECV_WQE ||
				      x.e == RESP_ERR_CQ_OVERRUN));
	}
}

TEST_CASE("S4: no error that stops a QP is silent")
{
	for (int e = RESP_OK + 1; e < RESP_ERR_COUNT; e++) {
		const struct resp_error_info *info = resp_error_info((enum resp_error)e);

		CAPTURE(info->name);
		if (info->qp_error) {
			CHECK(info->cls == CLASS_C);
			CHECK(aeth_kind(info->syndrome) == AETH_KIND_NAK);
			CHECK(info->syndrome != NAK_PSN_SEQ);
		}
		if (!info->syndrome) {
			CHECK(info->cls == CLASS_D);
			CHECK(!info->qp_error);
		}
		CHECK(!(info->access_event && info->request_event));
		if (info->access_event || info->request_event)
			CHECK(info->qp_error);
	}
}

TEST_CASE("errors: every line has a name of its own")
{
	for (int e = 0; e < RESP_ERR_COUNT; e++) {
		const char *name = resp_error_info((enum resp_error)e)->name;

		REQUIRE(name != nullptr);
		for (int f = 0; f < e; f++)
			CHECK(strcmp(name, resp_error_info((enum resp_error)f)->name) != 0);
	}
}

TEST_CASE("errors: an undefined error still answers the requester")
{
	const struct resp_error_info *info = resp_error_info(RESP_ERR_COUNT);

	CHECK(info == resp_error_info(RESP_ERR_LOCAL_OP));
	CHECK(info->syndrome == NAK_REM_OP);
}

TEST_CASE("S4: what a requester reports for each syndrome")
{
	for (int s = 0; s < 256; s++) {
		int want = WCS_BAD_RESP_ERR;

		CAPTURE(s);
		if (s < 0x20)
			want = 0;
		else if (s < 0x40)
			want = 13;
		else if (s == 0x60)
			want = 12;
		else if (s >= 0x61 && s <= 0x63)
			want = 9 + s - 0x61;
		else if (s == 0x64)
			want = 15;
		CHECK(nak_wc_status((u8)s) == want);
	}
}

TEST_CASE("errors: completion statuses have the numbers of verbs")
{
	CHECK(WCS_SUCCESS == 0);
	CHECK(WCS_LOC_LEN_ERR == 1);
	CHECK(WCS_LOC_QP_OP_ERR == 2);
	CHECK(WCS_LOC_PROT_ERR == 4);
	CHECK(WCS_WR_FLUSH_ERR == 5);
	CHECK(WCS_BAD_RESP_ERR == 7);
	CHECK(WCS_LOC_ACCESS_ERR == 8);
	CHECK(WCS_REM_INV_REQ_ERR == 9);
	CHECK(WCS_REM_ACCESS_ERR == 10);
	CHECK(WCS_REM_OP_ERR == 11);
	CHECK(WCS_RETRY_EXC_ERR == 12);
	CHECK(WCS_RNR_RETRY_EXC_ERR == 13);
	CHECK(WCS_REM_INV_RD_REQ_ERR == 15);
}
