// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Holes: when a packet counts as lost, and what is sent again, against two peers:
 * one that keeps what follows a hole, one that drops it.
 */
#include <deque>
#include <functional>
#include <map>
#include <set>
#include "proto.hpp"

TEST_CASE("patience: grows with false alarms, shrinks with losses, within bounds")
{
	struct patience p;

	patience_init(&p);
	CHECK(!patience_over(&p, PATIENCE_LATER_MIN - 1));
	CHECK(patience_over(&p, PATIENCE_LATER_MIN));
	for (int i = 0; i < 20; i++)
		patience_late(&p);
	CHECK(p.later == PATIENCE_LATER_MAX);
	CHECK(p.nsec == PATIENCE_NSEC_MAX);
	CHECK(!patience_over(&p, PATIENCE_LATER_MAX - 1));
	for (int i = 0; i < 200; i++)
		patience_lost(&p);
	CHECK(p.later < 2 * PATIENCE_LATER_MIN);
	CHECK(p.nsec < 2 * PATIENCE_NSEC_MIN);
	CHECK(p.later >= PATIENCE_LATER_MIN);
	CHECK(p.nsec >= PATIENCE_NSEC_MIN);
}

/*
 * A requester of @total packets with a window, a responder, and a wire without
 * delay to the responder; answers are handled in order. @lost says which copy of
 * which packet is lost.
 */
struct world {
	bool keeps;
	u32 total, window;
	std::function<bool(u32 packet, u32 copy)> lost;

	u32 una = 0, next = 0;
	struct resend r;
	u32 expected = 0;
	std::set<u32> held;
	bool nak_sent = false;
	struct answer { bool nak; u32 psn; };
	std::deque<answer> answers;
	std::map<u32, u32> copies;
	u32 sent = 0, timeouts = 0, all = 0;
	static const u32 first = 0xffff80;	/* PSNs wrap on the way */

	void arrive(u32 n, bool ask)
	{
		if (n == expected) {
			nak_sent = false;
			expected++;
			while (held.erase(expected))
				expected++;
			if (!held.empty()) {
				nak_sent = true;
				answers.push_back({ true, expected });
				return;
			}
		} else if (n > expected) {
			if (keeps)
				held.insert(n);
			if (!nak_sent)
				answers.push_back({ true, expected });
			nak_sent = true;
			return;
		}
		if (ask)
			answers.push_back({ false, expected });
	}

	void transmit(u32 n, bool ask)
	{
		sent++;
		if (!lost(n, copies[n]++))
			arrive(n, ask);
	}

	u32 psn(u32 n) { return psn_add(first, n); }
	u32 back(u32 p) { return psn_add(p, 0 - first); }

	void act(enum resend_what what)
	{
		if (what == RESEND_RANGE) {
			for (u32 p = r.psn; p != r.end; p = psn_add(p, 1))
				transmit(back(p), psn_add(p, 1) == r.end);
		} else if (what == RESEND_ALL) {
			all++;
			next = una;
		}
	}

	void hear(const answer &a)
	{
		if (a.psn > una) {
			una = a.psn;
			if (next < una)
				next = una;
			act(resend_confirmed(&r, psn(una), psn(next), true));
		}
		if (a.nak && a.psn == una)
			act(resend_nak(&r, psn(a.psn), psn(next)));
	}

	bool run()
	{
		resend_init(&r);
		for (u32 rounds = 0; una < total; rounds++) {
			if (rounds > 100 * total)
				return false;
			if (!answers.empty()) {
				answer a = answers.front();

				answers.pop_front();
				hear(a);
			} else if (next < total && next < una + window &&
				   (!r.waiting || next == una)) {
				u32 n = next++;

				transmit(n, n % 16 == 15 || next == total || next == una + window);
			} else {
				timeouts++;
				act(resend_timeout(&r, psn(una), psn(una + 1), psn(next)));
			}
		}
		return expected == total;
	}
};

static world make(bool keeps, std::function<bool(u32, u32)> lost)
{
	world w;

	w.keeps = keeps;
	w.total = 2000;
	w.window = 64;
	w.lost = lost;
	return w;
}

TEST_CASE("resend: nothing lost, nothing sent again")
{
	world w = make(true, [](u32, u32) { return false; });

	CHECK(w.run());
	CHECK(w.sent == w.total);
	CHECK(w.timeouts == 0);
}

