# SPDX-License-Identifier: Apache-2.0
"""Files written whole or not at all, and files that nobody need trust."""
