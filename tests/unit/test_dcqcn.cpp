// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Rates after a notification of congestion: the steps of one flow, and flows that share
 * a bottleneck with a queue that marks, simulated packet by packet.
 */
#include <algorithm>
#include <deque>
#include <initializer_list>
#include <vector>
#include "proto.hpp"

static const u64 msec = 1000000;

/* Bytes per tick of so many Mb/s */
static u32 mbps(u64 rate)
{
	return (u32)(rate * 125000 * DCQCN_TICK_NSEC / 1000000000);
}

static struct dcqcn started(u32 rate, u64 now)
{
	struct dcqcn d;

	dcqcn_init(&d);
	CHECK(!dcqcn_limited(&d));
	dcqcn_start(&d, rate, 0, now);
	CHECK(dcqcn_limited(&d));
	return d;
}

TEST_CASE("dcqcn: the first CNP halves what a flow has been sending")
{
	struct dcqcn d = started(mbps(1000), msec);

	CHECK(d.rate == mbps(1000) - mbps(1000) / 2);
	CHECK(d.target == mbps(1000));
}

TEST_CASE("dcqcn: five steps lead back to where it was, the rest gains slowly")
{
	struct dcqcn d = started(mbps(1000), 0);
	u32 before = d.rate;

	for (int step = 1; step <= DCQCN_RECOVERY; step++) {
		dcqcn_advance(&d, step * DCQCN_STAGE_MIN - 1);
		CHECK(d.rate == before);	/* not a moment earlier */
		dcqcn_advance(&d, step * DCQCN_STAGE_MIN);
		CHECK(d.target == mbps(1000));
		CHECK(d.rate > before);
		CHECK(d.target - d.rate <= (d.target - before) / 2);
		before = d.rate;
	}
	CHECK(d.target - d.rate <= d.target / 64);
	dcqcn_sent(&d, d.rate / 2 + 1);
	dcqcn_advance(&d, (DCQCN_RECOVERY + 1) * DCQCN_STAGE_MIN);
	CHECK(d.target == mbps(1000) + dcqcn_gain(mbps(1000)));
	CHECK(d.byte_steps == 0);
}

TEST_CASE("dcqcn: the bytes count like the clock, both together gain more and more")
{
	struct dcqcn d = started(mbps(1000), 0);

	dcqcn_sent(&d, DCQCN_STAGE_BYTES - 1);
	CHECK(d.rate == mbps(1000) - mbps(1000) / 2);
	dcqcn_sent(&d, 1);
	CHECK(d.byte_steps == 1);
	CHECK(d.rate > mbps(740));
	dcqcn_sent(&d, DCQCN_RECOVERY * DCQCN_STAGE_BYTES);
	CHECK(d.target == mbps(1000) + dcqcn_gain(mbps(1000)));
	for (u32 step = 1; step <= DCQCN_RECOVERY; step++) {
		dcqcn_advance(&d, step * DCQCN_STAGE_MIN);
		d.used = d.rate;
	}

	u32 target = d.target;

	CHECK(target < mbps(1000) + 7 * dcqcn_gain(mbps(1100)));
	dcqcn_advance(&d, (DCQCN_RECOVERY + 1) * DCQCN_STAGE_MIN);
	d.used = d.rate;
	CHECK(d.target == target + DCQCN_HYPER * dcqcn_gain(target));
	dcqcn_sent(&d, DCQCN_STAGE_BYTES);
	target = d.target;
	dcqcn_advance(&d, (DCQCN_RECOVERY + 2) * DCQCN_STAGE_MIN);
	CHECK(d.target == target + 2 * DCQCN_HYPER * dcqcn_gain(target));
}

TEST_CASE("dcqcn: the gain is a root and a half")
{
	for (u32 root : { 0u, 1u, 36u, 362u, 3620u, 65535u }) {
		CHECK(dcqcn_gain(root * root) == root + root / 2);
		CHECK(dcqcn_gain(root * root + 2 * root) == root + root / 2);
	}
	CHECK(dcqcn_gain(~0u) == 65535 + 32767);
}

