// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The opcode table against a second one, typed by hand from the specification's
 * names of headers, for all 256 opcodes.
 */
#include <cstring>
#include <string>
#include "proto.hpp"

/* opcode, place (F M L O), headers in their order on the wire, payload allowed */
struct expected {
	int opcode;
	char place;
	const char *headers;
	bool payload;
	bool request;
	bool takes_receive;
};

static const struct expected expected[] = {
	/* RC SEND, RDMA WRITE */
	{ 0x00, 'F', "", true, true, true },
	{ 0x01, 'M', "", true, true, true },
	{ 0x02, 'L', "", true, true, true },
	{ 0x03, 'L', "ImmDt", true, true, true },
	{ 0x04, 'O', "", true, true, true },
	{ 0x05, 'O', "ImmDt", true, true, true },
	{ 0x06, 'F', "RETH", true, true, false },
	{ 0x07, 'M', "", true, true, false },
	{ 0x08, 'L', "", true, true, false },
	{ 0x09, 'L', "ImmDt", true, true, true },
	{ 0x0a, 'O', "RETH", true, true, false },
	{ 0x0b, 'O', "RETH ImmDt", true, true, true },
	/* RC READ, acknowledgments, atomics */
	{ 0x0c, 'O', "RETH", false, true, false },
	{ 0x0d, 'F', "AETH", true, false, false },
	{ 0x0e, 'M', "", true, false, false },
	{ 0x0f, 'L', "AETH", true, false, false },
	{ 0x10, 'O', "AETH", true, false, false },
	{ 0x11, 'O', "AETH", false, false, false },
	{ 0x12, 'O', "AETH AtomicAckETH", false, false, false },
	{ 0x13, 'O', "AtomicETH", false, true, false },
	{ 0x14, 'O', "AtomicETH", false, true, false },
	{ 0x16, 'L', "IETH", true, true, true },
	{ 0x17, 'O', "IETH", true, true, true },
	{ 0x1c, 'O', "FETH RETH", false, true, false },
	{ 0x1d, 'O', "RETH", true, true, false },
	/* UC */
	{ 0x20, 'F', "", true, true, true },
	{ 0x21, 'M', "", true, true, true },
	{ 0x22, 'L', "", true, true, true },
	{ 0x23, 'L', "ImmDt", true, true, true },
	{ 0x24, 'O', "", true, true, true },
	{ 0x25, 'O', "ImmDt", true, true, true },
	{ 0x26, 'F', "RETH", true, true, false },
	{ 0x27, 'M', "", true, true, false },
	{ 0x28, 'L', "", true, true, false },
	{ 0x29, 'L', "ImmDt", true, true, true },
	{ 0x2a, 'O', "RETH", true, true, false },
	{ 0x2b, 'O', "RETH ImmDt", true, true, true },
	/* UD, CNP */
	{ 0x64, 'O', "DETH", true, true, true },
	{ 0x65, 'O', "DETH ImmDt", true, true, true },
	{ 0x81, 'O', "", true, false, false },
};

static const struct expected *expect(int opcode)
{
	for (const struct expected &e : expected)
		if (e.opcode == opcode)
			return &e;
	return nullptr;
}

struct header {
	const char *name;
	unsigned int len;
	u32 flag;
	u8 opcode_info::*offset;
};

static const struct header headers[] = {
	{ "RETH", 16, OPF_RETH, &opcode_info::reth },
	{ "AtomicETH", 28, OPF_ATMETH, &opcode_info::atmeth },
	{ "AETH", 4, OPF_AETH, &opcode_info::aeth },
	{ "AtomicAckETH", 8, OPF_ATMACK, &opcode_info::atmack },
	{ "ImmDt", 4, OPF_IMM, &opcode_info::imm },
	{ "IETH", 4, OPF_IETH, &opcode_info::ieth },
	{ "DETH", 8, OPF_DETH, &opcode_info::deth },
	{ "FETH", 4, OPF_FETH, &opcode_info::feth },
};

TEST_CASE("opcode: exactly the opcodes on offer are defined")
{
	for (int i = 0; i < 256; i++) {
		CAPTURE(i);
		CHECK((opcode_info((u8)i) != nullptr) == (expect(i) != nullptr));
	}
}

TEST_CASE("opcode: place, kind and payload of all 256")
{
	for (int i = 0; i < 256; i++) {
		const struct expected *e = expect(i);
		const struct opcode_info *op = opcode_info((u8)i);
		u32 place;

		if (!e || !op)
			continue;
		CAPTURE(i);
		place = op->flags & (OPF_START | OPF_MIDDLE | OPF_END);
		CHECK(place == (u32)(e->place == 'F' ? OPF_START :
				     e->place == 'M' ? OPF_MIDDLE :
				     e->place == 'L' ? OPF_END : OPF_START | OPF_END));
		CHECK(!!(op->flags & OPF_PAYLOAD) == e->payload);
		CHECK(!!(op->flags & OPF_REQUEST) == e->request);
		CHECK(!!(op->flags & OPF_RESPONSE) == (!e->request && i != OP_CNP));
		CHECK(!!(op->flags & OPF_RWR) == e->takes_receive);
		CHECK(op->transport == i >> 5);
	}
}

