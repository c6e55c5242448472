// SPDX-License-Identifier: GPL-2.0-or-later
// Which code allocates, and what stays? The questions of async-profiler's README (-e alloc, --live).

import java.util.ArrayList;
import java.util.List;

public class Shop {
	record Order(int number, byte[] items) {}

	private static final List<Order> OPEN = new ArrayList<>();
	static volatile Object sink;

	static byte[] parse() {
		return new byte[100_000]; // garbage at once
	}

	static Order order(int number) {
		return new Order(number, new byte[20_000]); // stays
	}

	public static void main(String[] words) throws Exception {
		for (int i = 0; i < 2000; i++) {
			sink = parse();
			OPEN.add(order(i));
		}
	}
}