TEST_CASE("dcqcn: one cut in a round trip, however many CNPs come")
{
	for (u64 rtt : { 0 * msec, 3 * msec, 20 * msec, 1000 * msec }) {
		u64 wait = std::min<u64>(std::max<u64>(rtt, DCQCN_STAGE_MIN), DCQCN_STAGE_MAX);
		struct dcqcn d;

		dcqcn_init(&d);
		dcqcn_start(&d, mbps(1000), rtt, 0);
		for (u64 now = 0; now < wait; now += wait / 64) {
			dcqcn_advance(&d, now);
			CHECK(!dcqcn_cnp(&d, rtt, now));
		}
		CHECK(d.rate == mbps(1000) - mbps(1000) / 2);
		dcqcn_advance(&d, wait);

		u32 rate = d.rate;

		CHECK(dcqcn_cnp(&d, rtt, wait));
		CHECK(d.rate < rate);
		CHECK(d.target == rate);
	}
}

TEST_CASE("dcqcn: cuts are small where CNPs are rare, and deep where they are not")
{
	struct dcqcn d = started(mbps(1000), 0);
	u64 now = 0;

	for (int i = 0; i < 100; i++) {
		now += DCQCN_STAGE_MIN;
		dcqcn_advance(&d, now);
	}

	u32 rate = d.rate;

	CHECK(d.alpha < DCQCN_ONE / 100);
	CHECK(dcqcn_cnp(&d, 0, now));
	CHECK(rate - d.rate < rate / 100);
	for (int i = 0; i < 100; i++) {
		now += DCQCN_STAGE_MIN;
		dcqcn_advance(&d, now);
		dcqcn_cnp(&d, 0, now);
	}
	CHECK(d.alpha > DCQCN_ONE / 100 * 95);
	CHECK(d.rate == DCQCN_RATE_MIN);
}

TEST_CASE("dcqcn: CNPs all the time bring every rate down, however fast bytes are counted")
{
	for (u32 rate : { mbps(1000), mbps(10000), mbps(80000) }) {
		struct dcqcn d = started(rate, 0);

		for (u64 now = 0; now < 150 * msec; now += msec / 10) {
			dcqcn_sent(&d, d.rate / 10);
			dcqcn_advance(&d, now);
			if (now % msec == 0)
				dcqcn_cnp(&d, 0, now);
		}
		CHECK(d.rate < mbps(100));
	}
}

TEST_CASE("dcqcn: bounds hold for whatever comes in")
{
	u64 random = 1;

	for (u64 rate : { 0ull, 1ull, 1ull << 31, 1ull << 32, ~0ull }) {
		struct dcqcn d;
		u64 now = 1ull << 62;

		dcqcn_init(&d);
		dcqcn_start(&d, rate, rate, now);
		for (int i = 0; i < 4000 && dcqcn_limited(&d); i++) {
			random = random * 6364136223846793005ull + 1442695040888963407ull;
			now += (random >> 33) % (5 * msec);
			dcqcn_advance(&d, now);
			if (!dcqcn_limited(&d))
				break;
			if ((random >> 40) % 20 == 0)
				dcqcn_cnp(&d, random >> 32, now);
			dcqcn_sent(&d, (random >> 50) % 4 ? random % 65536 : ~0u);
			REQUIRE(d.rate >= DCQCN_RATE_MIN);
			REQUIRE(d.rate <= DCQCN_RATE_MAX);
			REQUIRE(d.target >= d.rate);
			REQUIRE(d.target <= DCQCN_RATE_MAX);
			REQUIRE(d.alpha <= DCQCN_ONE);
			REQUIRE(d.bytes < DCQCN_STAGE_BYTES);
			REQUIRE(dcqcn_quantum(&d) > 0);
			REQUIRE(dcqcn_quantum(&d) <= DCQCN_QUANTUM_MAX);
			REQUIRE(dcqcn_credit(&d, (int)random, random) <= 2 * (s64)dcqcn_quantum(&d));
		}
	}
}