TEST_CASE("opcode: lengths and offsets of headers of all 256")
{
	for (int i = 0; i < 256; i++) {
		const struct expected *e = expect(i);
		const struct opcode_info *op = opcode_info((u8)i);
		unsigned int end = BTH_LEN;
		std::string rest;

		if (!e || !op)
			continue;
		CAPTURE(i);
		/* walk the list of names in wire order */
		rest = e->headers;
		while (!rest.empty()) {
			size_t cut = rest.find(' ');
			std::string name = rest.substr(0, cut);
			bool found = false;

			rest = cut == std::string::npos ? "" : rest.substr(cut + 1);
			for (const struct header &h : headers) {
				if (name != h.name)
					continue;
				found = true;
				CHECK(op->*h.offset == end);
				CHECK((op->flags & h.flag) != 0);
				end += h.len;
			}
			REQUIRE(found);
		}
		CHECK(op->hdr_len == end);
		/* and no header that is not in the list */
		for (const struct header &h : headers) {
			std::string all = std::string(" ") + e->headers + " ";

			if (all.find(std::string(" ") + h.name + " ") != std::string::npos)
				continue;
			CHECK(op->*h.offset == 0);
			CHECK((op->flags & h.flag) == 0);
		}
	}
}

TEST_CASE("opcode: family flags are mutually exclusive")
{
	static const u32 families = OPF_SEND | OPF_WRITE | OPF_READ | OPF_ATOMIC |
				    OPF_FLUSH | OPF_ATOMIC_WRITE | OPF_ACK;

	for (int i = 0; i < 256; i++) {
		const struct opcode_info *op = opcode_info((u8)i);
		u32 family;

		if (!op || i == OP_CNP)
			continue;
		CAPTURE(i);
		family = op->flags & families;
		CHECK(family != 0);
		CHECK((family & (family - 1)) == 0);
	}
	CHECK((opcode_info(OP_CNP)->flags & families) == 0);
	CHECK((opcode_info(OP_RC_READ_REQUEST)->flags & OPF_READ) != 0);
	CHECK((opcode_info(OP_RC_READ_RESPONSE_MIDDLE)->flags & OPF_READ) != 0);
	CHECK((opcode_info(OP_RC_ACKNOWLEDGE)->flags & OPF_ACK) != 0);
	CHECK((opcode_info(OP_RC_ATOMIC_ACKNOWLEDGE)->flags & OPF_ATOMIC) != 0);
	CHECK((opcode_info(OP_RC_COMPARE_SWAP)->flags & OPF_ATOMIC) != 0);
	CHECK((opcode_info(OP_RC_FETCH_ADD)->flags & OPF_ATOMIC) != 0);
	CHECK((opcode_info(OP_RC_FLUSH)->flags & OPF_FLUSH) != 0);
	CHECK((opcode_info(OP_RC_ATOMIC_WRITE)->flags & OPF_ATOMIC_WRITE) != 0);
	CHECK((opcode_info(OP_UC_WRITE_LAST_IMM)->flags & OPF_WRITE) != 0);
	CHECK((opcode_info(OP_UD_SEND_ONLY)->flags & OPF_SEND) != 0);
}

TEST_CASE("opcode: names are the names of the enum")
{
	CHECK(!strcmp(opcode_info(0x0b)->name, "RC_WRITE_ONLY_IMM"));
	CHECK(!strcmp(opcode_info(0x16)->name, "RC_SEND_LAST_INV"));
	CHECK(!strcmp(opcode_info(0x65)->name, "UD_SEND_ONLY_IMM"));
	CHECK(!strcmp(opcode_info(0x81)->name, "CNP"));
}

TEST_CASE("opcode: SEND packets by place, immediate data and key")
{
	/* first, last, imm, inv -> opcode */
	static const int want[16] = {
		/* neither first nor last */ 0x01, 0x01, 0x01, 0x01,
		/* last */ 0x02, 0x16, 0x03, 0x16,
		/* first */ 0x00, 0x00, 0x00, 0x00,
		/* only */ 0x04, 0x17, 0x05, 0x17,
	};

	for (int i = 0; i < 16; i++) {
		CAPTURE(i);
		CHECK(opcode_for(MSG_SEND, i & 8, i & 4, i & 2, i & 1) == want[i]);
	}
}

TEST_CASE("opcode: WRITE packets by place and immediate data")
{
	static const int want[8] = { 0x07, 0x07, 0x08, 0x09, 0x06, 0x06, 0x0a, 0x0b };

	for (int i = 0; i < 8; i++) {
		CAPTURE(i);
		CHECK(opcode_for(MSG_WRITE, i & 4, i & 2, i & 1, false) == want[i]);
		CHECK(opcode_for(MSG_WRITE, i & 4, i & 2, i & 1, true) == want[i]);
	}
}

TEST_CASE("opcode: requests of one packet and READ responses")
{
	for (int i = 0; i < 16; i++) {
		bool a = i & 8, b = i & 4, c = i & 2, d = i & 1;

		CHECK(opcode_for(MSG_READ, a, b, c, d) == 0x0c);
		CHECK(opcode_for(MSG_CMP_SWAP, a, b, c, d) == 0x13);
		CHECK(opcode_for(MSG_FETCH_ADD, a, b, c, d) == 0x14);
		CHECK(opcode_for(MSG_FLUSH, a, b, c, d) == 0x1c);
		CHECK(opcode_for(MSG_ATOMIC_WRITE, a, b, c, d) == 0x1d);
	}
	CHECK(opcode_for_read_response(true, false) == 0x0d);
	CHECK(opcode_for_read_response(false, false) == 0x0e);
	CHECK(opcode_for_read_response(false, true) == 0x0f);
	CHECK(opcode_for_read_response(true, true) == 0x10);
}
