# SPDX-License-Identifier: MIT
"""The memory that referee and solver of a board share, and the calls that are made by it (docs/protocol.md, "Calls").

The memory (KETTLE_SHM_FD) begins with a control page, whose numbers are unsigned, of 64 bits, in the machine's order:

     0  8 bytes  MAGIC                                      written once, by the referee
     8  number   where the inputs begin
    16  number   where the outputs begin: the inputs end there
    24  number   where the outputs end
    64  number   where the structure of the input is         written by the referee before LOAD
    72  number   how many bytes it has
    80  number   where the list of the input's buffers is: for each where it is and how many bytes it has
    88  number   how many buffers there are
    96  number   1 if the structure is there only from GO on, else 0
   128  8 bytes  the nonce of the message that is answered    written by the solver before it answers GO, PROFILE, FACTS
   136  number   RETURNED or RAISED
   144  number   where the table is: what was returned, or as text what was raised
   152  number   how many bytes it has, at most MAX_TABLE

Two pipes, which the referee passes by the socket, hand over: a message of the referee is a number, what to do, and a nonce
of 8 bytes; the solver's answer is that nonce. LOAD: builds the views of the input and sleeps; only then the referee writes
the buffers' bytes. GO: calls custom_kernel. PROFILE: the same under a profiler. FACTS: tells what is loaded.

A structure is a pickle in which tensors and arrays are numbers of buffers, with types and shapes: the solver trusts the
referee. A table is JSON that the referee reads from a copy of its own and of which it believes nothing: None, numbers, text
and lists are themselves, all else an object of one name (READERS); elements of tensors and arrays are places in
the memory, each checked, that are copied before anything is computed.
"""
import os
import sys
from struct import Struct, pack, pack_into, unpack_from

MAGIC = b"KETTLE\0\1"
HEAD, INPUT, ANSWER = 0, 64, 128  # parts of the control page, of at most 64 bytes
PAGE = 4096
LOAD, GO, PROFILE, FACTS = range(1, 5)
RETURNED, RAISED = 1, 2
MAX_TABLE = 64 << 20