TEST_CASE("dcqcn: without CNPs the limit is gone, after a second at the latest")
{
	for (u32 rate : { mbps(1), mbps(100), mbps(10000), mbps(90000) }) {
		struct dcqcn d = started(rate, 7);

		dcqcn_advance(&d, 7 + DCQCN_QUIET_NSEC - 1);
		dcqcn_advance(&d, 7 + DCQCN_QUIET_NSEC);
		CHECK(!dcqcn_limited(&d));
	}
}

TEST_CASE("dcqcn: who sends as fast as allowed is at 100 Gb/s long before, others are not")
{
	struct dcqcn d = started(mbps(10000), 0), slow = d;

	for (u64 now = 0; now < 100 * msec; now += msec / 10) {
		dcqcn_sent(&d, d.rate / 10);
		dcqcn_advance(&d, now);
		dcqcn_sent(&slow, slow.rate / 32);
		dcqcn_advance(&slow, now);
	}
	CHECK(d.rate > DCQCN_RATE_MAX - DCQCN_RATE_MAX / 100);
	CHECK(slow.rate <= mbps(10000));
	CHECK(slow.rate > mbps(9900));
}

TEST_CASE("dcqcn: time that goes back a little changes nothing")
{
	struct dcqcn d = started(mbps(1000), 5 * msec);
	u32 rate = d.rate;

	dcqcn_advance(&d, 4 * msec);
	CHECK(d.rate == rate);
	CHECK(!dcqcn_cnp(&d, 0, 4 * msec));
	dcqcn_advance(&d, 5 * msec);
	CHECK(d.rate == rate);
}

TEST_CASE("dcqcn: what is allowed is the rate, and no more than that of a tick is saved")
{
	for (u32 rate : { mbps(20), mbps(1000), mbps(3800) }) {
		struct dcqcn d = started(rate, 0);
		u64 nsec = DCQCN_TICK_NSEC / 64;

		CHECK(dcqcn_credit(&d, 0, 0) == 0);
		CHECK(dcqcn_credit(&d, 0, nsec) == d.rate / 64);
		CHECK(dcqcn_credit(&d, 100, nsec) == 100 + d.rate / 64);
		CHECK(dcqcn_credit(&d, -100, nsec) == (s64)(d.rate / 64) - 100);
		CHECK(dcqcn_credit(&d, 0, ~0ull) == 2 * (d.rate / 2));
		CHECK(dcqcn_quantum(&d) == d.rate / 2);
	}
	for (u32 rate : { mbps(40000), mbps(190000) }) {
		struct dcqcn d = started(rate, 0);

		CHECK(dcqcn_quantum(&d) == DCQCN_QUANTUM_MAX);
		CHECK(dcqcn_credit(&d, 0, ~0ull) == 2 * DCQCN_QUANTUM_MAX);
	}
}

TEST_CASE("dcqcn: a packet that is longer than what a tick allows is paid for in full")
{
	for (u64 rate : { 10, 16, 23, 50, 100, 1000 }) {
		for (u32 packet : { 90, 1100, 4140, DCQCN_PACKET_MOST }) {
			struct dcqcn d;
			u64 now = 0, filled = 0, sent = 0;
			s64 credit = 0;

			dcqcn_init(&d);
			d.rate = std::max(mbps(rate), DCQCN_RATE_MIN);
			/* a timer that comes when it should, or up to a tenth of a tick later */
			while (now < 2000 * msec) {
				credit = dcqcn_credit(&d, credit, now - filled);
				filled = now;
				for (; credit > 0; credit -= packet)
					sent += packet;
				/* how long to wait is asked right after that */
				credit = dcqcn_credit(&d, credit, 0);
				now += (((u64)(dcqcn_quantum(&d) - credit)) << DCQCN_TICK_SHIFT) /
				       d.rate + now % (DCQCN_TICK_NSEC / 10);
			}
			INFO("packets of ", packet, " B, ", sent * 8 / 2000000, " Mb/s of ", rate);
			CHECK(sent * 8 / 2000000 <= rate + rate / 50 + 1);
			CHECK(sent * 8 / 2000000 >= rate - rate / 20 - 1);
		}
	}
}