TEST_CASE("resend: a peer that keeps is sent what is missing, and nothing else")
{
	world w = make(true, [](u32 n, u32 copy) { return !copy && n % 50 == 20; });

	CHECK(w.run());
	CHECK(w.sent == w.total + 40);
	CHECK(w.timeouts == 0);
	CHECK(w.all == 0);
	CHECK(w.r.holds);
}

TEST_CASE("resend: a peer that drops is sent everything again, without timeouts")
{
	world w = make(false, [](u32 n, u32 copy) { return !copy && n % 50 == 20; });

	CHECK(w.run());
	CHECK(w.timeouts == 0);
	CHECK(!w.r.holds);
	CHECK(w.sent > w.total + 40);
	CHECK(w.sent <= w.total + 40 * (w.window + 1));
}

TEST_CASE("resend: a long hole is found by doubling")
{
	world w = make(true, [](u32 n, u32 copy) { return !copy && n >= 700 && n < 740; });

	CHECK(w.run());
	CHECK(w.timeouts <= 1);
	CHECK(w.sent < w.total + 3 * w.window);
}

TEST_CASE("resend: a NAK for what is on its way again is for nothing, but tells how far the peer is")
{
	struct resend r;

	resend_init(&r);
	r.run = 8;
	r.holds = true;
	CHECK(resend_nak(&r, 10, 100) == RESEND_RANGE);
	u32 end = r.end;
	CHECK(end > 12);
	CHECK(resend_nak(&r, 11, 100) == RESEND_NOTHING);
	CHECK(resend_nak(&r, 11, 100) == RESEND_NOTHING);
	CHECK(resend_nak(&r, end - 1, 100) == RESEND_NOTHING);
	CHECK(r.end == end);
	/* the hole goes on */
	CHECK(resend_nak(&r, end, 100) == RESEND_RANGE);
	CHECK(r.end > end + 1);
	/* something of it was lost once more: so is what is missing behind that */
	CHECK(resend_nak(&r, end + 2, 100) == RESEND_NOTHING);
	resend_repaired(&r);
	CHECK(resend_nak(&r, end + 2, 100) == RESEND_NOTHING);
	CHECK(resend_nak(&r, end + 4, 100) == RESEND_RANGE);
	CHECK(r.psn == end + 4);
	CHECK(resend_nak(&r, end + 5, 100) == RESEND_NOTHING);
}

TEST_CASE("resend: a peer taken for one that keeps is found out")
{
	world w = make(false, [](u32 n, u32 copy) { return !copy && n == 500; });

	resend_init(&w.r);
	w.r.holds = true;
	CHECK(w.run());
	w.r.holds = true;
	CHECK(resend_nak(&w.r, 10, 500) == RESEND_RANGE);
	u32 at = 10;
	enum resend_what what = RESEND_RANGE;
	for (int i = 0; i < 10 && what == RESEND_RANGE; i++) {
		at = w.r.end;
		CHECK(resend_confirmed(&w.r, at, 500, true) == RESEND_NOTHING);
		what = resend_nak(&w.r, at, 500);
	}
	CHECK(what == RESEND_ALL);
	CHECK(!w.r.holds);
}

TEST_CASE("resend: what was sent again is lost, too: the timer finds it")
{
	for (bool keeps : { false, true }) {
		world w = make(keeps, [](u32 n, u32 copy) { return copy < 3 && n % 200 == 20; });

		CHECK(w.run());
		CHECK(w.timeouts >= 10);
		CHECK(w.timeouts <= 60);
	}
}

TEST_CASE("resend: the last packet, and a whole window, are lost")
{
	for (bool keeps : { false, true }) {
		world w = make(keeps, [](u32 n, u32 copy) { return !copy && n == 1999; });
		world v = make(keeps, [](u32 n, u32 copy) { return !copy && n >= 640 && n < 704; });

		CHECK(w.run());
		CHECK(w.sent <= w.total + 2);
		CHECK(w.timeouts <= 2);
		CHECK(v.run());
		CHECK(v.timeouts <= 3);
		CHECK(v.sent < v.total + 3 * v.window);
	}
}

