-- SPDX-License-Identifier: MIT
-- From the seventh version to the eighth.
-- Whether runs of a board begin with what compilers left in earlier ones, as far as its task allows it.
ALTER TABLE boards ADD COLUMN jit_cache TEXT NOT NULL DEFAULT 'yes' CHECK (jit_cache IN ('yes', 'no'));