TEST_CASE("dcqcn: answers, which are never held up, do not add up to a debt for ever")
{
	struct dcqcn d = started(mbps(20), 0);

	CHECK(d.rate == DCQCN_RATE_MIN);
	CHECK(dcqcn_credit(&d, -1000000, 5 * DCQCN_TICK_NSEC) > 0);
}

/* --- flows that share a bottleneck -------------------------------------------- */

namespace {

/* TCP as it reacts to marks (RFC 3168): a window, halved once in a round trip */
struct tcp {
	double window = 10, ssthresh = 1e9;
	u64 cut_at = 0;
};

struct flow {
	struct dcqcn d;
	bool is_tcp = false;
	struct tcp tcp;
	u64 from = 0;		/* when it begins */
	u64 next = 0;		/* when its next packet may leave */
	u64 cnp_next = 0;	/* when the receiver may send a CNP again */
	u64 rtt = 0;
	u32 inflight = 0;	/* packets */
	u64 bytes = 0;		/* arrived since the last look */
	u64 cuts = 0;
};

struct packet {
	size_t flow;
	bool marked;
	u64 at;			/* when it was sent, then when it is acknowledged */
	u64 sent;
};

/*
 * A link of some rate, a queue that marks as RED does, packets of 1024 bytes; what
 * arrives is acknowledged, and the CNP is back, after the base round trip.
 */
struct bottleneck {
	static const u32 size = 1100, window = 476;
	u64 byte_nsec_x1000;
	u64 base;
	u32 low, high;		/* packets in the queue: marks begin, all are marked */
	std::vector<struct flow> flows;
	std::deque<packet> queue, returning;
	u64 now = 0, link_free = 0, busy = 0, worst = 0;
	u64 random = 12345;

	bottleneck(u64 rate_mbps, u64 base_rtt, u32 from, u32 to) :
		byte_nsec_x1000(8000000 / rate_mbps), base(base_rtt), low(from), high(to) {}

	void add(u64 from, bool is_tcp = false)
	{
		flows.emplace_back();
		dcqcn_init(&flows.back().d);
		flows.back().from = from;
		flows.back().next = from;
		flows.back().is_tcp = is_tcp;
	}

	double chance()
	{
		random = random * 6364136223846793005ull + 1442695040888963407ull;
		return (double)(random >> 33) / (1u << 31);
	}

	bool marks()
	{
		if (queue.size() <= low)
			return false;
		return chance() < 0.1 * (queue.size() - low) / (high - low) ||
		       queue.size() >= high;
	}

	void send(size_t i)
	{
		struct flow &f = flows[i];
		u32 most = f.is_tcp ? (u32)f.tcp.window : window;

		while (now >= f.next && f.inflight < most) {
			queue.push_back({ i, marks(), now, now });
			f.inflight++;
			if (f.is_tcp)
				continue;
			if (dcqcn_limited(&f.d))
				dcqcn_sent(&f.d, size);
			if (dcqcn_limited(&f.d)) {
				u64 gap = (u64)size * DCQCN_TICK_NSEC / f.d.rate;

				f.next = std::max(f.next + gap, now > 20000 ? now - 20000 : 0);
			}
		}
	}

	void cnp(struct flow &f)
	{
		if (!dcqcn_limited(&f.d)) {
			/* as fast as its window and the round trip allow */
			dcqcn_start(&f.d, (u64)window * size * DCQCN_TICK_NSEC / f.rtt, f.rtt, now);
			f.cuts++;
		} else if (dcqcn_cnp(&f.d, f.rtt, now)) {
			f.cuts++;
		}
	}

