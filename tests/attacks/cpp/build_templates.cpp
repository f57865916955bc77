// SPDX-License-Identifier: MIT
// class: Host: compile bombs
// tries: templates that need each other in ever new combinations.
// expect: compile
// endless: yes
template <unsigned long long A, unsigned long long B> struct Bomb {
	static constexpr auto value = Bomb<A + 1, B * 2 + 1>::value + Bomb<A + 1, B * 2>::value;
};
template <unsigned long long B> struct Bomb<60, B> {
	static constexpr unsigned long long value = B;
};
unsigned long long bomb = Bomb<0, 1>::value;