TEST_CASE("resend: heavy random loss ends, whatever the peer does")
{
	for (u32 seed = 1; seed < 50; seed++) {
		u32 state = seed;

		world w = make(seed & 1, [&state](u32, u32) {
			state = state * 1103515245 + 12345;
			return (state >> 16) % 100 < 20;
		});
		CHECK(w.run());
		CHECK(w.sent < 30 * w.total);
	}
}

TEST_CASE("resend: a NAK said twice, or for what is about to be sent, is for nothing")
{
	struct resend r;

	resend_init(&r);
	CHECK(resend_nak(&r, 5, 5) == RESEND_NOTHING);
	CHECK(resend_nak(&r, 6, 5) == RESEND_NOTHING);
	CHECK(resend_nak(&r, 4, 5) == RESEND_RANGE);
	CHECK(r.end == 5);
	CHECK(resend_nak(&r, 4, 5) == RESEND_NOTHING);
}

TEST_CASE("resend: late answers that are far between do not send everything again")
{
	struct resend r;

	resend_init(&r);
	for (u32 psn = 10; psn < 1000; psn += 20) {
		CHECK(resend_timeout(&r, psn, psn + 1, psn + 40) == RESEND_RANGE);
		CHECK(resend_confirmed(&r, psn + 1, psn + 40, true) == RESEND_NOTHING);
		CHECK(resend_confirmed(&r, psn + 2, psn + 40, true) == RESEND_NOTHING);
	}
}

TEST_CASE("resend: a late answer to a timeout does not send everything again")
{
	struct resend r;

	resend_init(&r);
	CHECK(resend_timeout(&r, 10, 11, 40) == RESEND_RANGE);
	CHECK(r.waiting);
	CHECK(resend_confirmed(&r, 11, 40, true) == RESEND_NOTHING);
	CHECK(!r.waiting);
	CHECK(resend_timeout(&r, 11, 12, 40) == RESEND_RANGE);
	CHECK(resend_confirmed(&r, 12, 40, true) == RESEND_ALL);
	/* an answer beyond it says nothing about what the peer keeps */
	CHECK(resend_timeout(&r, 12, 13, 40) == RESEND_RANGE);
	CHECK(resend_confirmed(&r, 20, 40, true) == RESEND_NOTHING);
	CHECK(!r.holds);
}

TEST_CASE("resend: a response says nothing about what follows its request, the next answer does")
{
	struct resend r;

	/* a READ of 8 packets was lost, and the peer keeps what came behind it */
	resend_init(&r);
	CHECK(resend_nak(&r, 10, 40) == RESEND_RANGE);
	r.end = 18;
	for (u32 psn = 11; psn <= 18; psn++)
		CHECK(resend_confirmed(&r, psn, 40, false) == RESEND_NOTHING);
	CHECK(!r.waiting);
	CHECK(!r.holds);
	CHECK(resend_confirmed(&r, 19, 40, false) == RESEND_NOTHING);
	CHECK(r.holds);
	CHECK(!r.active);
	/* it drops what came behind: a NAK says so */
	resend_init(&r);
	CHECK(resend_nak(&r, 10, 40) == RESEND_RANGE);
	CHECK(resend_confirmed(&r, 11, 40, false) == RESEND_NOTHING);
	CHECK(resend_nak(&r, 11, 40) == RESEND_ALL);
	/* or nothing comes at all, whatever is known of it */
	for (bool holds : { false, true }) {
		resend_init(&r);
		r.holds = holds;
		CHECK(resend_timeout(&r, 10, 11, 40) == RESEND_RANGE);
		CHECK(resend_confirmed(&r, 11, 40, false) == RESEND_NOTHING);
		CHECK(resend_timeout(&r, 11, 12, 40) == RESEND_ALL);
		CHECK(!r.active);
	}
	/* from one that keeps it a NAK is for another hole */
	resend_init(&r);
	r.holds = true;
	CHECK(resend_nak(&r, 10, 40) == RESEND_RANGE);
	CHECK(resend_confirmed(&r, 11, 40, false) == RESEND_NOTHING);
	CHECK(resend_nak(&r, 11, 40) == RESEND_RANGE);
	/* with nothing behind it there is nothing to be found out */
	resend_init(&r);
	CHECK(resend_nak(&r, 10, 11) == RESEND_RANGE);
	CHECK(resend_confirmed(&r, 11, 11, false) == RESEND_NOTHING);
	CHECK(!r.active);
}
