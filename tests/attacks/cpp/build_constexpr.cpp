// SPDX-License-Identifier: MIT
// class: Host: compile bombs
// tries: to compute in the compiler without end: each loop stays below its limits, there are just many.
// expect: compile
// endless: yes
template <int N> constexpr unsigned long long turn()
{
	unsigned long long sum = N;
	for (int i = 0; i < 250000; i++)
		sum = sum * 6364136223846793005ull + static_cast<unsigned long long>(i);
	return sum;
}
template <int... N> struct List {
};
template <class, class> struct Join;
template <int... A, int... B> struct Join<List<A...>, List<B...>> {
	using type = List<A..., (static_cast<int>(sizeof...(A)) + B)...>;
};
template <int N> struct Count {
	using type = typename Join<typename Count<N / 2>::type, typename Count<N - N / 2>::type>::type;
};
template <> struct Count<1> {
	using type = List<0>;
};
template <int... N> constexpr unsigned long long all(List<N...>)
{
	return (turn<N>() + ...);
}
constexpr unsigned long long bomb = all(Count<100000>::type());