	void acked(const packet &p)
	{
		struct flow &f = flows[p.flow];

		f.inflight--;
		f.rtt = f.rtt ? f.rtt - f.rtt / 8 + (now - p.sent) / 8 : now - p.sent;
		if (f.is_tcp) {
			f.tcp.window += f.tcp.window < f.tcp.ssthresh ? 1 : 1 / f.tcp.window;
			if (p.marked && now >= f.tcp.cut_at) {
				f.tcp.window = std::max(f.tcp.window / 2, 2.0);
				f.tcp.ssthresh = f.tcp.window;
				f.tcp.cut_at = now + f.rtt;
				f.cuts++;
			}
			return;
		}
		if (dcqcn_limited(&f.d))
			dcqcn_advance(&f.d, now);
		if (p.marked && now >= f.cnp_next) {
			f.cnp_next = now + DCQCN_CNP_NSEC;
			cnp(f);
		}
	}

	void run(u64 until)
	{
		for (auto &f : flows)
			f.bytes = f.cuts = 0;
		busy = worst = 0;
		for (; now < until; now += 5000) {
			while (!returning.empty() && returning.front().at <= now) {
				packet p = returning.front();

				returning.pop_front();
				acked(p);
			}
			for (size_t i = 0; i < flows.size(); i++) {
				if (dcqcn_limited(&flows[i].d))
					dcqcn_advance(&flows[i].d, now);
				if (now >= flows[i].from)
					send((i + now / 5000) % flows.size());
			}
			worst = std::max<u64>(worst, queue.size());
			while (!queue.empty() && link_free <= now) {
				packet p = queue.front();
				u64 takes = size * byte_nsec_x1000 / 1000;

				queue.pop_front();
				link_free = std::max(link_free, now > 5000 ? now - 5000 : 0) + takes;
				busy += takes;
				flows[p.flow].bytes += size;
				p.at = now + base;
				returning.push_back(p);
			}
		}
	}

	double jain() const
	{
		double sum = 0, squares = 0;

		for (auto &f : flows) {
			sum += f.bytes;
			squares += (double)f.bytes * f.bytes;
		}
		return sum * sum / (squares * flows.size());
	}
};

} // namespace

TEST_CASE("dcqcn: flows that share a bottleneck are fair, and fill it")
{
	static const struct {
		u64 rate, base;		/* Mb/s, ns */
		size_t count;
		u64 before, during;	/* ms */
	} cases[] = {
		{ 100, 100000, 1, 500, 1500 },
		{ 100, 100000, 2, 1000, 1500 },
		{ 100, 1000000, 5, 1000, 1500 },
		{ 1000, 100000, 2, 500, 500 },
		{ 1000, 1000000, 2, 500, 500 },
		{ 1000, 1000000, 5, 500, 500 },
		{ 10000, 100000, 2, 200, 200 },
	};

	for (auto &c : cases) {
		u32 low = std::max<u64>(30, c.rate * c.base / 8800000);
		bottleneck net(c.rate, c.base, low, 6 * low);

		CAPTURE(c.rate);
		CAPTURE(c.base);
		CAPTURE(c.count);
		for (size_t i = 0; i < c.count; i++)
			net.add(i * 20 * msec);
		net.run(c.before * msec);
		net.run(net.now + c.during * msec);

		double used = (double)net.busy / (c.during * msec);

		INFO("Jain ", net.jain(), ", used ", used, ", queue up to ", net.worst,
		     ", cuts ", net.flows[0].cuts);
		CHECK(net.jain() >= 0.9);
		CHECK(used >= 0.85);
		CHECK(used <= 1.01);
		CHECK(net.flows[0].cuts > 0);
	}
}

TEST_CASE("dcqcn: a TCP neighbour and a flow leave each other a share")
{
	for (u64 rate : { 100, 1000 }) {
		bottleneck net(rate, 100000, 30, 180);

		net.add(0);
		net.add(100 * msec, true);
		net.run(500 * msec);
		net.run(net.now + 1000 * msec);

		double share = (double)net.flows[1].bytes /
			(net.flows[0].bytes + net.flows[1].bytes);

		CAPTURE(rate);
		CHECK(share >= 0.15);
		CHECK(share <= 0.85);
	}
}
