/* SPDX-License-Identifier: MIT */
/* The least that can be run: what the start of a sandbox is measured with. */
int
main(void)
{
	return 0;
}
